"""A problem is judged beside the others."""

from datetime import UTC, datetime, timedelta

from ragforge.embedders import e5
from ragforge.embedders.static import StaticEmbedder
from ragforge.memory.recall.similarity import (
    WEIGHTS,
    Problem,
    alike_places,
    asks_to_add,
    evidence,
    measured_by,
    probability,
    problem_of,
    scores,
    similar_min,
)

DAY = datetime(2026, 3, 2, tzinfo=UTC)
QUERY = "the export of reports takes minutes"
NEAR = problem_of(
    "Make the export of the reports fast. Threads in the export.", files=["shop/export.py"], at=DAY
)
WORDS = "The accountant waits for her numbers. One statement reads them all."


def score(problems: list[Problem], place: int) -> float:
    found = scores(QUERY, problems)[place]
    assert found is not None
    return found


def test_what_changed_the_same_files_in_the_same_days_is_kin() -> None:
    kin = problem_of(WORDS, files=["shop/export.py"], at=DAY + timedelta(hours=3))
    elsewhere = problem_of(WORDS, files=["web/colour.css"], at=DAY + timedelta(days=90))
    assert score([NEAR, kin], 1) > 2 * score([NEAR, elsewhere], 1)
    again = problem_of("The export of the reports is slow again.", files=["shop/export.py"], at=DAY)
    assert alike_places([NEAR, elsewhere, again]) == [[2], [], [0]]


def test_another_matter_that_is_nearer_counts_against_a_problem() -> None:
    far = problem_of("The report has a wrong date.", files=["web/day.py"], at=DAY + timedelta(days=50))
    alone = score([far], 0)
    assert score([NEAR], 0) >= similar_min()
    assert score([NEAR, far], 1) < alone


def test_kin_of_a_probable_problem_counts_by_how_probable_that_is() -> None:
    kin = problem_of(WORDS, files=["shop/export.py"], at=DAY + timedelta(hours=3))
    other = problem_of(
        "The export of the reports takes minutes too.", files=["web/day.py"], at=DAY - timedelta(90)
    )
    weights = WEIGHTS[StaticEmbedder.name]
    rows, kinship = evidence(QUERY, [NEAR, kin, other], None, 0)
    assert rows[1, 1] > weights.other_min
    assert kinship[1].argmax() == 0
    # What it is kin to is as near as before, but no more probable than the other matter beside it.
    doubtful, sure = rows.copy(), rows.copy()
    doubtful[0, 2] = doubtful[0, 0] + 0.3
    assert probability(doubtful, kinship, weights)[1] < probability(sure, kinship, weights)[1]


def test_the_same_few_words_are_similar_however_common_they_are() -> None:
    for words in ("hello", "Fix the login.", "Corrige la date.", "Where do we keep the sales figures?"):
        for embedder in WEIGHTS:
            [found] = scores(words, [problem_of(words)], [0.9], embedder=embedder)
            assert found is not None
            assert found >= similar_min(embedder), (words, embedder)


def test_vectors_of_a_known_embedder_count_beside_the_included_one() -> None:
    high, low, unknown = (
        scores(QUERY, [NEAR], [each], embedder=e5.MODEL.vectors)[0] for each in (0.6, -0.2, None)
    )
    assert high is not None
    assert low is not None
    assert low < high
    assert unknown is None
    assert measured_by(e5.MODEL.vectors) == e5.MODEL.vectors
    assert measured_by("gemini:other") in WEIGHTS
    assert scores(QUERY, []) == []
    assert alike_places([]) == []


def test_a_question_asked_again_is_similar_whatever_was_answered() -> None:
    asked = problem_of("When does the ferry to Skye leave?", "At noon, and at four on Sundays.")
    other = problem_of("Make the greeting shorter.", "It is one word now.", files=["greet.txt"])
    for words in ("When does the ferry to Skye leave?", "Tell me when the ferry to Skye leaves"):
        found, far = scores(words, [asked, other])
        assert found is not None
        assert far is not None
        assert found >= similar_min() > far


def test_what_asks_for_something_new_is_told_from_what_reports_a_fault() -> None:
    for words in (
        "Add a button to the export.",
        "please let users export it",
        "The export should also have a button.",
        "Ajoute un bouton à l'export.",
        "Il faudrait un bouton pour exporter.",
    ):
        assert asks_to_add(words), words
    for words in (
        "The button of the export does nothing.",
        "The list shows nothing after an export.",
        "Le bouton d'export ne fait rien.",
        "The export adds an empty line.",
        "The daemon fails to start after a reboot.",
        "The list should show 10 rows but shows 9.",
        "Impossible de générer le PDF.",
        "Le bouton pour exporter ne fait rien.",
    ):
        assert not asks_to_add(words), words
    fault = problem_of("The export of the bills loses its last line.", files=["shop/export.py"], at=DAY)
    wish = problem_of("Add the export of the bills with a last line.", files=["shop/export.py"], at=DAY)
    for query, near, far in (
        ("The bills lose a line on export.", fault, wish),
        ("Add a line to the export of the bills.", wish, fault),
    ):
        like, unlike = (scores(query, [each])[0] for each in (near, far))
        assert like is not None
        assert unlike is not None
        assert like > unlike


def test_a_word_is_compared_with_the_nearest_of_many() -> None:
    """A long text has a meaning of its own, in which that of one word is lost."""
    query = "The gearbox rattles."
    long = "The driver says that he hears a transmission clatter whenever he goes up the road to the farm."
    other = "The driver says that he sees a yellow flower whenever he goes up the road to the farm."
    rows, _ = evidence(query, [problem_of(long), problem_of(other)], None, 0)
    assert rows[0, 0] > rows[1, 0] + 0.05
    assert evidence("", [problem_of("")], None, 0)[0].shape == (1, 5)
