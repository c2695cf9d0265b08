"""Undo, redo, rewind and checkout: files and chat go back and forth together, and nothing is lost by it."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from msgspec.structs import replace

from ragforge.domain.errors import UsageError
from ragforge.domain.messages import text_of
from ragforge.domain.moves import ConflictChoice, Part
from ragforge.domain.turns import Turn
from ragforge.domain.versions import MoveAction, Version
from ragforge.versions.head_move import (
    ChatHead,
    Choices,
    FilesInConflict,
    Ground,
    Move,
    carry_out,
    down_from,
    edited_since,
    lines_of,
    move_chat,
)
from ragforge.versions.move_result import MoveResult, Sum
from ragforge.versions.names import find_branch, find_version, shown
from ragforge.versions.record.backfill import came_to_nothing
from ragforge.versions.record.omissions import not_back, unsure
from ragforge.versions.record.worktree import Worktree
from ragforge.versions.redo import bring_again, check_count, left_alone, turns_to_redo, undone_alone
from ragforge.versions.state import Head
from ragforge.versions.tree import backward, between, foreign, forward
from ragforge.versions.turn_choice import first_words, named, redo_of_one, runs_of, turns_to_undo

MOVES_READ_MAX = 200
"""Of the log, for a redo."""


async def undo(
    worktree: Worktree,
    chat: ChatHead,
    count: int = 1,
    *,
    choices: Choices | None = None,
    part: Part = Part.BOTH,
) -> MoveResult:
    """Take back the newest turns of the session: its own changes of the files, and the chat.

    What anybody else changed since stays; where both changed one file, `choices` says what becomes of it,
    else it is kept. Raises UsageError where there is nothing to undo or the files cannot be undone, and
    StoreError; nothing is changed then.
    """
    _check_begun(worktree)
    path = await worktree.files.store.turns.path(chat.turn or None)
    empty = await _empty(worktree, path)
    turns = turns_to_undo(path, chat.session_id, count, empty=empty)
    return await _back(worktree, chat, turns, MoveAction.UNDO, choices or Choices(), part)


async def rewind(
    worktree: Worktree, chat: ChatHead, number: int, *, choices: Choices | None = None, part: Part = Part.BOTH
) -> MoveResult:
    """Go back to before a turn, counted from 1: it and all after it are undone. Raises as `undo`."""
    _check_begun(worktree)
    path = await worktree.files.store.turns.path(chat.turn or None)
    if not 1 <= number <= len(path):
        raise UsageError(f"The session has {len(path)} turns; there is no turn {number}.")
    turns = path[number - 1 :][::-1]
    if any(turn.session_id != chat.session_id for turn in turns):
        raise UsageError(
            f"Turn {number} belongs to the session that this one was forked from. "
            f"/fork {number} there goes on from it; /checkout VERSION brings its files."
        )
    return await _back(worktree, chat, turns, MoveAction.REWIND, choices or Choices(), part)


async def redo(
    worktree: Worktree,
    chat: ChatHead,
    count: int = 1,
    *,
    turn: str = "",
    choices: Choices | None = None,
    part: Part = Part.BOTH,
) -> MoveResult:
    """Bring again what was undone last, or the turn whose id begins or ends so. Raises as `undo`.

    The log of moves tells what was undone; where it cannot and there are several, the error names them. Files
    that were undone alone come again first, an undo at a time. Where there is less than `count`, nothing is
    changed.
    """
    _check_begun(worktree)
    total = Sum(choices or Choices())
    async with _files(worktree, part) as ground:
        alone = (await undone_alone(worktree, chat))[:count] if ground and not turn else []
        chain = await turns_to_redo(worktree, chat, count - len(alone), part_of_id=turn)
        check_count(len(alone) + len(chain.told), count)
        if chain.others:
            others = "; ".join(named(other) for other in chain.others)
            total.notes.append(f"Other ways on from here: {others}. `{redo_of_one()}` takes one of them.")
        if ground:
            for undone in alone:
                await bring_again(chat, ground, undone, total)
        for each in chain.turns:
            await _forward(worktree, chat, ground, each, total, part)
    is_chat = bool(chain.told) and part is not Part.FILES
    return total.moved(MoveAction.REDO, chain.told, draft="", chat=is_chat)


async def checkout(
    worktree: Worktree,
    chat: ChatHead,
    name: str,
    *,
    choices: Choices | None = None,
    part: Part = Part.BOTH,
    action: MoveAction = MoveAction.CHECKOUT,
) -> MoveResult:
    """Bring files and chat to a version, named by a branch, a label, HEAD or a part of its id.

    Only paths that differ are touched. What another session changed on the way is kept unless `choices` says
    otherwise, as is what was edited since. action: as it stands in the log. Raises as `undo`.
    """
    choices = choices or Choices()
    async with worktree.ground() as ground:
        head = await ground.files.state.head(ground.root)
        target = await find_version(
            ground.files.store.versions, ground.files.project.id, name, head=head.version
        )
        branch = await find_branch(ground.files.store.versions, ground.files.project.id, name)
        here = chat.turn
        to_turn, notes = (here, []) if part is Part.FILES else await _turn_of(worktree, chat, target)
        move = Move(
            action,
            ground.files.project.id,
            worktree.session_id,
            head.version,
            target.id,
            f"{action} of {shown(target)}",
            branch=branch.name if branch else "",
            from_turn=here,
            to_turn=to_turn,
        )
        total = Sum(choices, version=head.version, notes=list(notes))
        if part is Part.CHAT:
            await move_chat(ground.files.store, replace(move, target=head.version))
        else:
            await _files_to_target(chat, ground, move, total)
        await chat.go_to(to_turn)
        return total.moved(action, (), draft="", chat=move.from_turn != move.to_turn)


async def _files_to_target(chat: ChatHead, ground: Ground, move: Move, total: Sum) -> None:
    """Bring the files from the move's head to its target, but for what others changed on the way."""
    lines = await lines_of(ground.files.store.versions, move.head, move.target)
    edited = edited_since(ground, lines[0])
    differ = [replace(each, expected=edited.get(each.path, each.expected)) for each in between(*lines)]
    asked = move.target if move.action is MoveAction.TAKE else ""
    theirs = foreign(*lines, chat.session_id, asked=asked) & {each.path for each in differ}
    kept = sorted(path for path in theirs if total.choices.for_path(path) is ConflictChoice.KEEP)
    if total.choices.ask and kept:
        raise FilesInConflict(kept)
    total.kept |= dict.fromkeys(kept)
    if kept:
        total.notes.append("Another session changed some of the files that were kept.")
    wanted = [each for each in differ if each.path not in kept]
    total.add(await carry_out(ground, move, wanted, total.choices))


async def _back(
    worktree: Worktree,
    chat: ChatHead,
    turns: Sequence[Turn],
    action: MoveAction,
    choices: Choices,
    part: Part,
) -> MoveResult:
    """Undo these turns, newest first."""
    store = worktree.files.store
    total = Sum(choices)
    draft = text_of(turns[-1].user) if part is not Part.FILES else ""
    async with _files(worktree, part) as ground:
        # Not before: the version of a turn that ended just now is made beside what follows.
        versions = await store.versions.of_turns([turn.id for turn in turns])
        if ground:
            _check_recorded(turns, versions)
            total.notes += [*unsure(versions), *not_back(versions)]
        for run in runs_of(turns, versions) if ground else [list(turns)]:
            head = await ground.files.state.head(ground.root) if ground else Head()
            own = [version for turn in run for version in reversed(versions) if version.turn_id == turn.id]
            to_turn = run[-1].parent or ""
            move = Move(
                action,
                worktree.files.project.id,
                chat.session_id,
                head.version,
                _first_parent(own[-1]) if own else head.version,
                f"{action} of {_words(run)}",
                branch=head.branch,
                turns=tuple(turn.id for turn in run),
                from_turn=chat.turn,
                to_turn=to_turn if part is not Part.FILES else chat.turn,
                draft=draft,
            )
            if ground and own:
                total.add(await carry_out(ground, move, backward(own), total.choices))
            else:
                await move_chat(store, move)
            await chat.go_to(move.to_turn)
    return total.moved(action, turns, draft=draft, chat=part is not Part.FILES)


async def _forward(
    worktree: Worktree, chat: ChatHead, ground: Ground | None, turn: Turn, total: Sum, part: Part
) -> None:
    """Redo one turn."""
    store = worktree.files.store
    versions = await store.versions.of_turns([turn.id])
    head = await ground.files.state.head(ground.root) if ground else Head()
    move = Move(
        MoveAction.REDO,
        worktree.files.project.id,
        chat.session_id,
        head.version,
        versions[-1].id if versions and ground else head.version,
        f"redo of {_words([turn])}",
        branch=head.branch,
        turns=(turn.id,),
        from_turn=chat.turn,
        to_turn=turn.id if part is not Part.FILES else chat.turn,
    )
    if ground and versions:
        wanted = forward(versions)
        alone = await left_alone(worktree, turn, wanted, head=head.version)
        total.kept |= dict.fromkeys(sorted(alone))
        wanted = [each for each in wanted if each.path not in alone]
        total.add(await carry_out(ground, move, wanted, total.choices))
    else:
        await move_chat(store, move)
    await chat.go_to(move.to_turn)


async def _turn_of(worktree: Worktree, chat: ChatHead, target: Version) -> tuple[str, list[str]]:
    """Where the chat goes with the files: to the newest of its turns that the version rests on."""
    store, head = worktree.files.store, chat.turn or None
    path = await store.turns.path(head)
    on_path = {turn.id for turn in path}
    theirs = ""
    async for version in down_from(store.versions, target.id):
        if version.turn_id in on_path or (version.turn_id and version.session_id == chat.session_id):
            if await store.turns.get(version.turn_id):
                return version.turn_id, []
        elif not theirs and version.turn_id:
            theirs = version.session_id
    own = [turn for turn in path if turn.session_id == chat.session_id]
    for version in await store.versions.of_turns([turn.id for turn in own[:1]]):
        line, _ = await lines_of(store.versions, version.id, target.id)
        if any(each.id == target.id for each in line):
            return own[0].parent or "", []
    if head and theirs:
        return head, [
            "The chat stays where it is: this version was made in another session. "
            f"`ragforge -r {theirs}` resumes that one."
        ]
    return head or "", []


@asynccontextmanager
async def _files(worktree: Worktree, part: Part) -> AsyncGenerator[Ground | None]:
    """The ground that the files move on; None where they stay."""
    if part is Part.CHAT:
        yield None
        return
    if not await worktree.is_covered():
        raise UsageError(f"{worktree.not_covered} To move the conversation alone, add --chat.")
    async with worktree.ground() as ground:
        yield ground


async def _empty(worktree: Worktree, path: Sequence[Turn]) -> set[str]:
    return {turn.id for turn in path if await came_to_nothing(worktree.files.store, turn)}


def _check_begun(worktree: Worktree) -> None:
    """Raise UsageError where nothing is stored of the session yet."""
    if not worktree.session_id:
        raise UsageError("Nothing was said in this session yet, so there is nothing to undo or redo.")


def _check_recorded(turns: Sequence[Turn], versions: Sequence[Version]) -> None:
    """Raise UsageError where no version says what a turn did to the files."""
    known = {version.turn_id for version in versions}
    unknown = [turn for turn in turns if turn.id not in known]
    if unknown:
        raise UsageError(
            f"What {named(unknown[0])} did to the files was not recorded, so that it cannot be undone. "
            "To take back the conversation alone, add --chat."
        )


def _first_parent(version: Version) -> str:
    return version.parents[0] if version.parents else ""


def _words(turns: Sequence[Turn]) -> str:
    """Which turns, for a version's title."""
    oldest, newest = turns[-1], turns[0]
    if oldest is newest:
        return f"turn {oldest.index + 1}: {first_words(text_of(oldest.user))}"
    return f"turns {oldest.index + 1} to {newest.index + 1}"
