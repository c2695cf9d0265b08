"""`@path` in messages."""

import hashlib
from pathlib import Path

import pytest

from ragforge.domain.errors import UsageError
from ragforge.domain.messages import ImagePart, TextPart, parts_from_json, parts_to_json
from ragforge.files.images import dimensions, image_mime, image_words
from ragforge.tui import mentions
from ragforge.tui.mentions import parts_of

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x05\0\0\0\x02\xd0" + b"\0" * 8
JPEG = b"\xff\xd8\xff\xc0\0\x0b\x08\x02\xd0\x05\0" + b"\0" * 4


class Kept:
    """Stands for the blob store."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}

    async def put(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return digest


async def test_a_mentioned_image_becomes_a_part_and_the_text_stays_whole(tmp_path: Path):
    (tmp_path / "shot.png").write_bytes(PNG)
    kept = Kept()
    text = "what is wrong in @shot.png, please?"
    parts = await parts_of(text, (tmp_path,), kept.put)
    digest = hashlib.sha256(PNG).hexdigest()
    assert parts == (TextPart(text), ImagePart(digest, "image/png", "shot.png", len(PNG), 1280, 720))
    assert kept.blobs == {digest: PNG}


async def test_the_kind_is_told_by_the_content_not_the_name(tmp_path: Path):
    (tmp_path / "a.png").write_bytes(JPEG)
    (tmp_path / "b.png").write_text("no image")
    parts = await parts_of("@a.png @b.png", (tmp_path,), Kept().put)
    assert [part.mime for part in parts if isinstance(part, ImagePart)] == ["image/jpeg"]


async def test_quoted_absolute_and_repeated_mentions(tmp_path: Path):
    shot = tmp_path / "my shot.png"
    shot.write_bytes(PNG)
    text = f'@"my shot.png" and again @"{shot}" and (@"my shot.png")'
    parts = await parts_of(text, (tmp_path,), Kept().put)
    assert len(parts) == 2


@pytest.mark.parametrize(
    "text",
    ["", "nobody@shot.png", "@missing.png", "@.", "@", '@"', "@~nobodyatall/x.png", "@" + "x" * 5000, "@\0"],
)
async def test_what_mentions_no_image_stays_text(text: str, tmp_path: Path):
    (tmp_path / "shot.png").write_bytes(PNG)
    assert await parts_of(text, (tmp_path,), Kept().put) == (TextPart(text),)


@pytest.mark.parametrize("content", [PNG[:8], PNG[:20], JPEG[:9], b"GIF89a\0", b"RIFF\0\0\0\0WEBPVP8 "])
async def test_a_damaged_image_is_refused_before_anything_is_kept(tmp_path: Path, content: bytes):
    """A service refuses it, and then every message after it too."""
    (tmp_path / "shot.png").write_bytes(content)
    kept = Kept()
    with pytest.raises(UsageError, match=r"shot\.png is damaged: its width and height cannot be read"):
        await parts_of("what is in @shot.png?", (tmp_path,), kept.put)
    assert not kept.blobs


async def test_an_image_that_is_too_large_is_refused_before_anything_is_kept(tmp_path: Path):
    (tmp_path / "small.png").write_bytes(PNG)
    with (tmp_path / "huge.png").open("wb") as file:
        file.write(PNG)
        file.truncate(mentions.IMAGE_BYTES_MAX + 1)
    kept = Kept()
    with pytest.raises(UsageError, match=r"huge\.png has 15\.0 MB; images up to 15 MB"):
        await parts_of("@small.png @huge.png", (tmp_path,), kept.put)
    assert kept.blobs == {}


@pytest.mark.parametrize(
    ("head", "mime"),
    [
        (PNG, "image/png"),
        (JPEG, "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\0\0\0\0WAVE", ""),
        (b"\0\0\0\x18ftypheic", "image/heic"),
        (b"", ""),
    ],
)
def test_signatures(head: bytes, mime: str):
    assert image_mime(head) == mime


JPEG_HEAD = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xc4\x00\x03x"


@pytest.mark.parametrize(
    ("content", "size"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x05\0\0\0\x02\xd0", (1280, 720)),
        (b"GIF89a\x05\0\x02\x01", (5, 258)),
        (JPEG_HEAD + b"\xff\xc2\x00\x11\x08\x02\xd0\x05\x00rest", (1280, 720)),
        (b"RIFF\0\0\0\0WEBPVP8 " + bytes(10) + b"\x05\x40\x03\x40", (5, 3)),
        (b"RIFF\0\0\0\0WEBPVP8L" + bytes(5) + b"\x04\x80\x00\x00" + bytes(5), (5, 3)),
        (b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + b"\x04\0\0\x02\0\0", (5, 3)),
        (JPEG_HEAD, (0, 0)),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 20, (0, 0)),
        (b"\xff\xd8\xff" * 1000, (0, 0)),
        (b"no image at all, but long enough", (0, 0)),
    ],
    ids=["png", "gif", "jpeg", "webp", "webp lossless", "webp extended", "cut", "no head", "fill", "text"],
)
def test_an_image_says_its_own_size(content: bytes, size: tuple[int, int]):
    assert dimensions(content) == size
    for end in range(len(content)):
        dimensions(content[:end])  # cut off anywhere, it is only unknown


def test_an_image_is_a_line_with_what_is_known_and_keeps_it_in_the_store():
    assert image_words("a\nb.png", 2048, 1280, 720) == "a b.png · 1280×720 · 2.0 KB"
    assert image_words("b.png", 0, 0, 0) == "b.png"
    parts = (
        TextPart("x"),
        ImagePart("12", "image/png", "b.png", 2048, 1280, 720),
        ImagePart("12", "image/png"),
    )
    assert parts_from_json(parts_to_json(parts)) == parts
