"""Make the classifier's weights from the training messages: `make train`.

python -m training              writes ragforge/memory/classifier.npz
python -m training --held-out   prints how well messages of each file are found by what the others teach
"""

import argparse
import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ragforge.domain.memories import MemoryType
from ragforge.memory.classifier import CLASSES, WEIGHTS, Guess, guess_of, model_input
from ragforge.memory.clause_features import BIAS, BUCKETS, features_of, hashed, tokens_of
from ragforge.memory.clauses import Clause, clauses_of
from ragforge.memory.extract import UserStatement
from ragforge.memory.statement_features import JudgedClause, features_of_statement
from training.examples import Example, labelled, read_examples
from training.fit import Floats, Rows, fit, rows_of, shares
from training.rating import Judge, parts_of, rated_statements, rating
from training.variants import JOINED_MARK, SPELLED_MARK, variants

COMMON_MIN = 8
"""So many messages must have a word for it to be part of a frame."""
JOINED, SPELLED = 2_000, 1_000
VARIANT_WEIGHT = 0.5
RARE, RARE_LIKELIER = (MemoryType.TODO, MemoryType.GOAL, MemoryType.IDENTITY), 2.0
"""Types that few messages have, and how much likelier each is made than the weights find: in messages of
writers left out, they were found too seldom."""
SEEN_EVERY = 20
"""Every so many messages tell whether clauses and features are still cut and named as they were."""
DECAY = 6e-5
ROUNDS = 60


def common_words(examples: Sequence[Example]) -> list[str]:
    """Words of many messages, sorted."""
    counts = Counter(word for each in examples for word in set(tokens_of(each.user.replace("’", "'"))))
    return sorted(word for word, count in counts.items() if count >= COMMON_MIN and word[0].isalpha())


def inputs(examples: Sequence[Example], common: frozenset[str]) -> tuple[Rows, Floats, Floats]:
    """The clauses of the messages as the classifier sees them, which classes are right for each, and how much
    each counts."""
    each: list[tuple[list[int], list[float]]] = []
    right: list[list[float]] = []
    importance: list[float] = []
    for example in examples:
        found = labelled(example)
        clauses = [clause for clause, _ in found]
        each += model_input(clauses, example.before, common)
        for _, types in found:
            right.append([float(name in (types or (None,))) for name in CLASSES])
            importance.append(VARIANT_WEIGHT if example.voice.endswith((JOINED_MARK, SPELLED_MARK)) else 1.0)
    rows = rows_of(each, buckets=BUCKETS)
    return rows, np.asarray(right, dtype=np.float32), np.asarray(importance, dtype=np.float32)


def trained(examples: Sequence[Example], common: frozenset[str], *, times: float = 1.0) -> Floats:
    """The weights. times: how many variants, as a share of the usual number."""
    made = variants(examples, joined=int(JOINED * times), spelled=int(SPELLED * times))
    rows, right, importance = inputs([*examples, *made], common)
    weights = fit(rows, right, importance, buckets=BUCKETS, decay=DECAY, rounds=ROUNDS)
    [bias], _ = hashed({BIAS: 1.0})
    weights[bias, [CLASSES.index(type) for type in RARE]] += np.log(RARE_LIKELIER)
    return weights


def rating_trained(examples: Sequence[Example], common: frozenset[str]) -> dict[str, float]:
    """The weights that rate a statement."""
    statements: list[tuple[UserStatement, bool]] = []
    for others, own in parts_of(examples):
        judge = _judge(trained(others, common), common)
        statements += [each for example in own for each in rated_statements(example, judge)]
    return rating(statements)


def _judge(weights: Floats, common: frozenset[str]) -> Judge:
    """What the classifier with these weights makes of clauses."""

    def judge(clauses: Sequence[Clause], before: str) -> list[Guess]:
        if not clauses:
            return []
        found = shares(rows_of(model_input(clauses, before, common), buckets=BUCKETS), weights)
        return [guess_of(each) for each in found.tolist()]

    return judge


def digest(examples: Sequence[Example]) -> str:
    """Of what the weights follow from: the messages, how they are learned, what is seen of some of them."""
    here = Path(__file__).parent
    made = hashlib.sha256()
    for file in [*sorted((here / "statements").glob("*.txt")), *sorted(here.glob("*.py"))]:
        made.update(file.read_bytes())
    common = frozenset(common_words(examples))
    for example in examples[::SEEN_EVERY]:
        clauses = [clause for clause, _ in labelled(example)]
        seen = features_of(clauses, example.before, common=common)
        made.update(repr([clause.words for clause in clauses] + [sorted(each) for each in seen]).encode())
    made.update(repr(sorted(_rated_by())).encode())
    return made.hexdigest()


def _rated_by() -> dict[str, float]:
    """The features that rate a statement, of one."""
    types = dict.fromkeys(MemoryType, 1 / len(MemoryType))
    sentence = [JudgedClause(clause, 0.5, types) for clause in clauses_of("We meet on Mondays.")]
    return features_of_statement(sentence, sentence, type=MemoryType.FACT, is_of_work=False, message_words=4)


def write(
    weights: Floats, rating: dict[str, float], common: Sequence[str], made_from: str, path: Path = WEIGHTS
) -> None:
    """Keep the weights as whole numbers, with what they were made from."""
    scales = np.abs(weights).max(axis=0) / 127
    whole = np.round(weights / np.where(scales > 0, scales, 1)).astype(np.int8)
    np.savez_compressed(
        path,
        weights=whole,
        scales=scales,
        common=np.array(" ".join(common)),
        rating_names=np.array("\n".join(rating)),
        rating=np.array(list(rating.values())),
        made_from=np.array(made_from),
    )


def held_out(examples: Sequence[Example]) -> None:
    """Print precision and recall of the clauses of each file, found by weights of all others."""
    for voice in sorted({each.voice for each in examples}):
        others = [each for each in examples if each.voice != voice]
        common = frozenset(common_words(others))
        weights = trained(others, common)
        rows, right, _ = inputs([each for each in examples if each.voice == voice], common)
        found = shares(rows, weights)
        kept = found[:, 0] < 0.5
        likeliest = found[:, 1:].argmax(axis=1)
        hits = (kept * right[np.arange(len(right)), likeliest + 1]).sum()
        precision, recall = hits / max(1, kept.sum()), hits / (right[:, 0] == 0).sum()
        print(f"{voice:16} {precision:.2f} {recall:.2f}  of {len(rows)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--held-out", action="store_true", help="how well each file is found by the others")
    examples = read_examples()
    if parser.parse_args().held_out:
        held_out(examples)
        return
    common = common_words(examples)
    seen = frozenset(common)
    write(trained(examples, seen), rating_trained(examples, seen), common, digest(examples))
    print(f"{len(examples)} messages, {WEIGHTS.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
