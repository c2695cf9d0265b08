"""What a message asks for, by rules, in English and French: for a hint that names the command for it.

A wrong hint is worse than none. So a message asks for an undo, a redo or alternatives only if it says nothing
else: "undo that" is about the last turn, "undo the migration in models.py" is for the model.
tests/unit/test_intents.py measures how often that is right.
"""

import re
import unicodedata
from enum import StrEnum

from ragforge.domain.intent_rules import around, commands, tasks

CHARS_MAX = 400
"""Of a longer message only the beginning is considered."""
WHOLE_CHARS_MAX = 120
"""A longer message says more than that something should be undone."""


class Intent(StrEnum):
    """What a message asks for."""

    CREATE = "create"
    MODIFY = "modify"
    UNDO = "undo"
    REDO = "redo"
    ALTERNATIVES = "alternatives"
    EXPLAIN = "explain"

    @property
    def command(self) -> str:
        """The slash command for it, "" if only the model can do it."""
        return f"/{self}" if self in (Intent.UNDO, Intent.REDO, Intent.ALTERNATIVES) else ""


def intent_of(text: str) -> Intent | None:
    """Return what the message asks for; None if that is unclear."""
    if intent := command_of(text):
        return intent
    rule, words = tasks(), _words(text)
    asked = ((Intent.EXPLAIN, rule.explain), (Intent.CREATE, rule.create), (Intent.MODIFY, rule.modify))
    return next((intent for intent, begun in asked if begun.match(words)), None)


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
