"""`SESSION_INIT`: start the program's session, or resume the newest one about the same program."""

from ragforge.workflow.operation import Operation, ProgramHost, Value


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    session = await host.library.session(host.program_name, host.target)
    await host.library.keep_session(session)
    return session


OPERATION = Operation("SESSION_INIT", _run, is_durable=True)
