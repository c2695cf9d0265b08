"""The stored state of runs: the program as it was, its registers, its calls. A killed run resumes from it."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from ragforge.domain.derivations import DerivedFilter, DerivedKind, DerivedOwner, Underived, as_kept
from ragforge.domain.errors import RagforgeError, StoreUnavailable, UsageError
from ragforge.domain.ids import now
from ragforge.files.locks import Presence, is_present, open_lock, try_lock
from ragforge.session.state import Workspace
from ragforge.workflow.machine import RunState
from ragforge.workflow.operation import ProgramFault

RUNS_LISTED_MAX = 200
INLINE_BYTES_MAX = 4_000
"""A larger value is stored by its hash."""
DIGESTS_MAX = 20
RESUMING = "resuming"
RESUMING_S, RESUMING_TRIES = 0.05, 200
"""How long to wait between checks whether another process is still choosing the run that it resumes."""
TEXT, EXAMPLE = "text", "example"
"""Not names of registers, which are in capitals."""
encode_json = msgspec.json.encode


class ProgramCall(Struct, frozen=True):
    """A model call that has ended."""

    role: str
    model: str
    seconds: float
    cost_usd: float | None
    """None if the price is unknown."""
    tokens: int = 0
    line: int = 0
    """The line of its operation."""


class ProgramRun(Struct):
    """A run. text: the program's, which may have changed since. source: the name of its file."""

    id: str
    program: str
    source: str
    text: str
    state: RunState = field(default_factory=RunState)
    calls: list[ProgramCall] = field(default_factory=list[ProgramCall])
    seconds: float = 0.0
    is_done: bool = False
    fault: str = ""
    answers: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """What is remembered about answers, by their hashes: focus, model, tokens, seconds, score."""
    presence: str = ""
    """The sign of life of the process that runs it, or ran it last, on its machine."""
    example: str = ""
    """The run as a line of `NAME.spu.test`, if it ended well; empty if it cannot be one."""
    blobs: dict[str, str] = field(default_factory=dict[str, str])
    """The hashes of registers, and of the program's text, that are too large for a record."""


KIND = DerivedKind("ProgramRun", ProgramRun, owner=DerivedOwner.PROJECT, relation="RAN_IN")
"""Stored with the project, one record per run; in the graph `(:ProgramRun)-[:RAN_IN]->(:Project)`."""


class RunBook:
    """The runs of a project, in whichever store is open."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._kept_at: datetime | None = None
        self._presence: Presence | None = None
        self._digests: dict[bytes, str] = {}
        """The hashes of what was last put into the blob store."""

    async def keep(self, run: ProgramRun) -> None:
        """Store the current state, without secrets. Raises StoreError; ProgramFault if it is too large."""
        workspace = self._workspace
        if self._presence is None:
            self._presence = Presence(self._locks)
            run.presence = self._presence.name
        at = now()
        if self._kept_at is None:
            await self._keep_project()
        else:
            at = max(at, self._kept_at)
        self._kept_at = at
        slim = await self._without_large(run)
        record = KIND.record(Underived(workspace.project.id, workspace.project.id, at), slim, name=run.id)
        try:
            kept = as_kept(record)
        except UsageError as error:
            raise ProgramFault(f"The run cannot be saved, so it does not continue. {error}") from error
        await workspace.store.derivations.save(replace(kept, data=workspace.redactor.fields(kept.data)))

    def end(self) -> None:
        """Record that this process no longer runs it."""
        if self._presence:
            self._presence.end()

    @property
    def _locks(self) -> Path:
        return self._workspace.data_dir / "locks"

    async def _without_large(self, run: ProgramRun) -> ProgramRun:
        """Return the run with large values in the blob store, without secrets, and hashes in their place."""
        registers, blobs = dict(run.state.registers), dict[str, str]()
        for name, value in run.state.registers.items():
            if isinstance(value, str | list | dict) and len(text := encode_json(value)) > INLINE_BYTES_MAX:
                del registers[name]
                if not run.is_done:  # nobody resumes it
                    blobs[name] = await self._put(text)
        text = run.text
        if len(text) > INLINE_BYTES_MAX:
            blobs[TEXT], text = await self._put(encode_json(text)), ""
        example = run.example
        if len(example) > INLINE_BYTES_MAX:
            blobs[EXAMPLE], example = await self._put(encode_json(example)), ""
        return replace(
            run, text=text, example=example, blobs=blobs, state=replace(run.state, registers=registers)
        )

    async def _put(self, text: bytes) -> str:
        digest = self._digests.get(text)
        if digest is None:
            redactor = self._workspace.redactor
            safe = redactor.fields({"value": msgspec.json.decode(text)})["value"]
            digest = await self._workspace.blobs.put(encode_json(safe))
            self._digests = {**dict(list(self._digests.items())[-DIGESTS_MAX:]), text: digest}
        return digest

    async def _whole(self, run: ProgramRun) -> ProgramRun:
        """Return the run with its values from the blob store. Raises StoreError if they are not here."""
        for name, digest in run.blobs.items():
            value = msgspec.json.decode(await self._workspace.blobs.get(digest))
            if name == TEXT:
                run.text = value
            elif name == EXAMPLE:
                run.example = value
            else:
                run.state.registers[name] = value
        return run

    async def _keep_project(self) -> None:
        """Save the project if no session of it was stored yet."""
        workspace = self._workspace
        if await workspace.store.projects.get(workspace.project.id) is None:
            await workspace.store.projects.add(workspace.project)

    async def unfinished(self, program: str) -> ProgramRun:
        """Return the newest unfinished run of the program, which this process runs from now on.

        Raises RagforgeError if there is none.
        """
        async with _alone(self._locks):  # of two that resume it at the same time, one does
            run = await self._unfinished(program)
            await self.keep(run)
        return run

    async def _unfinished(self, program: str) -> ProgramRun:
        is_running = False

        def can_go_on(run: ProgramRun) -> bool:
            nonlocal is_running
            if run.is_done:
                return False
            lives = bool(run.presence) and is_present(self._locks, run.presence)
            is_running = is_running or lives
            return not lives

        if run := await self._newest(program, can_go_on):
            return run
        if is_running:
            raise RagforgeError(
                f"A run of {program} is still going on in another window, so it is not resumed."
            )
        raise RagforgeError(
            f"{program} has no unfinished run: the last one ended, or stopped before anything of it was "
            "stored. Start one without --resume."
        )

    async def example(self, program: str) -> str:
        """Return the program's newest run that ended well, as an example. Raises RagforgeError for none."""
        run = await self._newest(program, lambda run: run.is_done and not run.fault)
        if run is None:
            raise RagforgeError(f"No run of {program} has ended well here. Run it first.")
        if not run.example:
            raise RagforgeError(
                f"The last run of {program} cannot be an example: it was resumed, showed nothing or "
                "is too long."
            )
        return run.example

    async def _newest(self, program: str, fits: Callable[[ProgramRun], bool]) -> ProgramRun | None:
        wanted = DerivedFilter(KIND.label, self._workspace.project.id, limit=RUNS_LISTED_MAX)
        for record in await self._workspace.store.derivations.find(wanted):
            run = KIND.read(record)
            if run is not None and run.program == program and fits(run):
                return await self._whole(run)
        return None


@asynccontextmanager
async def _alone(folder: Path) -> AsyncGenerator[None, None]:
    """Exclude all other processes of this machine. Raises StoreUnavailable if that is impossible."""
    path = folder / RESUMING
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = open_lock(path)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be locked: {error.strerror}. Make it writable.") from error
    try:
        for _ in range(RESUMING_TRIES):
            if try_lock(descriptor):
                break
            await asyncio.sleep(RESUMING_S)
        else:
            raise StoreUnavailable("Another window is resuming a run. Try again.")
        yield
    finally:
        os.close(descriptor)
