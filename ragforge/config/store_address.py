"""The address of a store: its parts, and which of them a file may contain."""

from urllib.parse import quote, unquote, urlsplit

from msgspec import Struct

from ragforge.domain.errors import UsageError

DEFAULT_PORT, DEFAULT_USER = 7687, "neo4j"
"""Neo4j's own. Only Neo4j servers are supported so far."""
SERVER_SCHEMES = ("bolt", "neo4j")


class StoreAddress(Struct, frozen=True):
    """A server of a store. The user is the default one if the URL names none."""

    host: str
    port: int
    user: str
    password: str
    bare_url: str
    """The URL without the password, which can be stored and shown."""

    def __repr__(self) -> str:
        return f"StoreAddress({self.bare_url!r})"


def parse_store_url(url: str) -> StoreAddress | None:
    """Return the server that the URL names; None for a file, and for anything but a server's URL.

    Raises UsageError, which shows nothing of the URL, if its parts are ambiguous.
    """
    scheme = url.partition(":")[0]
    if scheme.partition("+")[0] not in SERVER_SCHEMES:
        return None
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or DEFAULT_PORT
    except ValueError:
        host, port, parts = "", 0, urlsplit("")
    # Unquoted, these end the host's part, and half a password would be taken for a path.
    if not host or not url.isprintable() or " " in url or "@" in url[len(scheme) + 3 + len(parts.netloc) :]:
        raise UsageError(
            "The store's address cannot be read. Write it like bolt://localhost:7687 or "
            "neo4j+s://USER@HOST; in a user or password, / ? # @ : and % are written %2F %3F %23 %40 %3A %25."
        )
    before, at, place = parts.netloc.rpartition("@")
    user, colon, password = before.partition(":")
    bare = url.replace(parts.netloc, f"{user}@{place}" if user else place, 1) if at else url
    return StoreAddress(host, port, unquote(user) or DEFAULT_USER, unquote(password) if colon else "", bare)


def bare_url(url: str) -> str:
    """Return the URL without a password; one without a server is unchanged. Raises as `parse_store_url`."""
    address = parse_store_url(url)
    return address.bare_url if address else url


def with_user(url: str, user: str) -> str:
    """Return the URL for this user, without a password. Raises UsageError."""
    address = parse_store_url(url)
    if address is None:
        raise UsageError("Not a server's address. Write it like bolt://localhost:7687 or neo4j+s://HOST.")
    scheme, _, rest = address.bare_url.partition("://")
    place = rest.rpartition("@")[2]
    return f"{scheme}://{quote(user, safe='')}@{place}" if user else f"{scheme}://{place}"
