"""`AGENT_EXEC`: a task for the assistant, in a conversation of its own."""

from ragforge.workflow.operation import Operation, ProgramFault, ProgramHost, Value, as_object, shown

STEPS_MAX = 50


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    given = as_object(operands[0], "AGENT_EXEC")
    prompt, role, steps_max = given.get("prompt"), given.get("model") or "", given.get("steps_max", STEPS_MAX)
    if not prompt or not isinstance(role, str):
        raise ProgramFault("AGENT_EXEC takes {prompt: ..., model: 'role', steps_max: n}.")
    if not isinstance(steps_max, int) or isinstance(steps_max, bool) or not 1 <= steps_max <= STEPS_MAX:
        raise ProgramFault(f"steps_max of AGENT_EXEC is a number from 1 to {STEPS_MAX}.")
    sections = [f"## {key}\n{shown(value)}" for key, value in given.items() if key not in _OWN and value]
    return await host.run_agent("\n\n".join([shown(prompt), *sections]), role, steps_max)


_OWN = ("prompt", "model", "steps_max")

OPERATION = Operation("AGENT_EXEC", _run, is_durable=True)
