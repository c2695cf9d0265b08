"""More messages from those that were written: two or three behind each other, and other spellings."""

import random
import unicodedata
from collections.abc import Callable, Sequence

from training.examples import Example, Span

SEED = 20_261_123
BETWEEN = (". ", ". ", ", ", " ", "\n", ".. ", "! ", " - ", "; ", " and ", "\n\n")
JOINED_MARK, SPELLED_MARK = "+", "~"
"""What the name of a file ends in for messages that were made of its own."""
CHARS_MAX = 120
"""Longer messages stand alone as they were written."""


def variants(examples: Sequence[Example], *, joined: int, spelled: int) -> list[Example]:
    """As many of each kind; the same for the same examples."""
    chance = random.Random(SEED)
    by_language: dict[str, list[Example]] = {}
    for example in examples:
        if len(example.user) <= CHARS_MAX and "\n" not in example.user:
            by_language.setdefault(example.language, []).append(example)
    languages = sorted(by_language)
    made: list[Example] = []
    for number in range(joined):
        pool = by_language[languages[number % len(languages)]]
        first = chance.choice(pool)
        others = chance.sample([each for each in pool if not each.before], chance.choice((1, 1, 2)))
        made.append(_joined([first, *others], chance))
    for _ in range(spelled):
        made.append(_spelled(chance.choice(examples), chance))
    return made


def _joined(parts: Sequence[Example], chance: random.Random) -> Example:
    text = parts[0].user
    spans = list(parts[0].spans)
    for part in parts[1:]:
        between = chance.choice(BETWEEN)
        ended = text.rstrip(".!") if text[-1] not in "?…" else text + " "
        text = (ended + between if text[-1] not in "?…" else ended) + part.user
        spans += part.spans
    return Example(text, parts[0].before, tuple(spans), parts[0].voice + JOINED_MARK)


def _spelled(example: Example, chance: random.Random) -> Example:
    """The message as a hurried writer would have it."""
    change = chance.choice((_bare, _plain, _slip(chance), str.capitalize, str.lower))
    spans = tuple(Span(span.types, change(span.text), span.binds) for span in example.spans)
    text = example.user
    for old, new in zip(example.spans, spans, strict=True):
        text = text.replace(old.text, new.text)
    if change in (_bare, _plain, str.lower):
        text = change(example.user)
    return Example(text, example.before, spans, example.voice + SPELLED_MARK)


def _bare(text: str) -> str:
    return text.replace("'", "")


def _plain(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def _slip(chance: random.Random) -> Callable[[str], str]:
    """Two neighbouring letters swapped, or one left out."""

    def slip(text: str) -> str:
        if len(text) < 12:
            return text
        at = chance.randrange(4, len(text) - 4)
        if not (text[at].isalpha() and text[at + 1].isalpha()):
            return text
        swapped = text[at + 1] + text[at] if chance.random() < 0.6 else text[at]
        return text[:at] + swapped + text[at + 2 :]

    return slip
