"""Show a text conflict to a model, and check whether its answer can be used."""

import re
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from ragforge.domain.errors import UsageError
from ragforge.domain.printable import escaped
from ragforge.domain.redact import Redactor
from ragforge.files.diffs import unified
from ragforge.files.text import TextFile, decode, encode, to_newline
from ragforge.store.base import Blobs
from ragforge.versions.merge.diff3 import Agreed, Clash, Part, marked, merged_parts
from ragforge.versions.merge.three_way import MergeConflict

CHARS_MAX = 200_000
"""Of base, ours and theirs together: about 60,000 tokens, so that a model can still answer in full."""
AGREED_LINES_MIN = 10
AGREED_KEPT_MIN = 0.8
"""The share of lines common to both sides that an answer must keep; with fewer, the file was shortened."""

_MARKER = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?: .*)?$", re.MULTILINE)


class NotAsked(Exception):
    """A conflict that no model is asked about; `str()` says why, in a few words."""


class NotUsable(Exception):
    """The model's answer cannot be used; `str()` says why, in a few words."""


class Texts(Struct, frozen=True):
    """A conflict whose sides are texts. base: None if both added the file.

    parts: without the byte order mark, which the result gets back.
    """

    path: str
    base: TextFile | None
    ours: TextFile
    theirs: TextFile
    parts: tuple[Part, ...]

    @property
    def clashes(self) -> list[Clash]:
        """The conflicts between markers, in order."""
        return [part for part in self.parts if isinstance(part, Clash)]

    @property
    def mixes_endings(self) -> bool:
        """Whether ours has both LF and CRLF, some of which would change if the file were rewritten."""
        return 0 < self.ours.text.count("\r\n") < self.ours.text.count("\n")

    def numbered(self) -> str:
        """The file with its conflicts, each marker numbered; LF for all line endings."""
        pieces: list[bytes] = []
        number = 0
        for part in self.parts:
            if isinstance(part, Agreed):
                pieces.append(part.content)
            else:
                number += 1
                pieces.append(marked(part, (f"ours {number}", f"theirs {number}")))
        return _plain(self._decoded(b"".join(pieces)))

    def change(self, new: TextFile | str) -> str:
        """Return the diff from the base."""
        text = new if isinstance(new, str) else new.text
        return unified(self.base.text if self.base else None, text, self.path)

    def text_of(self, content: bytes) -> str:
        """Return the text of a result."""
        return self._decoded(content.removeprefix(self.ours.mark))

    def with_resolutions(self, replacements: Sequence[Sequence[str]]) -> bytes:
        """Return the file with these lines in place of each conflict. Raises NotUsable."""
        pieces: list[bytes] = []
        left = iter(replacements)
        for part in self.parts:
            if isinstance(part, Agreed):
                pieces.append(part.content)
                continue
            newline = part.newline.decode("ascii")
            lines = [line for text in next(left) for line in _plain(text).removesuffix("\n").split("\n")]
            written = self._encoded("".join(line + newline for line in lines))
            is_last = part is self.parts[-1]
            ends = [side.endswith(b"\n") for side in (part.ours, part.theirs) if side]
            pieces.append(written.removesuffix(part.newline) if is_last and not any(ends) else written)
        content = b"".join(pieces)
        self._check(content)
        return self.ours.mark + content

    def with_content(self, text: str) -> bytes:
        """Return the whole file as the model wrote it, in our encoding and line endings. Raises
        NotUsable."""
        plain = _plain(text)
        ends = self.ours.text.endswith("\n") or self.theirs.text.endswith("\n")
        plain = plain.removesuffix("\n") + "\n" * (ends and bool(plain))
        content = self._encoded(to_newline(plain, self.ours.newline))
        self._check(content)
        agreed = [
            line
            for part in self.parts
            if isinstance(part, Agreed)
            for line in part.content.splitlines()
            if line.strip()
        ]
        kept = (Counter(agreed) & Counter(content.splitlines())).total()
        if len(agreed) >= AGREED_LINES_MIN and kept < AGREED_KEPT_MIN * len(agreed):
            raise NotUsable(f"of {len(agreed)} lines that both sides have it keeps {kept}")
        return self.ours.mark + content

    def _check(self, content: bytes) -> None:
        text = self._decoded(content)
        known = {*_markers(self.ours.text), *_markers(self.theirs.text)}
        if any(marker not in known for marker in _markers(text)):
            raise NotUsable("conflict markers are left in it")
        if not text.strip() and self.ours.text.strip() and self.theirs.text.strip():
            raise NotUsable("it is empty, but neither side was")

    def _encoded(self, text: str) -> bytes:
        try:
            return encode(text, TextFile("", self.ours.encoding))
        except (UsageError, UnicodeError) as error:
            raise NotUsable(f"the file's encoding, {self.ours.encoding}, cannot hold it") from error

    def _decoded(self, content: bytes) -> str:
        return content.decode(self.ours.encoding, "replace")


async def texts_of(conflict: MergeConflict, blobs: Blobs, redactor: Redactor) -> Texts:
    """Return the conflict's texts. Raises NotAsked if no model is asked about it, StoreError.

    Text with a secret is not sent, and text in which one was hidden cannot be merged.
    """
    if conflict.text is None or not conflict.clashes or conflict.ours is None or conflict.theirs is None:
        raise NotAsked(f"{conflict.kind}: this needs your decision")
    nodes = (conflict.base, conflict.ours, conflict.theirs)
    base, ours, theirs = [await blobs.get(node.digest) if node else None for node in nodes]
    before, mine, yours = decode(base or b""), decode(ours or b""), decode(theirs or b"")
    if before is None or mine is None or yours is None:
        raise NotAsked("it is not text")
    if (mine.encoding, mine.mark) != (yours.encoding, yours.mark):
        raise NotAsked(f"the sides are written in {mine.encoding} and {yours.encoding}")
    texts = [file.text for file in (before, mine, yours)]
    if sum(map(len, texts)) > CHARS_MAX:
        raise NotAsked("it is too long to send")
    if any(redactor.text(text) != text for text in texts):
        raise NotAsked("it seems to contain a secret, which is not sent")
    contents = [
        (content or b"").removeprefix(file.mark)
        for content, file in ((base, before), (ours, mine), (theirs, yours))
    ]
    parts = tuple(merged_parts(*contents))
    return Texts(escaped(conflict.target), before if conflict.base else None, mine, yours, parts)


def _markers(text: str) -> list[str]:
    return _MARKER.findall(_plain(text))


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")
