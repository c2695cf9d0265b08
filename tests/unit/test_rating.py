"""Rating statements as a whole, and what the rating is learned from."""

from collections.abc import Sequence

from ragforge.domain.memories import MemoryType
from ragforge.memory.classifier import Guess, rated
from ragforge.memory.clauses import Clause
from ragforge.memory.extract import possible_statements
from training.examples import read_examples
from training.fit import logistic
from training.rating import PARTS, parts_of, rated_statements


def sure_of(type: MemoryType) -> Guess:
    return Guess(0.9, {each: 0.93 if each is type else 0.01 for each in MemoryType})


def test_the_rating_is_learned_from_messages_of_writers_left_out() -> None:
    parts = list(parts_of(read_examples()))
    assert len(parts) == PARTS
    for others, own in parts:
        assert own
        assert not {each.voice[3:] for each in others} & {each.voice[3:] for each in own}
    assert sum(len(own) for _, own in parts) == len(read_examples())


def test_a_statement_is_right_with_the_words_and_the_type_of_what_is_to_be_kept() -> None:
    example = next(
        each for each in read_examples() if len(each.spans) == 1 and each.spans[0].text == each.user
    )

    def right(type: MemoryType) -> list[bool]:
        found = rated_statements(example, lambda clauses, _: [sure_of(type) for _ in clauses])
        return [is_right for _, is_right in found]

    assert any(right(example.spans[0].types[0]))
    assert not any(right(MemoryType.EVENT))


def test_a_statement_of_which_the_classifier_is_surer_is_rated_higher() -> None:
    def rating(kept: float) -> float:
        def judge(clauses: Sequence[Clause], before: str) -> list[Guess]:
            return [Guess(kept, sure_of(MemoryType.FACT).types) for _ in clauses]

        [statement] = possible_statements("The museum opens at nine on Mondays.", judge=judge)
        return rated(statement.features)

    assert rating(0.6) < rating(0.8) < rating(0.95)


def test_a_logistic_regression_tells_rows_apart_by_their_names() -> None:
    weights = logistic([{"a": 1.0}, {"b": 1.0}] * 20, [True, False] * 20, decay=1.0)
    assert weights["a"] > 0 > weights["b"]
