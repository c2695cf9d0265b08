"""A session on a shared server: what waits for it, and who may write."""

from typing import TYPE_CHECKING

from ragforge.domain.words import counted
from ragforge.store.base import Link, Store

if TYPE_CHECKING:  # everything that a turn needs, which lists and searches do not
    from ragforge.session.state import Session


async def leave_store(store: Store) -> str:
    """Close the store, which sends waiting rows; return what to tell the user about the rest."""
    await store.close()
    return left_words(store.link)


def left_words(link: Link) -> str:
    """Return the sentence on rows that were not sent; empty if all were."""
    if held := held_words(link):
        return held
    match link.waiting:
        case 0:
            return ""
        case 1:
            return "1 row waits for the server and is sent at the next start"
        case number:
            return f"{number} rows wait for the server and are sent at the next start"


def held_words(link: Link) -> str:
    """Return the sentence on the process that keeps rows from being sent; empty if none does."""
    if not (link.held and link.waiting):
        return ""
    return f"{counted(link.waiting, 'row')} cannot be sent to the server: {link.held}"


def stranded_words(link: Link) -> str:
    """Return the sentence on rows for a database that no longer answers; empty if there are none."""
    if not link.stranded:
        return ""
    return (
        f"{counted(link.stranded, 'row')} on this machine were meant for a database that was emptied or "
        "replaced. `ragforge db waiting` shows them, and can carry them into the current one or discard "
        "them."
    )


def limited_words(link: Link) -> str:
    """Return what search cannot do at the moment; empty if it works completely."""
    if not link.away:
        return ""
    return f"Only data on this machine is searched, because the server cannot be reached. {link.away}"


def notice_loss(session: "Session") -> str:
    """Make the session read-only if another machine has taken it over; return the sentence to show, once."""
    live = session.live
    if live.claim is None or live.read_only or not live.claim.lost:
        return ""
    live.read_only = True
    return (
        f"{_sentence(live.claim.lost)} This session is now read-only here. What you said here since then "
        "is kept as a branch of it. /fork continues from here in a new session."
    )


def _sentence(words: str) -> str:
    return words if words.endswith((".", "!", "?")) else f"{words}."
