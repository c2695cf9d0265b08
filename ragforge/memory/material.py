"""What goes into understanding a turn, and what comes out."""

from msgspec import Struct

from ragforge.domain.memories import Association, Memory
from ragforge.domain.messages import text_of
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import ToolCall, Turn
from ragforge.domain.usage import Usage
from ragforge.store.json_text import storable

SUMMARY_CHARS_MAX = 1_200
CONSTRAINT_CHARS_MAX = 300
FILES_MAX = 30
FINDINGS_MAX = 8
FINDING_CHARS_MAX = 300
TOPICS_MAX = 8
TOPIC_CHARS_MAX = 60
CONSTRAINTS_MAX = 20
"""Of one turn. A level above keeps all of them."""

NO_MODEL = "local"
"""The name of the model of turns that none answered."""


def answer_of(turn: Turn) -> str:
    """What the assistant answered; nothing where no model did, and search results stand there: they are the
    words of other turns, and would be summarised, embedded and recalled anew with each search for them."""
    return "" if turn.model == NO_MODEL else turn.assistant


class Material(Struct, frozen=True):
    """A turn that ended, with what is needed to understand it."""

    turn: Turn
    project_id: str
    calls: tuple[ToolCall, ...] = ()
    near: tuple[Memory, ...] = ()
    """Memories near to what was said: the model says of each new one whether it is the same, updates or
    contradicts one of these."""

    @property
    def person(self) -> str:
        """What the person said."""
        return storable(text_of(self.turn.user))

    @property
    def assistant(self) -> str:
        """What the assistant answered, as in `answer_of`."""
        return storable(answer_of(self.turn))

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that were called, each once, in the order of their first call."""
        return tuple(dict.fromkeys(storable(call.name) for call in self.calls))


class Understanding(Struct, frozen=True):
    """What one turn came to."""

    summary: Summary
    memories: tuple[Memory, ...] = ()
    associations: tuple[Association, ...] = ()


class Understood(Struct, frozen=True):
    """The answer to one call for several turns. A turn whose part could not be read is not in it."""

    of_turns: dict[str, Understanding]
    """By the turn's id."""
    usage: Usage
