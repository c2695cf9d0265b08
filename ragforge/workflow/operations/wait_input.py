"""`WAIT_INPUT`: wait for what the user says."""

from ragforge.workflow.operation import Operation, ProgramHost, Value


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    return await host.read_input()


OPERATION = Operation("WAIT_INPUT", _run, is_durable=True)
