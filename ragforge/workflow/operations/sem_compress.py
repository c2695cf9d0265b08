"""`SEM_COMPRESS`: a value in at most 1,200 characters."""

from ragforge.domain.errors import ModelError
from ragforge.domain.words import first_words
from ragforge.workflow.model_tasks import ask_task
from ragforge.workflow.operation import Operation, ProgramHost, Value, shown

CHARS_MAX = 1_200


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    text = shown(operands[0]) if operands[0] else ""
    if len(text) <= CHARS_MAX:
        return text
    try:
        short = await ask_task(host, "", "compress", {"text": text})
    except ModelError:
        short = text
    return short if len(short) <= CHARS_MAX else _extract(short)


def _extract(text: str) -> str:
    """Return the beginning of each line, as far as there is room."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    room = max(CHARS_MAX // max(len(lines), 1) - 1, 20)
    return "\n".join(first_words(line, room) for line in lines)[:CHARS_MAX]


OPERATION = Operation("SEM_COMPRESS", _run, is_durable=True)
