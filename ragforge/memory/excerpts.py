"""What a model is shown of turns and summaries: limited, and marked as data."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from ragforge.domain.json import JsonValue
from ragforge.domain.memories import Memory
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import CallStatus, ToolCall, TurnStatus
from ragforge.memory.corrections import Correction
from ragforge.memory.material import Material
from ragforge.memory.part import AnyPart, shown_inputs
from ragforge.memory.sentences import one_line
from ragforge.store.json_text import storable

USER_CHARS_MAX = 6_000
ASSISTANT_CHARS_MAX = 6_000
RESULT_CHARS_MAX = 600
ARGS_CHARS_MAX = 300
CALLS_MAX = 30
"""The maximum for a turn; the last calls show the outcome."""
KNOWN_MAX = 60
KNOWN_CHARS_MAX = 300

_TAGS = "turn|user|assistant|tool|known|part|correction|brought"
_TAG = re.compile(rf"<(?=\s*/?\s*(?:{_TAGS})\b)", re.IGNORECASE)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def turns_shown(
    materials: Sequence[Material], near: Sequence[tuple[str, Memory]], parts: Sequence[AnyPart] = ()
) -> str:
    """Return the turns under the ids t1, t2 ..., with the parts' input, after the known memories."""
    known = [f"{id} [{memory.type}] {_known(memory)}" for id, memory in near]
    blocks = ["\n".join(["<known>", *known, "</known>"])] if known else []
    each = zip(materials, shown_inputs(materials, parts), strict=True)
    blocks += [_turn(f"t{number}", *one) for number, one in enumerate(each, 1)]
    return "\n\n".join(blocks)


def known_of(materials: Sequence[Material]) -> list[tuple[str, Memory]]:
    """Return the near memories of all turns, each once, with the short ids under which they are shown."""
    each = {memory.id: memory for material in materials for memory in material.near}
    return [(f"m{number}", memory) for number, memory in enumerate(list(each.values())[:KNOWN_MAX], 1)]


def parts_shown(children: Sequence[Summary]) -> str:
    """Return the summaries, oldest first."""
    return "\n\n".join(
        "\n".join(
            [
                f'<part date="{_date(child.at)}">',
                escaped(child.text),
                *(f"- {escaped(finding)}" for finding in child.findings),
                "</part>",
            ]
        )
        for child in children
    )


def escaped(text: str) -> str:
    """Return the text with nothing in it that would begin or end one of our tags."""
    return _TAG.sub("&lt;", storable(text))


def head_and_tail(text: str, chars_max: int) -> str:
    """Return the text, without its middle if it is too long: the request is at one of the ends."""
    if len(text) <= chars_max:
        return text
    head = chars_max * 2 // 3
    left_out = len(text) - chars_max
    return f"{text[:head]}\n[... {left_out:,} characters left out ...]\n{text[-(chars_max - head) :]}"


def _turn(id: str, material: Material, brought: Mapping[str, str]) -> str:
    turn = material.turn
    ended = "" if turn.status is TurnStatus.FINISHED else f' ended="{turn.status}"'
    calls = material.calls[-CALLS_MAX:]
    left_out = len(material.calls) - len(calls)
    lines = [
        f'<turn id="{id}" date="{_date(turn.started_at)}"{ended}>',
        "<user>",
        escaped(head_and_tail(material.user, USER_CHARS_MAX)),
        "</user>",
        *map(_correction, material.corrections),
        *([f"[{left_out} earlier tool calls left out]"] if left_out else []),
        *(_call(call) for call in calls),
        "<assistant>",
        escaped(head_and_tail(material.assistant, ASSISTANT_CHARS_MAX)),
        "</assistant>",
        *(f'<brought for="{name}">\n{escaped(text)}\n</brought>' for name, text in brought.items()),
        "</turn>",
    ]
    return "\n".join(lines)


def _call(call: ToolCall) -> str:
    args = escaped(head_and_tail(_json(call.args), ARGS_CHARS_MAX))
    failed = "" if call.status is CallStatus.OK else f" ({call.status})"
    result = escaped(head_and_tail(call.result, RESULT_CHARS_MAX))
    return f"<tool>\n{escaped(one_line(call.name))}{failed} {args}\n{result}\n</tool>"


def _correction(correction: Correction) -> str:
    of, text = (escaped(head_and_tail(each, RESULT_CHARS_MAX)) for each in (correction.of, correction.text))
    words = f"\n{text}" if text else ""
    return f'<correction kind="{correction.kind}">\nOf: {of}{words}\n</correction>'


def _json(value: JsonValue) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (ValueError, TypeError, RecursionError):  # halves of a surrogate pair, or not JSON
        return repr(value)


def _known(memory: Memory) -> str:
    about = f"({one_line(memory.topic)}) " if memory.topic else ""
    return escaped(about + one_line(memory.content)[:KNOWN_CHARS_MAX])


def _date(at: datetime) -> str:
    """Return it as 2026-03-04 12:00 UTC, Wednesday."""
    zone = at.tzname() or ""
    return " ".join(filter(None, (f"{at:%Y-%m-%d %H:%M}", zone))) + f", {_WEEKDAYS[at.weekday()]}"
