"""The contents of the full-text indexes. The columns matter more for the results than any ranking.

Measured on user-and-assistant transcripts: the user's words must not drown in long answers, so each
has a column with a weight of its own. What the user said in the two turns before and in the one after
helps nearly as much as all of it; what was answered there hurts.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from ragforge.domain.compounds import parts_of
from ragforge.domain.json import JsonValue
from ragforge.domain.messages import commands_in, text_of
from ragforge.store.json_text import storable, user_from_json

USER_CHARS_MAX = 200_000
REPLY_CHARS_MAX = 100_000
RESULT_CHARS_MAX = 4_000
COMMAND_CHARS_MAX = 1_000
NEAR_CHARS_MAX = 1_000
ARG_CHARS_MAX = 500


class IndexText(Struct, frozen=True):
    """The columns of one row."""

    user: str = ""
    reply: str = ""
    near: str = ""
    tools: str = ""
    date: str = ""


def _row(*, user: str = "", reply: str = "", near: str = "", tools: str = "", date: str = "") -> IndexText:
    """Return the columns, found by parts of names too: those of the user's words count as `near`."""
    return IndexText(
        user=user,
        reply=" ".join((reply, *parts_of(reply))),
        near=" ".join((near, *parts_of(user))),
        tools=" ".join((tools, *parts_of(tools))),
        date=date,
    )


def turn_text(
    user: str,
    reply: str,
    *,
    near: Sequence[str],
    calls: Iterable[tuple[str, str]],
    at: datetime,
    commands: str = "",
) -> IndexText:
    """Return a turn's row.

    near: what the user said just before and after. calls: names and arguments as JSON. commands: what the
    user ran before the message, as returned by `commands_run`.
    """
    tools = {word: None for name, args in calls for word in (name, *_paths(json.loads(args)))}
    tools |= {commands: None} if commands else {}
    return _row(
        user=user[:USER_CHARS_MAX],
        reply=reply[:REPLY_CHARS_MAX],
        near=" ".join(text[:NEAR_CHARS_MAX] for text in near if text),
        tools=" ".join(tools),
        date=date_words(at),
    )


def call_text(name: str, args: str, result: str, *, at: datetime) -> IndexText:
    """Return a tool call's row; the arguments are JSON."""
    return _row(reply=cut_middle(result, RESULT_CHARS_MAX), tools=call_line(name, args), date=date_words(at))


def summary_text(
    text: str, *, files: Sequence[str], findings: Sequence[str], topics: Sequence[str], at: datetime
) -> IndexText:
    """Return a summary's row: it counts like an answer, its topics and findings like the user's words."""
    return _row(
        user=" ".join((*topics, *findings))[:USER_CHARS_MAX],
        reply=text[:REPLY_CHARS_MAX],
        tools=" ".join(files),
        date=date_words(at),
    )


def memory_text(content: str, *, kind: str, topic: str, at: datetime) -> IndexText:
    """Return a memory's row: a statement counts like the user's words."""
    return _row(user=content, tools=f"{kind} {topic}".strip(), date=date_words(at))


def version_text(
    title: str, *, label: str, note: str, words: str, at: datetime, is_empty_turn: bool
) -> IndexText:
    """Return a version's row: a label counts like the user's words, changed lines like an answer.

    is_empty_turn: a turn made it and changed nothing, so that the turn says everything.
    """
    told = " ".join(text for text in (label, note) if text)
    if is_empty_turn:
        return _row(user=told)
    return _row(user=told, reply=words[:REPLY_CHARS_MAX], near=title[:NEAR_CHARS_MAX], date=date_words(at))


def date_words(at: datetime) -> str:
    """Return the day as people name it. In UTC: the index must be the same wherever it is built."""
    return f"{at.astimezone(UTC):%Y-%m-%d %A %B}"


def said(user: str) -> str:
    """Return the text of a stored message of the user."""
    return storable(text_of(user_from_json(user)))


def commands_run(user: str | None) -> str:
    """Return the commands that the user ran before a stored message, each with its output, cut."""
    if not user or '"command"' not in user:
        return ""
    found = commands_in(user_from_json(user))
    return storable(
        "\n".join(f"{each.command}\n{cut_middle(each.output, COMMAND_CHARS_MAX)}" for each in found)
    )


def call_line(name: str, args: str) -> str:
    """Return the tool's name and its arguments, long ones cut."""
    values = _strings(json.loads(args))
    return storable(" ".join([name, *(value[:ARG_CHARS_MAX] for value in values)]))


def cut_middle(text: str, chars_max: int) -> str:
    """Cut to three quarters from the start, one from the end: errors are at the end."""
    if len(text) <= chars_max:
        return text
    tail = chars_max // 4
    return f"{text[: chars_max - tail]}\n{text[-tail:]}"


def _strings(value: JsonValue) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [text for item in value.values() for text in _strings(item)]
        case list():
            return [text for item in value for text in _strings(item)]
        case _:
            return []


def _paths(args: Any) -> list[str]:
    path = args.get("path")
    return [storable(path)[:ARG_CHARS_MAX]] if isinstance(path, str) else []
