"""Analyse turns: level 1 summaries and memories; and summarise summaries.

With a model, one structured call returns everything; without one, sentences of the text itself and rules.
"""

import asyncio
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ragforge.domain.errors import AnswerUnusable
from ragforge.domain.events import FinishReason
from ragforge.domain.json import JsonObject
from ragforge.domain.messages import TextPart, UserMessage
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.usage import Usage
from ragforge.memory.answer import (
    memories_schema,
    read_answer,
    read_roll_up,
    roll_up_schema,
    schema_for,
)
from ragforge.memory.excerpts import known_of, parts_shown, turns_shown
from ragforge.memory.extract import memories_in
from ragforge.memory.extractive import above, rolled_up, summary_of
from ragforge.memory.material import Material, Understanding, Understood
from ragforge.memory.part import AnyPart, find_parts, parts_for
from ragforge.memory.prompts import load_prompt
from ragforge.providers.base import ModelRequest, Provider, read_whole


class NoSummary(AnswerUnusable):
    """The answer contained nothing usable; `usage` is its cost."""

    def __init__(self, message: str, *, usage: Usage) -> None:
        super().__init__(message)
        self.usage = usage


async def understand(
    provider: Provider, materials: Sequence[Material], *, plainly: bool = False
) -> Understood:
    """Analyse the turns with one structured call; the intact parts of a malformed answer are used.

    plainly: without the parts that add input to the call, which not every model can handle.

    Raises ModelError if the call failed, and its subclass NoSummary if the model refused to answer.
    """
    if not materials:
        return Understood({}, Usage())
    parts = await parts_for(provider, materials)
    if plainly:
        parts = [part for part in parts if part.bring is None]
    # In a thread: turns can hold megabytes, which are scanned for sentences.
    shown = await asyncio.to_thread(lambda: turns_shown(materials, known_of(materials), parts))
    text, usage = await _ask(provider, _instructions(materials, parts), shown, schema_for(materials, parts))
    model = f"{provider.name}:{provider.model}"
    found = await asyncio.to_thread(read_answer, text, materials, model=model, parts=parts)
    return Understood(found, usage, is_whole=_is_whole(found, materials, parts))


async def read_again(provider: Provider, materials: Sequence[Material]) -> Understood:
    """Return the memories in turns of one session that are read together, with one structured call.

    Raises like `understand`.
    """
    shown = await asyncio.to_thread(lambda: turns_shown(materials, known_of(materials)))
    system = "\n".join([load_prompt("understand"), load_prompt("read_again")])
    text, usage = await _ask(provider, system, shown, memories_schema(materials))
    model = f"{provider.name}:{provider.model}"
    return Understood(await asyncio.to_thread(read_answer, text, materials, model=model), usage)


def _is_whole(
    found: Mapping[str, Understanding], materials: Sequence[Material], parts: Sequence[AnyPart]
) -> bool:
    """Whether the answer contains everything that was asked about each turn."""
    return all(
        (one := found.get(each.turn.id)) is not None
        and all(part.name in one.more for part in parts if part.is_for(each))
        for each in materials
    )


def _instructions(materials: Sequence[Material], parts: Sequence[AnyPart]) -> str:
    """Return the instructions; corrections are explained only if there are some, because each call pays for
    it."""
    corrected = any(material.corrections for material in materials)
    return "\n".join(
        [
            load_prompt("understand"),
            *([load_prompt("corrections")] if corrected else []),
            *(f"- `{part.name}`: {part.asks}" for part in parts),
        ]
    )


def understand_offline(material: Material) -> Understanding:
    """Analyse the turn with its own sentences and with rules."""
    memories, associations = memories_in(material)
    return completed(Understanding(summary_of(material), memories, associations), material)


def completed(understanding: Understanding, material: Material) -> Understanding:
    """Add what rules find for the optional parts that the model was not asked for, or that cannot be read."""
    missing = [part for part in find_parts() if part.name not in understanding.more and part.is_for(material)]
    values = {part.name: part.without(material) for part in missing}
    more = {name: value for name, value in values.items() if value is not None}
    return replace(understanding, more={**understanding.more, **more}) if more else understanding


async def roll_up(provider: Provider, children: Sequence[Summary]) -> tuple[Summary, Usage]:
    """Return one summary, one level above the children, made by a model.

    Raises ModelError, and its subclass NoSummary if the answer contains no summary.
    """
    summary = above(children)
    text, usage = await _ask(provider, load_prompt("roll_up"), parts_shown(children), roll_up_schema())
    words, findings, topics = await asyncio.to_thread(read_roll_up, text)
    if not words:
        raise NoSummary(f"{provider.model} gave no summary that can be read.", usage=usage)
    made = replace(
        summary,
        text=words,
        method=SummaryMethod.MODEL,
        model=f"{provider.name}:{provider.model}",
        findings=findings or summary.findings,
        topics=topics or summary.topics,
    )
    return made, usage


def carried_up(child: Summary) -> Summary:
    """Return the same summary one level up: it covers only one, so there is nothing to summarise."""
    return replace(above((child,)), text=child.text, method=child.method, model=child.model)


def roll_up_offline(children: Sequence[Summary]) -> Summary:
    """Return one summary, one level above the children, made of their own sentences."""
    return rolled_up(children)


async def _ask(provider: Provider, system: str, shown: str, schema: JsonObject) -> tuple[str, Usage]:
    """Return the text of the answer, as far as it arrived, and its cost."""
    request = ModelRequest(system, (UserMessage((TextPart(shown),)),), json_schema=schema)
    answer = await read_whole(provider, request)
    if answer.finish is FinishReason.BLOCKED and not answer.text:
        # Nothing arrived, and asking the same again would not help either.
        why = f": {answer.detail}" if answer.detail else ""
        raise NoSummary(f"{provider.model} refused to summarise{why}.", usage=answer.usage)
    return answer.text, answer.usage
