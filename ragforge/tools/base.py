"""The contract of a tool. A tool returns its errors, because the model must know about them; it never raises
them."""

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import msgspec
from msgspec import Struct, field

from ragforge.domain.approvals import Proposal
from ragforge.domain.errors import UsageError
from ragforge.domain.json import JsonObject
from ragforge.domain.memories import Memory, MemoryOrigin, MemoryScope, MemoryType
from ragforge.domain.messages import CallResult, ImagePart, ToolSpec
from ragforge.domain.search import Hit
from ragforge.domain.turns import Todos

if TYPE_CHECKING:  # jobs import this module
    from ragforge.shell.jobs import Jobs

Args = TypeVar("Args", bound=msgspec.Struct)


class Effect(StrEnum):
    """What a tool can change; approval depends on it."""

    READ = "read"
    WRITE = "write"
    SHELL = "shell"
    WEB = "web"
    """It asks a host on the network, and changes nothing here."""


class ToolResult(Struct, frozen=True):
    """The result of a tool.

    text: complete, as for the model; the caller truncates long text and stores the complete one.
    diff: a unified diff for the user, if a file changed.
    """

    text: str
    failed: bool = False
    diff: str = ""
    images: tuple[ImagePart, ...] = ()


class Preview(Struct, frozen=True):
    """What a call would do, before it runs.

    paths: everything that it reads or writes, absolute, with links resolved.
    proposal: what the user is asked about; None if the arguments say everything.
    refused: why it is impossible (for example, the old text is not in the file); nothing is asked then.
    after: the complete new content, if it writes one file.
    hosts: hosts that it contacts on the network.
    """

    proposal: Proposal | None = None
    paths: tuple[Path, ...] = ()
    refused: str = ""
    after: bytes | None = None
    hosts: tuple[str, ...] = ()


class ReadFiles(Struct):
    """What the model has seen of each file in this session: the hash of the content it read or wrote.

    unheard: files read in the current step. The model did not know their content when it asked for the calls
    of this step.
    """

    hashes: dict[Path, str] = field(default_factory=dict[Path, str])
    unheard: set[Path] = field(default_factory=set[Path])

    def read(self, path: Path, digest: str) -> None:
        """Record that the file was read with this content."""
        if self.hashes.get(path) != digest:
            self.hashes[path] = digest
            self.unheard.add(path)

    def answered(self) -> None:
        """Record that the model has answered a request with all results so far."""
        self.unheard.clear()


class ToSave(Struct, frozen=True):
    """A memory that the model wants to save. updates: ids, or their beginnings, of memories that it
    replaces."""

    content: str
    type: MemoryType
    importance: float | None = None
    confidence: float = 1.0
    scope: MemoryScope = MemoryScope.PROJECT
    updates: tuple[str, ...] = ()
    origin: str = MemoryOrigin.MODEL


class Saved(Struct, frozen=True):
    """A memory as it was saved. was_unsure: it was known, with less confidence. near: similar memories, the
    nearest first."""

    memory: Memory
    was_known: bool = False
    was_unsure: bool = False
    replaced: tuple[Memory, ...] = ()
    near: tuple[Memory, ...] = ()


async def _save_nothing(wanted: ToSave) -> Saved:
    raise UsageError("Nothing can be remembered here.")


async def _recall_nothing(question: str, emit: Callable[[str], None]) -> str:
    return "Nothing is remembered here."


class AgentTask(Struct, frozen=True):
    """The task of a sub-agent. may_write: whether it has tools that change something."""

    title: str
    task: str
    may_write: bool = False
    steps_max: int = 20


async def _run_no_agent(task: AgentTask, emit: Callable[[str], None]) -> ToolResult:
    return ToolResult("No sub-agent can be started here.", failed=True)


async def _read_no_skill(name: str, file: str) -> ToolResult:
    return ToolResult("There are no skills here.", failed=True)


async def _no_todos() -> Todos:
    return Todos()


async def _keep_no_todos(todos: Todos) -> Todos:
    raise UsageError("No list can be kept here.")


class ToolContext(Struct, frozen=True):
    """What a tool can use.

    cwd: the session's folder, where relative paths start; root: the project's root, with links resolved.
    env: the environment for child processes, without keys and passwords.
    emit: call it with output as it arrives, from the event loop.
    get_result: returns the result of an earlier call in the conversation, by its id.
    save_memory: saves a memory without secrets. Raises UsageError if it cannot be saved, and StoreError.
    recall_memory: returns a short answer from memory, with its sources; never raises.
    run_agent: returns the answer of a sub-agent; never raises.
    read_skill: returns a skill by name, or one of its files; never raises. todos, keep_todos: read and
    replace the to-do list. They raise UsageError and StoreError.
    """

    cwd: Path
    root: Path
    env: dict[str, str]
    read_files: ReadFiles
    jobs: "Jobs"
    search: Callable[[str, int], Awaitable[list[Hit]]]
    put_blob: Callable[[bytes], Awaitable[str]]
    get_blob: Callable[[str], Awaitable[bytes]]
    emit: Callable[[str], None]
    get_result: Callable[[str], CallResult | None] = lambda _: None
    save_memory: Callable[[ToSave], Awaitable[Saved]] = _save_nothing
    recall_memory: Callable[[str, Callable[[str], None]], Awaitable[str]] = _recall_nothing
    run_agent: Callable[[AgentTask, Callable[[str], None]], Awaitable[ToolResult]] = _run_no_agent
    read_skill: Callable[[str, str], Awaitable[ToolResult]] = _read_no_skill
    todos: Callable[[], Awaitable[Todos]] = _no_todos
    keep_todos: Callable[[Todos], Awaitable[Todos]] = _keep_no_todos
    shell_timeout_s: float = 120.0
    web_private_hosts: tuple[str, ...] = ()


async def asks_nothing(_args: object, _ctx: ToolContext) -> Preview:
    """Return the preview of a tool that needs no approval."""
    return Preview()


class Tool(Struct, Generic[Args], frozen=True):
    """A tool: its description for the model, and the function to run.

    summarise: the line that the user sees (a path, a pattern, a command).
    preview: what the call would do; required unless the effect is READ and no path can leave the project.
    editable: the argument that the user can edit before the call runs; empty if there is none.
    """

    name: str
    description: str
    effect: Effect
    args_type: type[Args]
    run: Callable[[Args, ToolContext], Awaitable[ToolResult]]
    summarise: Callable[[Args], str]
    preview: Callable[[Args, ToolContext], Awaitable[Preview]]
    editable: str = ""

    @property
    def spec(self) -> ToolSpec:
        """The declaration for the model, with a schema made from `args_type`."""
        return ToolSpec(self.name, self.description, schema_of(self.args_type))

    def parse(self, args: JsonObject) -> Args:
        """Return the validated arguments. Raises msgspec.ValidationError that says which one is wrong and
        why."""
        return msgspec.convert(args, self.args_type)


AnyTool = Tool[Any]


@cache
def schema_of(args_type: type[msgspec.Struct]) -> JsonObject:
    """Return a flat JSON schema of type object, without `$ref`, as model services require; cached."""
    (schema,), components = msgspec.json.schema_components((args_type,))
    return _flat(schema, components)


def _flat(schema: Any, components: Mapping[str, Any]) -> Any:
    """Return the schema with all references resolved."""
    if isinstance(schema, list):
        return [_flat(each, components) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    fields = cast("dict[str, Any]", schema)
    if isinstance(name := fields.get("$ref"), str):
        return _flat(components[name.rpartition("/")[2]], components)
    is_struct = fields.get("type") == "object" and "properties" in fields
    return {
        key: _flat(value, components) for key, value in fields.items() if not (is_struct and key == "title")
    }
