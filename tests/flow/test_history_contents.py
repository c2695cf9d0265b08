"""Contents of tracked files in the blob store, and what a clean-up leaves of them."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest
from msgspec.structs import replace

from ragforge.domain.errors import StoreUnavailable, UsageError
from ragforge.domain.ids import now
from ragforge.domain.messages import ImagePart, TextPart
from ragforge.domain.turns import ConversationSession, Project
from ragforge.domain.versions import Branch, Change, Node, NodeKind, Provenance, Untracked, Version
from ragforge.store.base import Blobs, Link, Store
from ragforge.store.blobs import SqliteBlobs
from ragforge.store.local.state import LocalState, open_local_state
from ragforge.store.open import open_store
from ragforge.store.sqlite.connection import connect
from ragforge.versions.clean_up import Collected, collect, size
from ragforge.versions.record.contents import keep_contents, keep_found, scan_and_keep
from ragforge.versions.scan.changes import begin_scan, scan
from ragforge.versions.scan.manifest import Manifest
from ragforge.versions.scan.nodes import node_at
from ragforge.versions.scan.track_rules import TrackRules
from ragforge.versions.state import Head, HistoryState, open_history_state
from tests.contract.builders import a_call, a_project, a_request, a_session, a_step, a_turn, said
from tests.contract.builders_versions import a_change, a_node, new_version
from tests.tool_context import folder_of_nobody


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class Machine:
    """What ragforge keeps on a machine, and a project in it."""

    folder: Path
    root: Path
    store: Store
    blobs: SqliteBlobs
    state: HistoryState
    local: LocalState
    project: Project
    session: ConversationSession

    async def grow_old(self) -> None:
        """All that is kept was asked for long ago."""
        await self.blobs.put(b"the database is there now")
        connection = connect(self.folder / "blobs.db")
        connection.execute("UPDATE blob SET at = at - ? WHERE at > 0", (1000 * 3600 * 24 * 3,))
        connection.close()

    async def collect(self, *, keep_days: int = 0, dry_run: bool = False) -> Collected:
        return await collect(
            [self.store], self.blobs, self.state, self.local, keep_days=keep_days, dry_run=dry_run
        )

    async def left(self, *contents: bytes) -> list[bytes]:
        """Those that are still there."""
        missing = await self.blobs.missing([digest_of(each) for each in contents])
        return [each for each in contents if digest_of(each) not in missing]

    async def version(self, *parents: Version, days_ago: float = 0, **values: object) -> Version:
        return await new_version(
            self.store, self.session, *parents, **{"at": now() - timedelta(days=days_ago), **values}
        )


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    folder, root = tmp_path.resolve() / "data", tmp_path.resolve() / "project"
    folder.mkdir()
    root.mkdir()
    url = f"sqlite://{folder}/ragforge.db"
    store = await open_store(url, machine_dir=folder)
    project = a_project()
    session = a_session(project.id)
    await store.projects.add(project)
    await store.sessions.add(session)
    made = Machine(
        folder,
        root,
        store,
        SqliteBlobs(folder / "blobs.db", store_url=url),
        await open_history_state(folder),
        await open_local_state(folder),
        project,
        session,
    )
    yield made
    await made.state.close()
    await made.local.close()
    await made.blobs.close()
    await store.close()


def change_of(path: str, before: bytes | None, after: bytes | None) -> Change:
    def node(data: bytes | None) -> Node | None:
        return None if data is None else Node(NodeKind.FILE, digest_of(data), 0o644, len(data))

    return Change(path, node(before), node(after), Provenance.TOOL)


async def test_every_tracked_content_is_kept_before_anything_happens(machine: Machine) -> None:
    contents = {"a": b"one", "b/c": b"two", "same": b"one", "empty": b"", "\udce9t\udce9": b"x" * 2_000_000}
    for name, content in contents.items():
        (machine.root / name).parent.mkdir(exist_ok=True)
        (machine.root / name).write_bytes(content)
    (machine.root / "link").symlink_to("no where")
    (machine.root / "folder").mkdir()
    manifest = scan(TrackRules(machine.root, None, 10**8), Manifest()).manifest
    assert await keep_contents(machine.blobs, machine.root, manifest) == []
    for content in (*contents.values(), b"no where"):
        assert await machine.blobs.get(digest_of(content)) == content
    assert len(await machine.blobs.sizes()) == 5
    (machine.root / "a").unlink()
    (machine.root / "same").unlink()
    assert await keep_contents(machine.blobs, machine.root, manifest) == [], "they are there already"


async def test_a_file_that_changed_after_the_scan_is_kept_as_it_is_now(machine: Machine) -> None:
    for name in ("a", "alike", "gone"):
        (machine.root / name).write_bytes(b"one")
    (machine.root / "edited").write_bytes(b"edited")
    manifest = scan(TrackRules(machine.root, None, 10**8), Manifest()).manifest
    (machine.root / "edited").write_bytes(b"now")
    (machine.root / "a").write_bytes(b"another")
    (machine.root / "gone").unlink()
    assert await keep_contents(machine.blobs, machine.root, manifest) == []
    assert await machine.left(b"one", b"now") == [b"one", b"now"], "one of three alike still had its content"


async def test_what_cannot_be_read_is_named() -> None:
    with folder_of_nobody() as folder:
        root = folder.resolve() / "project"
        root.mkdir()
        (root / "a").write_bytes(b"one")
        (root / "b").write_bytes(b"two")
        manifest = scan(TrackRules(root, None, 10**8), Manifest()).manifest
        (root / "a").chmod(0)
        blobs = SqliteBlobs(folder / "blobs.db")
        assert await keep_contents(blobs, root, manifest) == [Untracked("a", "cannot be read")]
        assert await blobs.missing([digest_of(b"two")]) == []
        await blobs.close()


async def test_what_a_scan_found_is_kept_and_its_result_is_made_true(machine: Machine) -> None:
    track_rules = TrackRules(machine.root, None, 10**8)
    for name in ("edited", "removed", "same"):
        (machine.root / name).write_bytes(b"old")
    last = scan(track_rules, Manifest()).manifest
    for name in ("edited", "removed", "new", "vanishes", "becomes a folder"):
        (machine.root / name).write_bytes(b"found")
    found = scan(track_rules, last)
    assert (await keep_found(machine.blobs, track_rules, found)) == found
    (machine.root / "edited").write_bytes(b"later, longer")
    (machine.root / "removed").unlink()
    (machine.root / "vanishes").unlink()
    (machine.root / "becomes a folder").unlink()
    (machine.root / "becomes a folder").mkdir()
    kept = await keep_found(machine.blobs, track_rules, found)
    for path in ("edited", "removed", "new", "vanishes", "becomes a folder", "same"):
        node = node_at(machine.root / path)
        assert kept.manifest.node(path) == node
        before = last.node(path)
        assert kept.differences.get(path, (before, before)) == (before, node)
    digests = [node.digest for _, node in kept.differences.values() if node and node.digest]
    assert await machine.blobs.missing(digests) == []
    assert scan(track_rules, kept.manifest).differences == {}


async def test_contents_are_kept_from_the_reading_that_their_hashes_are_made_in(machine: Machine) -> None:
    track_rules = TrackRules(machine.root, None, 10**8)
    paths = [machine.root / f"{number}" for number in range(50)]
    for path in paths:
        path.write_bytes(b"at the beginning")
    stop = Event()

    def write_on() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            paths[number % len(paths)].write_bytes(b"x" * (number % 7) + b"%d" % number)

    writing = asyncio.create_task(asyncio.to_thread(write_on))
    last = Manifest()
    for _ in range(20):
        found, trouble = await scan_and_keep(machine.blobs, track_rules, last)
        assert trouble is None
        last = found.manifest
        assert await machine.blobs.missing([seen.sha256.hex() for seen in last.entries.values()]) == []
    stop.set()
    await writing


async def test_what_was_written_last_is_read_first(machine: Machine) -> None:
    for number, name in enumerate(("old", "older", "large", "new")):
        (machine.root / name).write_bytes(name.encode() * (10**6 if name == "large" else 1))
        os.utime(machine.root / name, (2 - number % 2, number - 10 * (name == "older")))
    looking = begin_scan(TrackRules(machine.root, None, 10**8), Manifest())
    looking.read_newest_first()
    assert [looking.read_some(1) for _ in range(4)] == [[b"new"], [b"old"], [b"older"], []]
    assert looking.large == ["large"]


async def test_garbage_goes_once_it_is_old_and_not_before(machine: Machine) -> None:
    await machine.blobs.put_many([b"garbage", b"more of it"])
    assert await machine.collect() == Collected(0, 0, 0)
    await machine.grow_old()
    planned = await machine.collect(dry_run=True)
    assert planned.contents == 3
    assert await machine.left(b"garbage", b"more of it") == [b"garbage", b"more of it"]
    assert await machine.collect() == planned
    assert await machine.left(b"garbage", b"more of it") == []
    assert await machine.collect() == Collected(0, 0, 0)


async def test_what_conversations_need_stays(machine: Machine) -> None:
    result, image, shown, queued = b"a whole result", b"an image", b"an image that was read", b"queued"
    await machine.blobs.put_many([result, image, shown, queued, b"garbage"])
    turn = replace(a_turn(machine.session), user=(TextPart("look"), ImagePart(digest_of(image), "image/png")))
    await machine.store.turns.start(turn)
    step = a_step(turn, 0, "Let me look.", a_request())
    call = replace(
        a_call(step),
        result_blob=digest_of(result),
        images=(ImagePart(digest_of(shown), "image/png"),),
    )
    await machine.store.calls.add(call, step)
    await machine.local.prompts.set_queue(
        "another", [(TextPart("and"), ImagePart(digest_of(queued), "image/png"))]
    )
    await machine.grow_old()
    await machine.collect(keep_days=1)
    assert await machine.left(result, image, shown, queued) == [result, image, shown, queued]
    assert await machine.left(b"garbage") == []


async def test_what_is_only_noted_on_this_machine_stays(machine: Machine) -> None:
    (machine.root / "lies here").write_bytes(b"on the disk")
    track_rules = TrackRules(machine.root, None, 10**8)
    manifest = scan(track_rules, Manifest()).manifest
    await keep_contents(machine.blobs, machine.root, manifest)
    await machine.state.set_manifest(machine.root, manifest.to_bytes())
    await machine.state.begin_turn(machine.root, machine.session.id, "a turn")
    await machine.state.note(machine.root, "a turn", [change_of("x", b"noted before", b"noted after")])
    await machine.state.set_journal(
        machine.root, f'{{"steps": [{{"digest": "{digest_of(b"to be restored")}"}}]}}'.encode()
    )
    contents = [b"on the disk", b"noted before", b"noted after", b"to be restored"]
    await machine.blobs.put_many([*contents, b"garbage"])
    await machine.grow_old()
    await machine.collect(keep_days=1)
    assert await machine.left(*contents, b"garbage") == contents


async def test_versions_keep_their_contents_for_ever_unless_told_otherwise(machine: Machine) -> None:
    await machine.blobs.put_many([b"one", b"two", b"three"])
    first = await machine.version(days_ago=900, changes=(change_of("a", b"one", b"two"),))
    await machine.version(first, days_ago=800, changes=(change_of("a", b"two", b"three"),))
    await machine.grow_old()
    assert (await machine.collect()).contents == 1, "the database's first content"
    assert await machine.left(b"one", b"two", b"three") == [b"one", b"two", b"three"]


async def test_by_age_only_what_nothing_younger_needs_is_given_up(machine: Machine) -> None:
    contents = [str(number).encode() for number in range(10)]
    await machine.blobs.put_many(contents)
    line: list[Version] = []
    for number in range(9):
        change = change_of("a", contents[number], contents[number + 1])
        line.append(await machine.version(*line[-1:], days_ago=100 - number * 10, changes=(change,)))
    # Ages: 100 90 80 70 60 50 40 30 20. Kept: the label at 80, the branch at 60, the head at 40, 30 and 20.
    await machine.store.versions.label(line[2].id, "before the rewrite")
    await machine.store.versions.set_branch(Branch(machine.project.id, "try", line[4].id, now()))
    await machine.state.set_head(machine.root, Head(line[6].id))
    await machine.grow_old()
    planned = await machine.collect(keep_days=35, dry_run=True)
    assert (planned.contents, planned.versions) == (3, 2)
    await machine.collect(keep_days=35)
    # Of versions 2, 4, 6, 7 and 8 what was there before and after; 0, 1 and nothing else is given up.
    assert await machine.left(*contents) == contents[2:]
    assert [version.id for version in await machine.store.versions.line(line[-1].id)] == [
        version.id for version in reversed(line)
    ], "the versions themselves stay"


async def test_the_head_of_a_conversation_keeps_its_contents(machine: Machine) -> None:
    turn = await said(machine.store, machine.session)
    await machine.blobs.put_many([b"one", b"two", b"three"])
    first = await machine.version(days_ago=90, changes=(change_of("a", b"one", b"two"),))
    await machine.version(first, days_ago=80, turn_id=turn.id, changes=(change_of("a", b"two", b"three"),))
    await machine.grow_old()
    await machine.collect(keep_days=10)
    assert await machine.left(b"one", b"two", b"three") == [b"two", b"three"]


async def test_another_store_that_is_not_asked_stops_the_clean_up(machine: Machine) -> None:
    other_url = f"sqlite://{machine.folder}/other.db"
    other = SqliteBlobs(machine.folder / "blobs.db", store_url=other_url)
    await other.put(b"theirs")
    await other.close()
    await machine.grow_old()
    with pytest.raises(UsageError, match=r"other\.db"):
        await machine.collect()
    with pytest.raises(UsageError, match=r"other\.db"):
        await size([machine.store], machine.blobs, machine.state, machine.local)
    assert await machine.left(b"theirs") == [b"theirs"]
    store = await open_store(other_url, machine_dir=machine.folder)
    project = a_project()
    await store.projects.add(project)
    change = a_change(after=Node(NodeKind.FILE, digest_of(b"theirs"), 0o644, 6))
    await new_version(store, project, changes=(change,))
    await collect([machine.store, store], machine.blobs, machine.state, machine.local, keep_days=0)
    assert await machine.left(b"theirs") == [b"theirs"]
    await store.close()
    await machine.blobs.set_used_by(other_url, used=False)
    await machine.collect()
    assert await machine.left(b"theirs") == [], "that store is gone for good, somebody said"


@dataclass
class Leaving:
    """The store, as if it were that of a server that goes away while it tells what it holds."""

    store: Store
    link: Link = field(default_factory=lambda: Link(0, "it did not answer"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    async def drain(self, *, timeout_s: float) -> Link:
        return Link()


async def test_a_store_that_goes_away_meanwhile_stops_the_clean_up(machine: Machine) -> None:
    await machine.blobs.put(b"garbage, or of a branch that was not told")
    await machine.grow_old()
    store = cast("Store", Leaving(machine.store))
    with pytest.raises(StoreUnavailable, match="unknown what it needs"):
        await collect([store], machine.blobs, machine.state, machine.local, keep_days=1)
    assert await machine.left(b"garbage, or of a branch that was not told")


@dataclass
class AskedMeanwhile:
    """The contents, one of which another process needs again while a clean-up looks for what is needed."""

    blobs: SqliteBlobs
    needed: bytes

    def __getattr__(self, name: str) -> Any:
        return getattr(self.blobs, name)

    async def used_by(self) -> list[str]:
        await self.blobs.put(self.needed)
        return await self.blobs.used_by()


async def test_what_is_needed_again_during_the_clean_up_stays(machine: Machine) -> None:
    await machine.blobs.put_many([b"garbage", b"needed again"])
    await machine.grow_old()
    blobs = cast("Blobs", AskedMeanwhile(machine.blobs, b"needed again"))
    await collect([machine.store], blobs, machine.state, machine.local, keep_days=0)
    assert await machine.left(b"garbage", b"needed again") == [b"needed again"]


async def test_contents_of_before_stores_were_noted_are_left_alone(machine: Machine) -> None:
    nobody = SqliteBlobs(machine.folder / "blobs.db")
    await nobody.put(b"whose is it")
    await nobody.close()
    await machine.grow_old()
    await machine.collect()
    assert await machine.left(b"whose is it") == [b"whose is it"]


async def test_what_takes_how_much(machine: Machine) -> None:
    version, result, local, free = (os.urandom(size) for size in (1000, 2000, 3000, 4000))
    await machine.blobs.put_many([version, result, local, free])
    await machine.version(changes=(change_of("a", version, result),))
    turn = replace(a_turn(machine.session), user=(ImagePart(digest_of(result), "image/png"),))
    await machine.store.turns.start(turn)
    await machine.state.set_journal(machine.root, digest_of(local).encode())
    nobody = SqliteBlobs(machine.folder / "blobs.db")
    await nobody.put(os.urandom(500))
    await nobody.close()
    found = await size([machine.store], machine.blobs, machine.state, machine.local)
    assert (found.contents, found.bytes) == (5, 10_500)
    assert (found.versions_bytes, found.conversations_bytes) == (3000, 0), "each counts once"
    assert (found.local_bytes, found.free_bytes, found.unknown_bytes) == (3000, 4000, 500)


def test_nodes_of_builders_are_what_files_are(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x = 1\n")
    (tmp_path / "a").chmod(0o644)
    assert node_at(tmp_path / "a") == a_node("x = 1\n")


def test_nothing_lies_behind_a_link_to_itself(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("a")
    assert node_at(tmp_path / "a" / "b") is None
