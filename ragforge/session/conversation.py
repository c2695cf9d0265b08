"""An interface's hold on the session in front of it: what can be done with it, and changing to another."""

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
"""Memories that are counted, for the first lines of a session."""
LOOKED_BACK = 10
LONG_DRAFT_CHARS = 20_000
"""From this length on, a draft is looked through for secrets in a thread: a million take 0.1 s."""
"""Turns among which the last answer is looked for: the newest may be empty."""
MODES_CYCLED = (Mode.ASK, Mode.ACCEPT_EDITS, Mode.PLAN)
"""What Shift+Tab goes through; `all` has to be typed."""


class Shown(Struct, frozen=True):
    """A session that came to the front: what to tell the user, and their draft."""

    session: Session
    notices: tuple[str, ...] = ()
    draft: str = ""
    waits: bool = False
    """A call waits for consent: `retry` asks again."""


class Closed(Struct, frozen=True):
    """What is left to say when the session in front was closed."""

    left: str
    """What of the conversation stays in the terminal."""
    waits: str
    """On rows that wait for a server; empty where none do."""


class Conversation:
    """The session in front. Every method may raise RagforgeError."""

    def __init__(
        self,
        workspace: Workspace,
        session: Session,
        *,
        prepare: Callable[[Session], Awaitable[None]] | None = None,
    ) -> None:
        """prepare: what the command line asked of every session that comes to the front."""
        self.workspace = workspace
        self.session = session
        self._prepare = prepare
        self._hints = SessionHints(session)
        self._draft_lock = asyncio.Lock()

    # The turn

    def question_before(self, text: str) -> str:
        """What the user is asked before so long a message goes; "" for most."""
        return question_of(self.session, text)

    def submit(
        self, parts: Parts, approve: Approve, terms: TurnTerms | None = None
    ) -> AsyncGenerator[AgentEvent, None]:
        """The events of the turn that the message begins. terms: what holds for it alone."""
        return turn.submit(self.session, parts, approve, terms=terms)

    def submit_queue(self, approve: Approve) -> AsyncGenerator[AgentEvent, None]:
        """The events of the turn that all waiting messages begin."""
        return turn.submit_queue(self.session, approve)

    def retry(self, approve: Approve) -> AsyncGenerator[AgentEvent, None]:
        """The events of the newest turn going on."""
        return turn.retry(self.session, approve)

    async def interrupt(self) -> None:
        """End the running turn; what had arrived is kept."""
        await turn.interrupt(self.session)

    async def join_turn(self, parts: Parts) -> bool:
        """Add a message to the one whose request has not left yet, if there is one; was there?"""
        return await queue.join(self.session, parts)

    async def enqueue(self, parts: Parts) -> None:
        """Let a message wait for the next tool boundary."""
        await queue.enqueue(self.session, parts)

    async def take_back(self, *, last: bool) -> list[Parts]:
        """The queued messages, or the last of them, taken out of the queue."""
        if not last:
            waiting = list(self.session.live.queue)
            await queue.take_all(self.session)
            return waiting
        parts = await queue.take_last(self.session)
        return [parts] if parts else []

    async def run(self, name: str, args: str, verbs: Mapping[str, Verb[Any]]) -> Outcome:
        """What a slash command says shall be done; verbs: all that there are."""
        return await run_typed(self.session, name, args, verbs)

    async def cycle_mode(self) -> Mode:
        """The next consent mode, set."""
        now = self.session.live.consent.mode
        at = MODES_CYCLED.index(now) if now in MODES_CYCLED else -1
        mode = MODES_CYCLED[(at + 1) % len(MODES_CYCLED)]
        await self.session.set_mode(mode)
        return mode

    async def todos(self) -> Todos:
        """What is to do, as the model listed it."""
        return await todos_of(self.session)

    # What is kept

    async def turns_until(self, number: int | None, count: int) -> StoredTurns:
        """The newest turns of the session, or those up to a turn counted from 1."""
        head = self.session.live.record.head
        if number is not None:
            head = (await turn_at(self.workspace.store, self.session.live.record, number)).id
        return await history.newest_turns(self.workspace.store, head, count)

    async def turns_before(self, turn_id: str, count: int) -> StoredTurns:
        """The turns before one."""
        return await history.turns_before(self.session, turn_id, count)

    async def whole_result(self, call: ToolCall) -> str:
        """A tool's whole output, wherever it lies."""
        if call.result_blob is None:
            return call.result
        return (await self.workspace.blobs.get(call.result_blob)).decode("utf-8", "replace")

    async def known_here(self) -> str:
        """`14 memories, 38 versions in this project`; empty where there is nothing yet."""
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
        """What the user ran here since the last message: it goes with the next one."""
        return await shell_commands.load(self.session)

    async def commands_moved(self, turns: Sequence[Turn], *, words_are_back: bool) -> None:
        """These turns were undone, newest first, and the last one's words are back; or they were redone."""
        await shell_commands.moved(self.session, turns, words_are_back=words_are_back)

    async def sessions(self, *, archived: bool = False) -> list[SessionRow]:
        """This folder's sessions first, then the project's others; each part the last active first.

        archived: those that are, instead of those that are not.
        """
        rows = await self.workspace.store.sessions.recent(
            project_id=self.workspace.project.id, archived=archived, limit=SESSIONS_LISTED_MAX
        )
        here = str(self.workspace.place.cwd)
        return sorted(rows, key=lambda row: row.session.cwd != here)

    async def search(self, text: str, *, by: str = "", limit: int = 50) -> SearchResults:
        """What was said, done, summarised and remembered in this project, what was imported for it included.

        by: only what the user of this name said. Raises UsageError for nobody's, and where it is several's.
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
        """Who wrote the turns of the hits, where not all is the user's own; of sessions, who shared them."""
        ids = [hit.turn_id for hit in found.hits if hit.level <= 1]
        writers, shown = await writers_shown(self.workspace.store, ids, self.workspace.person)
        shared = await shared_among(self.workspace.store, [hit.session_id for hit in found.hits])
        return {**(writers if shown else {}), **shared}

    async def forgotten_in(self, turns: Sequence[Turn]) -> set[str]:
        """Ids of those of the turns in which something was said that is forgotten."""
        forgotten = await self._forgotten()
        return {turn.id for turn in turns if forgotten.turn(turn) != turn}

    async def _forgotten(self) -> Forgotten:
        return await read_forgotten(self.workspace.store, self.workspace.project.id)

    async def rename(self, session_id: str, title: str) -> None:
        """Give a session a title."""
        title = self.workspace.redactor.text(title)
        await self.workspace.store.sessions.rename(session_id, title)
        if session_id == self.session.id:
            self.session.change(title=title)

    async def would_delete(self, session_id: str) -> Deleted:
        """What deleting the session would remove."""
        return await self.workspace.store.sessions.delete(session_id, dry_run=True)

    async def delete(self, session_id: str) -> Deleted:
        """Remove a session that is not in front."""
        if session_id == self.session.id:
            raise UsageError("This session is open. Start another one with /new, then delete it.")
        return await delete_session(self.workspace.store, self.workspace.local, session_id)

    @property
    def memory_book(self) -> MemoryBook:
        """What is remembered, to look through and change."""
        return MemoryBook(self.workspace)

    @property
    def hints(self) -> SessionHints:
        """What is offered in the session in front; of another one nothing stays."""
        if self._hints.session.id != self.session.id:
            self._hints = SessionHints(self.session)
        self._hints.session = self.session
        return self._hints

    async def recalled(self, turn_id: str) -> ContextBlock | None:
        """What was put in front of the turn's message, or None where that is not known any more."""
        return await self.workspace.local.recalls.block(turn_id)

    async def recall_opened(self, turn_id: str) -> None:
        """The user looked at what was recalled for the turn."""
        await self.workspace.local.recalls.set_opened(turn_id)

    async def background_cost(self) -> float | None:
        """What was spent for this session beside its turns, in USD; None where a price is unknown."""
        return await memory_cost(self.workspace.store, self.session.id)

    # Drafts and the history of the prompt

    @property
    def draft_key(self) -> str:
        """Under which the draft is kept: the session's, or the folder's before there is one."""
        return self.session.id if self.session.live.stored else f"cwd:{self.workspace.place.cwd}"

    async def keep_draft(self, text: str) -> None:
        """Keep what is typed and not sent."""
        async with self._draft_lock:  # one after the other: a long draft must not return once it was sent
            clean = self.workspace.redactor.text
            kept = clean(text) if len(text) < LONG_DRAFT_CHARS else await asyncio.to_thread(clean, text)
            await self.workspace.local.prompts.set_draft(self.draft_key, kept)

    async def prepare(self) -> None:
        """Load and open what the first message needs, while nobody waits for it."""
        await prepare_model(self.session)
        await prepare_parts(self.session)
        await asyncio.to_thread(forget_request, "")  # what it looks for is compiled at first use
        await prepare_recall(self.session)

    async def folder_draft(self) -> str:
        """What was typed here and not sent, before there was a session."""
        return await self.workspace.local.prompts.draft(f"cwd:{self.workspace.place.cwd}")

    async def forget_folder_draft(self) -> None:
        """It was sent."""
        await self.workspace.local.prompts.set_draft(f"cwd:{self.workspace.place.cwd}", "")

    async def prompts(self) -> list[str]:
        """What was sent before in this project, newest first."""
        return await self.workspace.local.prompts.history(project_id=self.workspace.project.id)

    async def remember_prompt(self, text: str) -> None:
        """Keep what was sent or cleared."""
        await self.workspace.local.prompts.add(
            self.workspace.redactor.text(text), project_id=self.workspace.project.id
        )

    # Another session

    async def start_new(self) -> Shown:
        """A new session in front."""
        everything = self.session.live.consent.mode is Mode.ALL
        await close_session(self.session)
        self.session = await new_session(self.workspace)
        self.session.live.consent.grant_for_run(everything=everything)
        await self._prepared()
        return Shown(self.session, draft=await self.folder_draft())

    async def resume(self, session_id: str, *, read_only: bool = False) -> Shown:
        """That session in front. Raises SessionBusy while another process writes it."""
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
        """A new session on the turns of that one, up to a turn counted from 1 or its newest, in front."""
        store = self.workspace.store
        # Of the one in front the head is known here; in the store another machine may have moved it on.
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
        """Take this folder for one of a project that is known from elsewhere."""
        self.workspace = await join_project(self.workspace, project)
        self.session = await new_session(self.workspace)
        await self._prepared()

    async def be_somebody_else(self) -> None:
        """The user is not whom the store knows by their address: from now on somebody of their own."""
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
        """Where the Gemini key comes from; empty where there is none."""
        return await setup.gemini_key_source(self.workspace)

    async def save_gemini_key(self, key: str) -> str:
        """Prove and keep the key; the sentence says where."""
        workspace, where = await setup.save_gemini_key(self.workspace, key)
        self._work_in(workspace)
        return where

    async def add_endpoint(self, url: str, key: str = "") -> str:
        """Keep an endpoint; its name."""
        workspace, name = await setup.add_endpoint(self.workspace, url, key)
        self._work_in(workspace)
        return name

    async def local_endpoints(self) -> list[setup.FoundEndpoint]:
        """The model servers that run on this machine, at their usual ports or as configured."""
        endpoints = self.workspace.settings.endpoints.items()
        return await setup.find_local_endpoints(configured={name: each.base_url for name, each in endpoints})

    async def models_of(self, provider: str) -> list[str]:
        """What a provider offers, as `provider:name`."""
        return await setup.models_of(self.workspace, provider)

    async def choose_model(self, name: str) -> str:
        """Talk to this model from the next message on; its name."""
        return str(await choose_model(self.session, name))

    def _show(self, session: Session) -> None:
        """That session in front; it may lie in another project's folder."""
        self.session = session
        self.workspace = session.workspace

    async def reload_settings(self) -> None:
        """Let settings hold that have just been changed."""
        self._work_in(await reload_settings(self.workspace))

    def _work_in(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.session = replace(self.session, workspace=workspace)

    # The folder

    async def read_repository(self) -> None:
        """Allow the repository that `.git` leads to, though it does not know the folder."""
        self._work_in(await read_repository(self.session))

    async def confirm_folder(self) -> None:
        """The user wants this unlikely folder as a project."""
        await self.workspace.local.places.confirm_folder(self.workspace.place.root)

    async def needs_confirmation(self) -> bool:
        """Whether the folder is the home or the root of the disk, and the user has not said yes to it."""
        place = self.workspace.place
        return place.is_home_or_root and not await self.workspace.local.places.is_confirmed(place.root)

    async def last_answer(self) -> str:
        """The newest answer, for the terminal that is left behind."""
        newest = await self.workspace.store.turns.path(self.session.live.record.head, limit=LOOKED_BACK)
        return next((turn.assistant for turn in reversed(newest) if turn.assistant), "")

    @property
    def resume_command(self) -> str:
        """The exact command that comes back here; empty for a session in which nothing was said."""
        kept = self.session.live.stored and not self.workspace.incognito
        return f"ragforge -r {short_id(self.session.id)}" if kept else ""

    @property
    def pasted_dir(self) -> Path:
        """Where images from the clipboard are kept until they are sent."""
        return self.workspace.data_dir / "pasted"

    @property
    def mention_folders(self) -> tuple[Path, ...]:
        """Where relative paths in a message start."""
        return self.session.cwd, self.pasted_dir

    # The server, where there is one

    @property
    def link(self) -> Link:
        """What waits for the server and whether it can be reached; asks nobody."""
        return self.workspace.store.link

    @property
    def search_limit(self) -> str:
        """What search cannot do at the moment, in a sentence; empty when it can do all."""
        return limited_words(self.link)

    def notice_loss(self) -> str:
        """What the user must hear where another machine took the session over; empty from then on."""
        return notice_loss(self.session)

    async def close(self, ran: Collection[str] = ()) -> Closed:
        """What is left to say, when what runs was interrupted, its end kept, and everything released.

        ran: ids of the turns of this run.

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
                waiting = self.session.live.commands
                return await turns_as_markdown(self.workspace, ran, waiting=waiting)
            case "nothing":
                return ""
