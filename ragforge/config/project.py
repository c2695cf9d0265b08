"""The project's folder, its branch, and what distinguishes it from other projects.

A cloned repository is not trusted: git is called without anything that its configuration could make it run.
"""

import os
import re
import subprocess
import time
from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec import Struct

from ragforge.config.repository import foreign_repositories, git_dir
from ragforge.domain import timeouts

_HEAD_BYTES_MAX = 4096
_EMAIL_CHARS_MAX = 254
_GIT_NEEDS = frozenset(("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR"))
_SAFE_GIT = ("git", "-c", "core.fsmonitor=false", "--no-optional-locks", "--no-replace-objects")


class Place(Struct, frozen=True):
    """A folder and its project. Links in paths are resolved.

    git_remote: the same for all ways of writing one repository's address, without credentials.
    first_commit: the oldest commit; empty in a shallow clone, where it cannot be known.
    branch: the branch, or the first characters of the commit if none is checked out.
    """

    cwd: Path
    root: Path
    is_git: bool = False
    git_remote: str = ""
    first_commit: str = ""
    branch: str = ""
    is_home_or_root: bool = False
    foreign_git: Path | None = None
    """The first repository that `.git` leads to, that knows nothing of the folder and is not allowed."""


def find_project(cwd: Path, *, identify: bool = True, allowed: Collection[Path] = ()) -> Place:
    """Return the place of a folder: its git root, or else itself.

    identify: also ask git for remote and first commit, which takes a few processes (2 s at most) and is
    needed only if the path is unknown. What git cannot tell stays empty.
    allowed: repositories that may be read although they do not know the folder.
    """
    here = cwd.resolve()
    root = git_root(here)
    unread = (each for each in foreign_repositories(root) if each not in allowed) if root else iter(())
    foreign = next(unread, None)
    is_read = root is not None and foreign is None
    place = Place(
        cwd=here,
        root=root or here,
        is_git=is_read,
        branch=git_branch(root) if root and is_read else "",
        is_home_or_root=_is_home_or_root(root or here),
        foreign_git=foreign,
    )
    if not (identify and root and is_read):
        return place
    remote, commit = _git_answers(root)
    return Place(
        place.cwd, place.root, True, normal_remote(remote), commit, place.branch, place.is_home_or_root
    )


def git_root(folder: Path) -> Path | None:
    """Return the nearest folder upwards that git works in, or None; not a bare repository. Starts no
    process."""
    for candidate in (folder, *folder.parents):
        if git_dir(candidate):
            return candidate
    return None


def git_email(place: Place, environ: Mapping[str, str]) -> str:
    """Return the e-mail address that git would use for a commit there; empty if there is none."""
    # What a repository says that knows nothing of the folder is not asked.
    folder = Path(os.sep) if place.foreign_git else place.root
    process = _start(folder, "config", "--get", "user.email", environ=environ)
    found = _answer(process, time.monotonic() + timeouts.GIT_S_MAX)
    return found if found.isprintable() and len(found) <= _EMAIL_CHARS_MAX else ""


def git_branch(root: Path) -> str:
    """Return the checked-out branch, or else the commit's first eight characters, or else nothing. Starts no
    process."""
    found = git_dir(root)
    head = _read_line(found / "HEAD") if found else ""
    if head.startswith("ref: "):
        name = head.removeprefix("ref: ").removeprefix("refs/heads/")
        # The name may come from a stranger and goes to a terminal. Where git keeps its references in
        # tables, HEAD says ".invalid".
        return name if name.isprintable() and name != ".invalid" else ""
    return head[:8] if re.fullmatch("[0-9a-f]{40,64}", head) else ""


def normal_remote(url: str) -> str:
    """Return the address as `host/path`, the same for ssh and https and without credentials; a local path
    unchanged."""
    url = url.strip().partition("?")[0]
    with_scheme = re.fullmatch(r"[a-z+]+://(?:[^/]*@)?(\[[^\]]*\]|[^/:]*)(?::\d+)?(/.*)", url, re.IGNORECASE)
    # scp's way: user@host:path. A single letter before the colon would be a drive.
    match = with_scheme or re.fullmatch(r"(?:[^/@]*@)?(\[[^\]]*\]|[^/:@]{2,}):(?!//)(.*)", url)
    host, path = (match[1].lower(), match[2]) if match else ("", url)
    path = path.rstrip("/").removesuffix(".git").rstrip("/")
    # Hosts are the same in capitals and small letters, paths need not be.
    return f"{host}/{path.lstrip('/')}" if host else path


def _read_line(file: Path) -> str:
    """Return the file's first line, or nothing."""
    try:
        if not file.is_file():
            return ""
        with file.open("rb") as content:
            return os.fsdecode(content.readline(_HEAD_BYTES_MAX)).rstrip("\r\n")
    except OSError:
        return ""


def _git_answers(root: Path) -> tuple[str, str]:
    """Return the remote's address and the oldest commit, requested at the same time."""
    remote = _start(root, "config", "--get", "remote.origin.url")
    # Of several beginnings (histories that were joined) the oldest is listed last.
    commits = _start(root, "rev-list", "--max-parents=0", "HEAD", "--")
    shallow = _start(root, "rev-parse", "--is-shallow-repository")
    deadline = time.monotonic() + timeouts.GIT_S_MAX
    address, roots, is_shallow = [_answer(process, deadline) for process in (remote, commits, shallow)]
    oldest = roots.split()[-1] if roots and is_shallow == "false" else ""
    return address, oldest


def _start(
    root: Path, *args: str, environ: Mapping[str, str] = os.environ
) -> "subprocess.Popen[bytes] | None":
    # No keys. And started from a git hook we inherit GIT_DIR and the like, which would answer for another
    # repository.
    env = {name: value for name, value in environ.items() if name in _GIT_NEEDS}
    # A relative folder in PATH would make git whatever a file called git in the project is.
    env["PATH"] = ":".join(each for each in env.get("PATH", os.defpath).split(":") if each.startswith("/"))
    # A commit that is missing would be fetched, with the program that the repository's settings name.
    env["GIT_ALLOW_PROTOCOL"] = "none"
    try:
        return subprocess.Popen(
            [*_SAFE_GIT, *args],
            cwd=root,
            env=env | {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:  # no git, or no such folder any more
        return None


def _answer(process: "subprocess.Popen[bytes] | None", deadline: float) -> str:
    """Return the output; nothing if it failed or took too long."""
    if process is None:
        return ""
    with process:
        try:
            output, _ = process.communicate(timeout=max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            return ""
    return os.fsdecode(output).strip() if process.returncode == 0 else ""


def _is_home_or_root(folder: Path) -> bool:
    try:
        home = Path.home().resolve()
    except (OSError, RuntimeError):  # a user without a home
        return folder == Path(folder.anchor)
    # A folder above the home holds it whole.
    return folder == home or folder in home.parents
