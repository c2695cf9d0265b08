"""Undo, redo, rewind and checkout: files and conversation move together, and nothing is lost."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct, field
from msgspec.structs import replace

from ragforge.domain.errors import UsageError
from ragforge.domain.ids import new_id
from ragforge.domain.messages import own_text, typed_in
from ragforge.domain.moves import ConflictChoice, Part
from ragforge.domain.turns import Turn
from ragforge.domain.versions import RESTORE, CheckoutLog, MoveAction, Node, Version
from ragforge.domain.words import counted, first_words
from ragforge.versions.head_move import (
    ChatHead,
    Choices,
    FilesInConflict,
    Ground,
    Move,
    MoveResult,
    Sum,
    carry_out,
    down_from,
    edited_since,
    lines_of,
    move_chat,
)
from ragforge.versions.names import find_branch, find_version, shown
from ragforge.versions.record.backfill import came_to_nothing
from ragforge.versions.record.omissions import not_back, unsure
from ragforge.versions.record.recorder import Worktree
from ragforge.versions.restore.plan import look_at
from ragforge.versions.restore.reach import parents, same
from ragforge.versions.state import Head
from ragforge.versions.tree import (
    WantedFile,
    backward,
    between,
    foreign,
    forward,
    is_folder_let_go,
    own_changes,
    states_between,
)
from ragforge.versions.turn_choice import (
    UNDONE,
    Redoable,
    redo_chain,
    redo_of_one,
    runs_of,
    session_log,
    turns_abandoned,
    turns_between,
    turns_to_undo,
    undone_files,
)
from ragforge.versions.turns import named

NOTE = "Only the files are redone, because only the files were undone."


async def undo(
    worktree: Worktree,
    chat: ChatHead,
    count: int = 1,
    *,
    choices: Choices | None = None,
    part: Part = Part.BOTH,
) -> MoveResult:
    """Undo the newest turns of the session: its own file changes, and the conversation.

    What anybody else changed since stays. If both changed a file, `choices` decides; by default it is kept.
    Raises UsageError if there is nothing to undo or the files cannot be undone, and StoreError; nothing is
    changed then.
    """
    _check_begun(worktree)
    path = await worktree.files.store.turns.path(chat.turn or None)
    empty = await _empty(worktree, path)
    turns = turns_to_undo(path, chat.session_id, count, empty=empty)
    return await _back(worktree, chat, turns, MoveAction.UNDO, choices or Choices(), part)


async def rewind(
    worktree: Worktree, chat: ChatHead, number: int, *, choices: Choices | None = None, part: Part = Part.BOTH
) -> MoveResult:
    """Go back to before a turn, counted from 1: undo it and all turns after it. Raises like `undo`."""
    _check_begun(worktree)
    path = await worktree.files.store.turns.path(chat.turn or None)
    if not 1 <= number <= len(path):
        raise UsageError(f"The session has {counted(len(path), 'turn')}; there is no turn {number}.")
    turns = path[number - 1 :][::-1]
    if any(turn.session_id != chat.session_id for turn in turns):
        raise UsageError(
            f"Turn {number} belongs to the session that this one was forked from. "
            f"Use /fork {number} there to continue from it, or /checkout VERSION for its files."
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
    """Redo what was undone last, or the turn whose id starts or ends with this. Raises like `undo`.

    The log of moves says what was undone; if it does not and several turns are possible, the error names
    them. An undo of only the files is redone first, one undo at a time. If fewer than `count` can be redone,
    nothing is changed.
    """
    _check_begun(worktree)
    async with _files(worktree, part) as ground:
        log = await session_log(worktree)
        alone = undone_files(log, chat.turn)[:count] if ground and not turn else []
        chain = await redo_chain(worktree, log, chat.turn, count - len(alone), part_of_id=turn)
        _check_count(len(alone) + len(chain.told), count)
        command = _Command(worktree, chat, part, ground, Sum(choices or Choices()))
        if chain.others:
            others = "; ".join(named(other) for other in chain.others)
            command.total.notes.append(
                f"Other turns to redo from here: {others}. `{redo_of_one()}` takes one of them."
            )
        for undone in alone:
            await command.redo_files(undone)
        for each in chain.turns:
            await command.redo_turn(each, log)
    is_chat = bool(chain.told) and part is not Part.FILES
    return command.total.moved(MoveAction.REDO, chain.told, draft="", chat=is_chat)


async def checkout(
    worktree: Worktree,
    chat: ChatHead,
    name: str,
    *,
    choices: Choices | None = None,
    part: Part = Part.BOTH,
    action: MoveAction = MoveAction.CHECKOUT,
) -> MoveResult:
    """Move files and conversation to a version, named by a branch, a label, HEAD or a part of its id.

    Touches only paths that differ. Keeps changes of another session on the way, and unrecorded edits, unless
    `choices` says otherwise. action: as recorded in the log. Raises like `undo`.
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
            action=action,
            project_id=ground.files.project.id,
            session_id=worktree.session_id,
            from_version=head.version,
            target=target.id,
            title=f"{action} of {shown(target)}",
            branch=branch.name if branch else "",
            from_turn=here,
            to_turn=to_turn,
            turns=await turns_abandoned(worktree.files.store, here, to_turn),
            command_id=new_id(),
        )
        total = Sum(choices, version=head.version, notes=list(notes))
        between = await turns_between(ground.files.store, here, to_turn)
        async with total.memories.of_move(ground.files.store, between):
            if part is Part.CHAT:
                await move_chat(ground.files.store, replace(move, target=head.version))
            else:
                await _files_to_target(chat, ground, move, total)
        await chat.go_to(to_turn)
        return total.moved(action, (), draft="", chat=move.is_of_chat)


async def _files_to_target(chat: ChatHead, ground: Ground, move: Move, total: Sum) -> None:
    """Move the files from the move's head to its target, except what others changed on the way."""
    lines = await lines_of(ground.files.store.versions, move.from_version, move.target)
    edited = edited_since(ground, lines[0])
    differ = [replace(each, expected=edited.get(each.path, each.expected)) for each in between(*lines)]
    asked = move.target if move.action is MoveAction.TAKE else ""
    changed = foreign(*lines, chat.session_id, asked=asked)
    theirs = changed & {each.path for each in differ}
    keeps = [path for path in sorted(changed) if total.choices.for_path(path) is ConflictChoice.KEEP]
    kept = [path for path in keeps if path in theirs]
    if total.choices.ask and kept:
        raise FilesInConflict(kept)
    total.kept |= dict.fromkeys(kept)
    if kept:
        total.notes.append("Another session has changed some of the files that were kept.")
    wanted = [each for each in differ if each.path not in kept]
    # What they brought back to what the target has is kept too: a redo of a turn leaves it alone.
    at_head, _ = states_between(*lines)
    unmoved = {path: at_head[path] for path in keeps if path not in theirs}
    move = replace(move, kept=unmoved | {each.path: each.expected for each in differ if each.path in kept})
    total.add(await carry_out(ground, move, wanted, total.choices))


async def _back(
    worktree: Worktree,
    chat: ChatHead,
    turns: Sequence[Turn],
    action: MoveAction,
    choices: Choices,
    part: Part,
) -> MoveResult:
    """Undo these turns, newest first, with one move for each run of them."""
    draft = typed_in(turns[-1].user) if part is not Part.FILES else ""
    async with _files(worktree, part) as ground:
        command = _Command(worktree, chat, part, ground, Sum(choices))
        # Not before: the version of a turn that ended just now is made beside what follows.
        versions = await worktree.files.store.versions.of_turns([turn.id for turn in turns])
        if ground:
            _check_recorded(turns, versions)
            command.total.notes += [*unsure(versions), *not_back(versions)]
        for run in runs_of(turns, versions) if ground else [list(turns)]:
            own = [version for turn in run for version in reversed(versions) if version.turn_id == turn.id]
            await command.move(
                action,
                _words(run),
                target=_first_parent(own[-1]) if own else None,
                wanted=backward(own),
                turns=tuple(turn.id for turn in run),
                to_turn=run[-1].parent or "",
            )
    return command.total.moved(action, turns, draft=draft, chat=part is not Part.FILES)


class _Command(Struct):
    """One undo, rewind or redo, which can make several moves, and their combined result so far.

    ground: of the files; None if they do not move.
    """

    worktree: Worktree
    chat: ChatHead
    part: Part
    ground: Ground | None
    total: Sum
    id: str = field(default_factory=new_id)

    async def redo_turn(self, redoable: Redoable, log: Sequence[CheckoutLog]) -> None:
        """Redo a turn, with its files except those that its undo left alone."""
        turn = redoable.turn
        versions = await self.worktree.files.store.versions.of_turns([turn.id])
        wanted = forward(versions)
        left = [
            each
            for each in log
            if each.is_of_chat and turn.id in each.turns and each.action is not MoveAction.REDO
        ]
        alone, folders = dict[str, Node | None](), list[WantedFile]()
        if self.ground and left:
            alone = await _left_alone(self.ground, left[0], wanted)
            for path in await self._failed(turn.id, log[log.index(left[0]) :]) if alone else ():
                alone.pop(path, None)
            folders = await _filled(self.ground, left[0], wanted)
        self.total.kept |= dict.fromkeys(sorted(alone))
        await self.move(
            MoveAction.REDO,
            _words([turn]),
            target=versions[-1].id if versions else None,
            wanted=[*(each for each in wanted if each.path not in alone), *folders],
            turns=(turn.id,),
            to_turn=turn.id,
            undoes=redoable.undone,
            kept=alone or None,
        )

    async def _failed(self, turn_id: str, log: Sequence[CheckoutLog]) -> set[str]:
        """Return the paths that the newest redo of the turn in this log, newest first, could not write.

        The undo after it found them as wanted, but their content is not the user's.
        """
        redone = (each for each in log if each.action is MoveAction.REDO and turn_id in each.turns)
        last = next(redone, None)
        if last is None or last.kept is None or not last.to_version:
            return set()
        versions = await self.worktree.files.store.versions.get([last.to_version])
        changes = [change for version in versions if version.by == RESTORE for change in version.changes]
        return {change.path for change in changes} - last.kept.keys()

    async def redo_files(self, undone: CheckoutLog) -> None:
        """Redo what an undo of only the files undid."""
        lines = await lines_of(self.worktree.files.store.versions, undone.to_version, undone.from_version)
        await self.move(
            MoveAction.REDO,
            "files",
            target=undone.from_version,
            wanted=between(*lines),
            to_turn=self.chat.turn,
            undoes=undone,
        )
        if NOTE not in self.total.notes:
            self.total.notes.append(NOTE)

    async def move(
        self,
        action: MoveAction,
        what: str,
        *,
        target: str | None,
        wanted: Sequence[WantedFile],
        to_turn: str,
        turns: tuple[str, ...] = (),
        undoes: CheckoutLog | None = None,
        kept: Mapping[str, Node | None] | None = None,
    ) -> None:
        """Make one move. what: for its title. target: a version; None if no version has the files."""
        files, ground = self.worktree.files, self.ground
        head = await files.state.head(ground.root) if ground else Head()
        move = Move(
            action=action,
            project_id=files.project.id,
            session_id=self.chat.session_id,
            from_version=head.version,
            target=target if ground and target is not None else head.version,
            title=f"{action} of {what}",
            branch=head.branch,
            from_turn=self.chat.turn,
            to_turn=to_turn if self.part is not Part.FILES else self.chat.turn,
            turns=turns,
            undoes=undoes.id if undoes else "",
            kept=kept,
            command_id=self.id,
        )
        between = await turns_between(files.store, move.from_turn, move.to_turn)
        async with self.total.memories.of_move(files.store, between):
            if ground and target is not None:
                self.total.add(await carry_out(ground, move, wanted, self.total.choices))
            else:
                await move_chat(files.store, move)
        await self.chat.go_to(move.to_turn)


async def _left_alone(
    ground: Ground, undone: CheckoutLog, wanted: Sequence[WantedFile]
) -> dict[str, Node | None]:
    """Return the content of paths that the undo found as wanted or kept, and that nobody changed since.

    A redo would change them although the undo did not, and their content is the user's. For a checkout, these
    are the paths of other sessions, because it also reverts the user's changes. If a path has another content
    than the turn found, it is a conflict anyway, and not in the result.
    """
    if undone.kept is None and undone.action not in UNDONE:
        return {}
    if undone.kept is None:  # it did not look at the files, or an earlier release did not keep what it found
        versions, head = ground.files.store.versions, await ground.files.state.head(ground.root)
        by_undo = between(*await lines_of(versions, undone.from_version, undone.to_version))
        since = between(*await lines_of(versions, undone.to_version, head.version))
        moved = {each.path for each in (*by_undo, *since)}
        still = [each for each in wanted if each.path not in moved]
    else:
        kept = undone.kept
        still = [each for each in wanted if each.path in kept and same(each.expected, kept[each.path])]
    looked = await asyncio.to_thread(look_at, ground.root, still)
    return {
        each.wanted.path: each.found.node
        for each in looked
        if not each.why and not each.is_reached and same(each.found.node, each.wanted.expected)
    }


async def _filled(ground: Ground, undone: CheckoutLog, wanted: Sequence[WantedFile]) -> list[WantedFile]:
    """Return the empty folders that the undo filled, except those that one of its turns had made.

    Only folders that are not empty now, and that the redo may empty.
    """
    emptied = {folder for each in wanted if each.wanted is None for folder in parents(each.path)}
    if not emptied or undone.action not in UNDONE:
        return []
    versions = ground.files.store.versions
    by_undo = between(*await lines_of(versions, undone.from_version, undone.to_version))
    filled = [each for each in by_undo if each.path in emptied and is_folder_let_go(each)]
    own = own_changes(await versions.of_turns(undone.turns)) if filled else []
    made = {change.path for change in own}
    folders = [WantedFile(each.path, None, each.expected) for each in filled if each.path not in made]
    looked = await asyncio.to_thread(look_at, ground.root, folders)
    return [each.wanted for each in looked if each.found.filled and each.is_reached]


async def _turn_of(worktree: Worktree, chat: ChatHead, target: Version) -> tuple[str, list[str]]:
    """Return where the conversation moves with the files: the newest of its turns that the version is based
    on."""
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
            "The chat did not move, because this version was made in another session. "
            f"`ragforge -r {theirs}` resumes that one."
        ]
    return head or "", []


@asynccontextmanager
async def _files(worktree: Worktree, part: Part) -> AsyncGenerator[Ground | None]:
    """Return the ground on which the files move; None if they do not."""
    if part is Part.CHAT:
        yield None
        return
    if not await worktree.is_tracked():
        raise UsageError(f"{worktree.not_tracked} To move only the conversation, add --chat.")
    async with worktree.ground() as ground:
        yield ground


async def _empty(worktree: Worktree, path: Sequence[Turn]) -> set[str]:
    return {turn.id for turn in path if await came_to_nothing(worktree.files.store, turn)}


def _check_begun(worktree: Worktree) -> None:
    """Raise UsageError if nothing of the session is stored yet."""
    if not worktree.session_id:
        raise UsageError("This session has no messages yet, so there is nothing to undo or redo.")


def _check_recorded(turns: Sequence[Turn], versions: Sequence[Version]) -> None:
    """Raise UsageError if no version says what a turn did to the files."""
    known = {version.turn_id for version in versions}
    unknown = [turn for turn in turns if turn.id not in known]
    if unknown:
        raise UsageError(
            f"What {named(unknown[0])} did to the files was not recorded, so it cannot be undone. To undo "
            "only the conversation, add --chat."
        )


def _first_parent(version: Version) -> str:
    return version.parents[0] if version.parents else ""


def _words(turns: Sequence[Turn]) -> str:
    """Return which turns, for a version's title."""
    oldest, newest = turns[-1], turns[0]
    if oldest is newest:
        return f"turn {oldest.index + 1}: {first_words(own_text(oldest.user))}"
    return f"turns {oldest.index + 1} to {newest.index + 1}"


def _check_count(found: int, count: int) -> None:
    """Raise UsageError if less can be redone than was asked for."""
    if not found:
        raise UsageError("There is nothing to redo: no turn after this one was undone.")
    if found < count:
        raise UsageError(f"Only {found} can be redone, not {count}. Nothing was changed.")
