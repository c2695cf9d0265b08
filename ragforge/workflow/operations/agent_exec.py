"""`AGENT_EXEC`: a task for the assistant, in a conversation of its own."""

from ragforge.workflow.operation import Operation, ProgramFault, ProgramHost, Value, as_object, shown
from ragforge.workflow.prompts import load_prompt, tasks

STEPS_MAX = 50


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    given = as_object(operands[0], "AGENT_EXEC")
    role, steps_max, tools = given.get("model") or "", given.get("steps_max", STEPS_MAX), given.get("tools")
    prompt, task = given.get("prompt"), given.get("task")
    instructions = load_prompt(task) if isinstance(task, str) else None
    if task is not None and not instructions:
        raise ProgramFault(f"There is no task {shown(task)[:40]!r}; there are {', '.join(tasks())}.")
    prompt = DO_TASK if instructions else prompt
    if not prompt or not isinstance(role, str):
        raise ProgramFault("AGENT_EXEC takes {prompt: ..., model: 'role', steps_max: n}.")
    if not isinstance(steps_max, int) or isinstance(steps_max, bool) or not 1 <= steps_max <= STEPS_MAX:
        raise ProgramFault(f"steps_max of AGENT_EXEC is a number from 1 to {STEPS_MAX}.")
    if tools not in (None, "all", READ):
        raise ProgramFault(f"tools of AGENT_EXEC is 'read' or 'all', not {shown(tools)[:40]!r}.")
    sections = [f"## {key}\n{shown(value)}" for key, value in given.items() if key not in _OWN and value]
    material = "\n\n".join(filter(None, [(instructions or "").strip(), *sections]))
    return await host.run_agent(shown(prompt), role, steps_max, material=material, only_reads=tools == READ)


READ = "read"
DO_TASK = "Do the task that the program gives."
_OWN = ("prompt", "task", "model", "steps_max", "tools")

OPERATION = Operation("AGENT_EXEC", _run, is_durable=True)
