"""What later sentences give up, allow, hand over, finish or count anew, and what they leave as it was."""

import pytest

from ragforge.memory.purposes import given_up
from ragforge.memory.recall import validity
from ragforge.memory.recall.replacements import Link
from ragforge.memory.recall.validity import Validity
from ragforge.memory.sentences import sentences
from ragforge.memory.set_values import new_totals
from ragforge.memory.terms import with_digits
from ragforge.memory.wishes import Ending, ending
from tests.unit.test_terms import turns


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("water them every five minutes", "water them every 5 minutes"),
        ("two hundred and fifty pots, twenty-five trays", "250 pots, 25 trays"),
        ("one thousand two hundred seeds, two or three beds", "1200 seeds, 2 or 3 beds"),
        ("half an hour, or one and a half, or a day", "30 minutes, or 1.5, or a day"),
        ("An hour. For a week.", "1 hour. For 1 week."),
        (
            "6 requests a minute, a day ago, no one, one of them",
            "6 requests a minute, a day ago, no one, one of them",
        ),
        ("quatre-vingt-dix-neuf pots, soixante et onze, vingt et un jours", "99 pots, 71, 21 jours"),
        ("une demi-heure, trois quarts d'heure, une semaine", "30 minutes, 45 minutes, 1 semaine"),
        ("neuf jours, dix mille graines, deux cents", "9 jours, 10000 graines, 200"),
        ("un arrosoir tout neuf", "un arrosoir tout nouveau"),
        ("a five-minute walk", "a five-minute walk"),
    ],
)
def test_numbers_in_words_are_numbers(written: str, expected: str) -> None:
    assert with_digits(written) == expected
    assert with_digits(expected) == expected


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("the bills are absurd, let's drop Mailjet. Letters go by post", {"mailjet"}),
        ("On laisse tomber Pinot Noir, trop cher.", {"pinot noir"}),
        ("MySQL locks the beds at noon. DuckDB it is.", {"mysql"}),
        ("the Vue page flickers. Away with it", {"vue"}),
        ("Flask rame, on part sur Django", {"flask"}),
        ("drop Celery and Redis", {"celery", "redis"}),
        ("drop the Redis cache", set[str]()),
        ("don't drop Redis", set[str]()),
        ("if Redis fills up, drop Redis", set[str]()),
        ("they got rid of Redis in the other garden", set[str]()),
        ("quand on quitte Redis, les semis repartent", set[str]()),
        ("should we drop Redis?", set[str]()),
        ("we use DuckDB, and Vue for the page", set[str]()),
    ],
)
def test_what_is_given_up_altogether_is_named(said: str, names: set[str]) -> None:
    assert given_up(sentences(said)).keys() == names


@pytest.mark.parametrize(
    ("rule", "said", "how"),
    [
        (
            "from now on ask me before you add any dependency, even a small one",
            "btw you can stop asking me for each package, it takes ages",
            Ending.WHOLE,
        ),
        (
            "answer in one paragraph, please",
            "you know the paragraph thing I wanted, drop it",
            Ending.WHOLE,
        ),
        ("réponds en un paragraphe", "le coup du paragraphe, laisse tomber", Ending.WHOLE),
        ("answer in one paragraph, please", "the red banner, drop it", Ending.NONE),
        ("no emojis in commits", "the commit stuff in the log file is long, drop it", Ending.NONE),
        ("never push to main", "the push thing in the settings page looks odd, drop it", Ending.NONE),
        ("no emojis in commits", "the emoji rule I gave you, drop it", Ending.WHOLE),
        ("never push to main", "the push thing that I'd asked for yesterday: forget it", Ending.WHOLE),
        ("no emojis in commits", "that emoji business, please scrap it", Ending.WHOLE),
        ("answer in one paragraph, please", "the paragraph thing, don't drop it", Ending.NONE),
        ("answer in one paragraph, please", "the paragraph thing, never forget it", Ending.NONE),
        ("réponds en un paragraphe", "le coup du paragraphe, on oublie", Ending.WHOLE),
        ("réponds en un paragraphe", "le coup du paragraphe, on oublie pas", Ending.NONE),
        ("réponds en un paragraphe", "le coup du paragraphe, n'oublie pas", Ending.NONE),
        ("réponds en un paragraphe", "le coup du paragraphe, tu n'oublies pas hein", Ending.NONE),
        ("réponds en un paragraphe", "le coup du paragraphe, oublie surtout pas", Ending.NONE),
        ("answer in French", "the banner thing, drop it, and no need to answer in French now", Ending.WHOLE),
        ("Never push to main.", "You may push to main for urgent fixes.", Ending.PART),
        ("Never push to main.", "you can push to main now", Ending.WHOLE),
        ("Never push to main.", "you can see main on the board", Ending.NONE),
        ("Never push to main.", "may you push to main?", Ending.NONE),
        ("Ne touche jamais à orchard/.", "Tu peux modifier orchard/map.py.", Ending.PART),
        ("Never edit files under orchard/.", "You can edit files under orchard/ again.", Ending.WHOLE),
        ("Never edit files under orchard/.", "You can edit files under cellar/.", Ending.NONE),
        ("never add lodash", "you may use lodash in the admin", Ending.PART),
        ("Ask Otto before you prune the roses.", "The roses may be pruned freely now.", Ending.WHOLE),
        ("Answer in French.", "tu peux me répondre en anglais", Ending.WHOLE),
        ("Answer in French, and never touch orchard/.", "Please answer in English now.", Ending.PART),
        ("Answer in French.", "réponds en français", Ending.NONE),
        ("Code comments in French.", "answer in English", Ending.NONE),
    ],
)
def test_what_is_allowed_takes_a_rule_back_or_a_part_of_it(rule: str, said: str, how: Ending) -> None:
    assert ending(said, rule) is how


def test_how_many_there_are_now_follows_from_what_came() -> None:
    ((before, total),) = new_totals(with_digits("Two more beds are planted, that's nine in total."))
    assert (before, total.number, total.unit) == (None, "9", "bed")
    ((before, total),) = new_totals("Un quatrième massif arrive en mai.")
    assert (before, total.number) == (3, "4")
    assert not new_totals("the fourth bed is dry")
    assert not new_totals("will a fourth bed be added?")


CHANGED = [
    # less is enough, and what was to be left is kept
    (
        ("the feed of the greenhouse is read with aiohttp", "Added aiohttp."),
        ("oh wait, actually urllib will do for that", ""),
        "the feed of the greenhouse is read with aiohttp",
        False,
    ),
    (
        ("let's move the readings from DuckDB to MySQL", "Moved."),
        ("on second thought stick with DuckDB", ""),
        "let's move the readings from DuckDB to MySQL",
        False,
    ),
    (
        ("what is left?", "Two things: paint the hives, mend the fence."),
        ("I painted the hives, that's done", ""),
        "paint the hives",
        False,
    ),
    # a wish for the same
    (
        ("write your answers as bullet lists", "Noted."),
        ("these bullets get on my nerves, just talk to me", ""),
        "write your answers as bullet lists",
        False,
    ),
    # numbers in words
    (
        ("the beds are watered every five minutes", "`pump.py` waters each bed every five minutes."),
        ("the pump runs hot. ten minutes for the beds is plenty", "It is ten minutes now, in `pump.py`."),
        "the beds are watered every five minutes",
        False,
    ),
    (
        ("a visit lasts twenty minutes", ""),
        ("a visit lasts half an hour", ""),
        "a visit lasts twenty minutes",
        False,
    ),
    (
        ("a visit lasts twenty minutes", ""),
        ("twenty minutes is too short for a visit with a class, forty minutes for them", ""),
        "a visit lasts twenty minutes",
        True,
    ),
    (
        ("we have three greenhouses", ""),
        ("a fourth greenhouse was added", ""),
        "we have three greenhouses",
        False,
    ),
    # what is given up
    (
        ("frost warnings go out through Twilio", ""),
        ("too expensive, drop Twilio. A siren instead", ""),
        "frost warnings go out through Twilio",
        False,
    ),
    (
        ("Vue for the page, and the readings go into MySQL", ""),
        ("MySQL hangs every night. DuckDB it is", ""),
        "Vue for the page, and the readings go into MySQL",
        True,
    ),
    (
        ("the map is drawn in `web/map`", ""),
        ("away with the map", "`web/map` is gone."),
        "the map is drawn in `web/map`",
        False,
    ),
    # rules
    (("never push to main", ""), ("you may push to main for urgent fixes", ""), "never push to main", True),
    (
        ("always write a test before you fix a bug", ""),
        ("no need to write a test before a bug in the texts any more, only for texts", ""),
        "always write a test before you fix a bug",
        True,
    ),
    (
        ("run the linter and the tests before each commit", ""),
        ("no need to run the tests before each commit any more", ""),
        "run the linter and the tests before each commit",
        True,
    ),
    (
        ("weed the roses every day please, and never water on Sundays", ""),
        ("watering on Sundays is fine if it is dry", ""),
        "weed the roses every day please, and never water on Sundays",
        True,
    ),
    (
        ("mulch before every frost please", ""),
        ("you don't have to run the mulch any more, Ida does", ""),
        "mulch before every frost please",
        False,
    ),
    # who does something
    (
        ("ask Otto before you prune the roses", ""),
        ("Otto left in March, Ida prunes the roses now", ""),
        "ask Otto before you prune the roses",
        False,
    ),
    (
        ("les roses sont taillées par Zoé le lundi", ""),
        ("a gardener prunes the roses, Zoé no longer does it", ""),
        "les roses sont taillées par Zoé le lundi",
        False,
    ),
    # what was to do
    (
        ("we need to order the seeds for the spring by Friday", ""),
        ("les graines du printemps sont commandées, c'est fait", "Done."),
        "we need to order the seeds for the spring by Friday",
        False,
    ),
]


@pytest.mark.parametrize(("old", "new", "statement", "in_part"), CHANGED)
def test_a_statement_is_marked_when_a_later_turn_changes_it(
    old: tuple[str, str], new: tuple[str, str], statement: str, in_part: bool
) -> None:
    first, second = turns(old, new)
    found = Validity([first, second])
    by = found.replacement(first, statement)
    assert by is not None, statement
    assert by.in_part == in_part, by.mark


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("the beds are watered every five minutes", "the siren sounds for ten minutes"),
        ("we have three greenhouses", "the second greenhouse was added to the map"),
        ("for the tests we use SQLite", "MySQL hangs every night. SQLite it is"),
        ("never use Twilio", "too expensive, drop Twilio"),
        ("never push to main", "you may push to the other branch"),
        ("Otto found the leak in the pond", "Otto left in March, Ida prunes the roses now"),
        ("always write a test before you fix a bug", "the test of the bug is written"),
        ("le massif compte deux rosiers", "un massif de plus compte trois tulipes"),
        (
            "the toss of 2 seeds is fair",
            "each toss of a seed has 2 possible sides (up or down), so for 3 there are more",
        ),
        (
            "the beds are planned with Flask",
            f"{'I read on about Flask and the beds. ' * 9} SQS it is for the beds",
        ),
        ("`Rose::WATER_MAX = 30` is the limit", "`Fern::WATER_MAX = 50` is the other one"),
    ],
)
def test_what_a_later_turn_does_not_change_is_not_marked(old: str, new: str) -> None:
    first, second = turns((old, "Understood."), (new, "Done."))
    assert Validity([first, second]).replacement(first, old) is None


def test_a_mark_has_the_words_that_were_written() -> None:
    first, second = turns(("a visit lasts twenty minutes", ""), ("a visit lasts half an hour", ""))
    by = Validity([first, second]).replacement(first, "a visit lasts twenty minutes")
    assert by is not None
    assert by.text == "a visit lasts half an hour"


def test_without_a_later_turn_about_the_same_nothing_more_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every statement of a block comes by here, a line of base64 too."""
    asked: list[str] = []
    monkeypatch.setattr(validity, "always_stands", lambda text: bool(asked.append(text)))
    old_words = "the key is " + "y" * 3_000
    old, new = turns((old_words, ""), ("water the pots", ""))
    assert Validity([old, new]).replacement(old, old_words) is None
    assert asked == []
    linked = Validity([old, new], links=[Link(old.id, new.id, is_sure=False)])
    assert linked.replacement(old, old_words) is None
    assert asked == ["the key is"]
