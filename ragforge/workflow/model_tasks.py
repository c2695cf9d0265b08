"""One task for a model: its prompt, its sections, and its parsed answer."""

from typing import cast

import msgspec

from ragforge.domain.errors import AnswerUnusable
from ragforge.domain.json import well_formed
from ragforge.workflow.operation import Fields, ProgramFault, ProgramHost, Value, is_object, shown
from ragforge.workflow.prompts import OWN, PROMPT, load_prompt, load_schema, tasks

TEXT_CHARS_MAX = 200_000
"""Of the model's input; longer text is cut, and the model is told."""


async def ask_task(host: ProgramHost, role: str, task: str | None, fields: Fields) -> Value:
    """Return the answer: an object if the task has a schema, else a text. Raises RagforgeError."""
    instructions = OWN if task is None and fields.get(PROMPT) else load_prompt(task)
    if instructions is None:
        raise ProgramFault(f"There is no task {task!r}; there are {', '.join(tasks())}.")
    if (known := host.sure_answer(task or "", fields)) is not None:
        return known
    parts = [
        f"## {name}\n{shown(await _resolved(host, value))}"
        for name, value in fields.items()
        if value is not None
    ]
    message = "\n\n".join(parts)
    if len(message) > TEXT_CHARS_MAX:
        message = f"{message[:TEXT_CHARS_MAX]}\n[cut: {len(message):,} characters in all]"
    schema = load_schema(task)
    text = await host.ask_model(role, instructions, message, task=task or "", schema=schema)
    return _read(text, schema) if schema else _unfenced(text)


async def _resolved(host: ProgramHost, value: Value) -> Value:
    """Return the value with references to messages resolved."""
    if not isinstance(value, list):
        return value
    items = cast("list[Value]", value)
    ids = [each["message"] for each in items if is_object(each) and set(each) == {"message"}]
    return await host.library.messages(ids) if ids and len(ids) == len(items) else items


def _read(text: str, schema: Fields) -> Fields:
    """Return the object that a model wrote, with the schema's required fields. Raises AnswerUnusable."""
    start, end = text.find("{"), text.rfind("}")
    try:
        found = msgspec.json.decode(well_formed(text[start : end + 1]))
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise AnswerUnusable(f"The answer is not a JSON object: {text[:80]!r}.") from error
    kinds: dict[str, type] = {"array": list, "string": str, "boolean": bool, "object": dict}
    for name in schema["required"]:
        kind = schema["properties"][name].get("type")
        if not is_object(found) or not isinstance(found.get(name), kinds.get(kind, object)):
            raise AnswerUnusable(f"The answer lacks {name!r}: {text[:80]!r}.")
    return found


def _unfenced(text: str) -> str:
    """Return the text without the fence that models put around code."""
    lines = text.strip().split("\n")
    if len(lines) > 2 and lines[0].startswith("```") and lines[-1].strip() == "```":
        return "\n".join(lines[1:-1])
    return text
