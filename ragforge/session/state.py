"""The parts of an open session, and the little of it that changes."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ragforge.config.project import Place
from ragforge.config.settings import Loaded, Settings
from ragforge.domain.approvals import Mode, Rule
from ragforge.domain.json import JsonValue
from ragforge.domain.messages import Message, Parts
from ragforge.domain.redact import Redactor
from ragforge.domain.turns import ConversationSession, Project, Step, ToolCall, TurnEnd
from ragforge.domain.usage import Usage
from ragforge.providers.base import Provider
from ragforge.store.base import Blobs, Claim, Store
from ragforge.store.local import LocalState
from ragforge.tools.base import AnyTool, ReadFiles
from ragforge.tools.jobs import Jobs


@dataclass(frozen=True, slots=True)
class Workspace:
    """What is open while ragforge runs in a folder, whichever session is in front."""

    loaded: Loaded
    flags: Mapping[str, JsonValue]
    environ: Mapping[str, str]
    child_env: Mapping[str, str]
    """The environment of commands: without keys and passwords."""
    place: Place
    project: Project
    store: Store
    blobs: Blobs
    local: LocalState
    alike: tuple[Project, ...]
    """Known projects that this unknown folder may be a copy of."""
    redactor: Redactor
    tools: Mapping[str, AnyTool]
    jobs: Jobs

    @property
    def settings(self) -> Settings:
        """The settings that hold here."""
        return self.loaded.settings


@dataclass(frozen=True, slots=True)
class Unkept:
    """What the store has not taken yet of a turn that ended: it goes there as soon as that is possible."""

    end: TurnEnd
    calls: tuple[tuple[ToolCall, Step], ...] = ()


@dataclass(slots=True)
class Live:
    """What changes while a session is open. Only functions of this package write to it."""

    record: ConversationSession
    stored: bool
    """A new session is stored with its first message, so that looking around leaves nothing behind."""
    mode: Mode
    claim: Claim | None = None
    read_only: bool = False
    """Another process or machine writes this session; this one only shows it."""
    rules: tuple[Rule, ...] = ()
    queue: list[Parts] = field(default_factory=list[Parts])
    messages: list[Message] = field(default_factory=list[Message])
    """The path to the head as the model is given it."""
    read_files: ReadFiles = field(default_factory=ReadFiles)
    instructions_given: set[Path] = field(default_factory=set[Path])
    unkept: Unkept | None = None
    provider: Provider | None = None
    running: "asyncio.Task[Any] | None" = None
    closing: bool = False
    """The app is going: a call that waits for consent goes on waiting in the store."""
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Session:
    """An open session: its workspace and what changes. Verbs are functions beside it."""

    workspace: Workspace
    live: Live

    @property
    def id(self) -> str:
        """The session's id."""
        return self.live.record.id

    @property
    def cwd(self) -> Path:
        """The folder that it works in."""
        return Path(self.live.record.cwd)

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        return self.live.running is not None and not self.live.running.done()

    def change(self, **changes: Any) -> None:
        """Replace fields of the session's record."""
        self.live.record = replace(self.live.record, **changes)
