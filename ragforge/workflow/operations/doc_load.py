"""`DOC_LOAD`: a document by its id, or null."""

from ragforge.workflow.operation import Operation, ProgramHost, Value


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    found = await host.library.documents() if operands[0] else []
    return next((each for each in found if each["_id"] == operands[0]), None)


OPERATION = Operation("DOC_LOAD", _run, is_durable=True)
