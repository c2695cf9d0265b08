"""The user's constraints, held against the calls of a session."""

import logging
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from ragforge.agent.call_effects import effects_of
from ragforge.agent.constraint_hits import hits_of, matches_everything
from ragforge.agent.execute import against
from ragforge.agent.permissions import Ask, Decision, Refuse
from ragforge.domain.approvals import Constraint, ConstraintHit, Mode
from ragforge.domain.errors import StoreError
from ragforge.domain.memories import MemoryFilter, MemorySort
from ragforge.memory.constraints import constraint_of
from ragforge.session.state import Session
from ragforge.tools.base import AnyTool, Effect, Preview

log = logging.getLogger(__name__)

CONSTRAINTS_MAX = 1_000
"""The newest are held: more than this nobody has said."""


ALONE = "This run has no person to ask."


class Constraints(Struct):
    """Those of one turn, read with its first call that changes something."""

    session: Session
    known: Sequence[Constraint] | None = None
    asked: set[str] = field(default_factory=set[str])
    """Ids of those that any call goes against and that were asked about: once is enough."""

    async def hits(self, tool: AnyTool, preview: Preview) -> tuple[ConstraintHit, ...]:
        """What the call goes against, the newest first; nothing where the store cannot be read."""
        if tool.effect is Effect.READ:
            return ()
        if self.known is None:
            self.known = await self._read()
        if not self.known:
            return ()
        root, cwd = self.session.workspace.place.root, Path(self.session.cwd)
        found = hits_of(self.known, effects_of(tool.effect, preview, root=root, cwd=cwd))
        return tuple(each for each in found if each.constraint.id not in self.asked)

    async def answered(self, hits: Sequence[ConstraintHit], *, held: bool) -> None:
        """Count that the call was not run (`held`), or was."""
        self.asked |= {each.constraint.id for each in hits if matches_everything(each.constraint)}
        counted = [each.constraint.id for each in hits if each.since is None]
        try:
            await self.session.workspace.store.memories.count_answers(counted, held=held)
        except StoreError as error:
            log.warning("What became of a call against a constraint is not counted: %s", error)

    async def _read(self) -> list[Constraint]:
        workspace = self.session.workspace
        if not workspace.settings.memory.enabled:
            return []
        wanted = MemoryFilter(
            project_id=workspace.project.id,
            session_id=self.session.id,
            person=workspace.person.id,
            binding=True,
            sort=MemorySort.RECENT,
            limit=CONSTRAINTS_MAX,
        )
        try:
            found = await workspace.store.memories.find(wanted)
        except StoreError as error:
            log.warning("The constraints cannot be read, so no call is held against them: %s", error)
            return []
        return [constraint for each in found if (constraint := constraint_of(each)).prohibitions]


def decide_with(
    decision: Decision, hits: Sequence[ConstraintHit], *, mode: Mode, unattended: str, warns: bool
) -> Decision:
    """The decision about a call that goes against constraints.

    unattended: why nobody can be asked. warns: such calls are run there all the same, and told about.
    """
    if isinstance(decision, Refuse) or not hits:
        return decision
    binding = [each for each in hits if each.binds]
    if not binding or mode is Mode.ALL or (unattended and warns):
        return replace(decision, hits=tuple(hits))
    if unattended:
        return Refuse(f"Not done. {against(binding)} {unattended}", tuple(hits))
    reason = decision.reason if isinstance(decision, Ask) else "goes against what you said"
    return Ask(reason, (), tuple(hits))
