"""`BUILD_CONTEXT`: what is recalled for the `prompt`, and the other fields as sections, within a budget."""

from ragforge.workflow.operation import Operation, ProgramHost, Value, as_object, shown

CHARS_MAX = 60_000


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    fields = as_object(operands[0], "BUILD_CONTEXT")
    prompt = shown(fields.get("prompt") or "")
    sections = [("prompt", prompt), ("recalled", await host.context_block(prompt) if prompt else "")]
    sections += [(name, shown(value)) for name, value in fields.items() if name != "prompt" and value]
    text, left = "", CHARS_MAX
    for name, content in sections:
        if not content or left <= 0:
            continue
        section = f"## {name}\n{content[:left]}\n\n"
        text += section
        left -= len(section)
    return text.strip()


OPERATION = Operation("BUILD_CONTEXT", _run, is_durable=True)
