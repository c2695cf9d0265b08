"""Images by their bytes: their type and size."""

from collections.abc import Iterator

from ragforge.domain.printable import one_line
from ragforge.files.open import size as shown_size

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
SIZED = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Types whose size is read."""
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of a frame, which has the size. The three left out are tables and an extension."""
_JPEG_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})
"""Markers with nothing behind them."""


def image_mime(head: bytes) -> str:
    """Return the MIME type by the first bytes (16 are enough), or "" for anything else."""
    for signature, mime in _SIGNATURES:
        if head.startswith(signature):
            return mime
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if head[4:8] == b"ftyp" and head[8:12] in (b"heic", b"heix", b"mif1"):
        return "image/heic"
    return ""


def image_type(content: bytes) -> str:
    """Return the MIME type of an image that every model sees, or "" for anything else."""
    mime = image_mime(content)
    return "" if mime == "image/heic" else mime


def dimensions(content: bytes) -> tuple[int, int]:
    """Return width and height in pixels, as stored in the image; (0, 0) if they cannot be read."""
    match image_mime(content):
        case "image/png" if content[12:16] == b"IHDR" and len(content) >= 24:
            return _big(content[16:20]), _big(content[20:24])
        case "image/gif" if len(content) >= 10:
            return _little(content[6:8]), _little(content[8:10])
        case "image/jpeg":
            return next(_jpeg_sizes(content), (0, 0))
        case "image/webp" if len(content) >= 30:
            return _webp_size(content)
        case _:
            return 0, 0


def image_words(name: str, size: int, width: int, height: int) -> str:
    """Return an image as a line, such as `shot.png · 1280×720 · 240.0 KB`, without values that are 0."""
    pixels = f"{width}×{height}" if width and height else ""
    return " · ".join(filter(None, (one_line(name), pixels, shown_size(size) if size else "")))


def _jpeg_sizes(content: bytes) -> Iterator[tuple[int, int]]:
    """ITU T.81, annex B: segments, each a marker and its length, until the frame."""
    at = 2
    while at + 9 <= len(content) and content[at] == 0xFF:
        marker = content[at + 1]
        if marker in _JPEG_FRAMES:
            yield _big(content[at + 7 : at + 9]), _big(content[at + 5 : at + 7])
        if marker == 0xFF:  # fill bytes may come before a marker
            at += 1
        elif marker in _JPEG_ALONE:
            at += 2
        else:
            at += 2 + max(2, _big(content[at + 2 : at + 4]))


def _webp_size(content: bytes) -> tuple[int, int]:
    """RFC 9649: lossy, lossless and extended files have it in different places."""
    match content[12:16]:
        case b"VP8 ":
            return _little(content[26:28]) & 0x3FFF, _little(content[28:30]) & 0x3FFF
        case b"VP8L":
            bits = _little(content[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return _little(content[24:27]) + 1, _little(content[27:30]) + 1
        case _:
            return 0, 0


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")
