"""Backup, restore and copy: whatever the way, nothing is lost, altered or there twice."""

import hashlib
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.domain.errors import StoreDamaged, UsageError
from ragforge.domain.memories import MemoryType
from ragforge.domain.search import Query
from ragforge.domain.turns import Person
from ragforge.domain.versions import Node, NodeKind
from ragforge.store.base import RecordKind
from ragforge.store.transfer import Progress, Stage, backup, restore, verified
from ragforge.store.transfer_stream import CHUNK_BYTES_MAX, chunks, items_of
from tests.contract.builders import NOON, a_memory, a_project, a_turn, an_end, new_session
from tests.contract.builders_versions import a_change, new_version
from tests.flow.transferring import MakePlace, Place, all_of, lived_in, prints


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


async def test_a_backup_of_before_owners_gives_what_somebody_prefers_to_them(
    make_place: MakePlace, tmp_path: Path
):
    here, there = make_place("here"), make_place("there")
    source = await here.store("one")
    session = await new_session(source, user="ada", host="desk")
    wish = a_memory(session, "Answer in French.", type=MemoryType.PREFERENCE)
    shared = a_memory(session, "We use tabs.", type=MemoryType.DECISION)
    for memory in (wish, shared):
        await source.memories.save(memory)
    await backup(source, here.blobs, tmp_path / "all.gz")
    found = await verified(tmp_path / "all.gz")
    old = replace(found, header=replace(found.header, schema=9))
    ada, bob = Person("ada@example.org", "ada@desk"), Person("bob@example.org", "bob@desk")
    owners: list[list[str]] = []
    for number, (made, person) in enumerate(((old, ada), (old, bob), (found, bob), (old, None))):
        target = await there.store(f"store {number}")
        await restore(made, target, there.blobs, machine_dir=there.folder, person=person)
        owners.append([each.owner for each in await target.memories.get([wish.id, shared.id])])
        assert await target.check() == []
    assert owners == [["ada@example.org", ""], ["ada@desk", ""], ["", ""], ["", ""]]


async def test_an_empty_store_makes_a_backup_too(place: Place, tmp_path: Path):
    source, target = await place.store("one"), await place.store("two")
    await backup(source, place.blobs, tmp_path / "all.gz")
    moved = await restore(await verified(tmp_path / "all.gz"), target, place.blobs, machine_dir=place.folder)
    assert (moved.counts, moved.new) == (dict.fromkeys(RecordKind, 0), 0)
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


async def test_contents_of_a_large_version_are_sent_before_it(make_place: MakePlace, tmp_path: Path):
    here, there = make_place("here"), make_place("there")
    source, target = await here.store("one"), await there.store("two")
    project = a_project()
    await source.projects.add(project)
    contents = [bytes([number]) * 1_000_000 for number in range(11)]
    nodes = [Node(NodeKind.FILE, await here.blobs.put(each), 0o644, len(each)) for each in contents]
    empty = Node(NodeKind.FOLDER, "", 0o755)
    changes = [a_change(f"{place}.bin", after=node) for place, node in enumerate([*nodes, nodes[0], empty])]
    version = await new_version(source, project, changes=tuple(changes))
    await backup(source, here.blobs, tmp_path / "all.gz")
    found = await verified(tmp_path / "all.gz")
    assert found.closing.counts["blob"] == len(contents)
    parts = [chunk async for chunk in chunks(items_of(tmp_path / "all.gz"))]
    held = [sum(len(blob.data) for blob in chunk.blobs) for chunk in parts]
    assert sum(held) == 11_000_000
    assert max(held) < CHUNK_BYTES_MAX + 1_000_000, "no more at once than the memory holds"
    moved = await restore(found, target, there.blobs, machine_dir=there.folder)
    assert (moved.new, moved.blobs, moved.missing_blobs) == (2, len(contents), ())
    assert await target.versions.get([version.id]) == [version]
    for node, content in zip(nodes, contents, strict=True):
        assert await there.blobs.get(node.digest) == content


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


async def test_what_a_session_cost_that_was_deleted_here_is_not_copied_beside_it(place: Place):
    source, target = await place.store("one"), await place.store("two")
    history = await lived_in(source, place.blobs, sessions=2)
    await place.copy(source, target)
    spent = await target.usage.by_model()
    await source.sessions.delete(history.sessions[1].id)
    moved = await place.copy(source, target)
    assert moved.new == 0
    assert await target.usage.by_model() == spent
    assert await target.check() == []


async def test_a_store_is_not_copied_onto_itself(place: Place):
    with pytest.raises(UsageError, match=r"Both are .*one\.db"):
        await place.copy(await place.store("one"), await place.store("one"))


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
