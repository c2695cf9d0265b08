"""Error answers of chat completions services, turned into sentences that a user can act on.

Services share little but the status: the wording of OpenAI, OpenRouter, Ollama, llama-server, vLLM and
LM Studio is known here, and nowhere else.
"""

import re
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin

import msgspec
from msgspec import Struct

from ragforge.domain.errors import (
    AnswerUnusable,
    ContextTooLong,
    ModelError,
    ModelOverloaded,
    ModelRefusedKey,
    ModelUnknown,
    ModelUnreachable,
)
from ragforge.domain.json import JsonObject, JsonValue
from ragforge.providers.retry import Retryable

WORDS_MAX = 400
"""How much of a server's message is shown to the user."""

_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|maximum model length"
    r"|available context size|context (length|window|size)|prompt is too long|too many (input )?tokens"
    r"|input is too long|reduce the length of the messages",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model_not_found|model .{0,200}(not found|does not exist|not exist)|not a valid model|unknown model"
    r"|no endpoints found",
    re.IGNORECASE | re.DOTALL,
)
_NO_MONEY = re.compile(r"insufficient_quota|insufficient (credits|balance)|exceeded your current quota", re.I)

_START = {
    "ollama": "Start it with: ollama serve",
    "llama-server": "Start it with: llama-server -m MODEL.gguf",
    "lmstudio": "Start its server with: lms server start",
    "vllm": "Start it with: vllm serve MODEL",
}


class Service(Struct, frozen=True):
    """The service, as an error names it."""

    name: str
    base_url: str
    model: str
    key: str | None
    key_source: str
    is_local: bool


def refused(service: Service, status: int, body: str, headers: Mapping[str, str]) -> ModelError | Retryable:
    """Return the exception for a response that is not an answer."""
    said = _said(service, body)
    if status < 500 and _NO_MONEY.search(body):
        return ModelOverloaded(f"{service.name} is out of credit or quota.{said}")
    if status not in (401, 403, 429) and _TOO_LONG.search(body):
        return ContextTooLong(f"The request is longer than {service.model} accepts.{said}")
    match status:
        case 401 | 403:
            return ModelRefusedKey(_key_refused(service, status, said))
        case 402:
            return ModelOverloaded(f"{service.name} is out of credit (402).{said}")
        case _ if status < 500 and _NO_MODEL.search(body):
            return ModelUnknown(_model_unknown(service, said))
        case 404 | 405:
            return ModelUnreachable(
                f"There is no chat completions service at {service.base_url} ({status}). "
                f"Check base_url of the endpoint {service.name}: it usually ends in /v1.{said}"
            )
        case 429 | 529:
            error = ModelOverloaded(f"{service.name} is over its limit ({status}).{said} Try again later.")
            return Retryable(error, reason=str(status), delay_s=_delay_s(headers))
        case 408 | 500 | 502 | 503 | 504:
            error = ModelOverloaded(f"{service.name} failed ({status}).{said} Try again with /retry.")
            return Retryable(error, reason=str(status), delay_s=_delay_s(headers))
        case _ if 300 <= status < 400:
            return ModelUnreachable(_redirected(service, headers.get("location", "")))
        case _:
            return ModelError(f"{service.name} refused the request ({status}).{said}")


def failed_in_stream(service: Service, body: JsonObject) -> ModelError | Retryable:
    """Return the exception for an error object in place of a chunk."""
    error = body.get("error")
    code: JsonValue = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return refused(service, status, msgspec.json.encode(body).decode(), {})


def no_stream(service: Service, content_type: str, body: str) -> ModelError:
    """Return the exception for a good status with neither a stream nor an answer as JSON."""
    return AnswerUnusable(
        f"{service.base_url} answered with {content_type or 'something unnamed'} instead of a stream: is it "
        f"a chat completions service? Check base_url of the endpoint {service.name}, it usually ends in "
        f"/v1.{_said(service, body)}"
    )


def _redirected(service: Service, location: str) -> str:
    """Return where a request was redirected, and the setting for it: keys are not sent to redirects."""
    target = urljoin(f"{service.base_url}/chat/completions", location) if location else "another address"
    base = re.sub(r"/(chat/completions|models)/*$", "", target)
    told = f"{service.base_url} redirects to {target}."
    if base == service.base_url or not base.startswith(("http://", "https://")):
        return f"{told} Check base_url of the endpoint {service.name}: it usually ends in /v1."
    return f"{told} If you trust it, set base_url of {service.name} to {base}."


def unreachable(service: Service, reason: str) -> ModelError:
    """Return the exception for a failed connection."""
    what = f"Cannot reach {service.name} at {service.base_url}: "
    if service.is_local:
        start = _START.get(service.name, "Start it, or choose another model with /model")
        return ModelUnreachable(f"{what}is it running? {start}. ({reason})")
    return ModelUnreachable(f"{what}{reason}. Check the network and the address.")


def broken_off(service: Service, reason: str) -> ModelError:
    """Return the exception for a connection that broke off during the answer."""
    return ModelUnreachable(f"The connection to {service.name} broke off: {reason}. Continue with /retry.")


def silent(service: Service, idle_timeout_s: float) -> ModelError:
    """Return the exception for too long a silence."""
    return ModelUnreachable(
        f"{service.name} sent nothing for {idle_timeout_s:g} s. Try again with /retry; "
        "the setting stream.idle_timeout_s sets how long to wait."
    )


def _key_refused(service: Service, status: int, said: str) -> str:
    if service.key is None:
        return f"{service.name} needs a key, and none is set ({status}).{said} Set key_env of its endpoint."
    return f"{service.name} refused the key from {service.key_source} ({status}).{said}"


def _model_unknown(service: Service, said: str) -> str:
    pull = f" Get it with: ollama pull {service.model}" if "try pulling it" in said else ""
    return f"{service.name} has no model {service.model!r}.{said}{pull} Choose another one with /model."


def _said(service: Service, body: str) -> str:
    words = _what_it_says(service, body)
    return f" It says: {words}" if words else ""


def _what_it_says(service: Service, body: str) -> str:
    """Return the server's message for the user, on one line, without the key."""
    words = body
    with suppress(msgspec.DecodeError, RecursionError):
        words = _words(msgspec.json.decode(body))
    if "<html" in body[:1000].lower() or "<!doctype" in body[:1000].lower():
        words = "a web page" + _title(body)
    if service.key:
        words = words.replace(service.key, "***")
    line = " ".join(words.split())[:WORDS_MAX]
    return line if not line or line.endswith((".", "!", "?")) else f"{line}."


def _words(body: JsonValue) -> str:
    """Return the message in any of the forms in use: error.message, error, message, detail."""
    match body:
        case {"error": {"message": str(words)}} | {"error": str(words)}:
            return words
        case {"message": str(words)} | {"detail": str(words)}:
            return words
        case _:
            return msgspec.json.encode(body).decode()


def _title(page: str) -> str:
    found = re.search(r"<title>([^<]{1,100})</title>", page, re.IGNORECASE)
    return f" called {found[1].strip()!r}" if found else ""


def _delay_s(headers: Mapping[str, str]) -> float | None:
    """Return how long the server asks to wait: seconds or a date."""
    value = headers.get("retry-after", "").strip()
    with suppress(ValueError):
        return max(0.0, float(value))
    with suppress(ValueError, TypeError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    return None
