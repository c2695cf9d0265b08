"""The request to the model: what was recalled for the message, and the conversation that fits."""

import asyncio
import logging
import time
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ragforge.agent.parts import Fitted
from ragforge.domain.context import ContextBlock, RecallUse
from ragforge.domain.errors import ModelError, StoreError, UsageError
from ragforge.domain.ids import now
from ragforge.domain.messages import Message, Parts, TextPart, ToolMessage, ToolSpec, UserMessage, text_of
from ragforge.domain.search import HitKind
from ragforge.domain.turns import Turn
from ragforge.domain.words import counted
from ragforge.memory.block import without_forgotten
from ragforge.memory.context import fixed_tokens, shorten
from ragforge.memory.forgotten import NOTHING, Forgotten, still_forgotten
from ragforge.memory.recall.request import Around, InjectLimits, RecallRequest
from ragforge.memory.recall.use import use_of
from ragforge.memory.window import Dropped, Window
from ragforge.providers.base import ModelRequest
from ragforge.session.model import limits_of
from ragforge.session.state import Session, Workspace

log = logging.getLogger(__name__)

OUTPUT_SHARE_MAX = 4
"""At most one part in this many of the window is kept free for the answer."""

ID_CHARS_SHOWN = 8
"""Of a memory's id, at least so many stand in a tool's result that shows it."""

MEMORY_TOOLS = ("memory_save", "memory_recall", "search_history")
"""Their results show memories by id."""
RECALL_TOOLS = ("memory_recall", "search_history")
"""What --no-memory takes from the model as well."""


def recalls(workspace: Workspace) -> bool:
    """Whether anything is recalled in this run."""
    return workspace.recalls and workspace.settings.memory.enabled


SLOWDOWN_MAX = 5.0
"""A block that waits longer than 1.5 s on a busy machine is worth less than the wait."""
LOADING_S_MIN = 0.02
"""What took less of the processor's time was loaded before, and tells nothing."""


def slowdown(passed_s: float, processor_s: float) -> float:
    """Return how many times longer than its processor time something took, within the extra time that a block
    may get."""
    if processor_s < LOADING_S_MIN:
        return 1.0
    return min(SLOWDOWN_MAX, max(1.0, passed_s / processor_s))


async def prepare_recall(session: Session) -> None:
    """Load what the first block needs, so that its time is left for searching. Errors are reported on first
    use.

    The duration shows how busy the machine is, and how much longer the block may take.
    """
    workspace = session.workspace
    if not recalls(workspace):
        return
    began_s, worked_s = time.monotonic(), time.process_time()
    await _load(workspace)
    passed_s, processor_s = time.monotonic() - began_s, time.process_time() - worked_s
    session.live.view.injecting.slowdown = slowdown(passed_s, processor_s)


async def _load(workspace: Workspace) -> None:
    await asyncio.to_thread(_load_sources)
    try:
        if workspace.recall.embedder is not None:
            await workspace.recall.embedder.prepare()
    except (ModelError, UsageError) as error:
        log.info("The embedder is not ready: %s", error)


def _load_sources() -> None:
    from ragforge.domain.compounds import parts_of
    from ragforge.domain.language.lexicon import load_lexicon
    from ragforge.memory.recall.gather import find_sources  # as in `build_block`
    from ragforge.memory.recall.resumption import resumes

    find_sources()
    load_lexicon()
    resumes("what is next")  # compiles its patterns
    parts_of("readBlocks")  # likewise: the message is indexed before it is sent


async def build_block(
    session: Session, parts: Parts, window: Window, *, until: datetime | None = None
) -> ContextBlock:
    """Return what is recalled for the message of the window's last turn, possibly empty. Never raises."""
    workspace = session.workspace
    if not recalls(workspace):
        return ContextBlock()
    # The first message needs it, and the first screen does not.
    from ragforge.memory.recall.gather import gather

    memory = workspace.settings.memory
    wanted = RecallRequest(
        "\n".join(part.text for part in parts if isinstance(part, TextPart)),
        Around(
            workspace.project.id,
            session.id,
            workspace.person.id,
            turns=frozenset(window.turn_ids),
            shown=frozenset(_shown_memories(window.messages)),
            folder=workspace.place.root,
            before=window.turn_ids[-2] if workspace.foresees and len(window.turn_ids) > 1 else "",
        ),
        workspace.settings.context.block_tokens_max,
        InjectLimits(
            recent_hours=memory.recent_hours,
            session_scope=memory.session_scope,
            threshold=memory.semantic_threshold,
            buffer_max=memory.semantic_buffer_max,
            injected_max=memory.injected_max,
        ),
        session.live.view.injecting,
        until,
        clean=workspace.redactor.text,
    )
    cut = window.forgotten
    forgotten = cut if isinstance(cut, Forgotten) else NOTHING
    return await gather(workspace.recall, wanted, forgotten=forgotten)


async def keep_recalled(session: Session, turn_id: str, block: ContextBlock) -> None:
    """Store what was recalled for the turn, and count the use of its memories.

    Nothing depends on either, so errors of the store are only logged.
    """
    workspace = session.workspace
    memories = [item.id for item in block.items if item.kind is HitKind.MEMORY]
    try:
        if block.items:
            await workspace.local.recalls.keep(turn_id, block, session_id=session.id)
            await _keep_use(session, turn_id, RecallUse())
        if memories:
            await workspace.store.memories.touch(memories, now())
    except StoreError as error:
        log.warning("What was recalled for the turn %s is not kept: %s", turn_id, error)


async def keep_recall_use(session: Session, ended: Turn, block: ContextBlock, *, nothing: bool) -> None:
    """Store how the turn's answer used the block. nothing: there was no block.

    Errors of the store are only logged.
    """
    measure = partial(
        use_of, block.items, message=text_of(ended.user), answer=ended.assistant, at=ended.started_at
    )
    try:
        if nothing:
            await session.workspace.local.recalls.forget_use(ended.id)
        else:  # in a thread, for an answer may be long
            await _keep_use(session, ended.id, await asyncio.to_thread(measure))
    except StoreError as error:
        log.warning("Of what use the block of turn %s was is not kept: %s", ended.id, error)


async def _keep_use(session: Session, turn_id: str, use: RecallUse) -> None:
    workspace = session.workspace
    await workspace.local.recalls.keep_use(
        turn_id, use, project_id=workspace.project.id, session_id=session.id, at=now()
    )


async def compact(session: Session) -> Dropped | None:
    """Cut to the lower limit now; None if that would gain nothing."""
    live, window = session.live, session.live.view.window
    dropped = window.drop() if window.tokens > window.limits.tokens_low else None
    if dropped and live.record.head and live.stored and not live.read_only:
        await session.workspace.local.marks.set_compacted(session.id, live.record.head)
    return dropped


def dropped_words(dropped: Sequence[Dropped]) -> str:
    """Return what was dropped from the messages, for a user; empty if nothing was."""
    if not dropped:
        return ""
    turns, results = sum(each.turns for each in dropped), sum(each.results for each in dropped)
    what = [counted(turns, "older turn")] if turns else []
    what += [counted(results, "older tool result")] if results else []
    verb = "is" if turns + results == 1 else "are"
    return (
        f"Compacted from {dropped[0].tokens:,} to {dropped[-1].tokens_left:,} tokens: {' and '.join(what)} "
        f"{verb} no longer sent to the model word for word. "
        "All of it stays in the session and is recalled when it matters."
    )


class RequestMaker(Struct):
    """Builds each request of one turn: the raw conversation, then the block, then the turn's own messages."""

    session: Session
    system: str
    specs: tuple[ToolSpec, ...]
    window: Window
    """The index at which the turn starts. Its messages are appended."""
    block: ContextBlock
    reminder: str = ""
    """Additional information for the model, such as the to-do list."""
    _added: int = 0

    async def fit(self, own: Sequence[Message], share: float) -> Fitted:
        """Return the request, within `share` of the model's context window minus room for the answer."""
        for message in own[self._added :]:
            self.window.add(message)
        self._added = len(own)
        workspace = self.session.workspace
        forgotten = await still_forgotten(workspace.store, workspace.project.id, self.window)
        if forgotten is not None:
            # Forgotten while the turn runs: later requests no longer contain it.
            self.window.forget(forgotten)
            self.block = without_forgotten(self.block, forgotten)
        compacted = dropped_words(self.window.dropped)
        self.window.dropped.clear()
        limits = await limits_of(self.session)
        room = limits.context_tokens_max - min(
            limits.output_tokens_max, limits.context_tokens_max // OUTPUT_SHARE_MAX
        )
        fixed = fixed_tokens(self.system, self.specs)
        messages = with_block(self.window.messages, self.window.newest_start, self.block, self.reminder)
        short = shorten(messages, tokens_max=max(1, int(room * share) - fixed))
        return Fitted(
            ModelRequest(self.system, short.messages, self.specs),
            tokens=short.tokens + fixed,
            tokens_max=limits.context_tokens_max,
            stubbed_results=short.stubbed_results,
            dropped_turns=short.dropped_turns,
            dropped_steps=short.dropped_steps,
            compacted=compacted,
        )


def with_block(
    messages: Sequence[Message], at: int, block: ContextBlock, reminder: str = ""
) -> list[Message]:
    """Return a copy with block and reminder directly before the message at this position."""
    copied = list(messages)
    message = copied[at] if at < len(copied) else None
    before = tuple(TextPart(text) for text in (block.text, reminder) if text)
    if before and isinstance(message, UserMessage):
        copied[at] = replace(message, parts=(*before, *message.parts))
    return copied


def _shown_memories(messages: Sequence[Message]) -> set[str]:
    """Return the beginnings of memory ids in a tool's result."""
    results = [
        result.text
        for message in messages
        if isinstance(message, ToolMessage)
        for result in message.results
        if result.name in MEMORY_TOOLS
    ]
    return {part for text in results for part in _ids_in(text)}


def _ids_in(text: str) -> set[str]:
    words = "".join(char if char in "0123456789abcdef" else " " for char in text).split()
    return {word for word in words if ID_CHARS_SHOWN <= len(word) <= 32}
