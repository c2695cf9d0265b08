"""The input and the result of analysing a turn."""

import hashlib
from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from ragforge.domain.memories import Association, Memory, memory_id
from ragforge.domain.messages import own_text
from ragforge.domain.redact import Redactor
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import ToolCall, Turn
from ragforge.domain.usage import NO_MODEL, Usage
from ragforge.memory.corrections import Correction
from ragforge.store.json_text import storable

SUMMARY_CHARS_MAX = 1_200
CONSTRAINT_CHARS_MAX = 300
FILES_MAX = 30
FINDINGS_MAX = 8
FINDING_CHARS_MAX = 300
TOPICS_MAX = 8
TOPIC_CHARS_MAX = 60
CONSTRAINTS_MAX = 20
"""The maximum for one turn. A level above contains all of them."""


def answer_of(turn: Turn) -> str:
    """Return the assistant's answer; empty if no model answered, because search results are words of other
    turns and would be summarised, embedded and recalled again."""
    return "" if turn.model == NO_MODEL else turn.assistant


class PartInput(Struct, frozen=True):
    """The input that a part adds to the call about one turn."""

    head: str = ""
    """Shown first."""
    lines: tuple[str, ...] = ()
    """Shown below it, the oldest first; if not all fit, the first ones are left out."""
    data: object = None
    """What the part itself needs to read the answer."""


class Material(Struct, frozen=True):
    """A turn that ended, with everything needed to analyse it."""

    turn: Turn
    project_id: str
    calls: tuple[ToolCall, ...] = ()
    near: tuple[Memory, ...] = ()
    """Memories similar to what was said: the model says of each new one whether it is the same, updates or
    contradicts one of these."""
    near_turns: tuple[Turn, ...] = ()
    """Earlier turns about the same, and the previous one."""
    before: str = ""
    """What the assistant said just before the turn, which the user's words may answer."""
    speaker: str = ""
    """The id of the user, to whom statements about who they are and what they prefer belong."""
    corrections: tuple[Correction, ...] = ()
    """What the user corrected in the turn, or by it."""
    inputs: Mapping[str, PartInput] = field(default_factory=dict[str, PartInput])
    """The input of the call's parts, by their names."""

    @property
    def user(self) -> str:
        """Return what the user said, without the text of a command."""
        return storable(own_text(self.turn.user))

    @property
    def assistant(self) -> str:
        """Return what the assistant answered, as in `answer_of`."""
        return storable(answer_of(self.turn))

    @property
    def tools(self) -> tuple[str, ...]:
        """Return the names of the tools that were called, each once, in the order of their first call."""
        return tuple(dict.fromkeys(storable(call.name) for call in self.calls))


class Understanding(Struct, frozen=True):
    """The result of analysing one turn."""

    summary: Summary
    memories: tuple[Memory, ...] = ()
    associations: tuple[Association, ...] = ()
    more: dict[str, object] = field(default_factory=dict[str, object])
    """The results of optional parts of the call, by their names."""


class Understood(Struct, frozen=True):
    """The results of one call about several turns, without turns whose part could not be read."""

    of_turns: dict[str, Understanding]
    """By the turn's id."""
    usage: Usage
    is_whole: bool = True
    """Whether it contains everything that was asked about each turn."""


def summary_id(level: int, covers: Sequence[str]) -> str:
    """Return the id of the summary that covers these. It is the same for everyone who makes it."""
    return hashlib.sha256("\n".join(["summary", str(level), *covers]).encode()).hexdigest()[:32]


def redacted(understanding: Understanding, redactor: Redactor) -> Understanding:
    """Return it without secrets: a model may have combined one from what it was shown."""
    memories = [redacted_memory(memory, redactor) for memory in understanding.memories]
    ids = {old.id: new.id for old, new in zip(understanding.memories, memories, strict=True)}
    links = [
        replace(link, from_id=ids.get(link.from_id, link.from_id), to_id=ids.get(link.to_id, link.to_id))
        for link in understanding.associations
    ]
    summary = redacted_summary(understanding.summary, redactor)
    return replace(understanding, summary=summary, memories=tuple(memories), associations=tuple(links))


def redacted_summary(summary: Summary, redactor: Redactor) -> Summary:
    """Return the summary with all its texts redacted."""

    def each(texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(redactor.text(text) for text in texts)

    return replace(
        summary,
        text=redactor.text(summary.text),
        files=each(summary.files),
        findings=each(summary.findings),
        tools=each(summary.tools),
        topics=each(summary.topics),
        constraints=each(summary.constraints),
    )


def redacted_memory(memory: Memory, redactor: Redactor) -> Memory:
    """Return the memory with its texts redacted, and with the id of the redacted text."""
    content = redactor.text(memory.content)
    memory = replace(memory, applies_to=tuple(map(redactor.text, memory.applies_to)))
    if content == memory.content:
        return replace(memory, topic=redactor.text(memory.topic))
    id = memory_id(
        content,
        scope=memory.scope,
        project_id=memory.project_id,
        session_id=memory.session_id,
        owner=memory.owner,
    )
    return replace(memory, id=id, content=content, topic=redactor.text(memory.topic))
