"""Gemini's errors as the domain's: what was tried, what happened, what to do."""

import json
import re
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.domain.errors import (
    AnswerUnusable,
    ContextTooLong,
    ModelError,
    ModelOverloaded,
    ModelRefusedKey,
    ModelUnknown,
    ModelUnreachable,
)
from ragforge.providers.pump import StreamSilent
from ragforge.providers.retry import Retryable, wait_words

SERVER_TEXT_CHARS_MAX = 300
CAUSES_MAX = 20
KEY_PAGE = "https://aistudio.google.com/apikey"


class Endpoint(Struct, frozen=True):
    """What the sentences are about. The key is known only to be left out of them."""

    model: str
    url: str
    key_source: str
    api_key: str
    retry: str = " with /retry"
    """How to try again; empty where nothing but the same action does, as for the check of a key."""


def explain(error: Exception, endpoint: Endpoint) -> ModelError | Retryable:
    """Return the error for the user, wrapped in Retryable if another attempt may help."""
    from httpx2 import HTTPError, InvalidURL, StreamError  # heavy; it is loaded already where one was raised

    match error:
        case ModelError() | Retryable():
            return error
        case ServiceRefused():
            return _of_service(_Refusal.read(error, endpoint), endpoint)
        case StreamSilent():
            return ModelUnreachable(
                f"Gemini at {endpoint.url} sent nothing for {error.idle_timeout_s:g} s. "
                f"Try again{endpoint.retry}; a slow network may need a longer stream.idle_timeout_s."
            )
        case HTTPError() | InvalidURL() | StreamError() | OSError():
            return _of_network(error, endpoint)
        case _:
            # An answer that is not JSON, not as documented, or too long.
            first_line = str(error).split("\n", 1)[0]
            said = _one_line(f"{type(error).__name__}: {first_line}", endpoint)
            return AnswerUnusable(
                f"{endpoint.url} sent an answer that cannot be read ({said}). "
                f"Check that the address is Gemini's, then try again{endpoint.retry}."
            )


class ServiceRefused(Exception):
    """An error answer of the service, or of something before it: its code, 0 for that of the body."""

    def __init__(self, code: int, body: bytes) -> None:
        super().__init__(f"refused with {code}")
        self.code = code
        self.body = body


class _Refusal(Struct, frozen=True):
    """Return the HTTP error of the service, or of something before it."""

    code: int
    status: str
    message: str
    reasons: frozenset[str]
    quota_ids: tuple[str, ...]
    retry_delay_s: float | None

    @classmethod
    def read(cls, refused: ServiceRefused, endpoint: Endpoint) -> "_Refusal":
        """Read the body of the response; undocumented parts are left out."""
        try:
            details = _mapping(json.loads(refused.body))
        except (ValueError, RecursionError):
            details = {"message": refused.body.decode("utf-8", "replace")}
        body = _mapping(details.get("error")) or details
        infos = [_mapping(info) for info in _list(body.get("details"))]
        violations = [_mapping(one) for info in infos for one in _list(info.get("violations"))]
        code = refused.code or body.get("code")
        return cls(
            code=code if isinstance(code, int) else 0,
            status=_one_line(str(body.get("status") or ""), endpoint),
            message=_one_line(str(body.get("message") or ""), endpoint),
            reasons=frozenset(str(info.get("reason")) for info in infos if "reason" in info),
            quota_ids=tuple(str(one["quotaId"]) for one in violations if "quotaId" in one),
            retry_delay_s=next(
                (d for d in (_delay_s(i.get("retryDelay")) for i in infos) if d is not None), None
            ),
        )

    @property
    def what(self) -> str:
        """Code and words, e.g. `503 UNAVAILABLE: The model is overloaded.`"""
        head = " ".join(str(part) for part in (self.code or "", self.status) if part)
        return f"{head}: {self.message}" if self.message else head


def _of_service(refusal: _Refusal, endpoint: Endpoint) -> ModelError | Retryable:
    said = refusal.what.rstrip(".")
    match refusal.code:
        case 400 if "API_KEY_INVALID" in refusal.reasons or "api key not valid" in refusal.message.lower():
            return _refused_key(said, endpoint)
        case 401 | 403:
            return _refused_key(said, endpoint)
        case 400 if re.search(r"token count.*exceed", refusal.message, re.IGNORECASE):
            return ContextTooLong(
                f"The request does not fit the context window of {endpoint.model} ({said})."
            )
        case 413:
            return ContextTooLong(f"The request is larger than Gemini accepts ({said}).")
        case 404:
            return ModelUnknown(
                f"Gemini at {endpoint.url} has no model {endpoint.model!r} ({said}). "
                "Choose another one with /model."
            )
        case 429:
            return _over_quota(refusal, said, endpoint)
        case code if code == 408 or code >= 500:
            busy = ModelOverloaded(
                f"Gemini at {endpoint.url} could not answer for {endpoint.model} ({said}). "
                f"Try again{endpoint.retry}, or choose another model with /model."
            )
            return Retryable(busy, reason=str(code), delay_s=refusal.retry_delay_s)
        case _:
            return ModelError(
                f"Gemini refused the request for {endpoint.model} ({said}). "
                f"Try again{endpoint.retry}; if that does not help, start a new session with /new, because "
                "the history may be the cause."
            )


def _refused_key(said: str, endpoint: Endpoint) -> ModelRefusedKey:
    source = f"{endpoint.key_source}; " if endpoint.key_source else ""
    return ModelRefusedKey(
        f"Gemini refused the key ({source}{said}). Check it, or create a new one at {KEY_PAGE}."
    )


def _over_quota(refusal: _Refusal, said: str, endpoint: Endpoint) -> ModelError | Retryable:
    """Whether waiting helps, as for any quota but a daily one."""
    daily = [quota_id for quota_id in refusal.quota_ids if "PerDay" in quota_id]
    if daily:
        return ModelOverloaded(
            f"Today's quota for {endpoint.model} is used up ({said}; {daily[0]}). "
            "Choose another model with /model, or continue tomorrow."
        )
    asks = f", asking to wait {wait_words(refusal.retry_delay_s)}" if refusal.retry_delay_s else ""
    over = ModelOverloaded(
        f"{endpoint.model} is over its quota ({said}{asks}). Wait a moment and try "
        f"again{endpoint.retry}, or choose another model with /model."
    )
    return Retryable(over, reason="429", delay_s=refusal.retry_delay_s)


def _of_network(error: Exception, endpoint: Endpoint) -> ModelError | Retryable:
    from urllib.request import getproxies  # 25 ms, which httpx2 has spent by now

    from httpx2 import ConnectTimeout, InvalidURL, ProxyError, UnsupportedProtocol

    causes = tuple(_causes(error))
    said = _one_line(next((str(cause) for cause in causes if str(cause)), type(error).__name__), endpoint)
    if isinstance(error, UnsupportedProtocol | InvalidURL):
        return ModelUnreachable(
            f"{endpoint.url!r} is not a server's address ({said}). It should begin with https://."
        )
    if isinstance(error, ConnectTimeout):
        timed_out = ModelUnreachable(
            f"No connection to {endpoint.url} within {timeouts.GEMINI_CONNECT_S_MAX:g} s. "
            f"Check the network, then try again{endpoint.retry}."
        )
        return Retryable(timed_out, reason="no connection", attempts_max=timeouts.GEMINI_NETWORK_ATTEMPTS_MAX)
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return ModelUnreachable(
            f"No secure connection to {endpoint.url} ({said}). "
            "Behind a proxy with its own certificate, set SSL_CERT_FILE to it."
        )
    if isinstance(error, ProxyError):
        return ModelUnreachable(
            f"The proxy on the way to {endpoint.url} failed ({said}). Check HTTPS_PROXY and NO_PROXY."
        )
    reason, what = "connection lost", f"The connection to Gemini at {endpoint.url} broke ({said})."
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        reason, what = "no network", f"The host name in {endpoint.url} cannot be resolved ({said})."
    elif any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        reason, what = "no connection", f"Nothing answers at {endpoint.url} (connection refused)."
    check = "the network and your proxy settings" if getproxies() else "the network"
    unreachable = ModelUnreachable(f"{what} Check {check}, then try again{endpoint.retry}.")
    return Retryable(unreachable, reason=reason, attempts_max=timeouts.GEMINI_NETWORK_ATTEMPTS_MAX)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes, members of groups too."""
    waiting: list[BaseException | None] = [error]
    for _ in range(CAUSES_MAX):
        if not waiting:
            return
        found = waiting.pop(0)
        if found is None:
            continue
        yield found
        waiting += [found.__cause__, found.__context__]
        if isinstance(found, BaseExceptionGroup):
            waiting += cast(Sequence[BaseException], found.exceptions)


def _one_line(text: str, endpoint: Endpoint) -> str:
    """Return the server's message for a sentence: short, no HTML page, without the key."""
    if "<html" in text.lower() or text.lstrip().startswith("<"):
        return "an HTML page, so probably something between here and Gemini answered"
    if endpoint.api_key:
        text = text.replace(endpoint.api_key, "[key]")
    text = " ".join(text.split())
    return text if len(text) <= SERVER_TEXT_CHARS_MAX else text[: SERVER_TEXT_CHARS_MAX - 1] + "…"


def _delay_s(value: object) -> float | None:
    """Return the seconds of a JSON duration: "8s", "0.5s"."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)s", value) if isinstance(value, str) else None
    return float(found[1]) if found else None


def _mapping(value: object) -> Mapping[str, object]:
    if isinstance(value, list) and value:
        return _mapping(cast(list[object], value)[0])
    return cast(Mapping[str, object], value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast(list[object], value) if isinstance(value, list) else []
