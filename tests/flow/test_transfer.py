"""Backup, restore and copy: whatever the way, nothing is lost, altered or there twice."""

import asyncio
import hashlib
import sys
from array import array
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from ragforge.domain.errors import StoreDamaged, UsageError
from ragforge.domain.ids import new_id
from ragforge.domain.messages import CallRequest, ImagePart, TextPart
from ragforge.domain.search import Query
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import ConversationSession, Turn
from ragforge.domain.vectors import Embedding, Owner, OwnerKind
from ragforge.store.archive_lines import fingerprint
from ragforge.store.base import Record, RecordKind, Store
from ragforge.store.blobs import SqliteBlobs
from ragforge.store.open import open_store
from ragforge.store.transfer import Progress, Stage, backup, copy, restore, verified
from ragforge.store.transfer_stream import chunks
from tests.contract.builders import NOON, a_call, a_project, a_session, a_step, a_turn, an_end


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


@pytest.fixture
async def make_place(tmp_path: Path) -> AsyncIterator[MakePlace]:
    places: list[Place] = []

    def make(name: str) -> Place:
        (tmp_path / name).mkdir()
        places.append(Place(tmp_path / name, [], SqliteBlobs(tmp_path / name / "blobs.db")))
        return places[-1]

    yield make
    for place in places:
        for store in place.opened:
            await store.close()
        await place.blobs.close()


@pytest.fixture
def place(make_place: MakePlace) -> Place:
    return make_place("here")


@dataclass
class History:
    """What was put into a store."""

    sessions: list[ConversationSession]
    turns: list[Turn]
    blobs: list[bytes]


async def lived_in(store: Store, blobs: SqliteBlobs, *, sessions: int = 3, turns: int = 4) -> History:
    """A history of every kind of record, with a fork, an image and a long result in each session."""
    project = a_project(git_remote="git@example.org:parser.git")
    await store.projects.add(project)
    history = History([], [], [])
    for number in range(sessions):
        session = a_session(project.id, title=f"About {number}", project_path="/home/ada/parser")
        await store.sessions.add(session)
        history.sessions.append(session)
        parent: Turn | None = None
        for depth in range(turns):
            contents = [f"{kind} {number} {depth}".encode() * 50 for kind in ("image", "result")]
            image, result = [await blobs.put(content) for content in contents]
            history.blobs += contents
            user = (TextPart(f"Ask \ud800 naïve {depth}."), ImagePart(image, "image/png", "shot.png"))
            turn = a_turn(session, parent=parent, user=user)
            await store.turns.start(turn)
            request = CallRequest(new_id(), "read", {"path": "a.py", "at": depth, "odd": "\ud83d"})
            step = a_step(turn, 0, "Let me look.", request)
            await store.calls.add(a_call(step, result_blob=result, result_chars=99_999), step)
            await store.turns.end(an_end(turn, f"Answer {depth}."))
            history.turns.append(turn)
            parent = turn
        at = history.turns[-1].started_at
        covers = tuple(turn.id for turn in history.turns[-turns:])
        summary = Summary(new_id(), project.id, session.id, 1, "It parses.", covers, at, turns, topics=("x",))
        await store.summaries.save(summary)
        await store.vectors.use("static", 4)
        owners = [Owner(OwnerKind.SUMMARY, summary.id), *(Owner(OwnerKind.TURN, each) for each in covers)]
        vectors = [array("f", [number + 1, place / 3, 0.1, -1e-7]) for place in range(len(owners))]
        await store.vectors.save(
            [
                Embedding(owner, "static", hashlib.sha256(owner.id.encode()).hexdigest(), vector)
                for owner, vector in zip(owners, vectors, strict=True)
            ]
        )
    fork = a_session(project.id, head=history.turns[1].id, forked_from=history.sessions[0].id)
    await store.sessions.add(fork)
    history.sessions.append(fork)
    return history


async def all_of(store: Store) -> list[Record]:
    async with aclosing(store.archive.dump()) as records:
        return [record async for record in records]


async def prints(store: Store) -> list[bytes]:
    return [fingerprint(record) for record in await all_of(store)]


async def test_a_restored_backup_is_the_same_history(make_place: MakePlace, tmp_path: Path):
    here, there = make_place("here"), make_place("there")
    source, target = await here.store("one"), await there.store("two")
    history = await lived_in(source, here.blobs)
    told: list[Progress] = []
    made = await backup(source, here.blobs, tmp_path / "all.gz", tell=told.append)
    records = await all_of(source)
    assert made.closing.counts["blob"] == len(history.blobs)
    assert sum(made.closing.counts.values()) == len(records) + len(history.blobs)
    assert (made.closing.missing, made.closing.waiting) == ((), 0)
    assert made.size_bytes == (tmp_path / "all.gz").stat().st_size
    assert told[-1] == Progress(Stage.MOVE, len(records), len(records))

    found = await verified(tmp_path / "all.gz")
    assert found.header.origin == (await source.status()).kind
    moved = await restore(found, target, there.blobs, machine_dir=there.folder, tell=told.append)
    assert await all_of(target) == records
    assert moved.counts == await source.archive.counts() == await target.archive.counts()
    assert (moved.new, moved.kept, moved.blobs) == (len(records), 0, len(history.blobs))
    assert told[-1] == Progress(Stage.VERIFY, len(records), len(records))
    for content in history.blobs:
        assert await there.blobs.get(hashlib.sha256(content).hexdigest()) == content
    assert await target.check() == []
    hits = await target.search.words(Query("naïve"))
    assert hits
    sessions = [await target.sessions.get(session.id) for session in history.sessions]
    assert [session and session.head for session in sessions] == [
        *(history.turns[number].id for number in (3, 7, 11)),
        history.turns[1].id,
    ]

    again = await restore(found, target, there.blobs, machine_dir=there.folder)
    assert (again.new, again.kept, again.blobs) == (0, 0, 0)
    assert await all_of(target) == records


async def test_a_backup_of_the_restored_is_the_same_but_for_its_date(make_place: MakePlace, tmp_path: Path):
    here, there = make_place("here"), make_place("there")
    source, target = await here.store("one"), await there.store("two")
    await lived_in(source, here.blobs)
    first = await backup(source, here.blobs, tmp_path / "first.gz")
    await restore(await verified(tmp_path / "first.gz"), target, there.blobs, machine_dir=there.folder)
    second = await backup(target, there.blobs, tmp_path / "second.gz")
    assert first.closing == second.closing


async def test_an_empty_store_makes_a_backup_too(place: Place, tmp_path: Path):
    source, target = await place.store("one"), await place.store("two")
    await backup(source, place.blobs, tmp_path / "all.gz")
    moved = await restore(await verified(tmp_path / "all.gz"), target, place.blobs, machine_dir=place.folder)
    assert (moved.counts, moved.new) == ({}, 0)
    assert await all_of(target) == []


async def test_contents_that_are_gone_are_named_and_the_rest_is_kept(make_place: MakePlace, tmp_path: Path):
    here, there = make_place("here"), make_place("there")
    source, target = await here.store("one"), await there.store("two")
    history = await lived_in(source, there.blobs, sessions=1, turns=2)  # on another machine
    digests = [hashlib.sha256(content).hexdigest() for content in history.blobs]
    await here.blobs.put(history.blobs[0])
    made = await backup(source, here.blobs, tmp_path / "all.gz")
    assert sorted(made.closing.missing) == sorted(digests[1:])
    found = await verified(tmp_path / "all.gz")
    elsewhere = make_place("elsewhere")
    moved = await restore(found, target, elsewhere.blobs, machine_dir=elsewhere.folder)
    assert (moved.blobs, sorted(moved.missing_blobs)) == (1, sorted(digests[1:]))
    assert await all_of(target) == await all_of(source)

    copied = await here.copy(source, await here.store("three"))
    assert sorted(copied.missing_blobs) == sorted(digests[1:])
    # Where they lie already, nothing is missing.
    known = await restore(found, await there.store("four"), there.blobs, machine_dir=there.folder)
    assert (known.blobs, known.missing_blobs) == (0, ())


async def test_a_damaged_backup_changes_nothing(place: Place, tmp_path: Path):
    source, target = await place.store("one"), await place.store("two")
    await lived_in(source, place.blobs)
    file = tmp_path / "all.gz"
    await backup(source, place.blobs, file)
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(StoreDamaged):
        await verified(file)

    # It was altered after it had been read for the first time.
    await backup(source, place.blobs, file, force=True)
    found = await verified(file)
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(StoreDamaged):
        await restore(found, target, place.blobs, machine_dir=place.folder)
    await backup(source, place.blobs, file, force=True)
    await restore(await verified(file), target, place.blobs, machine_dir=place.folder)
    assert await all_of(target) == await all_of(source)


async def test_a_copy_twice_doubles_nothing(place: Place):
    source, target = await place.store("one"), await place.store("two")
    await lived_in(source, place.blobs)
    records = await all_of(source)
    first = await place.copy(source, target)
    assert (first.new, first.kept, sum(first.counts.values())) == (len(records), 0, len(records))
    assert await all_of(target) == records
    again = await place.copy(source, target)
    assert (again.new, again.kept, again.counts) == (0, 0, first.counts)
    assert await all_of(target) == records
    assert await target.check() == []
    assert not any((place.folder / "copies").iterdir())


async def test_what_is_newer_on_the_target_stays_and_what_is_newer_here_arrives(place: Place):
    source, target = await place.store("one"), await place.store("two")
    history = await lived_in(source, place.blobs)
    await place.copy(source, target)
    ours, theirs = history.sessions[:2]
    here = a_turn(ours, "Here.", parent=history.turns[3], started_at=NOON + timedelta(days=1))
    await source.turns.start(here)
    await source.turns.end(an_end(here))
    there = a_turn(theirs, "There.", parent=history.turns[7], started_at=NOON + timedelta(days=1))
    await target.turns.start(there)
    await target.turns.end(an_end(there))
    await target.sessions.rename(theirs.id, "Their own title")

    moved = await place.copy(source, target)
    assert moved.kept == 1
    arrived, stayed = await target.sessions.get(ours.id), await target.sessions.get(theirs.id)
    assert arrived == await source.sessions.get(ours.id)
    assert stayed is not None
    assert (stayed.head, stayed.title) == (there.id, "Their own title")
    assert await target.turns.get(here.id) == await source.turns.get(here.id)
    assert await target.check() == []


async def test_a_store_is_not_copied_onto_itself(place: Place):
    with pytest.raises(UsageError, match=r"Both are .*one\.db"):
        await place.copy(await place.store("one"), await place.store("one"))


async def test_a_cancelled_copy_goes_on(place: Place):
    source, target = await place.store("one"), await place.store("two")
    await lived_in(source, place.blobs, sessions=4)
    copying: list[asyncio.Task[object]] = []

    def stop_among_turns(progress: Progress) -> None:
        if progress.done > 20:
            copying[0].cancel()

    copying.append(asyncio.create_task(place.copy(source, target, tell=stop_among_turns)))
    with pytest.raises(asyncio.CancelledError):
        await copying[0]
    assert 0 < len(await all_of(target)) < len(await all_of(source))
    await place.copy(source, target)
    assert await all_of(target) == await all_of(source)


Killed = Callable[[int], Awaitable[None]]


@pytest.fixture
def killed_after(place: Place) -> Killed:
    """Starts a copy from "one" to "two" as a process, and kills it after so many chunks."""

    async def run(count: int) -> None:
        urls = [f"sqlite://{place.folder}/{name}.db" for name in ("one", "two")]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.flow.copier", *urls, str(place.folder)), stdin=pipe, stdout=pipe
        )
        assert process.stdin is not None
        assert process.stdout is not None
        async with asyncio.timeout(30):
            for _ in range(count):
                assert (await process.stdout.readline()).startswith(b"copying")
                process.stdin.write(b"\n")
                await process.stdin.drain()
            process.kill()
            assert await process.wait() == -9

    return run


async def test_a_killed_copy_goes_on_where_it_was(place: Place, killed_after: Killed):
    source = await place.store("one")
    await lived_in(source, place.blobs, sessions=4)
    for count in (1, 2, 4):
        await killed_after(count)
    target = await place.store("two")
    partly = await all_of(target)
    assert 0 < len(partly) < len(await all_of(source))
    # It remembers what has arrived; a line that was being written when the process died is no harm.
    (remembered,) = (place.folder / "copies").iterdir()
    assert len(remembered.read_text().split()) >= 3
    remembered.write_text(remembered.read_text() + "c0ffee")

    moved = await place.copy(source, target)
    assert await all_of(target) == await all_of(source)
    assert moved.new < sum(moved.counts.values())
    assert await target.check() == []


async def test_what_the_target_lost_since_a_copy_broke_off_is_sent_again(place: Place, killed_after: Killed):
    source = await place.store("one")
    history = await lived_in(source, place.blobs, sessions=4)
    await killed_after(4)
    target = await place.store("two")
    deleted = await target.sessions.delete(history.sessions[1].id)
    assert deleted.turns == 4
    await place.copy(source, target)
    assert await all_of(target) == await all_of(source)


async def test_a_lost_memory_of_a_broken_copy_costs_time_only(place: Place, killed_after: Killed):
    source = await place.store("one")
    await lived_in(source, place.blobs, sessions=4)
    await killed_after(4)
    (remembered,) = (place.folder / "copies").iterdir()
    remembered.unlink()
    target = await place.store("two")
    moved = await place.copy(source, target)
    assert await all_of(target) == await all_of(source)
    assert moved.new < sum(moved.counts.values())


async def test_more_records_than_a_chunk_holds_arrive_in_order(place: Place):
    source, target = await place.store("one"), await place.store("two")
    projects = [a_project(name=f"p{number}") for number in range(2500)]
    await source.archive.load(projects)
    told: list[Progress] = []
    await place.copy(source, target, tell=told.append)
    assert await prints(target) == await prints(source)
    copying = [progress for progress in told if progress.stage is Stage.MOVE]
    assert len(copying) >= 3
    assert {progress.total for progress in told} == {2500}
    assert [progress.done for progress in copying] == sorted({progress.done for progress in copying})


async def test_one_record_more_sends_one_chunk_more(place: Place):
    source = await place.store("one")
    projects = [a_project(name=f"p{number}") for number in range(4000)]
    await source.archive.load(projects)
    before = [chunk.digest async for chunk in chunks(source.archive.dump())]
    await source.archive.load([replace(projects[2000], id="00000000-0000-7000-8000-000000000000")])
    after = [chunk.digest async for chunk in chunks(source.archive.dump())]
    assert len(set(after) - set(before)) <= 3 < len(before)


async def test_a_running_turn_of_a_copy_ends_with_the_next(place: Place):
    source, target = await place.store("one"), await place.store("two")
    history = await lived_in(source, place.blobs, sessions=1)
    turn = a_turn(history.sessions[0], "On it.", parent=history.turns[-1])
    await source.turns.start(turn)
    await place.copy(source, target)
    await source.turns.end(an_end(turn))
    moved = await place.copy(source, target)
    assert moved.kept == 0
    assert await all_of(target) == await all_of(source)
    assert (await target.archive.counts())[RecordKind.TURN] == 5
