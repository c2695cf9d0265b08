"""`CHECK`: run the check command of the settings."""

from ragforge.workflow.operation import Operation, ProgramHost, Value


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    return await host.run_check()


OPERATION = Operation("CHECK", _run, is_durable=True)
