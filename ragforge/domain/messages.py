"""Messages to and from a model, in a form that does not depend on the provider."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, assert_never

from msgspec import Struct, field

from ragforge.domain.json import JsonObject

_PAGE = re.compile(r"https?://[^\s<>\x00-\x1f]+")


class TextPart(Struct, frozen=True):
    """A piece of text, complete, as typed or pasted.

    typed: the command line, if a command made the text; the user wrote only that.
    """

    text: str
    typed: str = ""


class ImagePart(Struct, frozen=True):
    """An image, by the hash of its content; the bytes are in the blob store.

    size: in bytes. width, height: in pixels. Each is 0 if unknown.
    """

    blob: str
    mime: str
    name: str = ""
    size: int = 0
    width: int = 0
    height: int = 0


class CommandPart(Struct, frozen=True):
    """A command that the user ran, with its output; sent with the next message.

    output: as told to the model, including how it ended. blob: the hash of the complete output if it was
    truncated, which has so many chars.
    """

    id: str
    command: str
    output: str
    blob: str = ""
    chars: int = 0


Part: TypeAlias = TextPart | ImagePart | CommandPart
Parts: TypeAlias = tuple[Part, ...]


class CallRequest(Struct, frozen=True):
    """A tool call that a model asks for. `id` is ragforge's; `provider_id` is the provider's."""

    id: str
    name: str
    args: JsonObject
    provider_id: str = ""
    malformed: str = ""
    """Why the arguments are invalid, if they are; `args` is empty then."""


class WebSource(Struct, frozen=True):
    """A page that an answer is based on."""

    title: str
    url: str


class WebSearch(Struct, frozen=True):
    """What a provider searched the web for, and the pages it used; empty if it did not search."""

    queries: tuple[str, ...] = ()
    sources: tuple[WebSource, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.queries or self.sources)

    @property
    def count(self) -> int:
        """The number of searches: one if the provider reports pages but no queries."""
        return len(self.queries) or bool(self.sources)

    def joined(self, other: "WebSearch") -> "WebSearch":
        """Return both combined, each query and page once, in order."""
        sources = {each.url: each for each in (*self.sources, *other.sources) if _PAGE.fullmatch(each.url)}
        return WebSearch(tuple(dict.fromkeys((*self.queries, *other.queries))), tuple(sources.values()))

    def mapped(self, change: Callable[[str], str]) -> "WebSearch":
        """Return a copy with every text changed."""
        sources = (WebSource(change(source.title), change(source.url)) for source in self.sources)
        return WebSearch(tuple(map(change, self.queries)), tuple(sources))

    def texts(self) -> list[str]:
        """Return every text in it."""
        return [*self.queries, *(text for source in self.sources for text in (source.title, source.url))]


class UserMessage(Struct, frozen=True):
    """A message of the user."""

    parts: Parts


class ModelMessage(Struct, frozen=True):
    """The model's output in one step.

    native: the message exactly as the provider expects it back (including thought signatures), or None if it
    does not come from a provider. It is sent back verbatim to the same provider and model; for any other, the
    message is rebuilt from `text` and `calls`.
    """

    provider: str
    model: str
    text: str
    calls: tuple[CallRequest, ...] = ()
    native: JsonObject | None = None
    thoughts: str = ""
    searched: WebSearch = WebSearch()
    """What the provider's own search found for it. The user sees it; it is not sent back."""


class CallResult(Struct, frozen=True):
    """The result of a tool call, as told to the model."""

    call_id: str
    name: str
    text: str
    failed: bool = False
    provider_id: str = ""
    images: tuple[ImagePart, ...] = ()


class ToolMessage(Struct, frozen=True):
    """The results of all calls of one step, in the order of the requests."""

    results: tuple[CallResult, ...]


Message: TypeAlias = UserMessage | ModelMessage | ToolMessage


class ToolSpec(Struct, frozen=True):
    """The description of a tool for the model. `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: JsonObject = field(default_factory=lambda: {"type": "object", "properties": {}})


def text_of(parts: Sequence[Part]) -> str:
    """Return what the user said, with an image as its name in brackets, and without output of commands."""
    said = [part for part in parts if not isinstance(part, CommandPart)]
    return "\n".join(
        part.text if isinstance(part, TextPart) else f"[image {part.name or part.blob[:12]}]" for part in said
    )


def own_text(parts: Sequence[Part]) -> str:
    """Return `text_of` what the user wrote, without the texts of commands: a file's words are no wishes."""
    return text_of(
        [TextPart(each.typed or each.text) if isinstance(each, TextPart) else each for each in parts]
    )


def typed_in(parts: Sequence[Part]) -> str:
    """Return what the user typed, a command as its line. It mentions each image, so sending it again sends
    the images too."""
    return "\n".join(part.typed or part.text for part in parts if isinstance(part, TextPart))


def images_in(parts: Sequence[Part]) -> list[ImagePart]:
    """Return the images of the message."""
    return [part for part in parts if isinstance(part, ImagePart)]


def commands_in(parts: Sequence[Part]) -> list[CommandPart]:
    """Return the commands that the user ran before the message."""
    return [part for part in parts if isinstance(part, CommandPart)]


def command_text(part: CommandPart) -> str:
    """Return the command and its output, as told to a model."""
    return f"I ran this command:\n$ {part.command}\n{part.output}"


def blobs_in(parts: Sequence[Part]) -> tuple[str, ...]:
    """Return the hashes of the contents that the parts refer to."""
    return tuple(part.blob for part in parts if not isinstance(part, TextPart) and part.blob)


def parts_to_json(parts: Sequence[Part]) -> list[JsonObject]:
    """Return the parts as JSON, as stored."""
    return [_part_to_json(part) for part in parts]


def _part_to_json(part: Part) -> JsonObject:
    match part:
        case TextPart(text, typed):
            said: JsonObject = {"type": "text", "text": text}
            return {**said, "typed": typed} if typed else said
        case ImagePart(blob, mime, name, size, width, height):
            image: JsonObject = {"type": "image", "blob": blob, "mime": mime, "name": name}
            return {**image, "size": size, "width": width, "height": height} if size else image
        case CommandPart(id, command, output, blob, chars):
            ran: JsonObject = {"type": "command", "id": id, "command": command, "output": output}
            return {**ran, "blob": blob, "chars": chars}
        case _:
            assert_never(part)


def parts_from_json(items: Sequence[JsonObject]) -> Parts:
    """Inverse of `parts_to_json`. Raises KeyError for a kind of part that this version does not know."""
    kinds: Mapping[str, Callable[[JsonObject], Part]] = {
        "text": lambda item: TextPart(str(item["text"]), str(item.get("typed", ""))),
        "command": lambda item: CommandPart(
            str(item["id"]),
            str(item["command"]),
            str(item["output"]),
            str(item.get("blob", "")),
            int(str(item.get("chars", 0))),
        ),
        "image": lambda item: ImagePart(
            str(item["blob"]),
            str(item["mime"]),
            str(item.get("name", "")),
            *(int(str(item.get(name, 0))) for name in ("size", "width", "height")),
        ),
    }
    return tuple(kinds[str(item["type"])](item) for item in items)
