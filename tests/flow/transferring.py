"""Histories that are backed up, restored and copied, and the folders of the machines that do it."""

import hashlib
from array import array
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from ragforge.domain.ids import new_id
from ragforge.domain.messages import CallRequest, ImagePart, TextPart
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import ConversationSession, Turn
from ragforge.domain.vectors import Embedding, Owner, OwnerKind
from ragforge.domain.versions import Version
from ragforge.store.archive_lines import fingerprint
from ragforge.store.base import Record, Store
from ragforge.store.blobs import SqliteBlobs
from ragforge.store.open import open_store
from ragforge.store.transfer import copy
from tests.contract.builders import a_call, a_project, a_session, a_step, a_turn, an_end
from tests.contract.builders_versions import a_branch, a_change, a_move, a_node, new_version


@dataclass
class Place:
    """A folder with stores and the contents of one machine."""

    folder: Path
    opened: list[Store]
    blobs: SqliteBlobs

    async def store(self, name: str) -> Store:
        store = await open_store(f"sqlite://{self.folder}/{name}.db", machine_dir=self.folder)
        self.opened.append(store)
        return store

    async def copy(self, source: Store, target: Store, **more: object):
        return await copy(source, target, self.blobs, machine_dir=self.folder, **more)  # pyright: ignore


MakePlace = Callable[[str], Place]


@dataclass
class History:
    """What was put into a store."""

    sessions: list[ConversationSession]
    turns: list[Turn]
    blobs: list[bytes]


async def lived_in(store: Store, blobs: SqliteBlobs, *, sessions: int = 3, turns: int = 4) -> History:
    """A history of conversations and versions, with a fork, images, long results and files."""
    project = a_project(git_remote="git@example.org:parser.git")
    await store.projects.add(project)
    history = History([], [], [])
    for number in range(sessions):
        session = a_session(project.id, title=f"About {number}", project_path="/home/ada/parser")
        await store.sessions.add(session)
        history.sessions.append(session)
        parent: Turn | None = None
        line: list[Version] = []
        for depth in range(turns):
            parent = await _a_turn_with_contents(store, blobs, history, f"{number} {depth}", parent=parent)
            line.append(await _a_version(store, blobs, history, f"{number} {depth}", line=line))
        await store.versions.set_branch(a_branch(line[0], f"try/{number}"))
        await store.versions.add_move(a_move(session, from_version=line[-1].id, to_version=line[0].id))
        await _understood(store, session, history.turns[-turns:], number=number)
    fork = a_session(project.id, head=history.turns[1].id, forked_from=history.sessions[0].id)
    await store.sessions.add(fork)
    history.sessions.append(fork)
    return history


async def _a_turn_with_contents(
    store: Store, blobs: SqliteBlobs, history: History, name: str, *, parent: Turn | None
) -> Turn:
    """A turn with an image and a long result, in the newest session."""
    depth = name.rsplit(maxsplit=1)[-1]
    contents = [f"{kind} {name}".encode() * 50 for kind in ("image", "result")]
    image, result = [await blobs.put(content) for content in contents]
    history.blobs += contents
    user = (TextPart(f"Ask \ud800 naïve {depth}."), ImagePart(image, "image/png", "shot.png"))
    turn = a_turn(history.sessions[-1], parent=parent, user=user)
    await store.turns.start(turn)
    request = CallRequest(new_id(), "read", {"path": "a.py", "at": int(depth), "odd": "\ud83d"})
    step = a_step(turn, 0, "Let me look.", request)
    await store.calls.add(a_call(step, result_blob=result, result_chars=99_999), step)
    await store.turns.end(an_end(turn, f"Answer {depth}."))
    history.turns.append(turn)
    return turn


async def _a_version(
    store: Store, blobs: SqliteBlobs, history: History, name: str, *, line: list[Version]
) -> Version:
    """The version of the newest turn, at the end of the line: one file changed again."""
    text = f"file {name}\n"
    await blobs.put(text.encode())
    history.blobs.append(text.encode())
    before = line[-1].changes[0].after if line else None
    change = a_change("bad\udce9.txt", before=before, after=a_node(text))
    turn_id = history.turns[-1].id
    return await new_version(store, history.sessions[-1], *line[-1:], turn_id=turn_id, changes=(change,))


async def _understood(store: Store, session: ConversationSession, turns: list[Turn], *, number: int) -> None:
    """A summary of the turns, and vectors of it and of them."""
    covers = tuple(turn.id for turn in turns)
    at = turns[-1].started_at
    summary = Summary(
        new_id(), session.project_id, session.id, 1, "It parses.", covers, at, len(turns), topics=("x",)
    )
    await store.summaries.save(summary)
    await store.vectors.use("static", 256)
    owners = [Owner(OwnerKind.SUMMARY, summary.id), *(Owner(OwnerKind.TURN, each) for each in covers)]
    vectors = [array("f", [number + 1, place / 3, 0.1, -1e-7, *[0.0] * 252]) for place in range(len(owners))]
    await store.vectors.save(
        [
            Embedding(owner, "static", hashlib.sha256(owner.id.encode()).hexdigest(), vector)
            for owner, vector in zip(owners, vectors, strict=True)
        ]
    )


async def all_of(store: Store) -> list[Record]:
    async with aclosing(store.archive.dump()) as records:
        return [record async for record in records]


async def prints(store: Store) -> list[bytes]:
    return [fingerprint(record) for record in await all_of(store)]
