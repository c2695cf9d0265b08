"""`@path` in a message: images become parts of it, other files stay words that the model can read itself."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from ragforge.domain.errors import UsageError
from ragforge.files.images import SIZED, dimensions, image_mime, image_words

if TYPE_CHECKING:
    from ragforge.domain.messages import Part, Parts

IMAGE_BYTES_MAX = 15 * 1024 * 1024
"""With its base64 this stays below the 20 MB that a request may have."""
IMAGES_MAX = 20
_DROPPED_CHARS_MAX = 8_192

_MENTION = re.compile(r"""(?:^|(?<=[\s(\["']))@(?:"([^"\n]+)"|([^\s"]+))""")


async def parts_of(text: str, folders: Sequence[Path], put_blob: Callable[[bytes], Awaitable[str]]) -> Parts:
    """Return the message as parts: the complete text, then each image that it mentions, once.

    folders: where relative paths start; the first one with such a file counts. A mention of anything but an
    existing image stays text only.
    Raises UsageError for an image that is too large, damaged or unreadable, before anything is stored.
    """
    from ragforge.domain.messages import (  # the prompt needs this module before its first frame
        ImagePart,
        TextPart,
    )

    found = await asyncio.to_thread(lambda: dict(_images(text, folders)))
    if len(found) > IMAGES_MAX:
        raise UsageError(f"{len(found)} images are mentioned; {IMAGES_MAX} can be sent at once. Send fewer.")
    parts: list[Part] = [TextPart(text)]
    for path, (mime, data) in found.items():
        parts.append(ImagePart(await put_blob(data), mime, path.name, len(data), *dimensions(data)))
    return tuple(parts)


def may_be_dropped(paste: str) -> bool:
    """Whether a paste looks like paths, as terminals write them for files dropped on them."""
    start = paste.strip()[:9]
    return len(paste) <= _DROPPED_CHARS_MAX and start.startswith(("/", "~/", "'/", '"/', "file://", "./"))


def mention_of_dropped(paste: str) -> str:
    """Return `@path` words for a paste of image paths only; "" for any other. Reads the disk."""
    paths = [Path(path) for path in _dropped_paths(paste.strip())]
    if not paths or not all(_is_image(path) for path in paths):
        return ""
    return " ".join(mention(str(path)) for path in paths) + " "


def mention(path: str) -> str:
    """Return the path as a mention, quoted if necessary."""
    return f'@"{path}"' if re.search(r"""[\s"'()\[\]]""", path) else f"@{path}"


def check_size(name: str, size: int) -> None:
    """Raise UsageError for an image that is too large to be sent."""
    if size > IMAGE_BYTES_MAX:
        most = IMAGE_BYTES_MAX // 1024 // 1024
        raise UsageError(
            f"{name} has {size / 1024 / 1024:.1f} MB; images up to {most} MB can be sent. "
            "Make it smaller, or remove it from the message."
        )


def attached_words(text: str, folders: Sequence[Path]) -> str:
    """Return what is sent with a text that mentions images, a line each. Reads the disk."""
    images = dict(_images(text, folders)).items()
    return "\n".join(image_words(path.name, len(data), *dimensions(data)) for path, (_, data) in images)


def _images(text: str, folders: Sequence[Path]) -> Iterator[tuple[Path, tuple[str, bytes]]]:
    for match in _MENTION.finditer(text):
        path = _existing(match[1] or match[2], folders, quoted=bool(match[1]))
        if path is None or not (mime := image_mime(_head(path))):
            continue
        try:
            check_size(path.name, path.stat().st_size)
            data = path.read_bytes()
        except OSError as error:
            raise UsageError(f"Cannot read the image {path}: {error.strerror}.") from error
        _check_whole(path.name, mime, data)
        yield path, (mime, data)


def _check_whole(name: str, mime: str, data: bytes) -> None:
    """Raise UsageError for a damaged image: a service would reject it, and each later message with it."""
    if mime in SIZED and not all(dimensions(data)):
        raise UsageError(
            f"{name} is damaged: its width and height cannot be read. Replace it, or remove it from the "
            "message."
        )


def _existing(written: str, folders: Sequence[Path], *, quoted: bool) -> Path | None:
    """Return the file that is meant: the words as they are, else without trailing punctuation."""
    candidates = (written,) if quoted else (written, written.rstrip(".,;:!?)]}'"))
    for candidate, folder in product(candidates, folders):
        try:
            path = (folder / Path(candidate).expanduser()).resolve()
            if candidate and path.is_file():
                return path
        except (OSError, RuntimeError, ValueError):
            # A name too long, without a home, or with a NUL: no file is meant.
            continue
    return None


def _dropped_paths(paste: str) -> list[str]:
    """Return the paths of dropped files as pasted: bare, quoted, with backslashes, as file:// URLs."""
    if "\n" not in paste and _is_image(Path(paste).expanduser()):
        return [str(Path(paste).expanduser())]  # a bare path with spaces
    try:
        words = shlex.split(paste)
    except ValueError:
        return []
    return [
        unquote(urlsplit(word).path) if word.startswith("file://") else str(Path(word).expanduser())
        for word in words
        if word
    ]


def _is_image(path: Path) -> bool:
    try:
        return path.is_file() and bool(image_mime(_head(path)))
    except (OSError, ValueError):
        return False


def _head(path: Path) -> bytes:
    """Return the first bytes, or nothing if it cannot be read (the model's tools then say why)."""
    try:
        with path.open("rb") as file:
            return file.read(16)
    except OSError:
        return b""
