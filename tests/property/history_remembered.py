"""What `test_history_machine` remembers of a folder, and the laws that hold of it after each step."""

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from ragforge.domain.errors import UsageError
from ragforge.domain.moves import ConflictChoice
from ragforge.domain.versions import MoveAction, Node, Version
from ragforge.session.state import Session
from tests.flow.moving import line_of
from tests.flow.running import MODEL, environ
from tests.property.history_disk import (
    Disk,
    a_content,
    assert_head_is_disk,
    assert_no_cycle,
    change,
    contents_of,
    disk_of,
    is_made_way,
)
from tests.property.history_world import World

T = TypeVar("T")

USER = -1


class Remembering(RuleBasedStateMachine):
    """made: who put what to a path. left: whose move left what there.

    precious: what must never be lost, with its mode; contents: the same without.
    passing: what a turn put there itself: of that the contents count. moves: those of the log seen so far.
    """

    def __init__(self, **more: str) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = TemporaryDirectory()
        folder = Path(self.folder.name).resolve()
        given = {"GEMINI_API_KEY": "key", "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9"}
        self.world = World(folder, environ(folder, None, RAGFORGE_MODEL=MODEL, **given, **more))
        self.root = self.world.root
        self.number = 0
        self.made: dict[tuple[str, Node | None], set[int]] = defaultdict(set)
        self.left: dict[tuple[str, Node | None], set[int]] = defaultdict(set)
        self.precious: set[tuple[str, Node]] = set()
        self.contents: set[tuple[str, str]] = set()
        self.passing: dict[int, set[tuple[str, Node]]] = defaultdict(set)
        self.moves: set[str] = set()
        self.begun = self.edited = False
        self.baseline: Disk = {}
        self.run(self.world.open())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    # What is done to the disk

    def change(self, data: st.DataObject) -> None:
        """Something that a user or a command does with paths."""
        change(self.root, data, lambda: self.content(data))

    def content(self, data: st.DataObject) -> bytes:
        self.number += 1
        return a_content(data, self.number)

    def by(self, who: int, do: Callable[[], None], *, inside: set[tuple[str, str]] | None = None) -> None:
        """Let somebody change the disk, and remember what came of it.

        inside: what the command that does it put there itself, which nobody else has seen.
        """
        before = disk_of(self.root)
        do()
        after = disk_of(self.root)
        for path in {*before, *after}:
            found, node = before.get(path), after.get(path)
            if found == node:
                continue
            self.made[path, node].add(who)
            if who == USER:
                continue
            if found:
                self.contents |= contents_of({path: found}) - (inside or set())
            if found and (path, found) not in self.passing[who]:
                self.precious.add((path, found))
            if node:
                self.passing[who].add((path, node))
                if inside is not None:
                    inside |= contents_of({path: node})

    def edge(self) -> None:
        """What lies there now must not be lost."""
        disk = disk_of(self.root)
        self.contents |= contents_of(disk)
        self.precious |= set(disk.items()).difference(*self.passing.values())

    def accounted(self) -> None:
        """Before the first look nothing is a change; from now on everything is."""
        if not self.begun:
            self.begun, self.baseline = True, disk_of(self.root)

    def end_of_turn(self, number: int) -> None:
        self.passing[number].clear()
        self.edge()

    # Moves

    def moved(
        self,
        number: int,
        move: Callable[[Session], Awaitable[T]],
        *,
        asked: ConflictChoice = ConflictChoice.KEEP,
    ) -> T | None:
        """What came of the move; None where it was refused, and then nothing has changed.

        asked: whether somebody else's files may be touched.
        """
        before = disk_of(self.root)

        async def work() -> T | None:
            try:
                return await move(self.world.sessions[number])
            except UsageError:
                assert disk_of(self.root) == before
                return None

        done = self.run(work())
        if done is not None:
            self.precious |= set(before.items())
            self.contents |= contents_of(before)
            self.edited = False
            self.after_move(number, before, asked)
            self.run(self.remember_turns_left(number))
        self.check()
        return done

    def after_move(self, number: int, before: Disk, asked: ConflictChoice) -> None:
        after = disk_of(self.root)
        for path in {*before, *after}:
            found = before.get(path)
            if found == after.get(path):
                continue
            if asked is ConflictChoice.KEEP and not is_made_way(path, before, after):
                assert number in self.made[path, found] | self.left[path, found], (path, found)
            self.left[path, after.get(path)].add(number)
        self.edge()

    async def remember_turns_left(self, number: int) -> None:
        """What was there before the turns that an undo or a checkout left is its session's.

        Also where the user had put just that there before. Not what a checkout kept of the other session.
        """
        session = self.world.sessions[number]
        versions = session.workspace.store.versions
        log = await versions.moves(session.workspace.project.id, session_id=session.id, limit=None)
        for move in log:
            if move.id in self.moves or move.action not in (MoveAction.UNDO, MoveAction.CHECKOUT):
                continue
            kept = (move.kept or {}) if move.action is MoveAction.CHECKOUT else {}
            for version in await versions.of_turns(move.turns):
                for each in version.changes:
                    if each.path not in kept:
                        self.left[each.path, each.before].add(number)
        self.moves.update(move.id for move in log)

    def remember_left(self, number: int, before: Disk) -> None:
        after = disk_of(self.root)
        for path in {*before, *after}:
            if before.get(path) != after.get(path):
                self.left[path, after.get(path)].add(number)
        self.run(self.remember_turns_left(number))

    def crash(self, number: int, work: Awaitable[None], writes: int, *, after: bool) -> None:
        self.run(self.world.dying(self.world.sessions[number], work, writes=writes, after=after))
        self.run(self.world.sessions[number].worktree.catch_up())
        self.edited = False
        self.end_of_turn(number)
        self.check()

    # The laws

    def check(self) -> None:
        self.run(self.laws())

    async def laws(self) -> None:
        session = self.world.sessions[0]
        store = session.workspace.store.versions
        ids = await store.all_ids(session.workspace.project.id)
        versions = {version.id: version for version in await store.get(ids)}
        assert_no_cycle(versions)
        turns = [await session.workspace.store.turns.get(each) for each in self.world.turns]
        ended = {turn.id for turn in turns if turn}
        assert ended <= {version.turn_id for version in versions.values()}
        disk = disk_of(self.root)
        # What was edited by hand is accounted for by the next look, turn or move.
        if self.begun and not self.edited:
            await self.assert_nothing_is_lost(list(versions.values()), disk)
            assert_head_is_disk(await line_of(session), self.root, disk, self.baseline)

    async def assert_nothing_is_lost(self, versions: list[Version], disk: Disk) -> None:
        kept = {
            (change.path, node)
            for version in versions
            for change in version.changes
            for node in (change.before, change.after)
            if node
        }
        assert self.precious - set(disk.items()) <= kept
        assert self.contents - contents_of(disk) <= {(path, node.digest) for path, node in kept}
        blobs = self.world.sessions[0].workspace.blobs
        digests = sorted({node.digest for _, node in kept if node.digest})
        assert await blobs.missing(digests) == []

    def teardown(self) -> None:
        try:
            self.run(self.world.sessions[0].worktree.catch_up())
            self.run(self.all_contents())
            self.run(self.world.close())
        finally:
            self.loop.close()
            self.folder.cleanup()

    async def all_contents(self) -> None:
        blobs = self.world.sessions[0].workspace.blobs
        for _, digest in self.contents - contents_of(disk_of(self.root)):
            assert hashlib.sha256(await blobs.get(digest)).hexdigest() == digest
