"""The stored records of conversations: projects, sessions, turns, steps and tool calls."""

from collections.abc import Collection, Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct, field

from ragforge.domain.json import JsonObject
from ragforge.domain.messages import CallResult, ImagePart, ModelMessage, Parts
from ragforge.domain.records import Description, RecordKind
from ragforge.domain.usage import Purpose, Usage


class Project(Struct, frozen=True):
    """A git root, or else a folder. The id is random; a local map of paths finds it again."""

    id: str
    name: str
    created_at: datetime
    git_remote: str = ""
    first_commit: str = ""
    merged_into: str = ""
    """The id of the project that all its content has moved to, and to which its folders belong."""
    changed_at: datetime | None = None
    """When it was last merged into another or split off: of two states, the newer one is valid."""


PROJECT = Description(RecordKind.PROJECT, Project, later=("merged_into", "changed_at"))


def user_and_machine(user: str, host: str) -> str:
    """Return the id of a user about whom nothing else is known; empty if neither is known."""
    return f"{user}@{host}" if user or host else ""


class Person(Struct, frozen=True):
    """The user of this machine, as the store knows them in any folder and on any machine."""

    id: str
    """An e-mail address, or user and machine."""
    machine: str = ""
    """User and machine: sessions older than persons have no more."""
    alone: bool = False
    """The store is embedded: nobody else uses it."""
    elsewhere: str = ""
    """The other machine that the store knows this id from, when this one uses it for the first time."""


class ConversationSession(Struct, frozen=True):
    """A conversation bound to the folder it works in. `head` is the newest turn on its path."""

    id: str
    project_id: str
    cwd: str
    started_at: datetime
    last_activity_at: datetime
    title: str = ""
    model: str = ""
    mode: str = "ask"
    head: str | None = None
    forked_from: str | None = None
    """The session that this one was forked from, if any."""
    user: str = ""
    host: str = ""
    project_path: str = ""
    """The project's root on the machine where the session started."""
    person: str = ""
    """The id of the user who started it (see `Person`); empty in sessions older than persons."""
    archived_at: datetime | None = None
    """When it was archived: it is listed again once it is continued, and search still finds it."""
    changed_at: datetime | None = None
    """When it last got its title, was archived or unarchived: of two states, the newer one is valid."""

    @property
    def machine(self) -> str:
        """User and machine where it started."""
        return user_and_machine(self.user, self.host)

    def begun_by(self, user: Person) -> str:
        """Return the id of the user who started it, which may be this user."""
        return self.person or (user.id if user.alone or self.machine == user.machine else self.machine)


SESSION = Description(
    RecordKind.SESSION,
    ConversationSession,
    refers={"project_id": RecordKind.PROJECT},  # the head may be stored later
    properties={
        **{"id": "sessionId", "started_at": "startTime", "last_activity_at": "lastActivity"},
        **{"head": "headId"},
    },
    later=("person", "archived_at", "changed_at"),
    texts=("title",),
)


class TurnStatus(StrEnum):
    """The status of a turn. All except RUNNING and WAITING are final."""

    RUNNING = "running"
    WAITING = "waiting"
    """A call of its last step waits for the user's consent; resuming asks again."""
    FINISHED = "finished"
    CONTINUED = "continued"
    """A queued message was inserted at a tool boundary; the child turn begins with it."""
    STOPPED = "stopped"
    """A limit was reached: model calls, price, or the user declined to continue."""
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class Turn(Struct, frozen=True):
    """A user message and everything that followed it."""

    id: str
    session_id: str
    parent: str | None
    index: int
    """Depth in the tree, from 0 at the root."""
    user: Parts
    started_at: datetime
    status: TurnStatus = TurnStatus.RUNNING
    assistant: str = ""
    """The model's text of all steps, separated as paragraphs."""
    model: str = ""
    ended_at: datetime | None = None
    error: str = ""
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    """None if a price is unknown."""
    person: str = ""
    """The id of the user whose message it is (see `Person`); empty if unknown."""
    purpose: Purpose = Purpose.CHAT
    """What its steps count as: CHAT, or PROGRAM if a program handed the task over."""


TURN = Description(
    RecordKind.TURN,
    Turn,
    refers={"session_id": RecordKind.SESSION, "parent": RecordKind.TURN},
    columns={"index": "depth"},
    properties={
        **{"parent": "parentId", "index": "turnIndex", "assistant": "assistantMessage"},
        **{"started_at": "timestamp", "ended_at": "endTime"},
    },
    later=("person", "purpose"),
    texts=("user", "assistant", "error"),
)


class TurnEnd(Struct, frozen=True):
    """What is stored when a turn ends, however it ended."""

    turn_id: str
    status: TurnStatus
    assistant: str
    ended_at: datetime
    error: str = ""
    last_step: "Step | None" = None
    """The step that no tool call has stored yet, usually the final answer."""


class Step(Struct, frozen=True):
    """One answer of the model within a turn: text, and the calls that it asked for."""

    turn_id: str
    index: int
    message: ModelMessage
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    interrupted: bool = False
    """The answer is incomplete; it is shown, and sent back as plain text only."""


STEP = Description(
    RecordKind.STEP,
    Step,
    key=("turn_id", "index"),
    refers={"turn_id": RecordKind.TURN},
    columns={"index": "number"},
    properties={"index": "stepIndex"},
    texts=("message",),
)


class CallStatus(StrEnum):
    """How a tool call ended."""

    OK = "ok"
    FAILED = "failed"
    DENIED = "denied"
    INTERRUPTED = "interrupted"


class ToolCall(Struct, frozen=True):
    """A tool call that ended."""

    id: str
    """The id of the `CallRequest` it answers."""
    turn_id: str
    step_index: int
    position: int
    """Its index among the calls of its step, from 0."""
    name: str
    args: JsonObject
    status: CallStatus
    result: str
    """What the model was told: everything, or head and tail with a note where the rest is."""
    started_at: datetime
    duration_ms: int
    result_chars: int = 0
    """Length of the complete result."""
    result_blob: str | None = None
    """Hash of the complete result in the blob store, if `result` was cut."""
    diff: str = ""
    """What an edit changed, as a unified diff, for the user."""
    images: tuple[ImagePart, ...] = ()
    provider_id: str = ""

    @property
    def refusal(self) -> str:
        """The reason that the user gave for declining it; empty if there was none."""
        said = self.status is CallStatus.DENIED and self.result.startswith(_DECLINED + _REASON)
        return self.result.removeprefix(_DECLINED + _REASON).strip() if said else ""

    @property
    def answer(self) -> CallResult:
        """The result as told to the model."""
        failed = self.status is not CallStatus.OK
        return CallResult(self.id, self.name, self.result, failed, self.provider_id, self.images)


_DECLINED = "The user declined this call; nothing was done."
_REASON = " They said: "


def declined(reason: str) -> str:
    """Return what the model is told about a call that the user declined."""
    return f"{_DECLINED}{_REASON}{reason}" if reason else _DECLINED


TOOL_CALL = Description(
    RecordKind.TOOL_CALL,
    ToolCall,
    refers={"turn_id": RecordKind.TURN},
    columns={"step_index": "step"},
    properties={
        **{"name": "toolName", "args": "toolArgs", "result": "toolResult", "started_at": "timestamp"},
    },
    signed=("duration_ms",),
    texts=("args", "result", "diff", "result_blob"),
)


class TodoState(StrEnum):
    """The state of a to-do item."""

    PENDING = "pending"
    ACTIVE = "active"
    DONE = "done"


class TodoItem(Struct, frozen=True):
    """One item of the to-do list."""

    text: str
    state: TodoState = TodoState.PENDING


class Todos(Struct, frozen=True):
    """The complete list, in the model's order."""

    items: tuple[TodoItem, ...] = ()

    @property
    def done(self) -> int:
        """The number of finished items."""
        return sum(item.state is TodoState.DONE for item in self.items)

    @property
    def is_open(self) -> bool:
        """Whether an item is unfinished."""
        return self.done < len(self.items)

    @property
    def counted(self) -> str:
        """The progress, such as `1 of 4 done`."""
        return f"{self.done} of {len(self.items)} done"


class KeptTodos(Struct, frozen=True):
    """A to-do list, and the turn in which it was last changed."""

    turn: str
    todos: Todos


NOT_ENDED = "Interrupted before it ran, or while it ran. Look at what it may have done before you repeat it."
"""The answer to a call that has none: after a crash it is unknown whether it had started."""


def cut_off_end(turn_id: str, steps: Sequence[Step], *, at: datetime) -> TurnEnd:
    """Return the end of a turn whose process died: interrupted, with the text of the stored steps."""
    text = "\n\n".join(step.message.text for step in steps if step.message.text)
    return TurnEnd(turn_id, TurnStatus.INTERRUPTED, text, at)


def cut_off_calls(step: Step, *, ended: Collection[str], at: datetime) -> list[ToolCall]:
    """Return the calls of a dead process's step that did not end.

    at: used as their start, which is unknown.
    """
    if step.interrupted:
        return []  # it is incomplete, so nothing of it ran
    return [
        ToolCall(
            id=request.id,
            turn_id=step.turn_id,
            step_index=step.index,
            position=position,
            name=request.name,
            args=request.args,
            status=CallStatus.INTERRUPTED,
            result=NOT_ENDED,
            started_at=at,
            duration_ms=0,
            result_chars=len(NOT_ENDED),
            provider_id=request.provider_id,
        )
        for position, request in enumerate(step.message.calls)
        if request.id not in ended
    ]
