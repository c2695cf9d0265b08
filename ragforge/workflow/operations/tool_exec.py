"""`TOOL_EXEC`: one call of a tool of the assistant, with the usual consent."""

from ragforge.workflow.operation import Operation, ProgramHost, Value, as_object


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    name, args = operands
    return await host.run_tool(name, as_object(args, "TOOL_EXEC"))


OPERATION = Operation("TOOL_EXEC", _run, is_durable=True)
