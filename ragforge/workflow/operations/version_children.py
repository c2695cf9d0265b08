"""`VERSION_CHILDREN`: the versions made from one, oldest first."""

from ragforge.workflow.operation import Operation, ProgramHost, Value
from ragforge.workflow.operations.version_get import find_version


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    version = await find_version(host, operands)
    return await host.library.children(version["id"]) if version else []


OPERATION = Operation("VERSION_CHILDREN", _run, is_durable=True)
