"""A server's address and login: `bolt://[user[:password]@]host[:port][/database]`.

| scheme | what it does |
| --- | --- |
| `bolt://` | connects to this one server |
| `neo4j://` | asks this server for the others of its cluster, and connects to the right one |
| `...+s://` | encrypted, with a certificate that this machine trusts (Aura, most clusters) |
| `...+ssc://` | encrypted, with any certificate |

`neo4j://` takes the cluster's routing context as `?name=value`. Characters with a meaning in an address (`/`,
`@`, `:`, `#`, `?`, `%`) are percent-encoded if they are meant literally.
"""

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from ragforge.domain.errors import UsageError

SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
DEFAULT_PORT = 7687
DEFAULT_USER = "neo4j"

_FORM = "Write it as bolt://USER@HOST:7687/DATABASE, or neo4j+s://USER@HOST for Aura or a cluster."
_QUOTING = "In a password, write / as %2F, @ as %40, : as %3A, # as %23, ? as %3F and % as %25."
_HOST = re.compile(r"[^\s\x00-\x20\x7f/?#@\[\]:\\\"<>%]{1,253}|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(%[\w.-]+)?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DATABASE = re.compile(r"[^\s\x00-\x1f\x7f/\"'`]{1,65534}")


@dataclass(frozen=True, slots=True)
class Address:
    """A server, a database on it, and a login. Without user and password the server must require none."""

    scheme: str
    host: str
    """Without brackets if it is an IPv6 address."""
    port: int = DEFAULT_PORT
    database: str = ""
    """Empty for the user's default one."""
    user: str = ""
    password: str = field(default="", repr=False)
    routing: tuple[tuple[str, str], ...] = ()
    """The routing context of a cluster, as names and values."""

    @classmethod
    def from_url(cls, url: str, password: str = "") -> "Address":
        """Return the address in the URL. password: used if the URL has none.

        Raises UsageError, which says what to write instead and never shows a password.
        """
        try:
            parts = urlsplit(url.strip())
        except ValueError:
            # Brackets without an IPv6 address. Python's own error may quote the password.
            raise _unusable(url, "its host cannot be read") from None
        if _CONTROL.search(url.strip()):
            # `urlsplit` would silently remove them from the password.
            raise _unusable("", "it contains a tab, a line break or another control character")
        _check_scheme(url, parts.scheme, parts.hostname or "")
        if "#" in url or "@" in parts.path or "@" in parts.query:
            raise UsageError(f"{_hidden(url)} cannot be read as an address. {_QUOTING}")
        user, given = _login(url, parts.netloc)
        password = given or password
        return cls(
            scheme=parts.scheme,
            host=_host(url, parts.netloc),
            port=_port(url, parts.netloc),
            database=_database(url, parts.path),
            user=user or (DEFAULT_USER if password else ""),
            password=password,
            routing=_routing(url, parts.scheme, parts.query),
        )

    @property
    def shown(self) -> str:
        """The URL without the password: for people, for files, and as the key to look up the password."""
        user = f"{quote(self.user, safe='')}@" if self.user else ""
        database = f"/{quote(self.database, safe='')}" if self.database else ""
        return f"{self.scheme}://{user}{self._place}{database}{self._query}"

    @property
    def driver_uri(self) -> str:
        """The URI for the driver: no user, no password, no database."""
        return f"{self.scheme}://{self._place}{self._query}"

    @property
    def routed(self) -> bool:
        """Whether the server is asked which one to connect to."""
        return self.scheme.startswith("neo4j")

    @property
    def encrypted(self) -> bool:
        """Whether the connection is encrypted."""
        return "+" in self.scheme

    def __str__(self) -> str:
        return self.shown

    @property
    def _place(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def _query(self) -> str:
        return f"?{urlencode(self.routing)}" if self.routing else ""


def _check_scheme(url: str, scheme: str, host: str) -> None:
    if scheme in {"http", "https"}:
        safe = "neo4j+s" if scheme == "https" else "bolt"
        raise UsageError(
            f"{_hidden(url)} is the address of Neo4j's web page. ragforge uses Bolt, which has its own port: "
            f"try {safe}://{host or 'HOST'}:{DEFAULT_PORT}."
        )
    if scheme not in SCHEMES or "://" not in url:
        known = ", ".join(f"{name}://" for name in SCHEMES)
        raise _unusable(url, f"it must begin with one of {known}")


def _login(url: str, netloc: str) -> tuple[str, str]:
    """Return user and password; the host starts after the last @, as in every URL."""
    login, at, _ = netloc.rpartition("@")
    name, colon, password = login.partition(":")
    try:
        user, secret = unquote(name, errors="strict"), unquote(password, errors="strict")
    except UnicodeDecodeError:
        raise UsageError(f"{_hidden(url)} has a user or password that is not UTF-8. {_QUOTING}") from None
    if at and not user and not secret:
        raise _unusable(url, "there is an @ without a user before it")
    if colon and not secret:
        raise _unusable(url, "the password after the colon is empty")
    return user, secret


def _host(url: str, netloc: str) -> str:
    place = netloc.rpartition("@")[2]
    host = place[1:].partition("]")[0] if place.startswith("[") else place.partition(":")[0]
    if not host:
        raise _unusable(url, "it has no host")
    if not _HOST.fullmatch(host):
        raise _unusable(url, "its host is not valid")
    return host.lower()


def _port(url: str, netloc: str) -> int:
    place = netloc.rpartition("@")[2]
    behind = place.partition("]")[2] if place.startswith("[") else place[len(place.partition(":")[0]) :]
    if not behind:
        return DEFAULT_PORT
    digits = behind.removeprefix(":")
    if not behind.startswith(":") or not (digits.isascii() and digits.isdigit()) or len(digits) > 5:
        raise _unusable(url, "the part after the host's colon is not a port number")
    if not 0 < int(digits) < 65536:
        raise _unusable(url, "the port must be between 1 and 65535")
    return int(digits)


def _database(url: str, path: str) -> str:
    try:
        # Neo4j stores the names of databases in lowercase.
        name = unquote(path.removeprefix("/"), errors="strict").lower()
    except UnicodeDecodeError as error:
        raise _unusable(url, "the name of the database is not UTF-8") from error
    if name and not _DATABASE.fullmatch(name):
        raise _unusable(url, "the part after the host is not the name of a database")
    if name == "system":
        raise _unusable(url, "the database `system` is reserved by Neo4j")
    return name


def _routing(url: str, scheme: str, query: str) -> tuple[tuple[str, str], ...]:
    if not query:
        return ()
    if not scheme.startswith("neo4j"):
        raise _unusable(url, "only neo4j:// takes options after a ?, the routing context of a cluster")
    try:
        pairs = tuple(parse_qsl(query, keep_blank_values=True, strict_parsing=True, errors="strict"))
    except ValueError as error:
        raise _unusable(url, "the part after the ? is not of the form name=value") from error
    names = [name for name, _ in pairs]
    if "address" in names or len(set(names)) < len(names) or not all(name and value for name, value in pairs):
        raise _unusable(url, "each option after the ? needs a name once and a value; `address` is reserved")
    return pairs


def _unusable(url: str, why: str) -> UsageError:
    return UsageError(f"{_hidden(url)} is not the address of a Neo4j server: {why}. {_FORM}")


def _hidden(url: str) -> str:
    """Return the URL without any part that may belong to a password, however it was mistyped."""
    scheme, separator, rest = url.strip().partition("://")
    if not separator:
        # `localhost:7687`, or a user and a password without a scheme.
        return repr(rest or scheme.rpartition("@")[2].partition(":")[0])
    login, _, place = rest.rpartition("@")
    # `bolt://user:password` has no @, so the part after a colon is shown only if it is a port.
    host, colon, behind = place.partition(":")
    if colon and not place.startswith("[") and not re.fullmatch(r"\d{1,5}([/?].*)?", behind):
        place = f"{host}:..."
    return repr(f"{scheme}://{'...@' if login else ''}{place}"[:200])
