"""A server for conversations: its address, and facts about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec import Struct

from ragforge.config.store_address import DEFAULT_USER, parse_store_url, with_user
from ragforge.domain.errors import UsageError
from ragforge.domain.words import counted
from ragforge.session.link import held_words, stranded_words
from ragforge.store.base import Link, RecordKind, StoreStatus

APPLICATION_VARIABLES = ("NEO4J_URI", "NEO4J_URL")
"""Where applications find their own Neo4j. Mentioned, never used: it was not named for ragforge."""
_COUNTED = (
    (RecordKind.SESSION, "session"),
    (RecordKind.TURN, "turn"),
    (RecordKind.TOOL_CALL, "tool call"),
    (RecordKind.SUMMARY, "summary"),
    (RecordKind.MEMORY, "memory"),
    (RecordKind.EMBEDDING, "embedding"),
    (RecordKind.VERSION, "version"),
)


@dataclass(frozen=True, slots=True)
class Server:
    """A server that was named, and the user. The URL has no password."""

    url: str
    user: str
    """Empty where the URL names none."""
    password: str = field(default="", repr=False)


class Fact(Struct, frozen=True):
    """A line about the store in use."""

    name: str
    words: str


def server_of(typed: str) -> Server:
    """Return the server that the user named, by URL or as `host:port`. Raises UsageError."""
    typed = typed.strip()
    url = typed if "://" in typed else f"bolt://{typed}"
    address = parse_store_url(url)
    if address is None:
        raise UsageError(
            "That is not a Neo4j server's address. Write it like bolt://localhost:7687, neo4j://HOST for a "
            "cluster, or neo4j+s://HOST for Aura."
        )
    is_named = with_user(url, "") != address.bare_url
    return Server(address.bare_url, address.user if is_named else "", address.password)


def logged_in(server: Server, user: str, password: str) -> Server:
    """Return the server with this user and password; both are empty for a server without a login."""
    if password and not user.strip():
        user = DEFAULT_USER
    return Server(with_user(server.url, user.strip()), user.strip(), password)


def is_same(url: str, other: str) -> bool:
    """Whether both name the same database, whatever the user."""
    return _place(url) == _place(other)


def applications_server(environ: Mapping[str, str]) -> str:
    """Return a sentence about a server that the environment names for other programs; empty if there is
    none."""
    for name in APPLICATION_VARIABLES:
        if not environ.get(name, "").strip():
            continue
        try:
            address = parse_store_url(environ[name].strip())
        except UsageError:
            address = None
        where = f" ({address.bare_url})" if address else ""
        return (
            f"{name} is set{where}. It may be your application's, so it is not used; to use it, enter it "
            "here."
        )
    return ""


def facts_of(status: StoreStatus, link: Link) -> list[Fact]:
    """Return the facts about a store, line by line."""
    facts = [
        Fact("kind", status.kind),
        Fact("location", status.place),
        Fact("contains", counts_words(status.counts)),
        Fact("schema", str(status.schema)),
        Fact("latency", f"{status.latency_ms:.1f} ms"),
        *(Fact(name, words) for name, words in status.details.items()),
    ]
    unfinished = {name: state for name, state in status.indexes.items() if state != "online"}
    facts += [Fact(f"index {name}", state) for name, state in unfinished.items()]
    return [*facts, *link_facts(link)]


def link_facts(link: Link) -> list[Fact]:
    """Return the facts about the connection to the server; nothing while it works."""
    facts = [Fact("server", f"away: {link.away}")] if link.away else []
    if link.waiting:
        facts.append(Fact("waiting", f"rows for the server: {link.waiting}"))
    facts += [
        Fact(name, words)
        for name, words in (("held up", held_words(link)), ("stranded", stranded_words(link)))
        if words
    ]
    return facts


def counts_words(counts: Mapping[RecordKind, int]) -> str:
    """Return `2 sessions, 14 turns`, without kinds that have none."""
    words = [counted(counts.get(kind, 0), noun) for kind, noun in _COUNTED if counts.get(kind, 0)]
    return ", ".join(words) or "nothing yet"


def _place(url: str) -> str:
    return with_user(url, "") if parse_store_url(url) else url
