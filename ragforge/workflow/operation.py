"""The contract of an operation: values in, a value out."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from datetime import datetime
from functools import cache
from typing import Any, Protocol, TypeAlias, TypeGuard, cast

from msgspec import Struct

from ragforge.domain.discovery import discover
from ragforge.domain.errors import RagforgeError

Value: TypeAlias = Any
"""What a register holds: what JSON can hold."""
Fields: TypeAlias = dict[str, Any]
"""An object."""


VERSION_TYPE = "program_version"


class RunningPlace(Struct, frozen=True):
    """Where an operation is: its line, 0 for one of `std.spu`; and when its parallel block began, if it is in
    one."""

    line: int = 0
    block_began_at: datetime | None = None


_NOWHERE = RunningPlace()
place_that_runs: ContextVar[RunningPlace] = ContextVar("place_that_runs", default=_NOWHERE)
"""Of the operation that runs in this task."""


class ProgramFault(RagforgeError):
    """An operation that cannot be done with its operands; the sentence says why."""


class RunOver(ProgramFault):
    """The run may not cost or last any more: it ends, also where the program waits for input."""


class InputEnded(RagforgeError):
    """Nobody will answer: the program ends here."""


class ProgramLibrary(Protocol):
    """What programs keep: conversations, documents and versions. Every method may raise StoreError."""

    async def session(self, program: str, target: str) -> Fields:
        """The newest session of the program that is about the program `target`, else a new one.

        id, program, target, current_version, conversation, versions; `resumed` where it was there before.
        """
        ...

    async def keep_session(self, session: Fields) -> None: ...

    async def add_message(self, message: Fields) -> None: ...

    async def messages(self, ids: Sequence[str]) -> list[Fields]:
        """Those that there are, in the order of the ids."""
        ...

    async def keep_document(self, document: Fields) -> None:
        """Keep it by its `_id`."""
        ...

    async def documents(self, kind: str = "") -> list[Fields]:
        """The user's in the project, newest first."""
        ...

    async def version(self, version_id: str) -> Fields | None: ...

    async def children(self, version_id: str) -> list[Fields]:
        """Oldest first."""
        ...

    async def head(self, program: str) -> str:
        """The id of the program's current version; empty where it has none."""
        ...

    async def add_version(self, version: Fields, *, program: str, description: str) -> None:
        """Keep it, as a child of its parent; the program's file is this version then."""
        ...

    async def move(self, version_id: str) -> None:
        """Let the program's file be this version, and log the checkout."""
        ...

    async def examples(self, program: str) -> str:
        """The text of `NAME.spu.test`; empty if there is no such file."""
        ...


class ProgramHost(Protocol):
    """What is around a program: its user, the models, the project.

    target: the name of the program that the session is about; empty for none yet. session_id: of the
    program's session, once there is one. resuming: the same, while it is being resumed.
    """

    program_name: str
    target: str
    session_id: str
    resuming: str
    user_id: str
    project_id: str

    @property
    def library(self) -> ProgramLibrary:
        """What programs keep."""
        ...

    async def display(self, text: str) -> None:
        """Show it to the user; Markdown."""
        ...

    async def read_input(self) -> str:
        """What the user says next. Raises InputEnded."""
        ...

    async def confirm(self, question: str, detail: str) -> bool:
        """Whether the user says yes; without anybody to ask, what was said for all of the run."""
        ...

    async def choose(self, question: str, options: Sequence[str]) -> int:
        """Which one the user takes; without anybody to ask, the last."""
        ...

    async def ask_model(
        self, role: str, instructions: str, message: str, *, task: str = "", schema: Fields | None = None
    ) -> str:
        """The answer of the model that the role stands for; "" is the session's. Raises RagforgeError."""
        ...

    def sure_answer(self, task: str, fields: Fields) -> Value:
        """The answer where it is known without a model, else null."""
        ...

    def remember(self, text: str, **facts: Value) -> None:
        """Remember facts of the answer that is this text, beside its model, tokens and time."""
        ...

    def about(self, text: str) -> Fields:
        """What is remembered of the answer; empty for nothing."""
        ...

    def calls_of_round(self) -> list[Fields]:
        """The calls of models since the program last waited: model, tokens, seconds."""
        ...

    async def load_patterns(self) -> list[Fields]:
        """The 20 best patterns that were kept, the best first."""
        ...

    async def context_block(self, text: str) -> str:
        """What is recalled for a text, as it is put in front of a message; empty for nothing."""
        ...

    async def similarity(self, text: str, others: Sequence[str]) -> list[float]:
        """How alike each is to the text, as (1 + cosine) / 2."""
        ...

    async def similar_problems(self, text: str) -> list[Fields]:
        """What was done in the project about problems like this one, the most alike first."""
        ...

    async def uncommitted_changes(self) -> str:
        """The diff of what is not committed yet. Raises RagforgeError."""
        ...

    async def changes_between(self, one: str, other: str) -> str:
        """The diff of the project's files between two of its versions. Raises RagforgeError."""
        ...

    async def run_tool(self, name: str, args: Fields) -> Fields:
        """What one call of a tool came to: {text, failed}. Raises RagforgeError."""
        ...

    async def run_agent(
        self, prompt: str, role: str, steps_max: int, *, material: str, only_reads: bool
    ) -> Fields:
        """The assistant's result: {text, failed}. Raises RagforgeError.

        In a parallel block it changes files in a copy of the folder: {..., version, diff, check}; version is
        null where it changed nothing, check where no check command runs.
        material: what the program gives it beside the prompt; nothing in it counts as said by the user.
        only_reads: it has the tools that change nothing.
        """
        ...

    async def take_version(self, version_id: str) -> None:
        """Make the project's files those of a version that an agent made in a copy. Raises RagforgeError."""
        ...

    async def run_check(self) -> Fields:
        """What the check command came to: {passed, exit_code, tail}. Raises RagforgeError."""
        ...


class Operation(Struct, frozen=True):
    """What an operation does.

    run: gets the values of the operands, without a register that is only written; what it returns goes into
    the first operand where that is a register. is_durable: it asks, shows or changes something outside, or
    takes time, so the state is kept before and after it.
    """

    name: str
    run: Callable[[ProgramHost, tuple[Value, ...]], Awaitable[Value]]
    is_durable: bool = False


@cache
def find_operations() -> Mapping[str, Operation]:
    """Every one that can run, by its name."""
    package = f"{__name__.rpartition('.')[0]}.operations"
    found = discover(package, "OPERATION", Operation)
    return {operation.name: operation for operation in found.values()}


def is_object(value: Value) -> TypeGuard[Fields]:
    """Whether it is an object."""
    return isinstance(value, dict)


def is_version(value: Value) -> TypeGuard[Fields]:
    """Whether it is a version of a program: it stands for its code."""
    return (
        is_object(value)
        and value.get("type") == VERSION_TYPE
        and _are_texts(value.get(each) for each in ("id", "program", "code"))
        and {"parent", "alternatives"} <= value.keys()
    )


def plain(value: Value) -> Value:
    """The value, of a version its code."""
    return value["code"] if is_version(value) else value


def is_error(value: Value) -> bool:
    """Whether it is what an operation that failed left in a parallel block."""
    return is_object(value) and set(value) == {"error"}


def shown(value: Value) -> str:
    """A value as a user reads it: a text as it is, all else as JSON."""
    import json

    value = _without_code(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _without_code(value: Value) -> Value:
    """The value with versions as their code."""
    if is_version(value):
        return value["code"]
    if isinstance(value, list):
        return [_without_code(each) for each in cast("list[Value]", value)]
    return {key: _without_code(each) for key, each in value.items()} if is_object(value) else value


def as_object(value: Value, what: str) -> Fields:
    """An object. Raises ProgramFault."""
    if not is_object(value):
        raise ProgramFault(f"{what} takes an object, not {type_words(value)}.")
    return value


def as_session(value: Value, operation: str) -> Fields:
    """A session as SESSION_INIT makes it. Raises ProgramFault."""
    session = as_object(value, operation)
    is_whole = (
        _are_texts(session.get(each) for each in ("id", "program"))
        and _are_texts(session.get(each) or "" for each in ("target", "current_version", "started"))
        and _refers(session.get("conversation"), "message")
        and _refers(session.get("versions"), "version")
    )
    if not is_whole:
        raise ProgramFault(f"{operation} takes a session as SESSION_INIT makes it.")
    return session


def as_document(value: Value, operation: str) -> Fields:
    """A document as DOC_CREATE makes it. Raises ProgramFault."""
    document = as_object(value, operation)
    if not _are_texts(document.get(each) for each in ("_id", "type", "userId")):
        raise ProgramFault(f"{operation} takes a document as DOC_CREATE makes it.")
    return document


def _refers(value: Value, field: str) -> bool:
    """Whether it is a list of references such as `{message: id}`."""
    return isinstance(value, list) and _are_texts(
        each.get(field) if is_object(each) else None for each in cast("list[Value]", value)
    )


def _are_texts(values: Iterable[Value]) -> bool:
    return all(isinstance(each, str) for each in values)


def as_text(value: Value, what: str) -> str:
    """A text. Raises ProgramFault."""
    value = plain(value)
    if is_error(value):  # what an operation before it came to
        raise ProgramFault(value["error"])
    if not isinstance(value, str):
        raise ProgramFault(f"{what} takes a text, not {type_words(value)}.")
    return value


def as_count(value: Value, operation: str) -> int:
    """A number from 0 on, null being 0 and a text of digits a number, as inputs are. Raises ProgramFault."""
    if value is None:
        return 0
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value != int(value):
        raise ProgramFault(f"{operation} takes a whole number from 0 on, not {value!r}.")
    return int(value)


def as_list(value: Value, operation: str) -> list[Value]:
    """A list, null being an empty one. Raises ProgramFault."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise ProgramFault(f"{operation} takes a list, not {type_words(value)}.")
    return value  # pyright: ignore[reportUnknownVariableType]


def type_words(value: Value) -> str:
    """What kind of value it is."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "an object"
