"""What a message asks for, by rules, in English and French: for a hint that names the command for it.

A wrong hint is worse than none. So a message asks for an undo, a redo or alternatives only if it says nothing
else: "undo that" is about the last turn, "undo the migration in models.py" is for the model.
tests/unit/test_intents.py measures how often that is right.
"""

import re
import unicodedata
from enum import StrEnum

from ragforge.domain.intent_rules import around, commands

CHARS_MAX = 400
"""Of a longer message only the beginning is considered."""
WHOLE_CHARS_MAX = 120
"""A longer message says more than that something should be undone."""


class Intent(StrEnum):
    """What a message asks for."""

    UNDO = "undo"
    REDO = "redo"
    ALTERNATIVES = "alternatives"

    @property
    def command(self) -> str:
        """The slash command for it."""
        return f"/{self}"


def command_of(text: str) -> Intent | None:
    """Return which request with a command the message makes; None if that is unclear."""
    if len(text) > WHOLE_CHARS_MAX:
        return None
    rule, whole = commands(), _without(around().ending, _words(text))
    asked = ((Intent.REDO, rule.redo), (Intent.UNDO, rule.undo), (Intent.ALTERNATIVES, rule.alternatives))
    return next((intent for intent, said in asked if said.fullmatch(whole)), None)


def _words(text: str) -> str:
    return _without(around().preface, _plain(text[:CHARS_MAX]))


def _plain(text: str) -> str:
    """Return lower case without accents; punctuation between words becomes spaces."""
    letters = unicodedata.normalize("NFKD", text.replace("’", "'").casefold())
    bare = "".join(char for char in letters if not unicodedata.combining(char))
    return " ".join(re.sub(r"[-.,;:!?…()]", " ", bare).split())


def _without(part: re.Pattern[str], words: str) -> str:
    """Remove words such as "oops", "could you", "please" from the beginning, or from the end."""
    anchored = part.search if part.pattern.endswith("$") else part.match
    while found := anchored(words):
        words = words[: found.start()] + words[found.end() :]
    return words
