"""Connecting to a server that keeps conversations: naming and trying it, keeping its address, copying."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ragforge.config.edit import set_value, unset
from ragforge.config.paths import data_dir, user_file
from ragforge.config.secrets import STORE_PASSWORD_VARIABLE, save_store_password, store_password
from ragforge.config.settings import SourceKind, embedded_store, load_settings
from ragforge.config.store_address import DEFAULT_USER, parse_store_url, with_user
from ragforge.domain.errors import UsageError
from ragforge.domain.json import JsonValue
from ragforge.session.state import Workspace
from ragforge.store.base import Link, RecordKind, Store, StoreStatus
from ragforge.store.open import open_store

APPLICATION_VARIABLES = ("NEO4J_URI", "NEO4J_URL")
"""Where applications find their own Neo4j. Mentioned, never used: it was not named for ragforge."""
_COUNTED = (
    (RecordKind.SESSION, "session"),
    (RecordKind.TURN, "turn"),
    (RecordKind.TOOL_CALL, "tool call"),
    (RecordKind.SUMMARY, "summary"),
    (RecordKind.EMBEDDING, "embedding"),
)


@dataclass(frozen=True, slots=True)
class Server:
    """A server that was named, and whom to be there. The URL is without the password."""

    url: str
    user: str
    """Empty where the URL names none."""
    password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Fact:
    """A line on the store in use."""

    name: str
    words: str


def server_of(typed: str) -> Server:
    """The server that the person named, by its URL or as `host:port`. Raises UsageError."""
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
    """The server with this user and password; both empty for one that asks for none."""
    if password and not user.strip():
        user = DEFAULT_USER
    return Server(with_user(server.url, user.strip()), user.strip(), password)


async def try_server(workspace: Workspace, server: Server, *, adopt: bool = False) -> StoreStatus:
    """What is there, after it was made ready to keep conversations.

    Raises StoreForeign for a database that holds other things, until `adopt` says that this is meant;
    StoreError or UsageError that says what went wrong otherwise.
    """
    store = await _open(workspace, server, adopt=adopt)
    try:
        return await store.status()
    finally:
        await store.close()


async def use_server(workspace: Workspace, server: Server) -> str:
    """Keep its address and password for the next start; the sentences say where. Raises UsageError."""
    environ = workspace.environ
    said: list[str] = []
    if server.password:
        # In a thread: the keyring may take seconds.
        said.append(await asyncio.to_thread(save_store_password, server.url, server.password, environ))
    await asyncio.to_thread(set_value, user_file(environ), "store", server.url)
    said.append(f"From the next start on conversations are kept at {server.url}.{_wins(workspace)}")
    return " ".join(said)


async def use_embedded(workspace: Workspace) -> str:
    """Keep conversations on this machine again, from the next start on. Raises UsageError."""
    await asyncio.to_thread(unset, user_file(workspace.environ), "store")
    place = embedded_store(workspace.environ).removeprefix("sqlite://")
    return f"From the next start on conversations are kept in {place} again.{_wins(workspace)}"


def other_place(cwd: Path, flags: Mapping[str, JsonValue], environ: Mapping[str, str]) -> str:
    """The file of the embedded store; empty where that is the one in use. Raises UsageError."""
    embedded = embedded_store(environ)
    used = load_settings(cwd=cwd, flags=flags, environ=environ).settings.store
    return "" if used == embedded else embedded.removeprefix("sqlite://")


def is_embedded(workspace: Workspace) -> bool:
    """Whether the user's file leaves conversations on this machine."""
    return workspace.settings.store == embedded_store(workspace.environ)


async def kept_password(workspace: Workspace, server: Server) -> str:
    """The password that is known for the server already; empty where none is."""
    key = await asyncio.to_thread(store_password, server.url, workspace.environ)
    return key.value if key and key.source != STORE_PASSWORD_VARIABLE else ""


async def to_copy(workspace: Workspace, server: Server) -> str:
    """What is kept in the store in use and could be copied to the server; empty for nothing."""
    if _place(workspace.settings.store) == _place(server.url):
        return ""
    counts = await workspace.store.archive.counts()
    return counts_words(counts) if counts.get(RecordKind.SESSION, 0) else ""


async def copy_history(workspace: Workspace, server: Server, *, tell: Callable[[str], None]) -> str:
    """Copy what is kept in the store in use to the server; a sentence on what came of it.

    tell: is given a few words now and then. Broken off, it goes on the next time; nothing is doubled.
    Raises StoreError or UsageError.
    """
    from ragforge.store import transfer  # once in a lifetime

    def progress(now: transfer.Progress) -> None:
        share = f" {100 * now.done // now.total} %" if now.total else ""
        tell(f"{now.stage.capitalize()}{share} ...")

    folder = data_dir(workspace.environ)
    target = await _open(workspace, server)
    try:
        moved = await transfer.copy(
            workspace.store, target, workspace.blobs, machine_dir=folder, tell=progress
        )
    finally:
        await target.close()
    return f"Copied and verified: {counts_words(moved.counts)}."


def applications_server(environ: Mapping[str, str]) -> str:
    """A sentence on a server that the environment names for other programs; empty where it names none."""
    for name in APPLICATION_VARIABLES:
        if not environ.get(name, "").strip():
            continue
        try:
            address = parse_store_url(environ[name].strip())
        except UsageError:
            address = None
        where = f" ({address.bare_url})" if address else ""
        return (
            f"{name} is set{where}. It may be your application's, so it is not used; to use it, name it here."
        )
    return ""


def facts_of(status: StoreStatus, link: Link) -> list[Fact]:
    """What there is to tell of a store, line by line."""
    facts = [
        Fact("kind", status.kind),
        Fact("place", status.place),
        Fact("holds", counts_words(status.counts)),
        Fact("schema", str(status.schema)),
        Fact("answers in", f"{status.latency_ms:.1f} ms"),
        *(Fact(name, words) for name, words in status.details.items()),
    ]
    unfinished = {name: state for name, state in status.indexes.items() if state != "online"}
    facts += [Fact(f"index {name}", state) for name, state in unfinished.items()]
    return [*facts, *link_facts(link)]


def link_facts(link: Link) -> list[Fact]:
    """What there is to tell of the way to the server; nothing while all is well."""
    away = [Fact("server", f"away: {link.away}")] if link.away else []
    return [*away, Fact("waiting", f"rows for the server: {link.waiting}")] if link.waiting else away


def counts_words(counts: Mapping[RecordKind, int]) -> str:
    """`2 sessions, 14 turns`; kinds of which there is nothing are left out."""
    words = [_number(counts.get(kind, 0), noun) for kind, noun in _COUNTED if counts.get(kind, 0)]
    return ", ".join(words) or "nothing yet"


def _number(count: int, noun: str) -> str:
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,} {noun}s"


async def _open(workspace: Workspace, server: Server, *, adopt: bool = False) -> Store:
    folder = data_dir(workspace.environ)
    return await open_store(server.url, machine_dir=folder, password=server.password, adopt=adopt)


def _place(url: str) -> str:
    """The address without who asks: two users see the same database."""
    return with_user(url, "") if parse_store_url(url) else url


def _wins(workspace: Workspace) -> str:
    """What stands in the way of the user's file, where something does."""
    source = workspace.loaded.sources["store"]
    if source.kind in (SourceKind.ENVIRONMENT, SourceKind.FLAG):
        return f" As long as it is set, the {source.kind} ({source}) wins."
    return ""
