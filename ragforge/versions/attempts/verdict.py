"""Have a second model check a merge against the original and both sides."""

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
"""Of a longer merged file, only the changes are shown."""


class Validation(Struct, frozen=True):
    """A model's objections to a merge, and the files it said nothing about; each begins with its path."""

    objections: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


async def validate(resolutions: Sequence[Resolution], ask: Ask, *, purposes: str = "") -> Validation:
    """Return a model's verdict on these merged files, each of which has a content.

    Does not raise if the model fails: the file is then among the problems, as not validated.
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
        """Whether the verdict is a pass; one that names a fault and passes anyway is not trusted."""
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
    """Return the reasons given, else the meaning of the answer; none if it passed."""
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
