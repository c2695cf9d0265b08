"""Remove secrets from text before it reaches store, log, export or model.

Two strengths, which the documentation tells apart. *Configured* secrets (the keys and passwords that this
program uses) are found exactly, also URL-quoted, JSON-escaped and in base64. Everything else is best effort:
patterns of well-known kinds of keys.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import assert_never, cast
from urllib.parse import quote, quote_plus

from msgspec.structs import replace

from ragforge.domain.json import JsonObject, JsonValue, well_formed
from ragforge.domain.messages import CommandPart, ImagePart, ModelMessage, Part, Parts, TextPart

MARK = "[redacted]"
SECRET_CHARS_MIN = 6
"""Shorter ones are not redacted: hiding every "abc" would protect nothing and spoil the text."""

PLACEHOLDER_CHARS = 12
"""A key that ends in the same character this many times is a placeholder."""

KEY_CHARS_MAX = 20_000
"""A private key block is no longer than this; the text after that is shown."""

_KEY_BLOCKS = (("-----BEGIN ", "-----END "), ("Private-Lines: ", "Private-MAC: "))
_PASSES_MAX = 4
# Up to the last @: a password that was not quoted for the URL may contain one.
_URL_PASSWORD = re.compile(r"(://[^\s/:@\"'<>]{0,200}:)[^\s/\"'<>]{1,500}(?=@)")
_URL_VARIABLE = re.compile(r"[$%{<*].*|\[redacted\]|(?:pass(?:word|wd)?|secret|x+)\W*", re.IGNORECASE)


class Redactor:
    """Replaces secrets by `[redacted]`. Idempotent."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets for form in _forms(secret.strip())}
        # A part of the mark itself cannot be a secret: redacting it would never end.
        usable = (form for form in forms if form not in MARK)
        self._forms = sorted(usable, key=lambda form: (-len(form), form))

    def text(self, text: str) -> str:
        """Return the text without secrets, and well-formed."""
        text = well_formed(text)
        # A second pass only matters if a mark, together with the text around it, forms a secret or a
        # pattern again: a password with a bracket in it can do that.
        for _ in range(_PASSES_MAX):
            before = text
            text = without_patterns(_replaced(text, self.spans(text)))
            if text == before:
                break
        return text

    def parts(self, parts: Parts) -> Parts:
        """Return the message with its texts, and the names of its images, redacted."""
        return tuple(map(self._part, parts))

    def _part(self, part: Part) -> Part:
        match part:
            case TextPart(text, typed):
                return TextPart(self.text(text), self.text(typed))
            case ImagePart():
                return self.image(part)
            case CommandPart():
                return replace(part, command=self.text(part.command), output=self.text(part.output))
            case _:
                assert_never(part)

    def image(self, part: ImagePart) -> ImagePart:
        """Return the image under a name without secrets; its content stays."""
        return replace(part, name=self.text(part.name))

    def json(self, value: JsonValue) -> JsonValue:
        """Return the value with every string in it redacted, names included."""
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.json(item) for item in value]
            case dict():
                return self.fields(value)
            case _:
                return value

    def fields(self, value: JsonObject) -> JsonObject:
        """Return the object with every string in it redacted, names included."""
        return {self.text(name): self.json(item) for name, item in value.items()}

    def exact(self, text: str) -> str:
        """Return the text without configured secrets; what only looks like a key stays."""
        return _replaced(text, self.spans(text))

    def answer(self, message: ModelMessage) -> ModelMessage:
        """Return a model's message without configured secrets; what only looks like a key stays.

        If it contained one, the provider gets a rebuilt message back, because its native form has it too.
        """
        calls = [[call.name, call.args, call.malformed] for call in message.calls]
        searched = message.searched.texts()
        whole = cast(JsonValue, [message.text, message.thoughts, calls, message.native, searched])
        if not any(self.spans(text) for text in _texts(whole)):
            return message
        return replace(
            message,
            text=self.exact(message.text),
            thoughts=self.exact(message.thoughts),
            calls=tuple(
                replace(
                    call,
                    name=self.exact(call.name),
                    args=self.fields(call.args),
                    malformed=self.exact(call.malformed),
                )
                for call in message.calls
            ),
            native=None,
            searched=message.searched.mapped(self.exact),
        )

    def stream(self, *, exact: bool = False) -> "RedactedStream":
        """Return a redactor for text that arrives in pieces: a secret is found across their borders.

        exact: what only looks like a key stays, and each piece is released at once.
        """
        return RedactedStream(self, exact=exact)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of configured secrets, in order; overlapping ones are one."""
        found = sorted(span for form in self._forms for span in _occurrences(form, text))
        merged: list[tuple[int, int]] = []
        for start, end in found:
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged

    def unfinished_at(self, text: str) -> int:
        """Return where the longest suffix starts that could be the beginning of a configured secret."""
        if not self._forms:
            return len(text)
        for start in range(max(0, len(text) - len(self._forms[0]) + 1), len(text)):
            ending = text[start:]
            if any(len(form) > len(ending) and form.startswith(ending) for form in self._forms):
                return start
        return len(text)


class RedactedStream:
    """Redacts text that arrives in pieces; what could be the beginning of a secret is held back.

    exact: only the configured secrets. Otherwise complete lines are released, because the context that makes
    a word a secret is in its line, and a private key as one.
    """

    def __init__(self, redactor: Redactor, *, exact: bool = False) -> None:
        self._redactor = redactor
        self._exact = exact
        self._held = ""
        # So many characters at the start of `_held` belong to a secret whose mark was already released.
        self._covered = 0
        self._line: list[str] = []

    def feed(self, piece: str) -> str:
        """Return what can be shown now."""
        if not self._exact:
            return self._feed_lines(piece)
        text = self._held + piece
        return self._take(text, self._redactor.unfinished_at(text))

    def flush(self) -> str:
        """Return what was held back, at the end of the stream."""
        if not self._exact:
            text, self._line = "".join(self._line), []
            return self._redactor.text(text)
        return self._take(self._held, len(self._held))

    def _feed_lines(self, piece: str) -> str:
        """Return the lines that the piece completes."""
        self._line.append(piece)  # joined only at its end: a line may be as long as the whole output
        if "\n" not in piece and "\r" not in piece:
            return ""
        text = "".join(self._line)
        until = min(_lines_end(text), _open_key_at(text), self._redactor.unfinished_at(text))
        self._line = [text[until:]]
        return self._redactor.text(text[:until])

    def _take(self, text: str, until: int) -> str:
        """Release `text[:until]` and hold back the rest."""
        spans = self._redactor.spans(text)
        out: list[str] = []
        at = 0
        if self._covered:
            at = self._covered
            while spans and spans[0][0] < at:
                at = max(at, spans.pop(0)[1])
        for start, end in spans:
            if start >= until:
                break
            out += [text[at:start], MARK]
            at = end
        out.append(text[at:until])
        self._held, self._covered = text[until:], max(0, at - until)
        return "".join(out)


def _lines_end(text: str) -> int:
    """Return where the last, incomplete line starts; a `\r` at the end may be the first half of an end."""
    return max(text.rfind("\n"), text.rfind("\r", 0, -1)) + 1


def _open_key_at(text: str) -> int:
    """Return where a private key starts that is incomplete so far."""
    for opening, closing in _KEY_BLOCKS:
        at = text.rfind(opening)
        if at >= 0 and len(text) - at < KEY_CHARS_MAX and closing not in text[at:]:
            return at
    return len(text)


def hide_url_passwords(text: str) -> str:
    """Return the text with the password of every URL (`scheme://user:password@host`) replaced."""
    return _URL_PASSWORD.sub(rf"\g<1>{MARK}", text) if "://" in text else text


def without_patterns(text: str) -> str:
    """Return the text without what looks like a well-known kind of key, or is named as one: best effort."""
    # Compiling their patterns takes milliseconds, which must not delay the start.
    from ragforge.domain.secret_kinds import KINDS
    from ragforge.domain.secret_names import hide_named

    for kind in KINDS:
        for keyword in kind.keywords:
            if keyword in text:
                text = _compiled(kind.pattern).sub(_hidden, text)
                break
    text = hide_named(text, MARK)
    return _URL_PASSWORD.sub(_hidden_in_url, text) if "://" in text else text


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _hidden(found: re.Match[str]) -> str:
    """Return the mark for the group `value`, or for everything; not for a manual's `ghp_xxxx...`."""
    if len(set(found[0][-PLACEHOLDER_CHARS:])) == 1:
        return found[0]
    if "value" not in found.re.groupindex:
        return MARK
    start, end = found.start("value") - found.start(), found.end("value") - found.start()
    return found[0][:start] + MARK + found[0][end:]


def _hidden_in_url(found: re.Match[str]) -> str:
    password = found[0][len(found[1]) :]
    return found[0] if _URL_VARIABLE.fullmatch(password) else found[1] + MARK


def _texts(value: JsonValue) -> Iterator[str]:
    """Yield every text in the value, names included, and everything else as it would be written."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts(item)
        case dict():
            for name, item in value.items():
                yield name
                yield from _texts(item)
        case _:
            yield json.dumps(value)


def _replaced(text: str, spans: list[tuple[int, int]]) -> str:
    if not spans:
        return text
    out: list[str] = []
    at = 0
    for start, end in spans:
        out += [text[at:start], MARK]
        at = end
    return "".join([*out, text[at:]])


def _occurrences(form: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield every position of the form, overlapping ones too."""
    at = text.find(form)
    while at >= 0:
        yield at, at + len(form)
        at = text.find(form, at + 1)


def _forms(secret: str) -> set[str]:
    """Yield the ways to write a secret: as it is, quoted for a URL, escaped for JSON, in base64."""
    if len(secret) < SECRET_CHARS_MIN:
        return set()
    raw = secret.encode("utf-8", "surrogatepass")
    quoted = {quote(raw, safe=""), quote(raw), quote_plus(raw)}
    lower = {re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), form) for form in quoted}
    escaped = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    return {secret} | quoted | lower | escaped | set(_base64_forms(raw))


def _base64_forms(raw: bytes) -> Iterator[str]:
    """Yield the base64 of these bytes at each possible alignment, e.g. after `user:`.

    Base64 encodes three bytes as four characters, so there are three alignments, whose outermost characters
    also depend on the neighbours and are left out.
    """
    for offset in range(3):
        encoded = base64.b64encode(bytes(offset) + raw)
        first = (8 * offset + 5) // 6
        last = 8 * (offset + len(raw)) // 6
        core = encoded[first:last].decode("ascii")
        yield core
        yield core.replace("+", "-").replace("/", "_")
