"""Check the calls of a session against the user's constraints."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from ragforge.agent.call_effects import effects_of
from ragforge.agent.constraint_hits import hits_of, matches_everything
from ragforge.agent.execute import against
from ragforge.agent.permissions import Ask, Decision, Refuse, only_reads
from ragforge.domain.approvals import Constraint, ConstraintHit, Mode, RunCommand
from ragforge.domain.errors import StoreError
from ragforge.domain.events import ConstraintsMet
from ragforge.domain.memories import Memory, MemoryFilter, MemorySort
from ragforge.domain.metrics import CONSTRAINT_HITS, TALLY
from ragforge.domain.turns import Turn
from ragforge.memory.constraints import constraint_of
from ragforge.memory.recall.memory_lists import find_memories
from ragforge.session.state import Session
from ragforge.tools.base import AnyTool, Effect, Preview

log = logging.getLogger(__name__)

CONSTRAINTS_MAX = 10_000
"""The newest are checked: nobody has said more."""

ALONE = "This run cannot ask for approval."
UNREAD = "your rules cannot be read, because the store cannot be reached"


class Constraints(Struct):
    """Those of one turn, read with its first call that changes something."""

    session: Session
    known: Sequence[Constraint] | None = None
    allowed: set[str] = field(default_factory=set[str])
    """Ids of those that any call violates, and that one may: once is enough."""
    is_unread: bool = False
    """Whether the last read failed, and none of earlier turns are known here."""

    async def hits(self, tool: AnyTool, preview: Preview) -> tuple[ConstraintHit, ...]:
        """Return the constraints that the call violates, newest first."""
        command = preview.proposal.command if isinstance(preview.proposal, RunCommand) else ""
        if tool.effect is Effect.READ or (command and only_reads(command) and self.known is None):
            return ()
        if self.known is None:
            self.known = await self._read()
        if not self.known:
            return ()
        root, cwd = self.session.workspace.place.root, Path(self.session.cwd)
        found = hits_of(self.known, effects_of(tool.effect, preview, root=root, cwd=cwd))
        return tuple(each for each in found if each.constraint.id not in self.allowed)

    async def answered(self, met: ConstraintsMet) -> None:
        """Count the result of a call."""
        hits = met.hits
        if not met.stopped:  # a no to one call is no yes to the next
            self.allowed |= {each.constraint.id for each in hits if matches_everything(each.constraint)}
        answers = ("noted", "allowed") if not met.stopped else ("refused", "declined")
        TALLY.count(CONSTRAINT_HITS, answers[met.asked], by=len(hits))
        counted = [each.constraint.id for each in hits if each.since is None]
        try:
            await self.session.workspace.store.memories.count_answers(counted, held=met.stopped)
        except StoreError as error:
            log.warning("What became of a call against a constraint is not counted: %s", error)

    async def _read(self) -> tuple[Constraint, ...] | None:
        """Return the valid ones; if the store is away those of the last time, None if there was none."""
        workspace = self.session.workspace
        if not workspace.settings.memory.enabled:
            return ()
        last, project_id, link = workspace.constraints, workspace.project.id, workspace.store.link
        partial = link.partial
        try:
            found = await self._found()
        except StoreError as error:
            log.warning("The constraints cannot be read: %s", error)
            found = None
        link = workspace.store.link
        if found is not None and not (link.away and link.partial > partial):
            last[project_id] = found
            self.is_unread = False
            return found
        self.is_unread = project_id not in last
        if self.is_unread:
            return None
        known = {each.id: each for each in (*last[project_id], *(found or ()))}
        return tuple(known.values())

    async def _found(self) -> tuple[Constraint, ...]:
        """Return those in the store. Raises StoreError."""
        workspace = self.session.workspace
        wanted = MemoryFilter(
            project_id=workspace.project.id,
            session_id=self.session.id,
            person=workspace.person.id,
            binding=True,
            sort=MemorySort.RECENT,
            limit=CONSTRAINTS_MAX,
        )
        found = await find_memories(workspace.recall, wanted)
        if len(found) == CONSTRAINTS_MAX:
            log.warning("There are %s constraints or more: only the newest are held.", f"{CONSTRAINTS_MAX:,}")
        newest = await self._said_last(found)
        known = {each.id: each for each in workspace.constraints.get(workspace.project.id, ())}
        return await asyncio.to_thread(_constraints, found, newest, known)

    async def _said_last(self, memories: Sequence[Memory]) -> dict[str, Turn]:
        """Return, for those said several times, the newest turn that is not undone. Raises StoreError."""
        turns = self.session.workspace.store.turns
        ids = sorted({id for each in memories if len(each.turns) > 1 for id in each.turns})
        if not ids:
            return {}
        abandoned = await turns.abandoned(ids)
        read = {turn.id: turn for turn in await turns.read([id for id in ids if id not in abandoned])}
        said = {each.id: [read[id] for id in each.turns if id in read] for each in memories}
        return {id: max(on_path, key=lambda turn: turn.started_at) for id, on_path in said.items() if on_path}


def _constraints(
    memories: Sequence[Memory], newest: Mapping[str, Turn], known: Mapping[str, Constraint]
) -> tuple[Constraint, ...]:
    """Return those of the memories that forbid or require something; known ones are not parsed again."""
    found = (constraint_of(each, newest.get(each.id), known.get(each.id)) for each in memories)
    return tuple(each for each in found if each.prohibitions or each.wants)


def decide_with(
    decision: Decision,
    hits: Sequence[ConstraintHit],
    *,
    mode: Mode,
    unattended: str,
    warns: bool,
    unread: bool = False,
) -> Decision:
    """The decision about a call that violates constraints.

    unattended: why nobody can be asked. warns: such calls run nevertheless, with a warning.
    unread: the constraints are unknown, so the call may violate one.
    """
    if isinstance(decision, Refuse) or not (hits or unread):
        return decision
    binding = [each for each in hits if each.binds]
    if not (binding or unread) or mode is Mode.ALL or (unattended and warns):
        return replace(decision, hits=tuple(hits))
    if unattended:
        why = against(binding) if binding else f"{UNREAD[0].upper()}{UNREAD[1:]}."
        return Refuse(f"Not done. {why} {unattended}", tuple(hits))
    reasons = [decision.reason] if isinstance(decision, Ask) else []
    if unread:
        reasons.append(UNREAD)
    return Ask("; ".join(reasons) or "goes against one of your rules", (), tuple(hits))
