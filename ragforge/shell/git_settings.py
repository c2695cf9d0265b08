"""Whether git, asked to show something, would run a program that a repository's own settings name.

A folder from an archive, or one that others can write to, brings its `.git`: filters, textconv programs,
a hook for index refreshes, the settings of its submodules.
"""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ragforge.config.repository import foreign_repository
from ragforge.domain import timeouts

SUBMODULES_MAX = 50
HOOK = "post-index-change"
"""The hook of commands that only show; `git diff` refreshes the index, whatever its flags."""

# The system's and the user's own settings are trusted.
_TRUSTED = frozenset(("system", "global", "command"))
_RUNS = re.compile(
    r"diff\.(external|submodule|.+\.(command|textconv))|filter\..+\.(clean|smudge|process)"
    # Missing objects are fetched, by programs that more settings name.
    r"|gpg\.(program|.+\.program)|remote\..+\.promisor|extensions\.partialclone",
    re.IGNORECASE | re.DOTALL,
)
_NEEDS = frozenset(("HOME", "XDG_CONFIG_HOME", "TMPDIR"))
_SAFE_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "safe.bareRepository=explicit", "--no-optional-locks")


def find_danger(folder: Path, root: Path) -> str:
    """Return what would make git run a program in this folder, or read outside root; empty for nothing."""
    found = _find(folder, root, os.environ, is_submodule=False)
    return found if found.isprintable() else repr(found)


def _find(folder: Path, root: Path, env: Mapping[str, str], *, is_submodule: bool) -> str:
    settings = _ask(folder, env, "config", "--list", "-z", "--show-scope")
    if settings is None:
        return "settings that cannot be read"
    moved = False
    for scope, setting in zip(*[iter(settings.split("\0"))] * 2, strict=False):
        name, _, value = setting.partition("\n")
        if scope in _TRUSTED:
            continue
        if _RUNS.fullmatch(name):
            return name
        if is_submodule and name == "core.fsmonitor" and value not in {"true", "false"}:
            return name  # what we set for commands does not reach submodules
        moved |= name == "core.worktree"
    hook = _ask(folder, env, "rev-parse", "--git-path", f"hooks/{HOOK}")
    if hook is None:
        return ""  # no repository
    if (folder / hook.removesuffix("\n")).exists():
        return HOOK
    top = _ask(folder, env, "rev-parse", "--show-toplevel")
    if top is None:
        return ""
    top_folder = Path(os.path.realpath(top.removesuffix("\n")))
    if moved and not top_folder.is_relative_to(root):
        return "core.worktree"
    return _find_in_submodules(top_folder, root, env)


def _find_in_submodules(top: Path, root: Path, env: Mapping[str, str]) -> str:
    entries = _ask(top, env, "ls-files", "--stage", "-z")
    if entries is None:
        return "an index that cannot be read"
    names = [entry.partition("\t")[2] for entry in entries.split("\0") if entry.startswith("160000 ")]
    present = [top / name for name in names if (top / name / ".git").exists()]
    if len(present) > SUBMODULES_MAX:
        return "more submodules than can be looked at"
    if stranger := next((each for each in present if foreign_repository(each)), None):
        return f"a repository elsewhere that {stranger.relative_to(top)} leads to"
    return next((found for each in present if (found := _find(each, root, env, is_submodule=True))), "")


def _ask(folder: Path, env: Mapping[str, str], *args: str) -> str | None:
    """Return git's output; None if it fails."""
    path = ":".join(each for each in env.get("PATH", os.defpath).split(":") if each.startswith("/"))
    quiet = {"PATH": path, "GIT_ALLOW_PROTOCOL": "none", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            [*_SAFE_GIT, *args],
            cwd=folder,
            env={name: env[name] for name in env if name in _NEEDS or name.startswith("GIT_")} | quiet,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeouts.GIT_S_MAX,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return os.fsdecode(done.stdout) if done.returncode == 0 else None
