"""What is kept of a run: the program as it was, its state, its calls. It goes on from there after a kill."""

from datetime import datetime
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ragforge.domain.derivations import DerivedFilter, DerivedKind, DerivedOwner, Underived, as_kept
from ragforge.domain.errors import RagforgeError, UsageError
from ragforge.domain.ids import now
from ragforge.session.state import Workspace
from ragforge.workflow.machine import RunState
from ragforge.workflow.operation import ProgramFault

RUNS_LISTED_MAX = 200


class ProgramCall(Struct, frozen=True):
    """A call of a model, once it has ended."""

    role: str
    model: str
    seconds: float
    cost_usd: float | None
    """None where the price is unknown."""
    tokens: int = 0


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
    """What is remembered of answers, by their hashes: focus, model, tokens, seconds, score."""


KIND = DerivedKind("ProgramRun", ProgramRun, owner=DerivedOwner.PROJECT, relation="RAN_IN")
"""Kept with the project, one record a run; in the graph `(:ProgramRun)-[:RAN_IN]->(:Project)`."""


class RunBook:
    """The runs of a project, in whichever store is open."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._kept_at: datetime | None = None

    async def keep(self, run: ProgramRun) -> None:
        """Keep the run as it is now, without secrets. Raises StoreError; ProgramFault if it is too large."""
        workspace = self._workspace
        at = now()
        if self._kept_at is None:
            await self._keep_project()
        else:
            at = max(at, self._kept_at)
        self._kept_at = at
        record = KIND.record(Underived(workspace.project.id, workspace.project.id, at), run, name=run.id)
        try:
            kept = as_kept(record)
        except UsageError as error:
            raise ProgramFault(f"The run cannot be kept, so it does not go on. {error}") from error
        await workspace.store.derivations.save(replace(kept, data=workspace.redactor.fields(kept.data)))

    async def _keep_project(self) -> None:
        """Keep the project of which no session was stored yet."""
        workspace = self._workspace
        if await workspace.store.projects.get(workspace.project.id) is None:
            await workspace.store.projects.add(workspace.project)

    async def unfinished(self, program: str) -> ProgramRun:
        """The newest run of the program that did not end. Raises RagforgeError where there is none."""
        wanted = DerivedFilter(KIND.label, self._workspace.project.id, limit=RUNS_LISTED_MAX)
        for record in await self._workspace.store.derivations.find(wanted):
            run = KIND.read(record)
            if run is not None and not run.is_done and run.program == program:
                return run
        raise RagforgeError(f"No run of {program} is unfinished. Start one without --resume.")
