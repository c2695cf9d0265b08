"""A history with one of everything, and all that a store holds."""

from collections.abc import Sequence
from pathlib import Path

from ragforge.domain.ids import new_id
from ragforge.domain.json import JsonObject
from ragforge.domain.memories import (
    AssociationKind,
    Memory,
    MemoryScope,
    MemorySource,
    MemoryType,
)
from ragforge.domain.messages import ImagePart, TextPart
from ragforge.domain.turns import ConversationSession, Turn
from ragforge.store.base import Record, Store
from tests.contract.builders import (
    DIMENSIONS,
    a_call,
    a_derived,
    a_memory,
    a_project,
    a_request,
    a_spending,
    a_step,
    a_summary,
    a_turn,
    an_association,
    an_embedding,
    an_end,
    new_session,
    said,
)
from tests.contract.builders_versions import a_branch, a_move, an_operation, new_version

MODEL = "static:minilm-256-2"
DATA: JsonObject = {
    **{"next_step": "Feed the gnu.", "sure": 0.5, "days": 3, "id": "its own", "at": "noon", "kind": None},
    **{"open_files": ["a.py", "b.py"], "seen": True, "more": {"deep": [1, None, "é🦓\ud800"]}, "huge": 2**70},
}
FORMAT_2 = Path(__file__).with_name("moves_of_format_2.backup")
"""Written by the release before: two of three turns undone, one redone, its files undone alone and redone."""


async def dumped(store: Store) -> list[Record]:
    return [record async for record in store.archive.dump()]


async def history(store: Store) -> ConversationSession:
    """One of everything: a branch, a fork, a waiting turn, calls, summaries in two levels, a tree."""
    session = await new_session(
        store,
        title="Animals",
        user="ada",
        host="desk",
        project_path="/home/ada",
        model="gemini:a",
        mode="all",
    )
    turn = a_turn(
        session, "Feed the zebra.", user=(TextPart("Feed the zebra."), ImagePart("f" * 64, "image/png"))
    )
    await store.turns.start(turn)
    step = a_step(
        turn, 0, "", a_request("read", path="src/okapi.py", limit=3), a_request("shell", n=[1, None])
    )
    for position in (0, 1):
        await store.calls.add(a_call(step, position, diff="-a\n+b", result_blob="e" * 64), step)
    await store.turns.end(an_end(turn, last_step=a_step(turn, 1, cost_usd=None)))
    left = await said(store, session, "left behind", parent=turn)
    kept = await said(store, session, "kept", parent=turn)
    fork = await new_session(store, head=left.id, forked_from=session.id)
    waiting = a_turn(fork, "May I?", parent=left)
    await store.turns.start(waiting)
    await store.turns.save_step(a_step(waiting, 0, "", a_request("shell", command="rm")), waits=True)
    level_1 = [a_summary(session, "gnu", turn, topics=("hay",)), a_summary(session, "more", kept)]
    # The id of what covers sorts before those of what it covers.
    level_2 = a_summary(session, "all", *level_1, id="0" + new_id()[1:])
    for summary in (*level_1, level_2):
        await store.summaries.save(summary)
    new, undone = await _memories(store, session, turn=turn, left=left, kept=kept, waiting=waiting)
    project = a_project(id=session.project_id)
    for record in (
        a_derived(kept, project_id=project.id, model="gemini:a", relation="MADE_AFTER", data=DATA),
        a_derived(left, project_id=project.id, hash="1"),
        a_derived(session, name="yak/1"),
        a_derived(project, kind="Lesson", name="2"),
    ):
        await store.derivations.save(record)
    await store.derivations.forget([a_derived(session, name="yak/1").id], kept.started_at)
    for of in (session, project):
        await store.usage.add(a_spending(of))
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save([an_embedding(each, 1, 2) for each in (turn, kept, level_2, new, undone)])
    await _tree(store, session, [turn, left, kept])
    return session


async def _memories(
    store: Store, session: ConversationSession, *, turn: Turn, left: Turn, kept: Turn, waiting: Turn
) -> tuple[Memory, Memory]:
    """Four, linked, one used and one forgotten; the used one and the forgotten one."""
    project = a_project(id=session.project_id)
    old = a_memory(session, "Hay is fed by hand.", left, turn, topic="hay", accessed_at=turn.started_at)
    new = a_memory(session, "Straw is fed by hand.", kept, type=MemoryType.DECISION, importance=0.8)
    said_by_hand = a_memory(project, "Ada is a keeper.", scope=MemoryScope.GLOBAL, source=MemorySource.USER)
    undone = a_memory(session, "The yak is hungry.", waiting, scope=MemoryScope.SESSION)
    for memory in (old, new, said_by_hand, undone):
        await store.memories.save(memory)
    await store.memories.associate(
        [
            an_association(new, old, turn=kept.id),
            an_association(new, said_by_hand, kind=AssociationKind.SUPPORTS),
        ]
    )
    await store.memories.touch([new.id], turn.started_at)
    await store.memories.forget([undone.id], turn.started_at)
    return new, undone


async def _tree(store: Store, session: ConversationSession, turns: Sequence[Turn]) -> None:
    """Versions of the turns and one of the user, two branches, a merge, two moves."""
    first, left, kept = turns
    by_hand = await new_version(store, a_project(id=session.project_id), label="quagga", words="+tapir = 1")
    of_first = await new_version(store, session, by_hand, turn_id=first.id, title="Feed the zebra.")
    of_left = await new_version(store, session, of_first, turn_id=left.id, cost_usd=None)
    of_kept = await new_version(store, session, of_first, turn_id=kept.id)
    merged = await new_version(store, session, of_kept, of_left, title="merge of b/c", changes=())
    for version, name in ((of_left, "b/c"), (merged, "main")):
        await store.versions.set_branch(a_branch(version, name))
    for of, operation in ((session, an_operation(left.id)), (a_project(id=session.project_id), {})):
        await store.versions.add_move(
            a_move(of, from_version=of_left.id, to_version=of_first.id, **operation)
        )
