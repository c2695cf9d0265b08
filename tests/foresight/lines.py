"""The lines of foresight in the block, where the turns of a file are said one after another.

A line is right where the turn before deserves its mark.
"""

from __future__ import annotations

import os
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.derivations import Underived
from ragforge.domain.foresight import KIND, Foresight
from ragforge.domain.messages import CallRequest, ModelMessage
from ragforge.domain.turns import Step, Turn
from ragforge.memory.foresight_mark import TurnFacts
from ragforge.memory.recall.gather import gather
from ragforge.memory.recall.request import Around, Injecting, InjectLimits, RecallRequest
from ragforge.session.open import close_workspace, new_session, open_workspace
from ragforge.session.state import Session
from ragforge.store.base import keep_project
from tests.contract.builders import a_turn, an_end
from tests.contract.builders_versions import a_change, new_version
from tests.foresight.measure import facts_of
from tests.patience import PATIENT_S

TOKENS_MAX = 2_000


async def lines_before(items: list[dict[str, Any]]) -> list[str]:
    """The line before the message of each turn; empty for none. Turns are of one session."""
    timeouts.GATHER_S_MAX = PATIENT_S
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "place"
        place.mkdir()
        env = {**os.environ, "RAGFORGE_DATA_DIR": f"{folder}/data", "RAGFORGE_CONFIG_DIR": f"{folder}/config"}
        workspace = await open_workspace(cwd=place, flags={}, environ=env | {"RAGFORGE_MODEL": "local"})
        await keep_project(workspace.store, workspace.project)
        session = await new_session(workspace)
        await workspace.store.sessions.add(session.live.record)
        found: list[str] = []
        last: Turn | None = None
        for item in items:
            if last is not None:
                await _foresee(session, last, item)
            found.append(await _line(session, item["said"], last))
            last = await _store(session, facts_of(item), last)
        await close_workspace(workspace)
    return found


async def _store(session: Session, facts: TurnFacts, last: Turn | None) -> Turn:
    store, person = session.workspace.store, session.workspace.person.id
    turn = a_turn(session.live.record, facts.said, parent=last, person=person)
    await store.turns.start(turn)
    asked = tuple(CallRequest(f"{turn.id}-{at}", call.name, call.args) for at, call in enumerate(facts.calls))
    step = Step(turn.id, 0, ModelMessage("scripted", "scripted", "", asked))
    for request, call in zip(asked, facts.calls, strict=True):
        place = asked.index(request)
        await store.calls.add(
            replace(call, id=request.id, turn_id=turn.id, step_index=0, position=place), step
        )
    await store.turns.end(an_end(turn))
    changes = tuple(map(a_change, facts.files_changed))
    await new_version(store, session.live.record, turn_id=turn.id, changes=changes)
    return turn


async def _foresee(session: Session, last: Turn, item: dict[str, Any]) -> None:
    """Keep the record after the last turn, which expects what the file says of the next."""
    made = Foresight(individual_after_prediction=item["expected"], files_foreseen=tuple(item["foreseen"]))
    source = Underived(last.id, session.workspace.project.id, last.started_at + timedelta(seconds=9))
    await session.workspace.store.derivations.save(KIND.record(source, made, model="scripted"))


async def _line(session: Session, said: str, last: Turn | None) -> str:
    workspace = session.workspace
    around = Around(workspace.project.id, session.id, workspace.person.id, before=last.id if last else "")
    wanted = RecallRequest(said, around, TOKENS_MAX, InjectLimits(), Injecting())
    block = await gather(workspace.recall, wanted)
    return next((item.text for item in block.items if item.section == "Foresight"), "")
