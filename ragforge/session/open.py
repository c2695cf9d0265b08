"""Open the workspace of a folder, then a session in it: new, resumed or forked."""

import logging
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict, replace

from ragforge.config.project import find_project
from ragforge.config.secrets import child_env
from ragforge.config.settings import load_settings
from ragforge.domain import timeouts
from ragforge.domain.allocator import limit_memory
from ragforge.domain.approvals import Mode
from ragforge.domain.errors import RagforgeError, StoreError
from ragforge.domain.ids import new_id, now
from ragforge.domain.json import JsonValue
from ragforge.domain.messages import Parts, text_of, typed_in
from ragforge.domain.printable import one_line
from ragforge.domain.redact import Redactor
from ragforge.domain.shares import SharedSession
from ragforge.domain.turns import ConversationSession, Project, Turn
from ragforge.domain.urls import listens_words
from ragforge.domain.usage import Purpose, Usage, sum_costs
from ragforge.domain.words import first_words
from ragforge.embedders.base import other_embedder
from ragforge.memory.forgotten import read_forgotten
from ragforge.memory.recall.search import Recall
from ragforge.memory.window import Window
from ragforge.session.background import Background
from ragforge.session.consent import consent_in
from ragforge.session.history import keep_end, read_window, window_limits
from ragforge.session.library import close_library, newest_session, open_library, read_secrets
from ragforge.session.link import leave_store, stranded_words
from ragforge.session.logs import start_log
from ragforge.session.machine import Library
from ragforge.session.marks import read_mark
from ragforge.session.model import first_model, leave_model
from ragforge.session.persons import user_name
from ragforge.session.project import allowed_repositories, is_folder, own_folder
from ragforge.session.recall_embedder import close_recall, open_recall
from ragforge.session.relocation import follow_folder, former_paths, former_projects, note_folder
from ragforge.session.state import Former, Live, ModelView, Session, Spending, Workspace
from ragforge.session.trust import Trust
from ragforge.shell.jobs import Jobs
from ragforge.store.base import keep_project
from ragforge.store.base_conversations import Claim
from ragforge.store.blobs import SqliteBlobs
from ragforge.store.files import contents_file
from ragforge.tools.registry import find_tools
from ragforge.versions.record.backfill import came_to_nothing
from ragforge.versions.record.recorder import Recorders
from ragforge.versions.recovery import recover_folder
from ragforge.versions.state import HistoryState, open_history_state

log = logging.getLogger(__name__)

TITLE_CHARS_MAX = 60
TITLED_CHARS_MAX = 20_000
"""How much of a message is searched for a title: no secret at its beginning is longer."""


async def open_workspace(
    *,
    cwd: Path,
    flags: Mapping[str, JsonValue],
    environ: Mapping[str, str],
    recalls: bool = True,
    incognito: bool = False,
    trusts_project: bool = False,
) -> Workspace:
    """Open everything that a folder's sessions share. Raises UsageError (a wrong setting) or StoreError.

    recalls: whether to recall anything for messages. incognito: remove everything at the end of the run.
    trusts_project: read instruction files in this run even if the user was not asked about them.
    """
    limit_memory()  # before the threads of the store begin
    library = await open_library(cwd=cwd, flags=flags, environ=environ)
    secrets = await read_secrets(library)
    redactor = Redactor(secrets)
    start_log(environ, redactor)
    history = await _history(library)
    former = await _former(library, history)
    known = [one.project for one in former]
    library = replace(library, alike=tuple(each for each in library.alike if each not in known))
    recall, other = await _recall(library, environ)
    workspace = Workspace(
        **asdict(library),
        flags=flags,
        child_env=child_env(environ, endpoints=library.loaded.settings.endpoints, secrets=secrets),
        former=former,
        blobs=SqliteBlobs(contents_file(library.data_dir).path, store_url=library.store.url),
        history=history,
        recorders=Recorders(),
        redactor=redactor,
        tools=find_tools(),
        jobs=Jobs(),
        recall=recall,
        background=Background(),
        trust=Trust(library.local, reads_all=trusts_project),
        recalls=recalls,
        incognito=incognito,
    )
    stranded = stranded_words(library.store.link)
    listens = listens_words(library.loaded.settings.metrics.listen)
    said = [*await recover_folder(workspace.worktree()), *filter(None, (stranded, other, listens))]
    loaded = replace(workspace.loaded, notices=(*workspace.loaded.notices, *said))
    return replace(workspace, loaded=loaded) if said else workspace


async def _recall(library: Library, environ: Mapping[str, str]) -> tuple[Recall, str]:
    """Return the state of recall, and for the user why meaning is not compared. Raises UsageError for a wrong
    embedder.

    A shared database uses the embedder that it names, and no other.
    """
    recall = open_recall(library.store, library.loaded.settings, environ)
    if library.person.alone or recall.embedder is None:
        return recall, ""
    try:
        in_use = await library.store.vectors.in_use()
    except StoreError:  # the background asks again before it embeds
        return recall, ""
    other = other_embedder(in_use, recall.embedder.name)
    if other:
        await close_recall(recall)
        recall = replace(recall, embedder=None)
    return recall, other


async def _history(library: Library) -> HistoryState:
    try:
        return await open_history_state(library.data_dir)
    except BaseException:
        await close_library(library)
        raise


async def _former(library: Library, history: HistoryState) -> tuple[Former, ...]:
    """Return the projects that the folder may have been, after moving what its own project kept elsewhere."""
    local, root, project_id = library.local, library.place.root, library.project.id
    try:
        await follow_folder(local, history, root=root, project_id=project_id)
        former = await former_projects(library.store, local, history, root=root, project_id=project_id)
        await note_folder(local, root)
    except RagforgeError as error:  # retried at the next opening
        log.warning("What %s was before could not be found out: %s", root, error, exc_info=error)
        return ()
    except BaseException:
        await history.close()
        await close_library(library)
        raise
    return former


async def reload_settings(workspace: Workspace) -> Workspace:
    """Return the workspace with the current settings and keys. Raises UsageError."""
    place, environ = workspace.place, workspace.environ
    loaded = load_settings(cwd=place.cwd, flags=workspace.flags, environ=environ, project_root=place.root)
    workspace = replace(workspace, loaded=loaded)
    secrets = await read_secrets(workspace)
    redactor = Redactor(secrets)
    start_log(environ, redactor)
    return replace(
        workspace,
        child_env=child_env(environ, endpoints=loaded.settings.endpoints, secrets=secrets),
        redactor=redactor,
    )


async def join_project(workspace: Workspace, project: Project) -> Workspace:
    """Return the workspace as part of an existing project from now on."""
    root = workspace.place.root
    await workspace.local.places.set_project(root, project.id)
    await follow_folder(workspace.local, workspace.history, root=root, project_id=project.id, replaces=True)
    return replace(workspace, project=project, alike=(), former=())


async def close_workspace(workspace: Workspace) -> str:
    """End background jobs and release everything. Return what to tell the user about rows that wait."""
    await workspace.background.close()
    await workspace.jobs.stop_all()
    await workspace.recorders.close()
    await close_recall(workspace.recall)
    await workspace.history.close()
    await workspace.blobs.close()
    await workspace.local.close()
    return await leave_store(workspace.store)


async def newest_session_here(workspace: Workspace) -> ConversationSession:
    """Return the session of the workspace's folder that was active last, including before a rename.

    Raises UsageError if there is none.
    """
    place, project_id = workspace.place, workspace.project.id
    paths = await former_paths(workspace.local, workspace.history, root=place.root, project_id=project_id)
    inside = place.cwd.relative_to(place.root)
    former = [path / inside for path in paths]
    return await newest_session(workspace.store, project_id=project_id, cwd=place.cwd, former=former)


async def new_session(workspace: Workspace, *, needs_model: bool = False) -> Session:
    """Return a session in the workspace's folder; nothing is stored before its first message.

    needs_model: that the user went on without a model before does not count.
    """
    settings = workspace.settings
    moment = now()
    record = ConversationSession(
        id=new_id(),
        project_id=workspace.project.id,
        cwd=str(workspace.place.cwd),
        started_at=moment,
        last_activity_at=moment,
        model=await first_model(workspace, needs_one=needs_model),
        mode=settings.mode,
        user=user_name(),
        host=socket.gethostname(),
        project_path=str(workspace.place.root),
        person=workspace.person.id,
    )
    view = ModelView(Window(window_limits(settings)))
    consent = await consent_in(workspace.local, workspace.project.id, Mode(settings.mode))
    live = Live(record, stored=False, consent=consent, view=view)
    session = Session(workspace, live)
    workspace.background.start(session)
    return session


async def store_session(session: Session, *, said: Parts) -> None:
    """Save a new session, titled with the first words of what was said; no effect for a stored one."""
    live = session.live
    if live.stored:
        return
    # Redacted before it is cut: a truncated secret cannot be recognised.
    words = session.workspace.redactor.text(text_of(said)[:TITLED_CHARS_MAX])
    session.change(title=live.record.title or first_words(words, TITLE_CHARS_MAX))
    workspace = session.workspace
    await keep_project(workspace.store, workspace.project)
    await workspace.store.sessions.add(live.record)
    live.claim = await workspace.store.sessions.claim(session.id)
    live.stored = True


class Resumed(Struct, frozen=True):
    """A resumed session, and what to tell the user about it."""

    session: Session
    notices: tuple[str, ...] = ()
    draft: str = ""


async def resume_session(
    workspace: Workspace, record: ConversationSession, *, read_only: bool = False
) -> Resumed:
    """Return the session, open for writing unless `read_only`. Raises SessionBusy if another process has it.

    A shared session is always read-only; a fork continues from it.
    """
    if (mark := await mark_of(workspace, record)) is not None:
        shown = await _resumed(workspace, _here(workspace, record), None, read_only=True)
        return replace(shown, notices=(shared_words(mark), *shown.notices))
    claim = None if read_only else await workspace.store.sessions.claim(record.id)
    try:
        # The claim may have marked turns as interrupted: read after it.
        record = await workspace.store.sessions.get(record.id) or record
        return await _resumed(workspace, record, claim, read_only=read_only)
    except BaseException:
        if claim:
            await claim.release()
        raise


async def _resumed(
    workspace: Workspace, record: ConversationSession, claim: Claim | None, *, read_only: bool
) -> Resumed:
    notices: list[str] = []
    if folder := await own_folder(workspace, record):
        notices.append(f"This session was started in {_place_words(record)} and continues in {folder}.")
        record = replace(record, cwd=str(folder))
    elif not is_folder(Path(record.cwd)):
        notices.append(
            f"The folder of this session, {record.cwd}, no longer exists. The session continues in "
            f"{workspace.place.cwd}."
        )
        record = replace(record, cwd=str(workspace.place.cwd))
    if not Path(record.cwd).resolve().is_relative_to(workspace.place.root):
        if not folder:
            notices.append(f"This session belongs to {record.cwd} and continues there.")
        workspace = await _workspace_of(workspace, record)
        notices += await recover_folder(workspace.worktree())
    if record.archived_at is not None and not read_only:
        notices.append("This session is archived. It is listed again once you send a message.")
    rows = await workspace.store.usage.by_model(session_id=record.id)
    usage = [row for row in rows if row.purpose is Purpose.CHAT]
    live = Live(
        record=record,
        stored=True,
        consent=await consent_in(workspace.local, workspace.project.id, Mode(record.mode)),
        claim=claim,
        read_only=read_only,
        queue=[] if read_only else await workspace.local.prompts.queue(record.id),
        view=ModelView(
            await read_window(
                workspace.store,
                record.head,
                window_limits(workspace.settings),
                compacted_after=await workspace.local.marks.compacted(record.id),
                forgotten=await read_forgotten(workspace.store, workspace.project.id),
            )
        ),
        spending=Spending(
            sum((row.usage for row in usage), Usage()), sum_costs(row.cost_usd for row in usage)
        ),
    )
    session = Session(workspace, live)
    head = await workspace.store.turns.get(record.head) if record.head else None
    resumed = Resumed(session, tuple(notices), await _draft(session, head))
    workspace.background.start(session)
    return resumed


async def mark_of(workspace: Workspace, record: ConversationSession) -> SharedSession | None:
    """Return who shared the session, if it was imported; imported sessions are in separate projects."""
    is_own = record.project_id == workspace.project.id
    return None if is_own else await read_mark(workspace.store, record.id)


def shared_words(mark: SharedSession) -> str:
    """Say who shared it, and how to continue from it."""
    when = f"{mark.exported_at:%Y-%m-%d}"
    return f"{one_line(mark.by)} shared this session on {when}. It is read-only; use /fork to continue."


def _here(workspace: Workspace, record: ConversationSession) -> ConversationSession:
    """Return the session as if it had been in this folder, because its own path is from another machine."""
    return replace(record, cwd=str(workspace.place.cwd), host="", person="", mode=Mode.ASK)


def _place_words(record: ConversationSession) -> str:
    on = f" on {record.host}" if record.host else ""
    return f"{record.cwd}{on} by {record.person or record.machine or 'somebody'}"


async def _workspace_of(workspace: Workspace, record: ConversationSession) -> Workspace:
    """Return the workspace for the session's own folder. Raises UsageError for a wrong setting there."""
    place = find_project(Path(record.cwd), identify=False)
    if place.foreign_git:
        allowed = await allowed_repositories(workspace.local, record.project_id)
        place = find_project(Path(record.cwd), identify=False, allowed=allowed)
    return replace(
        workspace,
        loaded=load_settings(
            cwd=place.cwd, flags=workspace.flags, environ=workspace.environ, project_root=place.root
        ),
        place=place,
        project=await workspace.store.projects.get(record.project_id) or workspace.project,
        alike=(),
        former=(),
    )


async def fork_session(
    workspace: Workspace, record: ConversationSession, *, at: Turn | None = None
) -> Session:
    """Return a new session with its own head on the turns of another, up to `at` or its head."""
    moment = now()
    if await mark_of(workspace, record) is not None:
        here = {"host": socket.gethostname(), "user": user_name(), "project_path": str(workspace.place.root)}
        record = replace(_here(workspace, record), project_id=workspace.project.id, **here)
        await keep_project(workspace.store, workspace.project)
    elif folder := await own_folder(workspace, record):
        root = workspace.place.root
        root = root if folder.is_relative_to(root) else find_project(folder, identify=False).root
        here = {"host": socket.gethostname(), "user": user_name()}
        record = replace(record, cwd=str(folder), project_path=str(root), **here)
    fork = replace(
        record,
        id=new_id(),
        started_at=moment,
        last_activity_at=moment,
        title=f"{record.title} (fork)",
        head=at.id if at else record.head,
        forked_from=record.id,
        person=workspace.person.id,
        mode=record.mode if record.mode != Mode.ALL else Mode.ASK,
        archived_at=None,
    )
    await workspace.store.sessions.add(fork)
    return (await resume_session(workspace, fork)).session


async def close_session(session: Session) -> None:
    """Close the session: its attempts, its provider, and the right to write it."""
    if session.live.attempts:
        await session.live.attempts.close()
    with suppress(StoreError):  # reported when the turn ended
        await keep_end(session)
    await leave_model(session)
    with suppress(TimeoutError):
        await session.worktree.recorder.settle(timeout_s=timeouts.VERSION_END_S_MAX)
    if session.live.claim:
        await session.live.claim.release()
        session.live.claim = None


async def _draft(session: Session, head: Turn | None) -> str:
    """Return the saved draft, or the message of the newest turn if that is empty."""
    draft = await session.workspace.local.prompts.draft(session.id)
    if draft or head is None or not await came_to_nothing(session.workspace.store, head):
        return draft
    waiting = tuple(part for parts in session.live.queue for part in parts)
    if head.user == waiting[: len(head.user)]:
        return ""  # they wait: the process died before it removed them from the queue
    return typed_in(head.user)
