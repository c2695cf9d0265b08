"""Reading the training messages.

A message is a line; `\\n` in it is a line end. `<< ... >>` in front is what the assistant said just before.
What is to be kept is marked with its type: `[d|we use Redis|]` is a decision; the letters are in `TYPES`, and
`p!` is a preference that binds. Where several types are right, all are named: `[fd|we use Redis|]`. Empty
lines and those that begin with `# ` are left out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ragforge.domain.memories import MemoryType
from ragforge.memory.clauses import Clause, clauses_of

HERE = Path(__file__).parent
TYPES = {
    "p": MemoryType.PREFERENCE,
    "d": MemoryType.DECISION,
    "f": MemoryType.FACT,
    "g": MemoryType.GOAL,
    "t": MemoryType.TODO,
    "i": MemoryType.IDENTITY,
    "e": MemoryType.EVENT,
    "o": MemoryType.OBSERVATION,
}
_MARK = re.compile(r"\[([a-z]+!?)\|(.*?)\|\]", re.DOTALL)
_BEFORE = re.compile(r"<<(.*?)>>\s*", re.DOTALL)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Span:
    """Words of a message that are to be kept."""

    types: tuple[MemoryType, ...]
    """Any of them is right."""
    text: str
    binds: bool = False


@dataclass(frozen=True)
class Example:
    """A message with what of it is to be kept."""

    user: str
    before: str
    spans: tuple[Span, ...]
    voice: str
    """The name of its file."""

    @property
    def language(self) -> str:
        return self.voice[:2]


def read_examples(folder: Path = HERE / "statements") -> list[Example]:
    """All messages of the folder. Raises ValueError for a mark that cannot be read."""
    return [example for path in sorted(folder.glob("*.txt")) for example in _of_file(path)]


def _of_file(path: Path) -> Iterator[Example]:
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("# "):
            continue
        text = line.replace("\\n", "\n")
        before = _BEFORE.match(text)
        text = text[before.end() :] if before else text
        spans = tuple(
            Span(_types(found[1].rstrip("!"), path, number), found[2], found[1].endswith("!"))
            for found in _MARK.finditer(text)
        )
        user = _MARK.sub(lambda found: found[2], text)
        if "|]" in user or re.search(r"\[[a-z]+!?\|", user) or "<<" in user[:3]:
            raise ValueError(f"{path}, line {number}: a mark is not closed: {line}")
        yield Example(user.strip(), before[1].strip() if before else "", spans, path.stem)


def _types(letters: str, path: Path, number: int) -> tuple[MemoryType, ...]:
    for letter in letters:
        if letter not in TYPES:
            raise ValueError(f"{path}, line {number}: there is no type {letter!r}")
    return tuple(TYPES[letter] for letter in letters)


def labelled(example: Example) -> list[tuple[Clause, tuple[MemoryType, ...]]]:
    """The clauses of the message with the types that are right for what each holds, none for nothing."""
    return [(clause, _types_of(clause, example.spans)) for clause in clauses_of(example.user, parted=True)]


def _types_of(clause: Clause, spans: tuple[Span, ...]) -> tuple[MemoryType, ...]:
    words = _WORD.findall(clause.text.lower())
    best: tuple[MemoryType, ...] = ()
    share = 0.0
    for span in spans:
        wanted = set(_WORD.findall(span.text.lower()))
        if span.text in clause.text:
            here = 1.0
        else:
            common = sum(word in wanted for word in words) / max(1, len(words))
            here = common if clause.text.strip(" ,.;:!") in span.text or common >= 0.75 else 0.0
        if here > share:
            best, share = span.types, here
    return best if share >= 0.6 else ()
