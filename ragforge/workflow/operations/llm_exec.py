"""`LLM_EXEC`: one call of a model."""

import json
from typing import cast

from ragforge.workflow.operations.base import Operation, ProgramFault, ProgramHost, Value, shown
from ragforge.workflow.prompts import load_prompt, tasks

TEXT_CHARS_MAX = 200_000
"""Of what the model is given; what is longer is cut, and the model is told."""


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    role, given = operands
    if not isinstance(role, str) or not role:
        raise ProgramFault(f"LLM_EXEC takes the name of a model or a role, not {role!r}.")
    fields = cast("dict[str, Value]", given if isinstance(given, dict) else {"prompt": given})
    task = fields.get("task")
    if task is not None and not isinstance(task, str):
        raise ProgramFault(f"The task of LLM_EXEC is a text, not {json.dumps(task)[:40]}.")
    instructions = load_prompt(task)
    if instructions is None:
        raise ProgramFault(f"There is no task {task!r}; there are {', '.join(tasks())}.")
    parts = [f"## {name}\n{shown(value)}" for name, value in fields.items() if name != "task"]
    message = "\n\n".join(parts)
    if len(message) > TEXT_CHARS_MAX:
        message = f"{message[:TEXT_CHARS_MAX]}\n[cut: {len(message):,} characters in all]"
    return await host.ask_model(role, instructions, message)


OPERATION = Operation("LLM_EXEC", _run, is_durable=True)
