"""The Java installations of this machine, for servers that run on some versions of it only."""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

USUAL_PLACES = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
)


@dataclass(frozen=True, slots=True)
class Java:
    home: Path
    major: int
    build: str = ""
    """What tells it from every other Java: the file in which it describes itself."""

    @property
    def command(self) -> Path:
        return self.home / "bin" / "java"


def installed(environ: Mapping[str, str], places: Iterable[str] = USUAL_PLACES) -> list[Java]:
    """Every one that is found: JAVA_HOME's, the PATH's, then those in the usual places, each once."""
    found: dict[Path, Java] = {}
    for home in _homes(environ, places):
        java = _java_in(home.resolve())
        if java is not None:
            found.setdefault(java.home, java)
    return list(found.values())


def suitable(majors: Iterable[int], javas: Iterable[Java]) -> Java | None:
    """The first of them that is of one of these versions."""
    wanted = set(majors)
    return next((java for java in javas if java.major in wanted), None)


def _homes(environ: Mapping[str, str], places: Iterable[str]) -> Iterator[Path]:
    if home := environ.get("JAVA_HOME"):
        yield Path(home)
    if command := shutil.which("java", path=environ.get("PATH", "")):
        yield Path(command).resolve().parents[1]
    for place in places:
        pattern = Path(place).expanduser()
        root = Path(pattern.anchor)
        yield from sorted(root.glob(str(pattern.relative_to(root))))


def _java_in(home: Path) -> Java | None:
    """What is installed there; None where nothing is, as behind macOS's /usr/bin/java.

    The version is read, not asked for: every Java since 9 says it in its file `release`, and starting a
    handful of Javas takes seconds.
    """
    try:
        release = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    version = re.search(r'^JAVA_VERSION="(\d+)', release, re.MULTILINE)
    java = Java(home, int(version[1]), release) if version else None
    return java if java and os.access(java.command, os.X_OK) else None
