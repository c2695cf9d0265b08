"""The project's uncommitted changes, as a diff."""

import asyncio

from msgspec.structs import replace

from ragforge.domain.errors import UsageError
from ragforge.session.agent_parts import tool_context
from ragforge.session.state import Session
from ragforge.shell.git_settings import find_danger
from ragforge.tools.shell import ShellArgs
from ragforge.tools.shell import run as run_shell
from ragforge.versions.comparison import compare
from ragforge.versions.difference import as_text

# New files as a diff too, and no program of the repository's settings is run. Before the first commit all
# files are new: git's empty tree is the base.
_GIT = (
    "base=$(git rev-parse --quiet --verify HEAD || git hash-object -t tree /dev/null) && "
    'git diff --no-ext-diff --no-textconv --no-color "$base" -- . && '
    "git ls-files --others --exclude-standard -z -- . | head -c 100000 | "
    "xargs -0 -r -n 1 git diff --no-ext-diff --no-textconv --no-color --no-index -- /dev/null; true"
)


async def present_changes(session: Session) -> str:
    """Return the diff to git's newest commit, including new files; without git, since before the newest turn.

    Raises UsageError if git fails.
    """
    place = session.workspace.place
    if not place.is_git:
        return as_text((await compare(session.worktree, "", "")).files)
    if danger := await asyncio.to_thread(find_danger, place.root, place.root):
        raise UsageError(f"git was not run, because this repository can make it run a program ({danger}).")
    context = replace(tool_context(session), cwd=place.root)
    result = await run_shell(ShellArgs(_GIT), context)
    text = result.text.rpartition("\n\n[")[0]
    if text.startswith("fatal:"):
        raise UsageError(f"git cannot list the changes: {text.splitlines()[0]}")
    return "" if text == "(no output)" else session.workspace.redactor.text(text)
