"""Which wishes a later sentence of the user ends, in all or in part."""

import pytest

from ragforge.memory.wishes import Ending, Wish, ending, wishes_in, without_ended


@pytest.mark.parametrize(
    ("wish", "later"),
    [
        ("Reply in German, please.", "answer in English from now on"),
        ("Answer in English.", "use whatever language I write in"),
        ("Réponds dans la langue où j'écris.", "à partir de maintenant réponds en anglais"),
        ("Docstrings in French.", "docstrings in English from now on"),
        ("Keep your answers short.", "more detailed answers please, I can't follow"),
        ("No bullet points, please.", "bullet points are fine after all"),
        ("Write your answers as bullet lists.", "these bullets get on my nerves, just talk to me"),
        ("Pas de listes à puces.", "les puces, ça passe finalement"),
        ("Code first.", "explanation first, please"),
        ("Tutoie-moi.", "vouvoie-moi stp"),
        ("Only show me the diffs.", "whole files please, I can't apply the patches"),
        ("Push straight to main.", "one pull request per ticket please, nothing straight to main"),
        ("One branch per ticket.", "no more branches per ticket, push straight to main"),
        ("Always run the tests before each commit.", "just run the linter before a commit from now on"),
        ("Use conventional commits.", "commits without prefixes from now on"),
        ("Every pull request gets a label.", "scrap the labels, nobody reads them"),
        ("Add a screenshot to every pull request.", "the screenshots you can skip from now on"),
        ("Mets une étiquette sur chaque ticket.", "laisse tomber les étiquettes"),
        ("Don't touch the payroll module.", "the payroll module is free for you again"),
        ("Never change the wire format.", "the freeze is lifted, the wire format can change again"),
        ("Ask me before you restart the kiln.", "you can restart the kiln without asking"),
        ("Ne touche pas à la billetterie.", "la billetterie, vas-y"),
        ("Answer in Dutch.", "answer in the same language as me"),
        ("Réponds en anglais.", "réponds-moi dans la langue où je parle"),
    ],
)
def test_another_wish_for_the_same_ends_it(wish: str, later: str) -> None:
    assert ending(later, wish) is Ending.WHOLE


@pytest.mark.parametrize(
    ("wish", "later"),
    [
        ("Keep answers short, and no emojis.", "emojis are fine again"),
        (
            "dont touch src/pay without asking me first, and ask before touching test/pay too",
            "Otto is through with the tests, so test/pay is free for you again",
        ),
        ("Reply in Dutch, and commit messages in English.", "answer in English from now on"),
        ("No tables in answers, no bullets.", "when you compare things, bullets are ok after all"),
        ("Never deploy on a Friday.", "Friday mornings are fine by me"),
        ("Never add a dependency without asking me.", "test-only libs you can add without asking"),
        ("Run the browser tests every time.", "the browser tests, only before a release"),
        ("Relance la suite Cypress à chaque fois.", "Cypress, seulement avant une livraison"),
        ("Never touch the plans in plans/.", "the plans rule is only for plans/2019 now"),
        ("Never publish without asking me.", "you don't need my ok to publish drafts"),
        ("No tests that compare screenshots.", "screenshot tests are stable at last, you may add some"),
        ("Ne touche pas aux icônes.", "les icônes sont à nous, tu peux les retoucher"),
        ("Mets toujours des commentaires.", "par contre les commentaires cachent tout, seulement dans l'API"),
    ],
)
def test_what_is_said_for_a_part_leaves_the_rest(wish: str, later: str) -> None:
    assert ending(later, wish) is Ending.PART


@pytest.mark.parametrize(
    ("wish", "later"),
    [
        ("Answer in French.", "When I paste English mails, answer in English."),
        ("Answer in French.", "comments in English please"),
        ("Keep answers short.", "in the handbook, be more detailed"),
        ("Keep answers short.", "please explain this one in detail"),
        ("Keep answers short.", "keep it short too"),
        ("No bullet points in answers.", "the bullet points on the landing page are too small"),
        ("Run the tests before each commit.", "run the linter before each commit"),
        ("Run the tests before each commit.", "run the tests now"),
        (
            "Run the formatter before you say that you are done.",
            "forget about running all tests before a commit",
        ),
        ("Use conventional commits.", "commit messages in English please"),
        ("Never push to main.", "you may push to the other branch"),
        ("Never touch the icons.", "the fonts are ours now, you may edit them"),
        ("Never touch payroll/.", "the payroll report is fine now"),
        ("Don't touch the wire format.", "does the wire format change again?"),
        ("No floats in codec.c.", "codec.c can change again"),
        ("Ask me before you restart the kiln.", "never restart the oven without asking me"),
        ("Ne touche pas à la billetterie.", "la billetterie est en panne"),
    ],
)
def test_a_wish_for_something_else_ends_nothing(wish: str, later: str) -> None:
    assert ending(later, wish) is Ending.NONE


@pytest.mark.parametrize(
    ("wish", "later", "left"),
    [
        ("Keep answers short, and no emojis.", "emojis are fine again", "Keep answers short"),
        (
            "Reply in Dutch, and commit messages in English.",
            "answer in English from now on",
            "commit messages in English.",
        ),
        ("Never deploy on a Friday.", "Friday mornings are fine by me", ""),
        ("No emojis, they blur on my screen, and keep it short.", "emojis are fine again", ""),
        ("No emojis.", "emojis are fine again", ""),
    ],
)
def test_the_rest_of_a_wish_is_what_is_one_by_itself(wish: str, later: str, left: str) -> None:
    assert without_ended(later, wish) == left


def test_what_is_wanted_of_a_slot_is_told_from_what_is_not() -> None:
    assert wishes_in("no emojis, and answers in one line") == {
        Wish("emojis", "emojis", is_wanted=False),
        Wish("length", "short", is_wanted=True),
    }
    assert not wishes_in("are bullet points easier to read?")
