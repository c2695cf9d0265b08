"""A merge checked by a second model, against the original and what both sides made of it."""

import asyncio
from collections.abc import Sequence

import msgspec
from msgspec import Struct, field

from ragforge.domain.errors import ModelError
from ragforge.domain.usage import Usage
from ragforge.providers.base import ModelRequest
from ragforge.versions.attempts.model_merge import Resolution
from ragforge.versions.attempts.prompts import load_prompt
from ragforge.versions.attempts.question import Ask, closed, read_answer, request_for

MERGED_CHARS_MAX = 60_000
"""A longer merged file is shown by its changes only."""


class Validation(Struct, frozen=True):
    """What a model has against a merge, and of which files it said nothing; each with its path in front."""

    objections: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


async def validate(resolutions: Sequence[Resolution], ask: Ask, *, purposes: str = "") -> Validation:
    """What a model says of these merged files, of which each has a content.

    Raises nothing where it fails: the file is among the problems then, and nobody has validated it.
    """
    objections: list[str] = []
    problems: list[str] = []
    usage = Usage()
    for resolution in resolutions:
        path = resolution.question.texts.path
        try:
            answer = await ask(await asyncio.to_thread(_request, resolution, purposes))
            usage += answer.usage
            verdict = read_answer(answer, _Verdict)
        except ModelError as error:
            problems.append(f"{path}: {error}")
            continue
        objections += [f"{path}: {reason}" for reason in _objections(verdict)]
    return Validation(tuple(objections), tuple(problems), usage)


class _Verdict(msgspec.Struct):
    reasons: list[str]
    keeps_ours: bool
    keeps_theirs: bool
    adds_nothing: bool
    may_stand: bool

    @property
    def holds(self) -> bool:
        """A model that finds a fault and lets it pass all the same is not believed."""
        return self.may_stand and self.keeps_ours and self.keeps_theirs and self.adds_nothing


_SCHEMA = closed(
    {
        "reasons": {"type": "array", "items": {"type": "string"}},
        "keeps_ours": {"type": "boolean"},
        "keeps_theirs": {"type": "boolean"},
        "adds_nothing": {"type": "boolean"},
        "may_stand": {"type": "boolean"},
    }
)


def _objections(verdict: _Verdict) -> list[str]:
    """The reasons that were given, else the plain meaning of what was answered; none where it may stand."""
    if verdict.holds:
        return []
    if verdict.reasons:
        return verdict.reasons
    named = (
        (verdict.keeps_ours, "some changes of ours are missing"),
        (verdict.keeps_theirs, "some changes of theirs are missing"),
        (verdict.adds_nothing, "something was added that is on neither side"),
    )
    return [words for kept, words in named if not kept] or ["no reason given"]


def _request(resolution: Resolution, purposes: str) -> ModelRequest:
    texts = resolution.question.texts
    merged = texts.text_of(resolution.content or b"")
    blocks = {
        "purposes": purposes,
        "path": texts.path,
        "ours-changes": texts.change(texts.ours),
        "theirs-changes": texts.change(texts.theirs),
        "merge-changes": texts.change(merged),
        "merged": merged if len(merged) <= MERGED_CHARS_MAX else "",
    }
    return request_for(load_prompt("validate_merge"), blocks, _SCHEMA)
