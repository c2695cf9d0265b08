"""Which parts of a message the user pasted rather than wrote: they do not express the user's will."""

import re

from ragforge.memory.sentences import prose

LINES_MIN = 3
"""The minimum number of lines in a block after another one that are seldom typed."""
LINE_CHARS_MAX = 200
"""The number of characters from the beginning of a line that show what it is."""
LIST_MIN = 3
"""The minimum number of items of a copied list; two are quickly typed."""
CODE_SHARE = 0.5
"""The minimum share of lines that are no prose in a block that is pasted as a whole."""

_ITEM = re.compile(r"[ \t]*(?:[-*•+]|\d{1,3}[.)]|\[[ x]\])[ \t]+\S")
_HEADING = re.compile(r"[ \t]*(?:#{1,6} \S|={3,}|-{3,}|\*{3,}|\[[\w. -]+\]\s*$)")
# What a program or a mail client writes at the beginning or the end of a line, and nobody in a sentence.
_CODE = re.compile(
    r"[ \t]*(?:[{}\[\]();]|//|/\*|\*/|<\w|</|<\?|;|--\s|\w+\s*=\s*\S|[\w.-]+:\s*\S+$|"
    r"(?:def|class|function|import|from|return|public|private|static|const|let|var|select|insert|update|if|for|"
    r"while|fi|end|done)\b.*[;:{}()]\s*$|\d+[:.)]?\s+[\d.]+|\S*/\S+:\d+|[A-Z]{3,}\b.*:|at \S+\()"
    r"|.*[{};\\]\s*$|.*\b\w+\(.*\)\s*[:{;]?\s*$|.*(?:->|=>|==|!=|&&|\|\|)"
    r"|[^ ]*[._/:][^ ]*(?:\s+[^ ]*[._/:\d][^ ]*)+\s*$|\s*(?:[\d.,:%-]+\s+)+[\d.,:%-]*\s*$"
)
_LOG = re.compile(r"[ \t]*(?:\S+[ \t]+){0,2}\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
"""How a program begins a line: the time to the minute, at most after a level and a name."""
_PROGRAM = re.compile(
    r"[ \t]*(?:npm (?:WARN|ERR!?|warn|error)\b|"
    r"(?:error|warning|fatal|panic|FAIL|ERROR|WARN(?:ING)?|E|W)(?:\[\w+\])?: |"
    r"[\w.-]+\[\d+\]: |#\d+ \d+\.\d+ |CREATE (?:TABLE|INDEX)\b|Traceback\b)"
)
"""How programs begin a message: a level, or their name with the number of the process."""
_SPEAKER = re.compile(r"\s*(?:\[[\d:. -]+\]\s*)?[A-Z][\w.-]{1,20}(?: [A-Z][\w.-]{1,20})?\s*:\s+\S")
_LETTER = re.compile(
    r"\s*(?:dear|hi|hello|hey|bonjour|salut|cher|chère|madame|monsieur|best|regards|cheers|cordialement)\b"
    r"[\w\s.-]{0,30},?\s*$",
    re.IGNORECASE,
)


def own_words(text: str) -> str:
    """Return the message without what was pasted into it: code, logs, quotations, lists, headings, letters,
    and what a colon announces or what continues for some lines after the user's own."""
    said = "\n".join(
        line for line in prose(text).split("\n") if not (_LOG.match(line) or _PROGRAM.match(line))
    )
    blocks = [block for block in re.split(r"\n[ \t]*\n", said) if block.strip()]
    kept: list[str] = []
    pasting = announced = False
    for block in blocks:
        lines = [line for line in block.splitlines() if line.strip()]
        goes_on = pasting and kept and not _is_comment(lines)
        behind = kept or len(lines) > 1
        if announced or goes_on or (behind and _is_foreign(lines)) or (kept and len(lines) >= LINES_MIN):
            pasting, announced = True, False
            continue
        own = _before_paste(lines)
        pasting = len(own) < len(lines)
        announced = not pasting and own[-1].rstrip().endswith(":")
        kept.append("\n".join(own))
    return "\n\n".join(kept)


def _before_paste(lines: list[str]) -> list[str]:
    """Return the lines up to one that announces more than a line, or foreign text; without lines of code."""
    for at, line in enumerate(lines[:-1], 1):
        rest = lines[at:]
        if line.rstrip().endswith(":") and (len(rest) > 1 or _is_code(rest[0])):
            return lines[:at]
    return [line for line in lines if not _is_code(line)] if len(lines) > 1 else lines


def _is_comment(lines: list[str]) -> bool:
    """Whether it is the user who speaks again after what was pasted."""
    only = lines[0].strip()
    return len(lines) == 1 and not _is_code(only) and (only.endswith("?") or only[0].islower())


def _is_foreign(lines: list[str]) -> bool:
    """Whether the lines, by their form, were written by a program or for somebody else."""
    items = sum(_ITEM.match(line) is not None for line in lines)
    if items >= LIST_MIN or any(_HEADING.match(line) for line in lines) or _is_letter(lines):
        return True
    if len(lines) > 1 and sum(_SPEAKER.match(line) is not None for line in lines) > len(lines) / 2:
        return True
    if lines[0].rstrip().endswith(":") and len(lines) > 1 and not _is_code(lines[0]):
        return False  # it announces what follows it, which is cut off there
    return sum(map(_is_code, lines)) >= CODE_SHARE * len(lines)


def _is_letter(lines: list[str]) -> bool:
    return len(lines) > 1 and (_LETTER.match(lines[0]) is not None or _LETTER.match(lines[-1]) is not None)


def _is_code(line: str) -> bool:
    return _CODE.match(line[:LINE_CHARS_MAX]) is not None
