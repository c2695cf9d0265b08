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
"""The value of a register: what JSON can represent."""
Fields: TypeAlias = dict[str, Any]
"""An object."""


VERSION_TYPE = "program_version"


class RunningPlace(Struct, frozen=True):
    """Where an operation is: its line, 0 for one of `std.spu`; and when its parallel block started, if it is
    in one."""

    line: int = 0
    block_began_at: datetime | None = None


_NOWHERE = RunningPlace()
place_that_runs: ContextVar[RunningPlace] = ContextVar("place_that_runs", default=_NOWHERE)
"""The place of the operation that runs in this task."""


class ProgramFault(RagforgeError):
    """An operation that is impossible with its operands; the sentence says why."""


class RunOver(ProgramFault):
    """The run reached a limit of cost or time: it ends, even if the program waits for input."""


class InputEnded(RagforgeError):
    """Nobody will answer: the program ends here."""


class ProgramLibrary(Protocol):
    """The stored data of programs: conversations, documents, versions. Every method may raise StoreError."""

    async def session(self, program: str, target: str) -> Fields:
        """Return the newest session of the program that is about the program `target`, else a new one.

        id, program, target, current_version, conversation, versions; `resumed` if it existed before.
        """
        ...

    async def keep_session(self, session: Fields) -> None: ...

    async def add_message(self, message: Fields) -> None: ...

    async def messages(self, ids: Sequence[str]) -> list[Fields]:
        """Return the existing ones, in the order of the ids."""
        ...

    async def keep_document(self, document: Fields) -> None:
        """Store it by its `_id`."""
        ...

    async def documents(self, kind: str = "") -> list[Fields]:
        """Return the user's in the project, newest first."""
        ...

    async def version(self, version_id: str) -> Fields | None: ...

    async def children(self, version_id: str) -> list[Fields]:
        """Return them oldest first."""
        ...

    async def head(self, program: str) -> str:
        """Return the id of the program's current version; empty if it has none."""
        ...

    async def add_version(self, version: Fields, *, program: str, description: str) -> None:
        """Store it, as a child of its parent; the program's file is this version then."""
        ...

    async def move(self, version_id: str) -> None:
        """Change the program's file to this version, and log the checkout."""
        ...

    async def examples(self, program: str) -> str:
        """Return the text of `NAME.spu.test`; empty if there is no such file."""
        ...


class ProgramHost(Protocol):
    """The environment of a program: its user, the models, the project.

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
        """The stored data of programs."""
        ...

    async def display(self, text: str) -> None:
        """Show it to the user; Markdown."""
        ...

    async def read_input(self) -> str:
        """Return what the user says next. Raises InputEnded."""
        ...

    async def confirm(self, question: str, detail: str) -> bool:
        """Return whether the user says yes; without a user, what was said for all of the run."""
        ...

    async def choose(self, question: str, options: Sequence[str]) -> int:
        """Return which one the user takes; without a user, the last."""
        ...

    async def ask_model(
        self, role: str, instructions: str, message: str, *, task: str = "", schema: Fields | None = None
    ) -> str:
        """Return the answer of the role's model; "" is the session's. Raises RagforgeError."""
        ...

    def sure_answer(self, task: str, fields: Fields) -> Value:
        """Return the answer if it is known without a model, else null."""
        ...

    def remember(self, text: str, **facts: Value) -> None:
        """Remember facts about this answer, beside its model, tokens and time."""
        ...

    def about(self, text: str) -> Fields:
        """Return what is remembered about the answer; empty for nothing."""
        ...

    def calls_of_round(self) -> list[Fields]:
        """Return the model calls since the program last waited: model, tokens, seconds."""
        ...

    async def load_patterns(self) -> list[Fields]:
        """Return the 20 best stored patterns, the best first."""
        ...

    async def context_block(self, text: str) -> str:
        """Return what is recalled for a text, as for a message; empty for nothing."""
        ...

    async def similarity(self, text: str, others: Sequence[str]) -> list[float]:
        """Return how similar each is to the text, as (1 + cosine) / 2."""
        ...

    async def similar_problems(self, text: str) -> list[Fields]:
        """Return what was done in the project about similar problems, the most similar first."""
        ...

    async def uncommitted_changes(self) -> str:
        """Return the diff of uncommitted changes. Raises RagforgeError."""
        ...

    async def changes_between(self, one: str, other: str) -> str:
        """Return the diff of the project's files between two of its versions. Raises RagforgeError."""
        ...

    async def run_tool(self, name: str, args: Fields) -> Fields:
        """Return the result of one tool call: {text, failed}. Raises RagforgeError."""
        ...

    async def run_agent(
        self, prompt: str, role: str, steps_max: int, *, material: str, only_reads: bool
    ) -> Fields:
        """Return the assistant's result: {text, failed}. Raises RagforgeError.

        In a parallel block it changes files in a copy of the folder: {..., version, diff, check}; version is
        null if it changed nothing, check if no check command runs.
        material: the program's input beside the prompt; nothing in it counts as said by the user.
        only_reads: it has the tools that change nothing.
        """
        ...

    async def take_version(self, version_id: str) -> None:
        """Change the project's files to a version that an agent made in a copy. Raises RagforgeError."""
        ...

    async def run_check(self) -> Fields:
        """Return the result of the check command: {passed, exit_code, tail}. Raises RagforgeError."""
        ...


class Operation(Struct, frozen=True):
    """What an operation does.

    run: receives the values of the operands, without a register that is only written; its result goes into
    the first operand if that is a register. is_durable: it asks, shows or changes something outside, or
    takes time, so the state is stored before and after it.
    """

    name: str
    run: Callable[[ProgramHost, tuple[Value, ...]], Awaitable[Value]]
    is_durable: bool = False


@cache
def find_operations() -> Mapping[str, Operation]:
    """Every operation that can run, by its name."""
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
    """Return the value, of a version its code."""
    return value["code"] if is_version(value) else value


def is_error(value: Value) -> bool:
    """Whether it is the result of an operation that failed in a parallel block."""
    return is_object(value) and set(value) == {"error"}


def shown(value: Value) -> str:
    """Return a value as a user reads it: a text as it is, anything else as JSON."""
    import json

    value = _without_code(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _without_code(value: Value) -> Value:
    """Return the value with versions as their code."""
    if is_version(value):
        return value["code"]
    if isinstance(value, list):
        return [_without_code(each) for each in cast("list[Value]", value)]
    return {key: _without_code(each) for key, each in value.items()} if is_object(value) else value


def as_object(value: Value, what: str) -> Fields:
    """Return an object. Raises ProgramFault."""
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
    """Return a text. Raises ProgramFault."""
    value = plain(value)
    if is_error(value):  # the result of an operation before it
        raise ProgramFault(value["error"])
    if not isinstance(value, str):
        raise ProgramFault(f"{what} takes a text, not {type_words(value)}.")
    return value


def as_count(value: Value, operation: str) -> int:
    """Return a number from 0 on; null is 0, digits are a number, as in inputs. Raises ProgramFault."""
    if value is None:
        return 0
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value != int(value):
        raise ProgramFault(f"{operation} takes a whole number from 0 on, not {value!r}.")
    return int(value)


def as_list(value: Value, operation: str) -> list[Value]:
    """Return a list; null is an empty one. Raises ProgramFault."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise ProgramFault(f"{operation} takes a list, not {type_words(value)}.")
    return value  # pyright: ignore[reportUnknownVariableType]


def type_words(value: Value) -> str:
    """Return the kind of value."""
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
