"""What the children of `children.py` do: a turn, a move, a restore, a consolidation, a program, and a look at
the state afterwards."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from ragforge.commands.base import Report, UserQuestion
from ragforge.commands.program_run import RunFront
from ragforge.commands.run import RunArguments, execution_for
from ragforge.domain.approvals import ApprovalAnswer, ConsentAnswer
from ragforge.domain.derivations import DerivedFilter
from ragforge.domain.errors import RagforgeError
from ragforge.domain.events import Notice, TurnEnded, TurnStarted
from ragforge.domain.messages import TextPart, text_of
from ragforge.domain.versions import Node
from ragforge.session.consolidation import consolidate as consolidate_archived
from ragforge.session.moves import redo, undo
from ragforge.session.state import Session
from ragforge.session.turn import submit
from ragforge.versions.record.backfill import came_to_nothing
from ragforge.versions.restore.operation import RestoreFailed, RestoreStopped, apply, recover
from ragforge.versions.scan.nodes import node_at
from ragforge.versions.tree import state_of
from ragforge.workflow import records
from ragforge.workflow.runs import KIND as RUN
from ragforge.workflow.runs import ProgramRun
from tests.restoring import open_place, read_wanted
from tests.soak.conversation import ScriptedProvider, approve, conversation

Begin = Callable[[], None]
"""Arms the fault."""


def calls_of(number: int) -> list[tuple[str, dict[str, object]]]:
    """A turn that overwrites a file, makes one in a folder of its own, and runs a command that does both."""
    return [
        ("read", {"path": "kept.txt"}),
        ("write", {"path": "kept.txt", "content": f"kept {number}\n" * 200}),
        ("write", {"path": f"made{number % 4}/new.txt", "content": f"new {number}\n"}),
        ("shell", {"command": f"echo {number} >> log.txt; rm -f old.txt; echo {number} > other.txt"}),
    ]


async def turn(folder: Path, begin: Begin, *, number: int) -> dict[str, Any]:
    """A whole turn in the newest session, and its end: what it said, and whether its words were kept."""
    found: dict[str, Any] = {"started": False, "status": "", "error": "", "notices": []}
    try:
        async with conversation(folder, ScriptedProvider(lambda _: calls_of(number))) as session:
            begin()
            async with aclosing(submit(session, (TextPart(f"Message {number}."),), approve)) as events:
                async for event in events:
                    if isinstance(event, TurnStarted):
                        found["started"] = True
                    if isinstance(event, Notice):
                        found["notices"].append(event.text)
                    if isinstance(event, TurnEnded):
                        found |= {"status": str(event.turn.status), "error": event.turn.error}
    except RagforgeError as error:
        found["raised"] = f"{type(error).__name__}: {error}"
    return found


async def move(folder: Path, begin: Begin, *, back: bool) -> dict[str, Any]:
    """Undo or redo the newest turn."""
    try:
        async with conversation(folder, ScriptedProvider(lambda _: [])) as session:
            await session.worktree.catch_up()
            begin()
            moved = await (undo(session) if back else redo(session))
            return {"moved": [*moved.restored, *moved.removed], "skipped": to_builtins(moved.skipped)}
    except RagforgeError as error:
        return {"raised": f"{type(error).__name__}: {error}"}


async def look(folder: Path, begin: Begin) -> dict[str, Any]:
    """The state at the next start: words, files, and what is wrong with either."""
    async with conversation(folder, ScriptedProvider(lambda _: [])) as session:
        notices = list(session.workspace.loaded.notices)
        wrong, unkept = await wrong_in(session)
        turns = await session.workspace.store.turns.path(session.live.record.head)
        return {
            "words": [text_of(turn.user) for turn in turns],
            "came_to_nothing": bool(turns) and await came_to_nothing(session.workspace.store, turns[-1]),
            "files": files_in(session.workspace.place.root),
            "notices": notices,
            "wrong": wrong,
            "unkept": unkept,
        }


async def wrong_in(session: Session) -> tuple[list[str], list[str]]:
    """What does not hold although it always should, and contents of files here that are not kept yet."""
    workspace, wrong = session.workspace, list[str]()
    root, versions = workspace.place.root, workspace.store.versions
    head = await session.worktree.catch_up()
    if left := await versions.unversioned(session.id):
        wrong.append(f"turns without a version: {left}")
    line = await versions.line(head.version) if head.version else []
    state: Mapping[str, Node | None] = state_of(line)
    wrong += [
        f"{path}: the head says {node}, the disk {node_at(root / path)}"
        for path, node in state.items()
        if node != node_at(root / path)
    ]
    here = {node.digest for node in state.values() if node is not None}
    named = {
        node.digest
        for version in line
        for change in version.changes
        for node in (change.before, change.after)
        if node is not None and node.digest
    }
    missing = await workspace.blobs.missing(sorted(named))
    if lost := sorted(set(missing) - here):
        wrong.append(f"contents that are lost: {lost}")
    if await workspace.history.journal(root) is not None:
        wrong.append("a move that was cut off is still open")
    wrong += [f"left behind: {path}" for path in root.rglob("*.ragforge-tmp")]
    return wrong + await workspace.store.check(), sorted(set(missing) & here)


def files_in(root: Path) -> dict[str, str]:
    """Every file by its path: mode and a hash of its content."""
    return {
        str(
            path.relative_to(root)
        ): f"{path.lstat().st_mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


async def restore(folder: Path, begin: Begin, *, what: str) -> dict[str, Any]:
    """`apply` what `write_wanted` left in the folder, or `recover`."""
    place = await open_place(folder)
    try:
        begin()
        if what == "recover":
            recovered = await recover(place.root, place.state, place.blobs)
            if recovered is not None:
                await place.state.clear_journal(place.root)
            return {"finished": recovered.finished if recovered else None}
        plan = await place.plan(read_wanted(place.root.parent))
        await apply(plan, place.state, place.blobs)
        await place.state.clear_journal(place.root)
    except (RestoreFailed, RestoreStopped) as error:
        return {"raised": f"{type(error).__name__}: {error}"}
    finally:
        await place.close()
    return {}


async def consolidate(folder: Path, begin: Begin) -> dict[str, Any]:
    """What `ragforge sessions consolidate` does."""
    async with conversation(folder, ScriptedProvider(lambda _: [])) as session:
        await session.workspace.background.close()
        begin()
        return to_builtins(await consolidate_archived(session))


async def program(folder: Path, begin: Begin, *, name: str, env: dict[str, str]) -> dict[str, Any]:
    """Run the program, or go on with its run that was cut off, unless one ended; what came of it."""
    async with conversation(folder, ScriptedProvider(lambda _: []), is_new=True, **env) as session:
        front, heard = RunFront(inputs=["the question"]), list[str]()
        before = await _runs(session)
        if not any(each.is_done for each in before):
            args = RunArguments(name, resume=bool(before))
            execution = await execution_for(session, args, front.front)
            begin()
            async with aclosing(front.follow(execution)) as said:
                async for each in said:
                    if isinstance(each, UserQuestion):
                        each.reply(ApprovalAnswer(ConsentAnswer.ONCE))
                    heard += [str(each.exact)] if isinstance(each, Report) else []
        (run,) = await _runs(session)
        store, project = session.workspace.store, session.workspace.project.id
        kept = {
            kind.label: len(await store.derivations.find(DerivedFilter(kind.label, project)))
            for kind in (records.SESSION, records.MESSAGE, records.DOCUMENT)
        }
        return {
            "registers": {
                key: value for key, value in run.state.registers.items() if not isinstance(value, dict)
            },
            "asked": sorted(call.role for call in run.calls),
            "kept": kept,
            "fault": run.fault,
            "shown": heard[-1:],
            "files": files_in(session.workspace.place.root),
            "wrong": await store.check(),
        }


async def _runs(session: Session) -> list[ProgramRun]:
    wanted = DerivedFilter(RUN.label, session.workspace.project.id)
    found = await session.workspace.store.derivations.find(wanted)
    return [run for each in found if (run := RUN.read(each))]


JOBS: Mapping[str, Callable[..., Awaitable[Any]]] = {
    "turn": turn,
    "move": move,
    "look": look,
    "restore": restore,
    "consolidate": consolidate,
    "program": program,
}
