"""Messages: what goes to a model and comes back, in a form that no provider owns."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, assert_never

from msgspec import Struct, field

from ragforge.domain.json import JsonObject

_PAGE = re.compile(r"https?://[^\s<>\x00-\x1f]+")


class TextPart(Struct, frozen=True):
    """A piece of text, whole, as typed or pasted."""

    text: str


class ImagePart(Struct, frozen=True):
    """An image by its content's hash; the bytes are in the blob store.

    size: in bytes. width, height: in pixels. Each is 0 where it is not known.
    """

    blob: str
    mime: str
    name: str = ""
    size: int = 0
    width: int = 0
    height: int = 0


class CommandPart(Struct, frozen=True):
    """A command that the user ran, and what it wrote: it goes with the message after it.

    output: as the model is told of it, with how it ended. blob: the hash of all of it where it was cut, which
    has so many chars.
    """

    id: str
    command: str
    output: str
    blob: str = ""
    chars: int = 0


Part: TypeAlias = TextPart | ImagePart | CommandPart
Parts: TypeAlias = tuple[Part, ...]


class CallRequest(Struct, frozen=True):
    """A tool call that a model asks for. `id` is ours; `provider_id` is what the provider called it."""

    id: str
    name: str
    args: JsonObject
    provider_id: str = ""
    malformed: str = ""
    """Why the arguments could not be read, where they could not; `args` is empty then."""


class WebSource(Struct, frozen=True):
    """A page that an answer rests on."""

    title: str
    url: str


class WebSearch(Struct, frozen=True):
    """What a provider searched the web for, and the pages that it used; empty where it did not search."""

    queries: tuple[str, ...] = ()
    sources: tuple[WebSource, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.queries or self.sources)

    @property
    def count(self) -> int:
        """How many searches it was: one where the provider shows pages and no queries."""
        return len(self.queries) or bool(self.sources)

    def joined(self, other: "WebSearch") -> "WebSearch":
        """Return both, each query and each page once, in the order in which they came."""
        sources = {each.url: each for each in (*self.sources, *other.sources) if _PAGE.fullmatch(each.url)}
        return WebSearch(tuple(dict.fromkeys((*self.queries, *other.queries))), tuple(sources.values()))

    def mapped(self, change: Callable[[str], str]) -> "WebSearch":
        """Return the same with every text changed."""
        sources = (WebSource(change(source.title), change(source.url)) for source in self.sources)
        return WebSearch(tuple(map(change, self.queries)), tuple(sources))

    def texts(self) -> list[str]:
        """Return every text of it."""
        return [*self.queries, *(text for source in self.sources for text in (source.title, source.url))]


class UserMessage(Struct, frozen=True):
    """What the user said."""

    parts: Parts


class ModelMessage(Struct, frozen=True):
    """What a model said in one step.

    native: the message exactly as the provider wants it back (thought signatures included), or None
    where it was not made by a provider. It is sent back verbatim to the same provider and model;
    for any other one the message is made anew from `text` and `calls`.
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
    """What a tool answered, as the model hears it."""

    call_id: str
    name: str
    text: str
    failed: bool = False
    provider_id: str = ""
    images: tuple[ImagePart, ...] = ()


class ToolMessage(Struct, frozen=True):
    """The results of all calls of one step, in the order in which they were asked for."""

    results: tuple[CallResult, ...]


Message: TypeAlias = UserMessage | ModelMessage | ToolMessage


class ToolSpec(Struct, frozen=True):
    """A tool as the model is told of it. `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: JsonObject = field(default_factory=lambda: {"type": "object", "properties": {}})


def text_of(parts: Sequence[Part]) -> str:
    """What the user said; an image stands as its name in brackets, and what a command wrote was not said."""
    said = [part for part in parts if not isinstance(part, CommandPart)]
    return "\n".join(
        part.text if isinstance(part, TextPart) else f"[image {part.name or part.blob[:12]}]" for part in said
    )


def typed_in(parts: Sequence[Part]) -> str:
    """What the user typed. A mention in it names each image, so sending it again sends them too."""
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def images_in(parts: Sequence[Part]) -> list[ImagePart]:
    """The images that go along."""
    return [part for part in parts if isinstance(part, ImagePart)]


def commands_in(parts: Sequence[Part]) -> list[CommandPart]:
    """What the user ran before the message."""
    return [part for part in parts if isinstance(part, CommandPart)]


def command_text(part: CommandPart) -> str:
    """The command and its output, as a model is told."""
    return f"I ran this command:\n$ {part.command}\n{part.output}"


def blobs_in(parts: Sequence[Part]) -> tuple[str, ...]:
    """The hashes of the contents that the parts refer to."""
    return tuple(part.blob for part in parts if not isinstance(part, TextPart) and part.blob)


def parts_to_json(parts: Sequence[Part]) -> list[JsonObject]:
    """The parts as JSON, as the stores keep them."""
    return [_part_to_json(part) for part in parts]


def _part_to_json(part: Part) -> JsonObject:
    match part:
        case TextPart(text):
            return {"type": "text", "text": text}
        case ImagePart(blob, mime, name, size, width, height):
            image: JsonObject = {"type": "image", "blob": blob, "mime": mime, "name": name}
            return {**image, "size": size, "width": width, "height": height} if size else image
        case CommandPart(id, command, output, blob, chars):
            ran: JsonObject = {"type": "command", "id": id, "command": command, "output": output}
            return {**ran, "blob": blob, "chars": chars}
        case _:
            assert_never(part)


def parts_from_json(items: Sequence[JsonObject]) -> Parts:
    """The inverse of `parts_to_json`. Raises KeyError for a kind of part that this version lacks."""
    kinds: Mapping[str, Callable[[JsonObject], Part]] = {
        "text": lambda item: TextPart(str(item["text"])),
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
