"""`HISTORY_LOAD`: the last messages of the session, oldest first."""

from ragforge.workflow.operation import Fields, Operation, ProgramHost, Value, as_count, as_session

MESSAGES_MAX = 1_000


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    session, count = as_session(operands[0], "HISTORY_LOAD"), as_count(operands[1], "HISTORY_LOAD")
    wanted: list[Fields] = session["conversation"][-min(count, MESSAGES_MAX) :] if count else []
    return await host.library.messages([each["message"] for each in wanted])


OPERATION = Operation("HISTORY_LOAD", _run, is_durable=True)
