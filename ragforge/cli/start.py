"""Open what a command works with, according to its flags."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ragforge.cli.options import Options
from ragforge.config.settings import embedded_store
from ragforge.domain.approvals import parse_rule
from ragforge.domain.errors import ModelError, StoreAddressWrong, StoreError, UsageError
from ragforge.providers.registry import parse_model
from ragforge.session.foreign_git import unread_repository, unread_words
from ragforge.session.library import find_session, turn_at
from ragforge.session.model import choose_model
from ragforge.session.open import (
    fork_session,
    new_session,
    newest_session_here,
    open_workspace,
    resume_session,
)
from ragforge.session.persons import same_person_words
from ragforge.session.project import unasked_words
from ragforge.session.server_connection import other_place
from ragforge.session.state import Session, Workspace

if TYPE_CHECKING:
    from ragforge.tui.launch import NotOpened, OpenedChat


async def open_for_run(options: Options) -> Workspace:
    """Return the workspace of the current folder. Raises RagforgeError."""
    flags = options.flags
    if options.incognito:
        flags = {**flags, "store": embedded_store(os.environ)}
    return await open_workspace(
        cwd=options.cwd,
        flags=flags,
        environ=os.environ,
        recalls=not options.no_memory,
        incognito=options.incognito,
        trusts_project=options.trust_project,
    )


async def open_session(workspace: Workspace, options: Options, *, tell: Callable[[str], None]) -> Session:
    """Return the session of the flags, with their model and consent. Raises RagforgeError."""
    for notice in workspace.loaded.notices:
        tell(notice)
    for former in workspace.former:
        tell(former.words())
    for words in (same_person_words(workspace.person), await unasked_words(workspace)):
        if words:
            tell(words)
    session = await _chosen(workspace, options, tell)
    await _apply_flags(session, options)
    if session.live.record.model and not session.live.stored:
        parse_model(session.live.record.model, endpoints=workspace.settings.endpoints)
    if repository := unread_repository(session):
        tell(unread_words(repository))
    return session


async def open_for_interface(options: Options, *, embedded: bool = False) -> "OpenedChat | NotOpened":
    """Return a conversation with a new session, and which one replaces it. Raises RagforgeError.

    A store that cannot be opened is a result: the user may want another.
    embedded: use the store on this machine, whatever is set.
    """
    from ragforge.session.conversation import Conversation
    from ragforge.tui.launch import NotOpened, OpenedChat

    if embedded:
        options = replace(options, flags={**options.flags, "store": embedded_store(os.environ)})
    try:
        workspace = await open_for_run(options)
    except (StoreError, StoreAddressWrong) as error:
        return NotOpened(error, other_place(options.cwd, options.flags, os.environ))
    session = await new_session(workspace)
    start = workspace.settings.start
    resume, after_question = "", False

    async def prepare(shown: Session) -> None:
        """Apply consent from flags to the run, and the model to the requested session."""
        _apply_consent(shown, options)
        if resume and resume in (shown.id, shown.live.record.forked_from):
            await _apply_model(shown, options)

    session.worktree.recorder.look_ahead(workspace.files)
    conversation = Conversation(workspace, session, prepare=prepare)
    if options.resume:
        resume = (await find_session(workspace.store, options.resume)).id
    elif options.continue_newest or (start == "continue" and not options.new and options.resume is None):
        # Its sessions may be those of a project that the user is asked about first.
        after_question = options.continue_newest and bool(workspace.former)
        resume = await _newest(workspace, must_exist=options.continue_newest and not after_question)
    await _apply_flags(session, options)
    return OpenedChat(
        conversation,
        notices=workspace.loaded.notices,
        show_list=(start == "list" or options.resume is not None) and not (options.new or options.message),
        resume=resume,
        newest=after_question and not resume,
        at=options.at,
        fork=options.fork,
        message=options.message,
    )


async def _apply_flags(session: Session, options: Options) -> None:
    _apply_consent(session, options)
    await _apply_model(session, options)


def _apply_consent(session: Session, options: Options) -> None:
    session.live.consent.grant_for_run(map(parse_rule, options.allow), everything=options.yolo)


async def _apply_model(session: Session, options: Options) -> None:
    if not options.model:
        return
    # A wrong flag is reported before anything is stored.
    parse_model(options.model, endpoints=session.workspace.settings.endpoints)
    if session.live.record.model != options.model:
        try:
            await choose_model(session, options.model)
        except ModelError:
            # Reported again, with the turn stored, when the model is asked.
            session.change(model=options.model)


async def _newest(workspace: Workspace, *, must_exist: bool) -> str:
    try:
        record = await newest_session_here(workspace)
    except UsageError:
        if must_exist:
            raise
        return ""
    return record.id


async def _chosen(workspace: Workspace, options: Options, tell: Callable[[str], None]) -> Session:
    if not (options.resume or options.continue_newest):
        # To go on without a model was the interface's answer to its question.
        return await new_session(workspace, needs_model=True)
    store = workspace.store
    if options.resume:
        record = await find_session(store, options.resume)
    else:
        record = await newest_session_here(workspace)
    turn = await turn_at(store, record, options.at) if options.at else None
    if options.fork:
        return await fork_session(workspace, record, at=turn)
    if turn:
        raise UsageError("--at only shows a turn. To continue from there in a new session, add --fork.")
    resumed = await resume_session(workspace, record)
    if resumed.session.live.read_only:
        raise UsageError(resumed.notices[0])
    for notice in resumed.notices:
        tell(notice)
    return resumed.session
