"""How likely a statement is right, learned from messages that the classifier had not seen.

Each part of the files is classified by the weights of the others: for messages that it was trained on, the
classifier is surer than it will be for anybody else's.
"""

from collections.abc import Callable, Iterator, Sequence

from ragforge.memory.classifier import Guess
from ragforge.memory.clauses import Clause
from ragforge.memory.extract import UserStatement, possible_statements
from ragforge.memory.likeness import content_words, share_of
from training.examples import Example
from training.fit import logistic

Judge = Callable[[Sequence[Clause], str], Sequence[Guess]]
PARTS = 3
DECAY = 50.0
WORDS_MIN = 0.6
"""So much of the words of what is to be kept a statement must hold to be right."""


def parts_of(examples: Sequence[Example]) -> Iterator[tuple[list[Example], list[Example]]]:
    """For each part of the files, the messages of all others and its own. Files in two languages by one
    writer are in the same part."""
    names = sorted({_writer(each) for each in examples})
    for part in range(PARTS):
        own = frozenset(names[part::PARTS])
        yield (
            [each for each in examples if _writer(each) not in own],
            [each for each in examples if _writer(each) in own],
        )


def _writer(example: Example) -> str:
    return example.voice.partition("_")[2]


def rated_statements(example: Example, judge: Judge) -> list[tuple[UserStatement, bool]]:
    """What may be statements of the message, and whether each is one, and of its type."""
    return [
        (each, _is_right(each, example)) for each in possible_statements(example.user, example.before, judge)
    ]


def _is_right(statement: UserStatement, example: Example) -> bool:
    words = content_words(statement.text)
    return any(
        statement.type in span.types and share_of(span.text, words) >= WORDS_MIN for span in example.spans
    )


def rating(statements: Sequence[tuple[UserStatement, bool]]) -> dict[str, float]:
    """The weights of a statement's features."""
    return logistic(
        [each.features for each, _ in statements], [right for _, right in statements], decay=DECAY
    )
