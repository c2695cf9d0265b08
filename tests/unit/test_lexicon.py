"""What words of one language mean in another, and what follows for what is compared."""

import runpy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragforge.domain.language.concepts import concepts_of
from ragforge.domain.language.en import LANGUAGE as ENGLISH
from ragforge.domain.language.lexicon import STEMMED, also_said, in_english, load_lexicon, translated
from ragforge.domain.language.words import stem
from ragforge.domain.search import with_also
from ragforge.memory.recall.fit import Fit
from ragforge.memory.recall.similarity import Problem, scores
from ragforge.memory.terms import terms

WORDS = st.lists(st.sampled_from(sorted({*load_lexicon().english, *load_lexicon().foreign, "kiln", "8443"})))


def test_the_stems_belong_to_the_tables() -> None:
    """`make lexicon` makes them."""
    script = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "make_lexicon.py"))
    assert script["lexicon_of"](STEMMED.parent.glob("*.txt")) == load_lexicon()


@given(WORDS)
def test_what_is_in_english_stays_as_it_is(words: list[str]) -> None:
    once = translated(words, ENGLISH)
    assert set(map(stem, translated(once, ENGLISH))) <= set(map(stem, once)) | load_lexicon().english.keys()
    assert [word for word in words if stem(word) in load_lexicon().ambiguous] == [
        word for word in once if stem(word) in load_lexicon().ambiguous and word in words
    ]


def test_a_word_with_another_meaning_in_english_is_translated_in_a_french_text_alone() -> None:
    assert in_english("sort the files by date") == ["sort", "files", "date"]
    assert in_english("quand sort-il ?") == ["release"]
    assert terms("la porte du four") != terms("the port of the four")


@pytest.mark.parametrize(
    "text",
    [
        "the carrier rejects the label",
        "traverse the tree of nodes",
        "an inverse gene in a bond",
        "a mere pendant",
    ],
)
def test_english_that_looks_like_french_stays_as_it_is(text: str) -> None:
    assert set(in_english(text)) <= set(text.split())


def test_a_field_of_a_form_and_a_queue_of_messages_are_read_as_such() -> None:
    assert in_english("le champ email est vide")[0] == "field"
    assert in_english("la queue des messages est pleine")[0] == "queue"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("time zones", "timezone"),
        ("the web-hook", "a webhook"),
        ("le mot de passe", "the password"),
        ("la sauvegarde de la base de données", "the backup of the database"),
        ("60 requêtes par minute", "60 requests a minute"),
    ],
)
def test_what_means_the_same_is_one_term(one: str, other: str) -> None:
    assert terms(one) == terms(other)


def test_words_that_speak_of_one_thing_share_a_concept_in_either_language() -> None:
    stutters = concepts_of(["stutters"])
    assert stutters == concepts_of(["saccadé"]) == concepts_of(["janky"]) != concepts_of(["invoices"])
    assert concepts_of(["drifts"]) & concepts_of(["dérive"])
    assert concepts_of(["donation"]) & concepts_of(["dons"])
    others = [Problem("The grid is janky"), Problem("The grid is blue")]
    [near, far] = scores("Le défilement est saccadé", others)
    assert near is not None
    assert far is not None
    assert near > far


def test_a_question_is_looked_for_in_the_other_language_too() -> None:
    assert {"sortie", "timezone"} <= set(also_said("when is the release, by time zone?"))
    assert {"release", "ship"} <= set(also_said("Quand sort la version ?"))
    assert also_said("") == () == also_said("8443")


async def test_a_text_in_the_other_language_fits_by_what_its_words_mean() -> None:
    answers = ["on déploie le lundi et le jeudi", "les mesures sont gardées 90 jours", "the kiln is red"]
    fits = [one.fits for one in await Fit("Do we deploy on Monday?").measure(answers)]
    assert fits == [True, False, False]
    fits = [
        one.fits
        for one in await Fit("combien de jours garde-t-on les mesures ?").measure(
            ["we keep the measures for 90 days", "the kiln is red"]
        )
    ]
    assert fits == [True, False]


@given(st.dictionaries(st.integers(), st.floats(0.1, 9)), st.dictionaries(st.integers(), st.floats(0.1, 9)))
def test_other_words_add_to_a_score_and_take_nothing_from_it(
    words: dict[int, float], also: dict[int, float]
) -> None:
    found = with_also(words, also, limit=1_000)
    assert found.keys() == words.keys() | also.keys()
    assert all(found[key] >= words.get(key, 0) for key in found)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert with_also(words, {}, limit=1_000) == words
