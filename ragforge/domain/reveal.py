"""Show text that needs consent with every character visible: the invisible and look-alikes are escaped.

Stricter than `printable`, which accepts ordinary prose in any language. `<U+200B>` and the like also replace
joiners, soft hyphens, variation selectors, tag characters, unusual blanks and combining marks, and follow
letters that are easily mistaken for others.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from ragforge.domain.words import counted

TAB = "→"
TRAILING_BLANK = "·"

# Default ignorable in Unicode, though no control, format or unassigned character; the Braille pattern
# without dots, and the notehead that is not drawn.
_IGNORABLE = frozenset(
    map(
        chr,
        (
            *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
            0x1D159,
            *(*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),
        ),
    )
)
_HIDDEN_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"))
_SCRIPTS = (
    *("LATIN", "CYRILLIC", "GREEK", "COPTIC", "ARMENIAN", "CHEROKEE"),
    *("CANADIAN", "DESERET", "TIFINAGH", "OSAGE"),
)
"""Scripts with letters that look like those of another one of them."""
_LIKE_LATIN = frozenset("асеорхуіјѕһԁԛԝӏАВЕКМНОРСТХУІЈЅοανικρυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")
_SIGNS = frozenset("‐‑−⁄∕⧸ꞏ∶․ǃ˗⁃꞉ːǀ∣⏐˂˃ᐸᐳꓸꓹꓼꓽ∗⁎╱⟋∖⧵∼׀│￨⎸ˋ")
"""Look like a sign with a meaning in a shell or a path."""
_DRAWING = re.compile(r"^[^\w\n]*[\u2500-\u257f].*", re.MULTILINE)
"""A line of a table or a tree, where a vertical line is no look-alike of a pipe."""
_PHONETIC = frozenset("ɑɡɩɪɴʀʏʟɢʜꞁƖꜱꝛ") | frozenset(map(chr, range(0x1D00, 0x1D23)))
"""Latin letters that no language but phonetics writes, drawn like those of all."""
_LIGATURES = frozenset("ﬀﬁﬂﬃﬄﬅﬆ")
_UNUSUAL = re.compile("[^\t\n -~]")
_WORD = re.compile(r"[^\W_]+")


class Revealed(Struct, frozen=True):
    """One line as it is drawn. marks: where something is escaped, as pairs of offsets."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


def reveal_lines(text: str) -> list[Revealed]:
    """Return the lines, which end at newlines only. Tabs become arrows, trailing blanks dots."""
    alike = _look_alikes(text)
    start, lines = 0, list[Revealed]()
    for line in text.split("\n"):
        lines.append(_reveal(line, start, alike))
        start += len(line) + 1
    return lines


def spelled_out(text: str) -> str:
    """Return the text for reading: as `reveal_lines`, but tabs and blanks stay, and CRLF is a newline."""
    text = text.replace("\r\n", "\n")
    if not _UNUSUAL.search(text):
        return text
    alike = _look_alikes(text)
    return "".join(
        char if char in "\n\t" else _drawn(char, is_alike=at in alike) for at, char in enumerate(text)
    )


def oddities(text: str) -> tuple[str, ...]:
    """Return what is escaped in the text, such as "2 invisible characters"; empty for nothing."""
    hidden = sum(_is_hidden(found[0]) for found in _UNUSUAL.finditer(text))
    alike = len(_look_alikes(text))
    found = ((hidden, "invisible character"), (alike, "look-alike letter"))
    return tuple(counted(count, what) for count, what in found if count)


def _reveal(line: str, start: int, alike: frozenset[int]) -> Revealed:
    """start: where the line starts in the text whose look-alikes are known."""
    if line.isascii() and line.isprintable() and not line.endswith(" "):
        return Revealed(line)
    end = len(line.rstrip(" "))
    pieces, marks, at = list[str](), list[tuple[int, int]](), 0
    for offset, char in enumerate(line):
        drawn = TRAILING_BLANK if offset >= end else _drawn(char, is_alike=start + offset in alike)
        if drawn != char:
            marks.append((at + (drawn[0] == char), at + len(drawn)))
        pieces.append(drawn)
        at += len(drawn)
    return Revealed("".join(pieces), tuple(marks))


def _drawn(char: str, *, is_alike: bool) -> str:
    if char == "\t":
        return f"{TAB}   "
    if _is_hidden(char):
        return _escape(char)
    return f"{char}{_escape(char)}" if is_alike else char


def _escape(char: str) -> str:
    return f"<U+{ord(char):04X}>"


@lru_cache(4096)
def _is_hidden(char: str) -> bool:
    if " " <= char <= "~":
        return False
    return (
        unicodedata.category(char) in _HIDDEN_CATEGORIES
        or char in _IGNORABLE
        or unicodedata.name(char, "").startswith("COMBINING ")
    )


def _look_alikes(text: str) -> frozenset[int]:
    """Return the offsets of letters and signs that look like others."""
    if text.isascii():
        return frozenset()
    found = {
        match.start()
        for match in _UNUSUAL.finditer(text)
        if _is_alike_ascii(match[0]) or _is_mark_on_ascii(text, match.start())
    }
    for line in _DRAWING.finditer(text):
        found.difference_update(at for at, char in enumerate(line[0], line.start()) if char == "│")
    foreign: dict[str, list[int]] = {}
    for match in _WORD.finditer(text):
        word = match[0]
        if word.isascii():
            continue
        scripts = {script: list(at) for script, at in _by_script(word, match.start())}
        if len(scripts) > 1:
            own = "LATIN" if "LATIN" in scripts else min(scripts, key=lambda script: scripts[script][0])
            found.update(at for script, places in scripts.items() if script != own for at in places)
        for script, places in scripts.items():
            if script != "LATIN":
                foreign.setdefault(script, []).extend(places)
    # A word in another script alone is ordinary, unless all its letters read as Latin.
    for places in foreign.values():
        if all(text[at] in _LIKE_LATIN for at in places):
            found.update(places)
    return frozenset(found)


def _by_script(word: str, start: int) -> Iterator[tuple[str, list[int]]]:
    places: dict[str, list[int]] = {}
    for at, char in enumerate(word, start):
        if script := _script(char):
            places.setdefault(script, []).append(at)
    yield from places.items()


@lru_cache(4096)
def _script(char: str) -> str:
    """Return the script of a letter, if it has look-alikes."""
    name = unicodedata.name(char, "").partition(" ")[0]
    return name if name in _SCRIPTS and char.isalpha() else ""


def _is_mark_on_ascii(text: str, at: int) -> bool:
    """Is it a mark of another script, such as a Hebrew point, on a letter or sign of ASCII?"""
    return (
        at > 0
        and text[at - 1].isascii()
        and unicodedata.category(text[at]) in ("Mn", "Me")
        and not _is_hidden(text[at])
    )


@lru_cache(4096)
def _is_alike_ascii(char: str) -> bool:
    """Whether it is a variant of one ASCII character, such as a mathematical `r` or a Greek question mark."""
    if (
        char in _SIGNS
        or char in _PHONETIC
        or char in _LIGATURES
        or unicodedata.name(char, "").startswith("LISU LETTER ")
    ):
        return True
    form, _, code = unicodedata.decomposition(char).rpartition(" ")
    if form not in ("", "<font>", "<wide>", "<compat>", "<small>", "<vertical>") or not code:
        return False
    plain = chr(int(code, 16))
    # Chinese and Japanese text is written with wide punctuation.
    return "!" <= plain <= "~" and (form != "<wide>" or plain.isalnum())
