"""Errors of a server or its driver, in words for people. The driver's own errors end here.

| what happened | what is raised | what the user reads |
| --- | --- | --- |
| nothing listens, DNS, a firewall | StoreUnavailable | start it, or check the address |
| TLS on one side only, unknown certificate | StoreUnavailable | which scheme to use instead |
| something else listens there (HTTP) | StoreUnavailable | the port of Bolt |
| wrong user or password, none given | LoginRefused | set it again |
| password must be changed first | LoginRefused | the statement that changes it |
| too many wrong passwords | LoginRefused | wait |
| no such database, or it is stopped | StoreUnavailable | its name, how to see all |
| the user may not | StoreUnavailable | which right is missing |
| the database is read-only | ReadsOnly | how to make it writable again |
| a cluster without a leader | StoreUnavailable | wait, look at its members |
| no answer before the deadline, interrupted write | OutcomeUnknown | may have been done; it is retried |
| memory or disk full | StoreUnavailable | give it more |
| a statement or value that it cannot process | StatementRefused | what it said |
| older than MINIMUM_VERSION | StoreUnavailable | upgrade |
"""

import os
import re
import socket
import ssl
from collections.abc import Callable, Iterator
from functools import partial

from msgspec import Struct

from ragforge.domain.errors import StoreError, StoreLoginRefused, StoreUnavailable
from ragforge.domain.redact import hide_url_passwords
from ragforge.store.neo4j.address import Address

MINIMUM_VERSION = (5, 26)
SAID_CHARS_MAX = 300
DEADLINE_SAID_S_MIN = 0.1
"""A block may leave a read less time, and such a number would only confuse."""

_OTHER = "or choose the store on this machine with RAGFORGE_STORE=sqlite:///PATH"
NO_ANSWER = (
    "Tried to {doing} {at}: it did not answer {within}. Check whether it is stopped, overloaded or behind a "
    f"slow network, {_OTHER}."
)


class OutcomeUnknown(StoreUnavailable):
    """The server may have done what it was asked, or not: the request must be repeated."""


class LoginRefused(StoreLoginRefused):
    """The server rejects this user and password; `expired` if the password must be changed first."""


class ReadsOnly(StoreUnavailable):
    """The server answers reads, but nothing can be written."""


class StatementRefused(StoreError):
    """The server answers, but cannot process this statement with these values: another row may work."""


class Reported(Struct, frozen=True):
    """An error that a server reported. Neo4j calls it `Neo.KIND.CATEGORY.TITLE`."""

    code: str
    message: str

    @property
    def kind(self) -> str:
        """Which side caused it: `ClientError`, `TransientError` or `DatabaseError`."""
        return self._part(1)

    @property
    def category(self) -> str:
        """Its area, such as `Security`."""
        return self._part(2)

    @property
    def title(self) -> str:
        """The error itself."""
        return self._part(3)

    def _part(self, place: int) -> str:
        return f"{self.code}...".split(".")[place]


class ServerRefusal(Struct, frozen=True):
    """A kind of refusal by servers: how to recognise it, what is raised, and what the user reads.

    sentence: with the names that `_refused` fills in.
    """

    fits: Callable[[Reported], bool]
    error: Callable[[str], StoreError]
    sentence: str


def _titled(*titles: str, category: str = "") -> Callable[[Reported], bool]:
    """Return a test for errors with one of these titles, in the category if one is given."""
    return lambda error: error.title in titles and category in ("", error.category)


def _holds(*parts: str) -> Callable[[Reported], bool]:
    """Return a test for errors whose title contains one of these."""
    return lambda error: any(part in error.title for part in parts)


REFUSALS: tuple[ServerRefusal, ...] = (
    ServerRefusal(
        _titled("CredentialsExpired"),
        partial(LoginRefused, expired=True),
        "{at} requires a new password for {user!r} first. In its browser or cypher-shell, in the database "
        "`system`, run: ALTER CURRENT USER SET PASSWORD FROM 'old' TO 'new'. Then connect with the new one.",
    ),
    ServerRefusal(
        _titled("AuthenticationRateLimit"),
        LoginRefused,
        "{at} got a wrong password too often and refuses logins for some seconds. Wait, then try again with "
        "the right one.",
    ),
    ServerRefusal(
        _titled(
            *("Unauthorized", "AuthorizationFailed", "TokenExpired", "AuthorizationExpired"),
            category="Security",
        ),
        LoginRefused,
        "{login}",
    ),
    ServerRefusal(
        lambda error: error.category == "Security",
        StoreUnavailable,
        "Cannot {doing} {at}: {who} may not ({said}). Ask its administrator for the right, or connect as "
        "another user.",
    ),
    ServerRefusal(
        _titled("DatabaseNotFound"),
        StoreUnavailable,
        "{at} has no database {database!r}. SHOW DATABASES lists them; put the name after the host, or leave "
        "it out for the default one.",
    ),
    ServerRefusal(
        _titled("DatabaseUnavailable"),
        StoreUnavailable,
        "The database {its_database!r} of {at} is not running. Start it: START DATABASE `NAME`. Or wait "
        "until it is up.",
    ),
    ServerRefusal(
        _titled("ForbiddenOnReadOnlyDatabase", "ReadOnly", "AccessMode", "WriteOnReadOnlyAccessDatabase"),
        ReadsOnly,
        "Cannot {doing} {at}: the database is read-only ({said}). Make it writable, or connect with neo4j:// "
        "so that the right member of the cluster is found.",
    ),
    ServerRefusal(
        lambda error: error.category == "Cluster",
        StoreUnavailable,
        "Cannot {doing} {at}: this member of the cluster is not the leader ({said}). Connect with neo4j:// "
        "instead of bolt://, or wait until a leader is elected.",
    ),
    ServerRefusal(
        _holds("OutOfMemory", "MemoryPool", "StackOverFlow"),
        StoreUnavailable,
        "Cannot {doing} {at}: it is out of memory ({said}). Give it more: server.memory.heap.max_size, "
        "dbms.memory.transaction.total.max.",
    ),
    ServerRefusal(_holds("TimedOut"), OutcomeUnknown, NO_ANSWER),
    ServerRefusal(_titled("LockClientStopped", "Terminated"), OutcomeUnknown, NO_ANSWER),
    ServerRefusal(
        lambda error: _is_full(error.message),
        StoreUnavailable,
        "Cannot {doing} {at}: its disk is full or failing ({said}). Free some space there.",
    ),
    ServerRefusal(
        lambda error: _is_too_large(error.message),
        StatementRefused,
        "{at} cannot store one of the values: {said}.",
    ),
    ServerRefusal(
        lambda error: error.kind == "TransientError",
        StoreUnavailable,
        "Cannot {doing} {at} at the moment ({said}). It was tried several times; try again.",
    ),
    ServerRefusal(
        lambda error: error.kind == "DatabaseError" and error.category != "Schema",
        StoreUnavailable,
        "Cannot {doing} {at}: it failed inside ({code}: {said}). Look into its debug.log.",
    ),
    ServerRefusal(
        lambda _: True,
        StatementRefused,
        "{at} refused a statement ({code}: {said}). Either Neo4j cannot store a value, or this is a bug in "
        "ragforge: please report it.",
    ),
)
"""The first match counts."""


def worded(error: Exception, address: Address, *, doing: str) -> StoreError:
    """Return the error for people. doing: what was tried, as "read from" or "write to"."""
    # Loading the driver takes half a second; with an error of it, it is loaded.
    from neo4j.exceptions import DriverError, Neo4jError

    match error:
        case StoreError():
            return error
        case TimeoutError():
            return no_answer(address, doing=doing)
        case Neo4jError():
            return _refused(Reported(error.code or "", error.message or ""), address, doing=doing)
        case DriverError():
            return _unreachable(error, address, doing=doing)
        case OSError():
            return _away(
                address, os.strerror(error.errno).lower() if error.errno else "the connection was cut"
            )
        case _:
            return value_refused(error, address)


def value_refused(error: Exception, address: Address) -> StatementRefused:
    """Return the error for a value that is not even sent: invalid UTF-8, more than 64 bits, another type."""
    # Its own words may contain the value.
    return StatementRefused(
        f"Neo4j at {address.shown} cannot store one of the values ({type(error).__name__})."
    )


def is_bookmark_error(error: Exception) -> bool:
    """Whether the server was asked to wait for a state of the database that it never had."""
    return "Bookmark" in str(getattr(error, "code", ""))


def no_answer(address: Address, *, doing: str, deadline_s: float | None = None) -> OutcomeUnknown:
    """Return the error for an answer that did not come in time."""
    readable = "" if deadline_s is None or deadline_s < DEADLINE_SAID_S_MIN else f"{round(deadline_s, 1):g} s"
    within = f"within {readable}" if readable else "in time"
    return OutcomeUnknown(NO_ANSWER.format(doing=doing, at=f"Neo4j at {address.shown}", within=within))


def too_old(address: Address, version: str) -> StoreUnavailable:
    """Return the error for a server that lacks what we need."""
    least = ".".join(map(str, MINIMUM_VERSION))
    return StoreUnavailable(
        f"Neo4j at {address.shown} is version {version}; ragforge needs {least} or newer. "
        f"Upgrade it, {_OTHER}."
    )


def _refused(reported: Reported, address: Address, *, doing: str) -> StoreError:
    """Return the error for one that the server reported."""
    refusal = next(each for each in REFUSALS if each.fits(reported))
    return refusal.error(
        refusal.sentence.format(
            at=f"Neo4j at {address.shown}",
            doing=doing,
            said=_cut(reported.message, address),
            code=reported.code,
            user=address.user,
            who=address.user or "nobody",
            database=address.database,
            its_database=address.database or "that is yours",
            login=_login_sentence(address),
            within="in time",
        )
    )


def _unreachable(error: Exception, address: Address, *, doing: str) -> StoreError:
    """Return the error for one of the driver: about the connection, or its configuration."""
    from neo4j.exceptions import (
        ConfigurationError,
        ConnectionPoolError,
        IncompleteCommit,
        ReadServiceUnavailable,
        ServiceUnavailable,
        SessionExpired,
        UnsupportedServerProduct,
        WriteServiceUnavailable,
    )

    causes = list(_causes(error))
    match error:
        case IncompleteCommit():
            return no_answer(address, doing=doing)
        case WriteServiceUnavailable() | ReadServiceUnavailable():
            return StoreUnavailable(
                f"Cannot {doing} Neo4j at {address.shown}: the cluster has no member for that at the moment "
                f"({_said(error, address)}). SHOW DATABASES lists which are up; wait, {_OTHER}."
            )
        case UnsupportedServerProduct():
            return too_old(address, "one whose Bolt version ragforge does not support")
        case ConnectionPoolError():
            return no_answer(address, doing=doing)
        case ServiceUnavailable() | SessionExpired():
            return _no_connection(causes, address)
        case ConfigurationError():
            return StoreUnavailable(
                f"Neo4j at {address.shown} cannot be used in this way: {_said(error, address)}."
            )
        case _:
            return StoreUnavailable(
                f"Cannot {doing} Neo4j at {address.shown}: the connection failed ({_said(error, address)})."
            )


def _no_connection(causes: list[BaseException], address: Address) -> StoreUnavailable:
    text = " ".join(str(cause) for cause in causes)
    plain = address.scheme.partition("+")[0]
    if any(isinstance(cause, socket.gaierror) for cause in causes) or "resolve address" in text:
        return StoreUnavailable(
            f"No server is known under the name {address.host!r} ({address.shown}). Check its spelling and "
            f"this machine's network, {_OTHER}."
        )
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes) or "CERTIFICATE" in text:
        return StoreUnavailable(
            f"The certificate of {address.shown} is not one that this machine trusts. If you know the "
            f"server, use {plain}+ssc://; otherwise check the address."
        )
    if any(isinstance(cause, ssl.SSLError) or "Security" in type(cause).__name__ for cause in causes):
        return StoreUnavailable(
            f"Cannot encrypt the connection to {address.shown}: the server does not use TLS there. Use "
            f"{plain}:// if it is on this machine or on a network that you trust."
        )
    if any(word in text for word in ("HTTP", "looks like")):
        return StoreUnavailable(
            f"What listens at {address.shown} is a web server, not Bolt. Neo4j's Bolt port is 7687 unless it "
            "was changed."
        )
    if not address.encrypted and any("Handshake" in type(cause).__name__ for cause in causes):
        return StoreUnavailable(
            f"What listens at {address.shown} does not answer in Bolt. If the server wants encryption, use "
            f"{plain}+s://; otherwise check the port."
        )
    numbers = [cause.errno for cause in causes if isinstance(cause, OSError) and cause.errno]
    return _away(address, os.strerror(numbers[-1]).lower() if numbers else "the connection was cut")


def _away(address: Address, why: str) -> StoreUnavailable:
    return StoreUnavailable(f"Cannot reach Neo4j at {address.shown}: {why}. Start it, {_OTHER}.")


def _login_sentence(address: Address) -> str:
    at = f"Neo4j at {address.shown}"
    asks = f"`ragforge db connect {address.shown}`"
    if not address.password:
        return f"{at} needs a user and a password. {asks} asks for them and stores them."
    return f"{at} refuses the user {address.user!r} with this password. {asks} asks for another."


def _is_full(message: str) -> bool:
    return bool(re.search(r"no space left|disk (is )?full|not enough space|quota", message, re.IGNORECASE))


def _is_too_large(message: str) -> bool:
    """Whether a value is longer than its index allows, which is reported as a failure of the server."""
    return bool(re.search(r"too large to index|immense term", message, re.IGNORECASE))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error and all its causes."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        if (one := waiting.pop()) is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [one.__cause__, one.__context__]


def _said(error: BaseException, address: Address) -> str:
    return _cut(str(error), address)


def _cut(text: str, address: Address) -> str:
    """Return the message, in one line and without the password."""
    line = hide_url_passwords(" ".join(text.split()))
    if address.password:
        line = line.replace(address.password, "[redacted]")
    return line if len(line) <= SAID_CHARS_MAX else f"{line[:SAID_CHARS_MAX]}..."
