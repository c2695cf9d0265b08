"""Error answers of embedding services, as sentences that a user can act on."""

import re
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.errors import (
    ContextTooLong,
    ModelError,
    ModelOverloaded,
    ModelRefusedKey,
    ModelUnknown,
    ModelUnreachable,
)
from ragforge.domain.json import JsonObject, JsonValue

WORDS_MAX = 300
"""How much of a server's message is repeated to the user."""

_TOO_LONG = re.compile(
    r"token count.{0,40}exceed|maximum context length|context (length|size|window)|too large to process"
    r"|too many (input )?tokens|input (is )?(too long|length)|exceeds? the (maximum|available)",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(r"model.{0,200}(not found|not exist|not supported)|unknown model", re.I | re.DOTALL)
_NO_MONEY = re.compile(r"insufficient_quota|insufficient (credits|balance)|exceeded your current quota", re.I)


class Service(Struct, frozen=True):
    """The service, as an error names it."""

    name: str
    base_url: str
    model: str
    is_local: bool = False
    key: str = ""
    key_source: str = ""

    def with_key(self, key: str, source: str) -> "Service":
        """Return it with its key, which is only sent, and removed from sentences."""
        return replace(self, key=key, key_source=source)


class Refusal(Exception):
    """A request without vectors. may_pass: a retry may help, after delay_s if the service says so."""

    def __init__(self, error: ModelError, *, may_pass: bool = False, delay_s: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.may_pass = may_pass
        self.delay_s = delay_s


def read_refusal(service: Service, status: int, body: bytes, headers: Mapping[str, str]) -> Refusal:
    """Return the refusal in an HTTP answer. Google says in the body what others say by status and headers."""
    text = body[:100_000].decode("utf-8", "replace")
    told = _decoded(text)
    words = _one_line(_words(told) or text, service)
    said = f" It says: {words}" if words else ""
    whole = msgspec.json.encode(told).decode() if told else text
    delay_s = _retry_info_s(told) if _retry_info_s(told) is not None else _retry_after_s(headers)
    match status:
        case 400 if "API_KEY_INVALID" in whole or "api key not valid" in whole.lower():
            return Refusal(_key_refused(service, said))
        case 401 | 403:
            return Refusal(_key_refused(service, said))
        case 402:
            return Refusal(ModelOverloaded(f"{service.name} needs credit.{said}"))
        case 429 if "PerDay" in whole or (_NO_MONEY.search(whole) and "QuotaFailure" not in whole):
            spent = f"The daily quota or credit at {service.name} is used up.{said}"
            return Refusal(ModelOverloaded(spent))
        case 429 | 529:
            over = ModelOverloaded(f"{service.name} is over its limit ({status}).{said}")
            return Refusal(over, may_pass=True, delay_s=delay_s)
        case 413:
            return Refusal(ContextTooLong(f"The texts are longer than {service.model} accepts.{said}"))
        # llama-server reports it with 500.
        case _ if status in (400, 422, 500) and _TOO_LONG.search(whole):
            return Refusal(ContextTooLong(f"A text is longer than {service.model} accepts.{said}"))
        case 400 | 404 if _NO_MODEL.search(whole):
            return Refusal(ModelUnknown(f"{service.name} has no embedder {service.model!r}.{said}"))
        case 404 | 405 | 501:
            nothing = f"{service.name} at {service.base_url} makes no vectors ({status}).{said}"
            return Refusal(ModelUnreachable(f"{nothing} Check base_url, or set memory.embedder to another."))
        case _ if status == 408 or status >= 500:
            busy = ModelOverloaded(f"{service.name} could not make vectors ({status}).{said}")
            return Refusal(busy, may_pass=True, delay_s=delay_s)
        case _:
            refused = f"{service.name} refused to make vectors with {service.model} ({status}).{said}"
            return Refusal(ModelError(refused))


def _key_refused(service: Service, said: str) -> ModelRefusedKey:
    whose = f"the key from {service.key_source}" if service.key else "to answer without a key"
    return ModelRefusedKey(f"{service.name} refused {whose}.{said}")


def _decoded(text: str) -> JsonObject:
    with suppress(msgspec.DecodeError, RecursionError):
        found: JsonValue = msgspec.json.decode(text)
        return found if isinstance(found, dict) else {}
    return {}


def _words(told: JsonObject) -> str:
    match told:
        case {"error": {"message": str(words)}} | {"error": str(words)} | {"message": str(words)}:
            return words
        case {"detail": str(words)}:
            return words
        case _:
            return ""


def _one_line(text: str, service: Service) -> str:
    """Return it as part of a sentence: short, without an HTML page, without the key."""
    if text.lstrip().startswith("<"):
        return "an HTML page, so something between here and the service answered."
    if service.key:
        text = text.replace(service.key, "***")
    line = " ".join(text.split())[:WORDS_MAX]
    return line if not line or line.endswith((".", "!", "?")) else f"{line}."


def _retry_info_s(told: JsonObject) -> float | None:
    """Google's RetryInfo: seconds such as "8s"."""
    error = told.get("error")
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else []:
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        found = re.fullmatch(r"(\d+(?:\.\d+)?)s", delay) if isinstance(delay, str) else None
        if found:
            return float(found[1])
    return None


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds or a date."""
    value = headers.get("retry-after", "").strip()
    with suppress(ValueError):
        return max(0.0, float(value))
    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    return None
