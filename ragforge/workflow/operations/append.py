"""`APPEND`: add a value to the end of a list."""

from ragforge.workflow.operation import Operation, ProgramHost, Value, as_list


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    before, value = operands
    return [*as_list(before, "APPEND"), value]


OPERATION = Operation("APPEND", _run)
