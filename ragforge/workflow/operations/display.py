"""`DISPLAY`: show a value."""

from ragforge.workflow.operation import Operation, ProgramHost, Value, shown


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    await host.display(shown(operands[0]))


OPERATION = Operation("DISPLAY", _run, is_durable=True)
