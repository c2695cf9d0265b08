"""How quickly secrets are removed from text, and how often something harmless is removed too.

False hits are counted on this repository without its tests, on the standard library with and without its
tests, on the installed packages, on lock files and on this machine's logs: the goal is at most 1 line in
20,000. The time is that of a megabyte of sources as a multiple of what one regular expression takes for it,
and that of hostile lines of a megabyte as a multiple of the sources'.
Run: python benchmarks/redacting.py [SAMPLE], which reads 1 of this many files (3).
"""

import re
import sys
import sysconfig
import time
from collections.abc import Iterable
from pathlib import Path

from ragforge.domain.redact import without_patterns

SAMPLE = int(sys.argv[1]) if len(sys.argv) > 1 else 3
ROOT = Path(__file__).parents[1]
SHOWN_MAX = 5
HOSTILE = ("a", "pass", "password=", "key: ", "token ", "secret is ", "eyJ", "://a:", "=")
BYTES = 1_000_000


def sources() -> dict[str, Iterable[Path]]:
    library = Path(sysconfig.get_path("stdlib"))
    own = [
        path
        for path in ROOT.rglob("*")
        if path.suffix in (".py", ".md", ".toml", ".cypher", ".jsonl", ".svg")
    ]
    python = [path for path in library.rglob("*.py") if "site-packages" not in path.parts]
    return {
        "this repository": [path for path in own if not {".venv", "tests"} & set(path.parts)],
        "standard library": [path for path in python if "test" not in path.parts],
        "its tests": [path for path in python if "test" in path.parts],
        "packages": list(Path(sysconfig.get_path("purelib")).rglob("*.py")),
        "lock files": [path for path in (ROOT / "requirements").rglob("*") if path.is_file()],
        "logs": [path for path in Path("/var/log").rglob("*") if path.is_file()],
    }


def changed_lines(text: str, shown: str) -> list[str]:
    before, after = text.split("\n"), shown.split("\n")
    if len(before) != len(after):
        return ["(several lines)"]
    return [line.strip() for line, other in zip(before, after, strict=True) if line != other]


def took_s(text: str) -> float:
    started = time.thread_time()
    without_patterns(text)
    return time.thread_time() - started


def false_hits() -> str:
    """Print the table; return the sources, for the measurement of time."""
    print(f"{'files':<18}{'lines':>10}{'hits':>6}{'1 in':>10}")
    kept = ""
    for name, paths in sources().items():
        lines, hits = 0, list[str]()
        for path in sorted(paths)[:: 1 if name == "this repository" else SAMPLE]:
            try:
                text = path.read_text("utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            lines += text.count("\n")
            hits += changed_lines(text, without_patterns(text))
            kept += text if name == "standard library" and len(kept) < BYTES else ""
        print(f"{name:<18}{lines:>10,}{len(hits):>6}{lines // max(1, len(hits)):>10,}")
        for line in hits[:SHOWN_MAX]:
            print(f"    {line[:110]}")
    return kept[:BYTES]


def main() -> None:
    text = false_hits()
    took_s(text)
    plain = min(_plain_s(text) for _ in range(3))
    ours = min(took_s(text) for _ in range(3))
    print(f"\na megabyte of sources: {ours * 1000:.0f} ms, {ours / plain:.1f} times one expression")
    for piece in HOSTILE:
        hostile = took_s(piece * (BYTES // len(piece)))
        half = took_s(piece * (BYTES // len(piece) // 2))
        print(
            f"1 MB of {piece!r:<14} {hostile / ours:>5.1f} times the sources, {hostile / half:.1f} its half"
        )


def _plain_s(text: str) -> float:
    started = time.thread_time()
    sum(1 for _ in re.finditer(r"(?i)passw|secret|token|api_key", text))
    return time.thread_time() - started


if __name__ == "__main__":
    main()
