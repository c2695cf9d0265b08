"""How a session stands with a server that several machines share: what waits, and who may write."""

from ragforge.session.state import Session
from ragforge.store.base import Link, Store


async def leave_store(store: Store) -> str:
    """Close the store, which carries on what waits; what the person should hear of what is left."""
    await store.close()
    return left_words(store.link)


def left_words(link: Link) -> str:
    """The sentence on rows that have not been carried; empty when all are."""
    match link.waiting:
        case 0:
            return ""
        case 1:
            return "1 row waits for the server and goes there at the next start"
        case number:
            return f"{number} rows wait for the server and go there at the next start"


def limited_words(link: Link) -> str:
    """What search cannot do at the moment; empty when it can do all."""
    if not link.away:
        return ""
    return f"Only what is kept on this machine is searched, because the server is away. {link.away}"


def notice_loss(session: Session) -> str:
    """Make the session read-only if another machine has taken it over; the sentence to show, once."""
    live = session.live
    if live.claim is None or live.read_only or not live.claim.lost:
        return ""
    live.read_only = True
    return (
        f"{_sentence(live.claim.lost)} This session is only shown here from now on. What was said here since "
        "then is kept and arrives as a branch of it. /fork goes on from here in a session of your own."
    )


def _sentence(words: str) -> str:
    return words if words.endswith((".", "!", "?")) else f"{words}."
