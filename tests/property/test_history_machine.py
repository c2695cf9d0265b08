"""Whatever is done in a folder by two sessions, the user and crashes, what was there can be had again.

The laws, looked at after each step:

- every content that lay there at a turn's edge, or that we or a command of ours overwrote, can be had,
  also where the same turn had put it there;
- an undo and its redo change nothing; no other session's file moves unless that is asked for;
- versions have no cycle, every turn that ended has one, and the files' head says what lies there.

RAGFORGE_TEST_EXAMPLES=200 looks further than every run does.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from ragforge.domain.errors import UsageError
from ragforge.domain.moves import ConflictChoice, Side
from ragforge.session.moves import checkout, redo, undo
from ragforge.session.storage import clean_up
from ragforge.versions.attempts.merge import merge
from ragforge.versions.branches import list_branches, start_branch
from ragforge.versions.head_move import Choices
from tests.flow.moving import line_of
from tests.flow.recorded import a_day_passes
from tests.property.history_disk import (
    PATHS,
    disk_of,
    is_free,
)
from tests.property.history_remembered import USER, Remembering
from tests.property.history_world import SESSIONS, RunningTurn, settled
from tests.property.machines import EXAMPLES, run_machine

T = TypeVar("T")

STEPS = 25
NUMBERS = st.integers(0, SESSIONS - 1)
WRITES = st.integers(0, 14)


class HistoryMachine(Remembering):
    """What the user, two sessions and crashes do, in any order."""

    # The user, between turns

    @rule(data=st.data(), times=st.integers(1, 3))
    def edit_by_hand(self, data: st.DataObject, times: int) -> None:
        for _ in range(times):
            self.by(USER, lambda: self.change(data))
        self.edited = True

    @rule(number=NUMBERS)
    def look(self, number: int) -> None:
        self.accounted()
        self.run(self.world.sessions[number].worktree.catch_up())
        self.edge()
        self.edited = False
        self.check()

    # Turns

    @rule(data=st.data(), number=NUMBERS)
    def turn(self, data: st.DataObject, number: int) -> None:
        self.accounted()
        self.run(self.a_turn(data, number))
        self.edited = False
        self.check()

    async def a_turn(self, data: st.DataObject, number: int) -> None:
        session = self.world.sessions[number]
        async with self.world.turn(session, f"turn {len(self.world.turns)}") as turn:
            self.edge()
            for _ in range(data.draw(st.integers(0, 3))):
                if data.draw(st.booleans()):
                    await self.tool(data, number, turn)
                else:
                    await self.command(data, number, turn)
        await settled(session)
        self.end_of_turn(number)

    async def tool(self, data: st.DataObject, number: int, turn: RunningTurn) -> None:
        path = self.root / data.draw(st.sampled_from(PATHS))
        # A tool writes no folder, and makes those that it needs.
        if path.is_dir() or path.is_symlink() or not is_free(self.root, path):
            return

        def write() -> None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.content(data))

        await turn.tool(path, lambda: self.by(number, write))

    async def command(self, data: st.DataObject, number: int, turn: RunningTurn) -> None:
        inside = set[tuple[str, str]]()
        async with turn.command():
            for _ in range(data.draw(st.integers(1, 3))):
                self.by(number, lambda: self.change(data), inside=inside)

    @rule(data=st.data(), number=NUMBERS)
    def two_turns_at_once(self, data: st.DataObject, number: int) -> None:
        self.accounted()
        self.run(self.two_turns(data, number))
        self.edited = False
        self.check()

    async def two_turns(self, data: st.DataObject, number: int) -> None:
        session, other = self.world.sessions[number], self.world.sessions[1 - number]
        async with self.world.turn(session, "one of two") as one:
            async with self.world.turn(other, "the other of two") as two:
                for _ in range(data.draw(st.integers(1, 3))):
                    await self.tool(data, number, one)
                    await self.tool(data, 1 - number, two)
                await self.command(data, number, one)
            await settled(other)
            self.end_of_turn(1 - number)
        await settled(session)
        self.end_of_turn(number)

    # Moves

    @precondition(lambda self: self.begun)
    @rule(number=NUMBERS, count=st.integers(1, 2), choice=st.sampled_from(ConflictChoice))
    def undo(self, number: int, count: int, choice: ConflictChoice) -> None:
        self.moved(number, lambda session: undo(session, count, choices=Choices(choice)), asked=choice)

    @precondition(lambda self: self.begun)
    @rule(number=NUMBERS, choice=st.sampled_from(ConflictChoice))
    def redo(self, number: int, choice: ConflictChoice) -> None:
        self.moved(number, lambda session: redo(session, choices=Choices(choice)), asked=choice)

    @precondition(lambda self: self.begun)
    @rule(number=NUMBERS, count=st.integers(1, 2))
    def undo_and_redo(self, number: int, count: int) -> None:
        before = disk_of(self.root)
        if self.moved(number, lambda session: undo(session, count)) is not None:
            redone = self.moved(number, lambda session: redo(session, count))
            after = disk_of(self.root)
            differs = {path for path in {*before, *after} if before.get(path) != after.get(path)}
            # Where both wrote a file in turns, what an undo finds may be a state of its own turn, and what
            # the redo finds not the one before its turn's last step: then it leaves the file, and says so.
            assert not differs or (
                redone and differs <= {*redone.kept} & self.run(self.paths_of_both(number))
            )

    async def paths_of_both(self, number: int) -> set[str]:
        """What versions of both sessions changed on the way to the head."""
        by: dict[str, set[str]] = {}
        for version in await line_of(self.world.sessions[number]):
            for change in version.changes:
                by.setdefault(change.path, set()).add(version.session_id)
        return {path for path, sessions in by.items() if len(sessions - {""}) > 1}

    @precondition(lambda self: self.begun)
    @rule(data=st.data(), number=NUMBERS, choice=st.sampled_from(ConflictChoice))
    def checkout(self, data: st.DataObject, number: int, choice: ConflictChoice) -> None:
        if target := self.run(self.a_version(data)):
            asked = None if choice is ConflictChoice.KEEP else choice
            between = self.run(self.paths_between(number, target)) if asked is None else set[str]()
            before = disk_of(self.root)
            self.moved(
                number,
                lambda session: checkout(session, target, choices=Choices(choice)),
                asked=ConflictChoice.MERGE,
            )
            after = disk_of(self.root)
            assert {path for path in between if before.get(path) != after.get(path)} == set()

    async def paths_between(self, number: int, target: str) -> set[str]:
        """What only the other session changed between the head and the version."""
        session = self.world.sessions[number]
        await session.worktree.catch_up()
        versions = session.workspace.store.versions
        lines = [{each.id: each for each in await line_of(session)}]
        names = {row.branch.name: row.branch.version_id for row in await list_branches(session.worktree)}
        lines.append({each.id: each for each in await versions.line(names.get(target, target))})
        way = [line[each] for line in lines for each in {*lines[0]} ^ {*lines[1]} if each in line]
        other = self.world.sessions[1 - number].id
        return {change.path for each in way if each.session_id == other for change in each.changes}

    async def a_version(self, data: st.DataObject) -> str:
        """The name of a branch, or the id of a version; empty where there is none."""
        session = self.world.sessions[0]
        versions = session.workspace.store.versions
        ids = await versions.all_ids(session.workspace.project.id)
        names = [row.branch.name for row in await list_branches(session.worktree)]
        every = [*ids, *names * 2]
        return data.draw(st.sampled_from(every)) if every else ""

    @precondition(lambda self: self.begun)
    @rule(data=st.data(), number=NUMBERS)
    def branch(self, data: st.DataObject, number: int) -> None:
        self.number += 1
        if target := self.run(self.a_version(data)):
            at = data.draw(st.sampled_from(["HEAD", target]))
            name = f"branch-{self.number}"
            self.moved(number, lambda session: start_branch(session.worktree, name, at))

    @precondition(lambda self: self.begun)
    @rule(data=st.data(), number=NUMBERS, side=st.sampled_from(Side))
    def merge(self, data: st.DataObject, number: int, side: Side) -> None:
        if target := self.run(self.a_version(data)):
            self.moved(number, lambda session: merge(session, target, side=side), asked=ConflictChoice.MERGE)

    # What happens beside

    @precondition(lambda self: self.world.turns)
    @rule()
    def clean_up(self) -> None:
        self.run(a_day_passes(self.world.sessions[0]))
        self.run(clean_up(self.world.sessions[0].workspace, keep_days=0, dry_run=False))
        self.check()

    @rule(data=st.data(), number=NUMBERS, writes=WRITES, after=st.booleans())
    def crash_in_a_turn(self, data: st.DataObject, number: int, writes: int, after: bool) -> None:
        self.accounted()
        self.crash(number, self.a_turn(data, number), writes, after=after)

    @precondition(lambda self: self.world.turns)
    @rule(data=st.data(), number=NUMBERS, writes=WRITES, after=st.booleans())
    def crash_in_a_move(self, data: st.DataObject, number: int, writes: int, after: bool) -> None:
        target = self.run(self.a_version(data))
        session = self.world.sessions[number]
        moves: list[Callable[[], Awaitable[Any]]] = [
            lambda: undo(session),
            lambda: redo(session),
            lambda: checkout(session, target or "HEAD"),
            lambda: merge(session, target or "HEAD"),
        ]
        move = data.draw(st.sampled_from(moves))
        before = disk_of(self.root)
        self.edge()

        async def work() -> None:
            try:
                await move()
            except UsageError:
                assert disk_of(self.root) == before

        self.crash(number, work(), writes, after=after)
        self.remember_left(number, before)


def test_nothing_is_ever_lost_with_a_file() -> None:
    run_machine(HistoryMachine, examples=5, steps=STEPS)


def test_nothing_is_ever_lost_with_a_graph(graph: dict[str, str]) -> None:
    run_machine(lambda: HistoryMachine(**graph), examples=1, steps=STEPS if EXAMPLES else 12)
