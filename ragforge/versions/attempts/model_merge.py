"""Resolve the conflicts of a merge with a model, by two strategies side by side."""

import asyncio
from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec
from msgspec import Struct, field

from ragforge.domain.errors import ModelError
from ragforge.domain.json import read_in_threads
from ragforge.domain.redact import Redactor
from ragforge.domain.usage import Usage
from ragforge.files.line_changes import line_changes, split_lines
from ragforge.providers.base import ModelRequest
from ragforge.store.base import Blobs
from ragforge.versions.attempts.conflict_text import NotAsked, NotUsable, Texts, texts_of
from ragforge.versions.attempts.prompts import load_prompt
from ragforge.versions.attempts.question import Ask, ModelReply, closed, read_answer, request_for
from ragforge.versions.merge.three_way import MergeConflict

CALLS_MAX = 4
"""How many at once, of both strategies together."""


class Strategy(StrEnum):
    """How a model is asked to merge a file."""

    COMBINE_BEST = "combine_best"
    """It rewrites the whole file with the best of both sides."""
    RESOLVE_CONFLICTS = "resolve_conflicts"
    """It writes the text in place of each conflict; the rest stays as merged."""


class Question(Struct, frozen=True):
    """A conflict that a model can be asked about."""

    conflict: MergeConflict
    texts: Texts


class Resolution(Struct, frozen=True):
    """A model's resolution of one conflict. content: None if unusable; then `problem` says why.

    why: the model's reason, in its words.
    """

    question: Question
    content: bytes | None = None
    why: str = ""
    problem: str = ""
    usage: Usage = field(default_factory=Usage)


class Proposal(Struct, frozen=True):
    """One strategy's resolutions of all questions, in their order."""

    strategy: Strategy
    resolutions: tuple[Resolution, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every question has a content."""
        return all(each.content is not None for each in self.resolutions)

    @property
    def usage(self) -> Usage:
        """What it cost."""
        return sum((each.usage for each in self.resolutions), Usage())

    @property
    def lines_changed(self) -> int:
        """How far the results are from both sides together, in lines added and removed."""
        return sum(
            _distance(side.text, each.question.texts.text_of(each.content))
            for each in self.resolutions
            for side in (each.question.texts.ours, each.question.texts.theirs)
            if each.content is not None
        )


async def questions_of(
    conflicts: Sequence[MergeConflict], blobs: Blobs, redactor: Redactor
) -> tuple[list[Question], dict[str, str]]:
    """Return the conflicts that a model can be asked about; for the others, by path, why not.

    Raises StoreError.
    """
    questions: list[Question] = []
    left: dict[str, str] = {}
    for conflict in conflicts:
        try:
            questions.append(Question(conflict, await texts_of(conflict, blobs, redactor)))
        except NotAsked as why:
            left[conflict.path] = str(why)
    return questions, left


async def propose(
    questions: Sequence[Question],
    ask: Ask,
    *,
    purposes: str = "",
    strategies: Sequence[Strategy] = tuple(Strategy),
) -> list[Proposal]:
    """Return each strategy's resolutions of the questions, all asked at once.

    purposes: what each side was for, as shown to the model; without secrets.
    Does not raise if a model fails: the resolution says so, and the other strategy may have one.
    """
    calls = asyncio.Semaphore(CALLS_MAX)

    async def resolve(strategy: Strategy, question: Question) -> Resolution:
        async with calls:
            return await _resolved(strategy, question, ask, purposes)

    async with asyncio.TaskGroup() as group:
        tasks = {
            strategy: [group.create_task(resolve(strategy, question)) for question in questions]
            for strategy in strategies
        }
    return [Proposal(strategy, tuple(task.result() for task in asked)) for strategy, asked in tasks.items()]


@read_in_threads
class _Whole(msgspec.Struct):
    content: str
    why: str = ""


class _Resolved(msgspec.Struct):
    conflict: int
    lines: list[str]
    why: str = ""


@read_in_threads
class _Resolutions(msgspec.Struct):
    resolutions: list[_Resolved]


_WHOLE = closed({"content": {"type": "string"}, "why": {"type": "string"}})
_RESOLUTION = closed(
    {
        "conflict": {"type": "integer"},
        "lines": {"type": "array", "items": {"type": "string"}},
        "why": {"type": "string"},
    }
)
_RESOLUTIONS = closed({"resolutions": {"type": "array", "items": _RESOLUTION}})


async def _resolved(strategy: Strategy, question: Question, ask: Ask, purposes: str) -> Resolution:
    texts = question.texts
    if strategy is Strategy.COMBINE_BEST and texts.mixes_endings:
        return Resolution(question, problem="its line endings are mixed, so it is not rewritten")
    usage = Usage()
    try:
        answer = await ask(await asyncio.to_thread(_request, strategy, texts, purposes))
        usage = answer.usage
        read: Callable[[ModelReply, Texts], tuple[bytes, str]]
        read = _combined if strategy is Strategy.COMBINE_BEST else _with_resolutions
        content, why = await asyncio.to_thread(read, answer, texts)
    except (ModelError, NotUsable) as error:
        return Resolution(question, problem=str(error), usage=usage)
    return Resolution(question, content, why, usage=usage)


def _request(strategy: Strategy, texts: Texts, purposes: str) -> ModelRequest:
    """Return base and sides if the file is rewritten; else each side's diff, and the conflicts."""
    blocks = {"purposes": purposes, "path": texts.path}
    if strategy is Strategy.COMBINE_BEST:
        base = texts.base.text if texts.base else ""
        blocks |= {"base": base, "ours": texts.ours.text, "theirs": texts.theirs.text}
        return request_for(load_prompt(strategy), blocks, _WHOLE)
    blocks |= {
        "ours-changes": texts.change(texts.ours),
        "theirs-changes": texts.change(texts.theirs),
        "file": texts.numbered(),
    }
    return request_for(load_prompt(strategy), blocks, _RESOLUTIONS)


def _combined(answer: ModelReply, texts: Texts) -> tuple[bytes, str]:
    said = read_answer(answer, _Whole)
    return texts.with_content(said.content), said.why


def _with_resolutions(answer: ModelReply, texts: Texts) -> tuple[bytes, str]:
    said = {each.conflict: each for each in read_answer(answer, _Resolutions).resolutions}
    count = len(texts.clashes)
    if lacking := [str(number) for number in range(1, count + 1) if number not in said]:
        raise NotUsable(f"it says nothing about conflict {', '.join(lacking)} of {count}")
    each = [said[number] for number in range(1, count + 1)]
    content = texts.with_resolutions([resolved.lines for resolved in each])
    return content, " ".join(filter(None, (resolved.why for resolved in each)))


def _distance(one: str, other: str) -> int:
    changes = line_changes(*(split_lines(text.encode()) for text in (one, other)))
    return sum(each.old_end - each.old_start + each.new_end - each.new_start for each in changes)
