"""`DISPLAY`: show a value; a list of texts as points."""

from typing import TypeGuard, cast

from ragforge.workflow.operation import Operation, ProgramHost, Value, shown


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    value = operands[0]
    points = [f"- {each.strip()}" for each in value] if _are_texts(value) else []
    await host.display("\n".join(points) or shown(value))


def _are_texts(value: Value) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(each, str) for each in cast("list[Value]", value))


OPERATION = Operation("DISPLAY", _run, is_durable=True)
