"""`EXTRACT`: copy a value, or null if it is missing."""

from ragforge.workflow.operation import Operation, ProgramHost, Value


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    return operands[0]


OPERATION = Operation("EXTRACT", _run)
