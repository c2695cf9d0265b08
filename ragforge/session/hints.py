"""The hints of an open session: when they are made, and the effect of the user's answers."""

import logging
from collections.abc import Sequence
from functools import partial

from ragforge.domain.events import TurnEnded
from ragforge.domain.hints import HintAnswer, HintContext, HintPace, ProactiveHint
from ragforge.domain.ids import now
from ragforge.domain.memories import marks_of
from ragforge.domain.messages import text_of
from ragforge.domain.metrics import HINT_ANSWERS, HINTS, TALLY
from ragforge.domain.turns import Turn, TurnStatus
from ragforge.memory.hints import LeftOpen, ProactiveHintEngine
from ragforge.memory.recall.concepts import memories_by_id
from ragforge.memory.recall.memory_lists import find_memories
from ragforge.session.context import recalls
from ragforge.session.state import Session

log = logging.getLogger(__name__)

MESSAGES = 5
"""How many of the newest messages determine the current subject."""


class SessionHints:
    """The unanswered hints of a session. Every method may raise StoreError."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.open: tuple[ProactiveHint, ...] = ()
        """The newest first; as many as are shown at most."""
        self._pace = HintPace()

    @property
    def enabled(self) -> bool:
        """Whether there are any in this session."""
        workspace = self.session.workspace
        return workspace.settings.hints.enabled and recalls(workspace) and not self.session.live.read_only

    async def after_turn(self, ended: TurnEnded) -> list[ProactiveHint]:
        """Return the hints that fit the turn, for `offer`; none of them is offered yet."""
        may_have = self._pace.turn_ended()
        has_answer = ended.turn.status is TurnStatus.FINISHED and not ended.came_to_nothing
        if not (may_have and has_answer and self.enabled):
            return []
        turns = await self.session.workspace.store.turns.path(ended.turn.id, limit=(MESSAGES + 1) // 2)
        return await self._engine.generate_hints(self._person, self._context(turns))

    async def left_open(self) -> LeftOpen:
        """Return what was left open in the project, for a new session."""
        return await self._engine.left_open(self._person, self._context(())) if self.enabled else LeftOpen()

    async def offer(self, hints: Sequence[ProactiveHint], *, after_turn: bool = True) -> None:
        """Add them to the list, above those that wait for an answer."""
        ids = [hint.source_preference_id for hint in hints]
        workspace = self.session.workspace
        await workspace.local.hints.set_offered(
            ids, session_id=self.session.id, at=now(), project_id=workspace.project.id
        )
        waiting = [hint for hint in self.open if hint.source_preference_id not in ids]
        self.open = (*hints, *waiting)[: workspace.settings.hints.shown_max]
        if after_turn:
            self._pace.offered()
        for hint in hints:
            TALLY.count(HINTS, hint.type.value)
            log.info(
                "Hint offered: %s, relevance %.2f, about the memory %s",
                hint.type.value,
                hint.relevance_score,
                hint.source_preference_id,
            )

    async def answer(self, hint: ProactiveHint, answer: HintAnswer) -> None:
        """Record the answer; the hint leaves the list. The interface applies it."""
        local, preference = self.session.workspace.local, hint.source_preference_id
        if answer is HintAnswer.IGNORE:
            await local.hints.add_ignored(preference, at=now())
        elif answer is HintAnswer.LATER:
            await local.hints.postpone(preference)
        elif answer is HintAnswer.APPLY:
            await local.hints.add_taken(preference)
        self.open = tuple(each for each in self.open if each.id != hint.id)
        TALLY.count(HINT_ANSWERS, hint.type.value, answer.value)

    async def drop_outdated(self) -> None:
        """Remove those whose memories were forgotten, replaced or undone since."""
        ids = [hint.source_preference_id for hint in self.open]
        workspace = self.session.workspace
        place = {"project_id": workspace.project.id, "person": workspace.person.id}
        found = await memories_by_id(workspace.recall, ids, **place) if ids else []
        standing = {memory.id for memory in found if not marks_of(memory)}
        self.open = tuple(hint for hint in self.open if hint.source_preference_id in standing)

    @property
    def _engine(self) -> ProactiveHintEngine:
        workspace = self.session.workspace
        return ProactiveHintEngine(
            partial(find_memories, workspace.recall),
            workspace.local.hints.histories,
            workspace.settings.hints.shown_max,
        )

    @property
    def _person(self) -> str:
        return self.session.workspace.person.id

    def _context(self, turns: Sequence[Turn]) -> HintContext:
        """Return the subject of these turns, of which the newest is the last."""
        messages = [text for turn in turns for text in (text_of(turn.user), turn.assistant)]
        return HintContext(
            project_id=self.session.workspace.project.id,
            session_id=self.session.id,
            topic=text_of(turns[-1].user) if turns else "",
            model=self.session.live.record.model,
            messages=tuple(messages[-MESSAGES:]),
            at=now(),
            turns=frozenset(turn.id for turn in turns),
        )
