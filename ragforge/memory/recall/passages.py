"""The statements of turns: the block contains the sentence of a turn that fits, not the turn."""

import asyncio
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ragforge.domain.language.words import words_of
from ragforge.domain.messages import text_of
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.turns import Turn
from ragforge.memory.material import answer_of
from ragforge.memory.recall.fit import Fit, Fitness
from ragforge.memory.recall.validity import Replacement, Validity
from ragforge.memory.sentences import FENCED, cut_sentence, one_line, sentences
from ragforge.memory.short_answers import asks, needs_question, with_question
from ragforge.memory.statements import is_question, plain
from ragforge.memory.terms import terms

WHOLE_CHARS_MAX = 120
"""A message of the user up to this length is included whole."""
USER_CHARS_MAX = 200
ANSWER_CHARS_MAX = 220
SENTENCES_MAX = 8
"""How many sentences of the user's message, and of the answer, are compared with a message: those that
contain most of its words first."""
SENTENCE_CHARS_MIN = 12
CODE_CHARS_MAX = 120
CODE_TERMS_MIN = 2
"""A line of code is considered if it contains this many words of the message."""
CALL_WORDS_MIN = 8
"""A tool's result with fewer words is the name of its file."""


class Passage(Struct, frozen=True):
    """A sentence of a turn, and how well it fits."""

    text: str
    fitness: Fitness = Fitness()


class TurnPassages(Struct, frozen=True):
    """A turn as its statements."""

    turn: Turn
    user: tuple[Passage, ...] = ()
    answer: tuple[Passage, ...] = ()
    """From the answer, a model's summary and the results of its tools."""
    replies: bool = False
    """Whether the user's words answer a question briefly, and are shown with it."""

    @property
    def fitness(self) -> Fitness:
        """The fitness of the best statement."""
        each = [passage.fitness for passage in (*self.user, *self.answer)]
        return max(each, key=lambda one: one.score, default=Fitness())

    @property
    def told(self) -> Fitness:
        """The fitness of the best statement that is no question: the message itself, sent before, fits best
        of all and says nothing."""
        each = [one.fitness for one in (*self.user, *self.answer) if not one.text.endswith("?")]
        return max(each, key=lambda one: one.score, default=Fitness())

    @property
    def fits(self) -> bool:
        """Whether any statement fits."""
        return any(passage.fitness.fits for passage in (*self.user, *self.answer))


async def passages_of(
    fit: Fit,
    turns: Sequence[Turn],
    *,
    above: Mapping[str, Sequence[Summary]],
    found: Mapping[str, Sequence[str]],
    before: Mapping[str, str] | None = None,
) -> list[TurnPassages]:
    """Return the turns as statements, compared with the message.

    above: the summaries that cover each turn. found: what tools returned in a turn, as far as it was found.
    before: what the assistant had said before a turn that may be a short answer to it.
    """
    asked = before or {}

    def split() -> list[TurnPassages]:
        return [
            _split(fit, turn, above.get(turn.id, ()), found.get(turn.id, ()), asked.get(turn.id, ""))
            for turn in turns
        ]

    return await measured(fit, await asyncio.to_thread(split))


async def measured(fit: Fit, split: Sequence[TurnPassages]) -> list[TurnPassages]:
    """Return it with the fitness of each statement."""
    texts = [passage.text for each in split for passage in (*each.user, *each.answer)]
    fitness = iter(await fit.measure(texts))
    return [
        TurnPassages(
            each.turn,
            tuple(Passage(passage.text, next(fitness)) for passage in each.user),
            tuple(Passage(passage.text, next(fitness)) for passage in each.answer),
            each.replies,
        )
        for each in split
    ]


def _split(fit: Fit, turn: Turn, above: Sequence[Summary], found: Sequence[str], before: str) -> TurnPassages:
    said = one_line(text_of(turn.user))
    user = [said] if len(said) <= WHOLE_CHARS_MAX else sentences(text_of(turn.user)) or [said]
    replies = asks(before) and needs_question(said, before)
    if replies:
        user = [with_question(said, before)]
    summarised = [
        sentence
        for summary in above
        if summary.level == 1 and summary.method is SummaryMethod.MODEL
        for sentence in sentences(summary.text)
    ]
    called = [text for text in found if len(words_of(text)) >= CALL_WORDS_MIN]
    answer = [*summarised, *sentences(answer_of(turn)), *_code_lines(fit, answer_of(turn)), *called]
    told = _nearest(fit, [each for each in answer if _says_something(each)])
    return TurnPassages(turn, _unmeasured(_nearest(fit, user)), _unmeasured(told), replies)


def _says_something(sentence: str) -> bool:
    """Return whether it is not a fragment, and does not only announce what comes after it."""
    return len(sentence) >= SENTENCE_CHARS_MIN and not sentence.endswith(":")


def _unmeasured(texts: Sequence[str]) -> tuple[Passage, ...]:
    return tuple(map(Passage, texts))


def _code_lines(fit: Fit, text: str) -> list[str]:
    """Return the lines of code in an answer that name what the message asks for: `VALVE_RAMP_MAX = 12`."""
    fenced = "\n".join(found[2] for found in FENCED.finditer(text))
    lines = dict.fromkeys(map(one_line, fenced.splitlines()))
    return [
        line
        for line in lines
        if len(line) <= CODE_CHARS_MAX and len(terms(line) & fit.terms) >= CODE_TERMS_MIN
    ]


def _nearest(fit: Fit, texts: Sequence[str]) -> list[str]:
    """Return as many as are compared, in order: those with most of the message's words, then the first."""
    if len(texts) <= SENTENCES_MAX:
        return list(texts)
    order = sorted(range(len(texts)), key=lambda at: (-len(terms(texts[at]) & fit.terms), at))
    return [texts[at] for at in sorted(order[:SENTENCES_MAX])]


class Statement(Struct, frozen=True):
    """What a turn says about a message, on one line."""

    text: str
    by: Replacement | None = None
    """What replaced something in it, if the line is marked."""

    @property
    def replaced_by(self) -> str:
        """The turn that said what is valid now."""
        return self.by.turn_id if self.by else ""

    def beside_it(self) -> str:
        """Return the line with a short mark, for when the turn that possibly replaced it follows."""
        if self.by is None or self.by.is_sure:
            return self.text
        return self.text.replace(self.by.mark, self.by.short_mark)


def statement(passages: TurnPassages, valid: Validity | None = None) -> Statement:
    """Return what the turn says about the message: the user's words, and the result.

    valid: outdated statements are left out, or marked if they are what fits the message.
    """
    wanted = best((*passages.user, *passages.answer))
    parts: list[str] = []
    marked_by: Replacement | None = None
    for said, chars_max in ((passages.user, USER_CHARS_MAX), (passages.answer, ANSWER_CHARS_MAX)):
        for each in sorted(said, key=lambda one: -one.fitness.score):
            held, by = valid.what_holds(passages.turn, each.text) if valid else (each.text, None)
            text = valid.still_open(passages.turn.started_at, held) if valid else held
            holds = by is None or not by.is_whole
            if by and not holds and (each is wanted or any(map(_asks, parts))):
                marked = f"{cut_sentence(one_line(each.text), chars_max)} {by.mark}"
                return Statement(" -> ".join([*parts, marked]) if said is passages.answer else marked, by)
            if text is None and passages.user == (wanted,):
                return Statement("")  # nothing is left of the message, and its answer is about that
            if text is None or not holds:
                continue
            parts.append(cut_sentence(one_line(text), chars_max))
            if by and by.mark not in parts[0]:
                parts[-1], marked_by = f"{parts[-1]} {by.mark}", by
            if text != each.text and wanted not in passages.answer:
                return Statement(parts[-1], marked_by)  # the answer is about the whole list
            break
    if len(parts) == 1 and answer_of(passages.turn) and _asks(parts[0]):
        return Statement("")  # nothing of the answer is valid, and a question alone says nothing
    return Statement(" -> ".join(parts), marked_by)


def _asks(part: str) -> bool:
    return is_question(plain(part))


def best(passages: Sequence[Passage]) -> Passage | None:
    """Return the one that fits best; the first of equals."""
    return max(passages, key=lambda each: each.fitness.score, default=None)
