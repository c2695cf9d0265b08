"""What of a project's folder is tracked: its root, and what is excluded from the start."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from ragforge.config.paths import config_dir, data_dir
from ragforge.config.settings import Settings
from ragforge.files.ignore import excludes_file

VCS_NAMES = frozenset((".git", ".hg", ".svn", ".jj", ".bzr"))
"""Version control's own files, anywhere: never read or restored, named only when removed."""

_STAGED = re.compile(r"\.[0-9a-f]+\.ragforge-tmp")
"""Temporary files of ours."""

_FILE_SCHEME = "sqlite://"
_BESIDE_DATABASE = ("", "-wal", "-shm", "-journal")


class TrackRules(Struct, frozen=True):
    """The rules for what is tracked. Made by `track_rules_of`.

    root: links resolved. excludes: the user's git excludes file, if any.
    file_bytes_max: larger files are not tracked.
    own: ragforge's own files in the root (its data, its settings), as paths relative to the root.
    """

    root: Path
    excludes: Path | None
    file_bytes_max: int
    own: frozenset[str] = frozenset()


def track_rules_of(root: Path, settings: Settings, environ: Mapping[str, str]) -> TrackRules | None:
    """Return the rules for the folder; None if it is not tracked.

    Not tracked are the home folder, `/` and other parents of the home, and ragforge's own folders. Asks git
    for its settings, so call it in a thread.
    """
    root = Path(os.path.realpath(root))
    if any(home.is_relative_to(root) for home in _homes(environ)):
        return None
    own = {Path(os.path.realpath(path)) for path in _own_paths(settings, environ)}
    if any(root.is_relative_to(path) for path in own):
        return None
    inside = frozenset(str(path.relative_to(root)) for path in own if path.is_relative_to(root))
    bytes_max = int(settings.history.file_mb_max * 1024 * 1024)
    return TrackRules(root, excludes_file(environ), bytes_max, inside)


def is_version_control(name: str) -> bool:
    """Whether a file or folder of this name is version control's own."""
    return name in VCS_NAMES


def is_own_name(name: str) -> bool:
    """Whether a file or folder of this name is never read: version control's, or a temporary file."""
    return name in VCS_NAMES or (name.endswith(".ragforge-tmp") and _STAGED.fullmatch(name) is not None)


def _homes(environ: Mapping[str, str]) -> Iterator[Path]:
    yield Path("/")
    if home := environ.get("HOME", ""):
        yield Path(os.path.realpath(home))
    try:
        yield Path(os.path.realpath(Path.home()))
    except RuntimeError:  # a user without a home
        return


def _own_paths(settings: Settings, environ: Mapping[str, str]) -> Iterator[Path]:
    yield data_dir(environ)
    yield config_dir(environ)
    if settings.store.startswith(_FILE_SCHEME):
        path = settings.store.removeprefix(_FILE_SCHEME)
        yield from (Path(path + end) for end in _BESIDE_DATABASE)
