"""`LIMIT`: keep the first items of a list."""

from ragforge.workflow.operation import Operation, ProgramHost, Value, as_count, as_list


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    items, count = operands
    return as_list(items, "LIMIT")[: as_count(count, "LIMIT")]


OPERATION = Operation("LIMIT", _run)
