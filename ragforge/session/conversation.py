"""An interface's handle to the session in front: its operations, and switching to another session."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ragforge.commands.base import Outcome, Verb
from ragforge.domain.approvals import Approve, Mode, TurnTerms
from ragforge.domain.context import ContextBlock
from ragforge.domain.errors import UsageError
from ragforge.domain.events import AgentEvent
from ragforge.domain.ids import short_id
from ragforge.domain.memories import MemoryFilter
from ragforge.domain.messages import CommandPart, Parts
from ragforge.domain.search import HitKind, Query
from ragforge.domain.turns import Project, Todos, ToolCall, Turn, TurnStatus
from ragforge.domain.words import counted
from ragforge.memory.forget_request import forget_request
from ragforge.memory.forgotten import Forgotten, read_forgotten
from ragforge.memory.recall.explain import marked
from ragforge.memory.recall.search import SearchResults
from ragforge.session import history, queue, setup, shell_commands, turn
from ragforge.session.agent_parts import prepare_parts
from ragforge.session.context import prepare_recall
from ragforge.session.export import turns_as_markdown
from ragforge.session.foreign_git import read_repository
from ragforge.session.hints import SessionHints
from ragforge.session.history import StoredTurns
from ragforge.session.library import delete_session, find_session, turn_at
from ragforge.session.link import limited_words, notice_loss
from ragforge.session.marks import search_everything, shared_among
from ragforge.session.memory_book import MemoryBook
from ragforge.session.model import choose_model, memory_cost, prepare_model, question_of
from ragforge.session.open import (
    close_session,
    close_workspace,
    fork_session,
    join_project,
    new_session,
    newest_session_here,
    reload_settings,
    resume_session,
)
from ragforge.session.own_commands import run_typed
from ragforge.session.persons import be_somebody_else, writer_named, writers_shown
from ragforge.session.state import Former, Session, Workspace
from ragforge.session.todos import todos_of
from ragforge.store.base import Link
from ragforge.store.base_conversations import Deleted, SessionRow

SESSIONS_LISTED_MAX = 500
COUNTED_MAX = 1_000
"""How many memories are counted for the first lines of a session."""
LOOKED_BACK = 10
LONG_DRAFT_CHARS = 20_000
"""Longer drafts are searched for secrets in a thread: a million characters take 0.1 s."""
"""Among how many turns the last answer is searched: the newest may be empty."""
MODES_CYCLED = (Mode.ASK, Mode.ACCEPT_EDITS, Mode.PLAN)
"""The modes of Shift+Tab; `all` has to be typed."""


class Shown(Struct, frozen=True):
    """A session that came to the front: what to tell the user, and their draft."""

    session: Session
    notices: tuple[str, ...] = ()
    draft: str = ""
    waits: bool = False
    """A call waits for consent: `retry` asks again."""


class Closed(Struct, frozen=True):
    """What to print after the session in front was closed."""

    left: str
    """The part of the conversation that stays in the terminal."""
    waits: str
    """About rows that wait for a server; empty if none do."""


class Conversation:
    """The session in front. Every method may raise RagforgeError."""

    def __init__(
        self,
        workspace: Workspace,
        session: Session,
        *,
        prepare: Callable[[Session], Awaitable[None]] | None = None,
    ) -> None:
        """prepare: what the command line requested for every session that comes to the front."""
        self.workspace = workspace
        self.session = session
        self._prepare = prepare
        self._hints = SessionHints(session)
        self._draft_lock = asyncio.Lock()

    # The turn

    def question_before(self, text: str) -> str:
        """What to ask the user before sending so long a message; "" for most."""
        return question_of(self.session, text)

    def submit(
        self, parts: Parts, approve: Approve, terms: TurnTerms | None = None
    ) -> AsyncGenerator[AgentEvent, None]:
        """Return the events of the turn of the message. terms: settings for that turn only."""
        return turn.submit(self.session, parts, approve, terms=terms)

    def submit_queue(self, approve: Approve) -> AsyncGenerator[AgentEvent, None]:
        """Return the events of the turn of all waiting messages."""
        return turn.submit_queue(self.session, approve)

    def retry(self, approve: Approve) -> AsyncGenerator[AgentEvent, None]:
        """Return the events of the newest turn, continued."""
        return turn.retry(self.session, approve)

    async def interrupt(self) -> None:
        """Interrupt the running turn; what has arrived is stored."""
        await turn.interrupt(self.session)

    async def join_turn(self, parts: Parts) -> bool:
        """Add a message to one whose request was not sent yet; return whether there is one."""
        return await queue.join(self.session, parts)

    async def enqueue(self, parts: Parts) -> None:
        """Queue a message for the next tool boundary."""
        await queue.enqueue(self.session, parts)

    async def take_back(self, *, last: bool) -> list[Parts]:
        """Return the queued messages, or the last of them, and remove them from the queue."""
        if not last:
            waiting = list(self.session.live.queue)
            await queue.take_all(self.session)
            return waiting
        parts = await queue.take_last(self.session)
        return [parts] if parts else []

    async def run(self, name: str, args: str, verbs: Mapping[str, Verb[Any]]) -> Outcome:
        """Parse a slash command; verbs: all that exist."""
        return await run_typed(self.session, name, args, verbs)

    async def cycle_mode(self) -> Mode:
        """Set the next consent mode and return it."""
        now = self.session.live.consent.mode
        at = MODES_CYCLED.index(now) if now in MODES_CYCLED else -1
        mode = MODES_CYCLED[(at + 1) % len(MODES_CYCLED)]
        await self.session.set_mode(mode)
        return mode

    async def todos(self) -> Todos:
        """Return the model's to-do list."""
        return await todos_of(self.session)

    # Stored data

    async def turns_until(self, number: int | None, count: int) -> StoredTurns:
        """Return the newest turns of the session, or those up to a turn counted from 1."""
        head = self.session.live.record.head
        if number is not None:
            head = (await turn_at(self.workspace.store, self.session.live.record, number)).id
        return await history.newest_turns(self.workspace.store, head, count)

    async def turns_before(self, turn_id: str, count: int) -> StoredTurns:
        """Return the turns before one."""
        return await history.turns_before(self.session, turn_id, count)

    async def whole_result(self, call: ToolCall) -> str:
        """Return a tool's complete output, from wherever it is stored."""
        if call.result_blob is None:
            return call.result
        return (await self.workspace.blobs.get(call.result_blob)).decode("utf-8", "replace")

    async def known_here(self) -> str:
        """Return `14 memories, 38 versions in this project`; empty if there is nothing yet."""
        workspace = self.workspace
        memories = await workspace.store.memories.find(
            MemoryFilter(workspace.project.id, person=workspace.person.id, limit=COUNTED_MAX)
        )
        versions = len(await workspace.store.versions.all_ids(workspace.project.id))
        more = "more than " if len(memories) == COUNTED_MAX else ""
        said = [f"{more}{counted(len(memories), 'memory')}"] if memories else []
        said += [counted(versions, "version")] if versions else []
        return f"{', '.join(said)} in this project" if said else ""

    async def commands_waiting(self) -> Sequence[CommandPart]:
        """Return what the user ran here since the last message: it goes with the next one."""
        return await shell_commands.load(self.session)

    async def commands_moved(self, turns: Sequence[Turn], *, words_are_back: bool) -> None:
        """These turns were undone, newest first, and the last one's words are back; or they were redone."""
        await shell_commands.moved(self.session, turns, words_are_back=words_are_back)

    async def sessions(self, *, archived: bool = False) -> list[SessionRow]:
        """Return this folder's sessions first, then the project's others; each part the last active first.

        archived: only archived ones instead of the others.
        """
        rows = await self.workspace.store.sessions.recent(
            project_id=self.workspace.project.id, archived=archived, limit=SESSIONS_LISTED_MAX
        )
        here = str(self.workspace.place.cwd)
        return sorted(rows, key=lambda row: row.session.cwd != here)

    async def search(self, text: str, *, by: str = "", limit: int = 50) -> SearchResults:
        """Search what was said, done, summarised and remembered in this project, including imported sessions.

        by: only what the user of this name said. Raises UsageError for none and several.
        """
        workspace = self.workspace
        writer = await writer_named(workspace.store, by) if by else ""
        query = Query(
            text,
            project_id=workspace.project.id,
            person=workspace.person.id,
            by=writer,
            kinds=tuple(HitKind),
            limit=limit,
        )
        found = await search_everything(self.workspace.recall, query)
        return marked(found, await self._forgotten())

    async def writers_shown(self, found: SearchResults) -> dict[str, str]:
        """Return who wrote the turns of the hits, if not all are the user's; of sessions, who shared them."""
        ids = [hit.turn_id for hit in found.hits if hit.level <= 1]
        writers, shown = await writers_shown(self.workspace.store, ids, self.workspace.person)
        shared = await shared_among(self.workspace.store, [hit.session_id for hit in found.hits])
        return {**(writers if shown else {}), **shared}

    async def forgotten_in(self, turns: Sequence[Turn]) -> set[str]:
        """Return the ids of those turns in which something was said that is forgotten."""
        forgotten = await self._forgotten()
        return {turn.id for turn in turns if forgotten.turn(turn) != turn}

    async def _forgotten(self) -> Forgotten:
        return await read_forgotten(self.workspace.store, self.workspace.project.id)

    async def rename(self, session_id: str, title: str) -> None:
        """Set the title of a session."""
        title = self.workspace.redactor.text(title)
        await self.workspace.store.sessions.rename(session_id, title)
        if session_id == self.session.id:
            self.session.change(title=title)

    async def would_delete(self, session_id: str) -> Deleted:
        """Return what deleting the session would remove."""
        return await self.workspace.store.sessions.delete(session_id, dry_run=True)

    async def delete(self, session_id: str) -> Deleted:
        """Delete a session that is not in front."""
        if session_id == self.session.id:
            raise UsageError("This session is open. Start another one with /new, then delete it.")
        return await delete_session(self.workspace.store, self.workspace.local, session_id)

    @property
    def memory_book(self) -> MemoryBook:
        """The memories, to read and change."""
        return MemoryBook(self.workspace)

    @property
    def hints(self) -> SessionHints:
        """The hints of the session in front; those of another one are dropped."""
        if self._hints.session.id != self.session.id:
            self._hints = SessionHints(self.session)
        self._hints.session = self.session
        return self._hints

    async def recalled(self, turn_id: str) -> ContextBlock | None:
        """Return what was recalled for the turn's message, or None if that is no longer known."""
        return await self.workspace.local.recalls.block(turn_id)

    async def recall_opened(self, turn_id: str) -> None:
        """Record that the user looked at what was recalled for the turn."""
        await self.workspace.local.recalls.set_opened(turn_id)

    async def background_cost(self) -> float | None:
        """Return what was spent for this session beside its turns, in USD; None if a price is unknown."""
        return await memory_cost(self.workspace.store, self.session.id)

    # Drafts and the prompt history

    @property
    def draft_key(self) -> str:
        """The key of the draft: the session's, or the folder's before there is one."""
        return self.session.id if self.session.live.stored else f"cwd:{self.workspace.place.cwd}"

    async def keep_draft(self, text: str) -> None:
        """Save the unsent text."""
        async with self._draft_lock:  # one after the other: a long draft must not return once it was sent
            clean = self.workspace.redactor.text
            kept = clean(text) if len(text) < LONG_DRAFT_CHARS else await asyncio.to_thread(clean, text)
            await self.workspace.local.prompts.set_draft(self.draft_key, kept)

    async def prepare(self) -> None:
        """Load and open what the first message needs, while nobody waits for it."""
        await prepare_model(self.session)
        await prepare_parts(self.session)
        await asyncio.to_thread(forget_request, "")  # its patterns are compiled on first use
        await prepare_recall(self.session)

    async def folder_draft(self) -> str:
        """Return the unsent text typed here before there was a session."""
        return await self.workspace.local.prompts.draft(f"cwd:{self.workspace.place.cwd}")

    async def forget_folder_draft(self) -> None:
        """Remove the draft, because it was sent."""
        await self.workspace.local.prompts.set_draft(f"cwd:{self.workspace.place.cwd}", "")

    async def prompts(self) -> list[str]:
        """Return what was sent before in this project, newest first."""
        return await self.workspace.local.prompts.history(project_id=self.workspace.project.id)

    async def remember_prompt(self, text: str) -> None:
        """Save what was sent or cleared."""
        await self.workspace.local.prompts.add(
            self.workspace.redactor.text(text), project_id=self.workspace.project.id
        )

    # Another session

    async def start_new(self) -> Shown:
        """Open a new session in front."""
        everything = self.session.live.consent.mode is Mode.ALL
        await close_session(self.session)
        self.session = await new_session(self.workspace)
        self.session.live.consent.grant_for_run(everything=everything)
        await self._prepared()
        return Shown(self.session, draft=await self.folder_draft())

    async def resume(self, session_id: str, *, read_only: bool = False) -> Shown:
        """Open that session in front. Raises SessionBusy while another process writes it."""
        record = await find_session(self.workspace.store, session_id)
        if record.id == self.session.id:
            return Shown(self.session)
        resumed = await resume_session(self.workspace, record, read_only=read_only)
        await close_session(self.session)
        self._show(resumed.session)
        if not read_only:
            await self._prepared()
        head = await self.workspace.store.turns.get(record.head) if record.head else None
        waits = head is not None and head.status is TurnStatus.WAITING and not read_only
        return Shown(self.session, resumed.notices, resumed.draft, waits)

    async def fork(self, session_id: str, *, at: int | None = None) -> Shown:
        """Fork that session, up to a turn counted from 1 or its newest, and open the fork in front."""
        store = self.workspace.store
        # The head of the one in front is known here; in the store another machine may have moved it on.
        is_front = session_id == self.session.id and self.session.live.stored
        record = self.session.live.record if is_front else await find_session(store, session_id)
        forked = await fork_session(
            self.workspace, record, at=await turn_at(store, record, at) if at else None
        )
        await close_session(self.session)
        self._show(forked)
        await self._prepared()
        return Shown(forked)

    async def newest_id(self) -> str:
        """Return the id of the folder's newest session. Raises UsageError if there is none."""
        return (await newest_session_here(self.workspace)).id

    async def join(self, project: Project) -> None:
        """Use this folder as one of a known project."""
        self.workspace = await join_project(self.workspace, project)
        self.session = await new_session(self.workspace)
        await self._prepared()

    async def be_somebody_else(self) -> None:
        """The user is not the one the store knows by their address: give them an id of their own."""
        workspace = self.workspace
        person = await be_somebody_else(workspace.local, workspace.store.url, workspace.person)
        self._work_in(replace(workspace, person=person))
        if not self.session.live.stored:
            self.session.change(person=person.id)

    async def decline(self, former: Former) -> None:
        """Record that this folder is not that project, so that the question is not asked again."""
        await self.workspace.local.places.set_folder(former.path, "")

    async def _prepared(self) -> None:
        if self._prepare:
            await self._prepare(self.session)

    # Models

    async def gemini_key_source(self) -> str:
        """Return where the Gemini key comes from; empty if there is none."""
        return await setup.gemini_key_source(self.workspace)

    async def save_gemini_key(self, key: str) -> str:
        """Check and save the key; return a sentence that says where."""
        workspace, where = await setup.save_gemini_key(self.workspace, key)
        self._work_in(workspace)
        return where

    async def add_endpoint(self, url: str, key: str = "") -> str:
        """Save an endpoint; return its name."""
        workspace, name = await setup.add_endpoint(self.workspace, url, key)
        self._work_in(workspace)
        return name

    async def local_endpoints(self) -> list[setup.FoundEndpoint]:
        """Return the model servers that run on this machine, at their usual ports or as configured."""
        endpoints = self.workspace.settings.endpoints.items()
        return await setup.find_local_endpoints(configured={name: each.base_url for name, each in endpoints})

    async def models_of(self, provider: str) -> list[str]:
        """Return the models of a provider, as `provider:name`."""
        return await setup.models_of(self.workspace, provider)

    async def choose_model(self, name: str) -> str:
        """Use this model from the next message on; return its name."""
        return str(await choose_model(self.session, name))

    def _show(self, session: Session) -> None:
        """Open that session in front; it may be in another project's folder."""
        self.session = session
        self.workspace = session.workspace

    async def reload_settings(self) -> None:
        """Apply settings that have just been changed."""
        self._work_in(await reload_settings(self.workspace))

    def _work_in(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.session = replace(self.session, workspace=workspace)

    # The folder

    async def read_repository(self) -> None:
        """Allow the repository that `.git` leads to, though it does not know the folder."""
        self._work_in(await read_repository(self.session))

    async def confirm_folder(self) -> None:
        """Record that the user wants this unlikely folder as a project."""
        await self.workspace.local.places.confirm_folder(self.workspace.place.root)

    async def needs_confirmation(self) -> bool:
        """Whether the folder is the home or the root of the disk, and the user has not confirmed it."""
        place = self.workspace.place
        return place.is_home_or_root and not await self.workspace.local.places.is_confirmed(place.root)

    async def last_answer(self) -> str:
        """Return the newest answer, to print in the terminal on leaving."""
        newest = await self.workspace.store.turns.path(self.session.live.record.head, limit=LOOKED_BACK)
        return next((turn.assistant for turn in reversed(newest) if turn.assistant), "")

    @property
    def resume_command(self) -> str:
        """Return the exact command that resumes the session; empty if nothing was said in it."""
        kept = self.session.live.stored and not self.workspace.incognito
        return f"ragforge -r {short_id(self.session.id)}" if kept else ""

    @property
    def pasted_dir(self) -> Path:
        """The folder of images from the clipboard until they are sent."""
        return self.workspace.data_dir / "pasted"

    @property
    def mention_folders(self) -> tuple[Path, ...]:
        """The folder of relative paths in a message."""
        return self.session.cwd, self.pasted_dir

    # The server, if there is one

    @property
    def link(self) -> Link:
        """Return what waits for the server and whether it can be reached, without asking it."""
        return self.workspace.store.link

    @property
    def search_limit(self) -> str:
        """Return what search cannot do at the moment, in a sentence; empty if it works completely."""
        return limited_words(self.link)

    def notice_loss(self) -> str:
        """Return a notice if another machine took the session over; empty from then on."""
        return notice_loss(self.session)

    async def close(self, ran: Collection[str] = ()) -> Closed:
        """Interrupt what runs, store its end, release everything, and return what to print.

        ran: ids of the turns and of the user's own commands of this run.

        A pending approval stays pending.
        """
        self.session.activity.closing = True
        await turn.interrupt(self.session)
        left, waits = "", ""
        try:
            left = await self._left(ran)
            await close_session(self.session)
        finally:
            waits = await close_workspace(self.workspace)
        return Closed(left, waits)

    async def _left(self, ran: Collection[str]) -> str:
        match self.workspace.settings.ui.leave:
            case "answer":
                return await self.last_answer()
            case "all":
                waiting = [command for command in self.session.live.commands if command.id in ran]
                return await turns_as_markdown(self.workspace, ran, waiting=waiting)
            case "nothing":
                return ""
