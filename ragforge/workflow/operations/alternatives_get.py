"""`ALTERNATIVES_GET`: the alternatives of a version; the machine leaves them on the stack as well."""

from ragforge.workflow.operation import Operation, ProgramHost, Value, as_list


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    return as_list(operands[0], "ALTERNATIVES_GET")


OPERATION = Operation("ALTERNATIVES_GET", _run)
