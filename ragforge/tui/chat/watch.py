"""Checks once a second without asking anybody: the server, the background work, the disk space."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.errors import RagforgeError
from ragforge.domain.printable import one_line
from ragforge.domain.schedule import KeptMemory, Progress
from ragforge.domain.words import counted
from ragforge.memory.sentences import cut_words
from ragforge.session.link import held_words
from ragforge.tui.chat.frame import ChatFrame
from ragforge.tui.chat.status import lasting

KEPT_SHOWN = 3
KEPT_CHARS_MAX = 100
WORDS_REPLACED_MAX = 4


class Watch(Struct):
    """Shows changes in the chat; if nothing has changed, nothing is drawn.

    seen: the last state: the work done and to do, the stored session, and whether a turn runs.
    What started and ended between two checks is noticed too: a payment is counted, and a turn changes its
    session's last activity.
    """

    chat: ChatFrame
    seen: tuple[object, ...] = ()
    told: int = 0
    """The number of the newest turn whose kept memories were shown."""

    def start(self) -> None:
        """Check from now on, until the chat is closed."""
        self.chat.set_interval(timeouts.LINK_LOOK_EVERY_S, self.look_at_link)
        self.chat.set_interval(timeouts.MEMORY_LOOK_EVERY_S, self.look_at_background)

    def look_at_link(self) -> None:
        """Check whether server and session are still ours, and whether files move."""
        chat = self.chat
        if chat.conversation is None or not chat.is_drawn:
            return
        link, status = chat.conversation.link, chat.status.status
        held = held_words(link)
        told = replace(
            status,
            away=bool(link.away),
            waiting=link.waiting,
            held=bool(held),
            notice=lasting(chat.conversation),
        )
        if told != status:
            chat.status.status = told
        if held and not status.held:
            chat.say(f"{held}.")
        if lost := chat.conversation.notice_loss():
            chat.say(lost)
            chat.show_status()

    def look_at_background(self) -> None:
        """Show the pending background work, and its cost, if that changed."""
        chat = self.chat
        if chat.conversation is None or not chat.is_drawn:
            return
        progress = chat.conversation.workspace.background.progress
        self._tell_kept(chat, progress, chat.conversation.session.id)
        told = replace(chat.status.status, background=progress_words(progress), background_note=progress.note)
        if told != chat.status.status:
            chat.status.status = told
        session = chat.conversation.session
        seen = (progress, session.live.record, session.busy)
        if seen != self.seen:
            self.seen = seen
            chat.run_worker(self._show_cost(), group="memory-cost", exclusive=True)

    def _tell_kept(self, chat: ChatFrame, progress: Progress, session_id: str) -> None:
        """Show a line for each turn of the session in front of which something was kept."""
        for kept in progress.kept:
            if kept.number > self.told:
                self.told = kept.number
                if kept.session_id == session_id:
                    chat.kept = kept.memories
                    chat.say(chat.with_keys(kept_words(kept.memories), "forget_kept"))

    async def _show_cost(self) -> None:
        try:
            cost_usd = await self.chat.ready().background_cost()
        except RagforgeError:
            return  # a missing store is reported elsewhere, and the cost is not lost
        if self.chat.is_drawn:
            self.chat.status.status = replace(self.chat.status.status, background_usd=cost_usd)

    def look_at_room(self) -> None:
        """Report, once per run and in the background, that stored data takes more space than allowed."""
        self.chat.run_worker(self._warn_of_room(), group="room")

    async def _warn_of_room(self) -> None:
        from ragforge.session.storage import room_warning

        with suppress(RagforgeError):  # a missing store is reported elsewhere
            warning = await room_warning(self.chat.ready().workspace)
            if warning and self.chat.is_drawn:
                self.chat.say(warning)


def kept_words(memories: Sequence[KeptMemory]) -> str:
    """Return what was kept of a turn, in one line, and the key that forgets it."""
    said = [cut_words(_with_replaced(each), KEPT_CHARS_MAX) for each in memories[:KEPT_SHOWN]]
    more = f" and {len(memories) - KEPT_SHOWN} more" if len(memories) > KEPT_SHOWN else ""
    return f"remembered: {'; '.join(said)}{more} · Ctrl+N forgets {'them' if memories[1:] else 'it'}"


def _with_replaced(kept: KeptMemory) -> str:
    """Return `port 9443 replaces 8443`: of the old statement only what differs, if that is little."""
    words = [one_line(kept.content).rstrip(".")]
    own = {word.strip(".,").casefold() for word in kept.content.split()}
    for old in kept.replaced:
        others = [word.strip(".,") for word in old.split() if word.strip(".,").casefold() not in own]
        few = 0 < len(others) <= WORDS_REPLACED_MAX
        words.append(f"replaces {' '.join(others) if few else one_line(old).rstrip('.')}")
    return " ".join(words)


def progress_words(progress: Progress) -> str:
    """Return the pending work, in a few words; empty if there is none."""
    if progress.turns:
        return f"{counted(progress.turns, 'turn')} to summarise"
    return f"{counted(progress.vectors, 'text')} to embed" if progress.vectors else ""
