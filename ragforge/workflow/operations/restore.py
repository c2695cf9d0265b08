"""`RESTORE`: restore a part of a saved state; null changes nothing."""

from typing import cast

from ragforge.workflow.operation import Operation, ProgramHost, Value, is_object


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    present, saved = operands
    if saved is None:
        return present
    if is_object(present) and isinstance(saved, list):
        items = cast("list[Value]", saved)
        part = "conversation" if items and is_object(items[0]) and "message" in items[0] else "versions"
        return {**present, part: items}
    return {**saved, **present} if is_object(present) and is_object(saved) else saved


OPERATION = Operation("RESTORE", _run)
