"""A tool call in a few words: its subject and its result. Pure functions."""

import re
from collections.abc import Sequence

from ragforge.domain.printable import one_line, printable
from ragforge.domain.turns import CallStatus, ToolCall
from ragforge.domain.versions import Version, files_touched
from ragforge.domain.words import counted
from ragforge.tui.widgets.turn_record import OWN, Called

GLYPHS = {
    None: "…",
    CallStatus.OK: "✓",
    CallStatus.FAILED: "✗",
    CallStatus.DENIED: "⊘",
    CallStatus.INTERRUPTED: "■",
}
FAILED_LINES_SHOWN = 6
_ABOUT = ("command", "pattern", "path", "query", "url", "title", "question")
_EXIT = re.compile(r"\bexit(?:ed)?(?: with)?(?: code| status)?:? (-?\d+)\b", re.IGNORECASE)
_COUNTED = {"read": "line", "grep": "match", "glob": "file", "list": "entry"}


def about(entry: Called) -> str:
    """Return the subject of the call: its path, pattern or command, on one line."""
    if entry.summary:
        return one_line(entry.summary)
    if entry.name == "todo" and entry.call is not None:
        return one_line(entry.call.result.partition("\n")[0])  # how many are done
    args = entry.args
    if entry.name == "skill":
        return one_line(f"{args.get('name', '')} {args.get('file', '')}").rstrip()
    if entry.name == "memory_save" and args.get("content"):
        return one_line(f"{args.get('type', '')}: {args['content']}")
    found = [one_line(str(args[key])) for key in _ABOUT if args.get(key)]
    if found and entry.name == "grep" and args.get("path"):
        return f"{found[0]} in {one_line(str(args['path']))}"
    if found:
        return found[0]
    return one_line(", ".join(f"{key}={value}" for key, value in args.items()))


def outcome(call: ToolCall) -> str:
    """Return the result, e.g. "42 lines", "+3 -1", "exit 1", "denied"; empty if success is all there is."""
    match call.status:
        case CallStatus.DENIED:
            return "denied"
        case CallStatus.INTERRUPTED:
            return "interrupted"
        case CallStatus.FAILED:
            return _exit_words(call.result) or "failed"
        case CallStatus.OK:
            return _success_words(call)


def _success_words(call: ToolCall) -> str:
    if call.diff:
        added, removed = diff_counts(call.diff)
        return f"+{added} -{removed}"
    if call.name in ("shell", OWN):
        return _exit_words(call.result).removeprefix("exit 0")
    if noun := _COUNTED.get(call.name):
        whole = call.result_blob is None
        return counted(count_lines(call.result), noun) if whole else size_words(call.result_chars)
    return counted(count_lines(call.result), "line")


def outcome_lines(call: ToolCall) -> list[str]:
    """Return the user's reason for a refusal, or the end of a failed call's output; else nothing."""
    if call.refusal:
        return [f"You said: {one_line(call.refusal)}"]
    if call.status is not CallStatus.FAILED:
        return []
    said = [line for line in printable(call.result).split("\n") if line.strip()]
    return without_ending(said)[-FAILED_LINES_SHOWN:]


def changed_words(version: Version) -> str:
    """Return what the turn changed in the files, and how to undo it; empty if it changed nothing."""
    if not files_touched(version.changes):
        return ""
    files = counted(files_touched(version.changes), "file")
    added, removed = version.lines_added, version.lines_removed
    # With very many files, lines are not counted.
    lines = f", +{added} -{removed}" if added or removed else ""
    return f"{files} changed{lines} · /undo undoes it"


def without_ending(lines: Sequence[str]) -> list[str]:
    """Return a command's output without the last line on its exit code, which the head shows."""
    if len(lines) > 1 and lines[-1].startswith("[") and _EXIT.search(lines[-1]):
        return list(lines[:-2] if not lines[-2].strip() else lines[:-1])
    return list(lines)


def _exit_words(result: str) -> str:
    """Return the exit code if the first or the last line contains it."""
    lines = result.strip().splitlines()
    for line in (lines[0], lines[-1]) if lines else ():
        if found := _EXIT.search(line):
            return f"exit {found[1]}"
    return ""


def count_lines(text: str) -> int:
    """Count the non-empty lines; the last needs no newline."""
    return sum(1 for line in text.split("\n") if line.strip())


def diff_counts(diff: str) -> tuple[int, int]:
    """Count the lines added and removed by a unified diff, without its headers."""
    added = removed = 0
    in_hunk = False
    for line in diff.split("\n"):
        if line.startswith("@@"):
            in_hunk = True
        elif line.startswith("--- ") and not in_hunk:
            continue
        elif in_hunk:
            added += line.startswith("+")
            removed += line.startswith("-")
    return added, removed


def size_words(chars: int) -> str:
    """Return `840 B`, `12 KB`, `1.2 MB`; one character counts as one byte."""
    if chars < 1000:
        return f"{chars} B"
    if chars < 1_000_000:
        return f"{chars / 1000:.0f} KB"
    return f"{chars / 1_000_000:.1f} MB"


def seconds_words(seconds: float) -> str:
    """Return `0 s`, `12 s`, `2 m 5 s`."""
    whole = int(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} m {whole % 60} s"


def time_words(ms: float) -> str:
    """Return `35 ms`, `1.2 s`, `2 m 5 s`."""
    if ms < 1000:
        return f"{ms:.0f} ms"
    if ms < 60_000:
        seconds = ms / 1000
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, seconds = divmod(round(ms / 1000), 60)
    return f"{minutes} m {seconds} s"
