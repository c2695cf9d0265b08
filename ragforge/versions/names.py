"""How a user names a version: a branch, HEAD, a label, or a part of its id."""

import re

from ragforge.domain.commands import typed
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import short_id
from ragforge.domain.printable import inline_code
from ragforge.domain.versions import Branch, Version
from ragforge.domain.words import first_words
from ragforge.store.base_versions import Versions

HEAD = "HEAD"
"""The version that the files on the disk stand for."""

ID_PART_CHARS_MIN = 4
NAME_CHARS_MAX = 200
_BACK = re.compile(r"~(\d{0,6})$")
_NEVER = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")


def check_branch_name(name: str) -> str:
    """Return the name if it is valid for a branch, by git's rules for references. Raises UsageError."""
    parts = name.split("/")
    wrong = (
        not name
        or len(name) > NAME_CHARS_MAX
        or not name.isprintable()
        or _NEVER.search(name) is not None
        or name.startswith(("-", "/"))
        or name.endswith(("/", "."))
        or any(part.startswith(".") or part.endswith(".lock") for part in parts)
        or name in ("@", HEAD)
    )
    if wrong:
        raise UsageError(
            f"{name!r} is not a valid branch name. Use letters and digits, with -, _, . or / between them."
        )
    return name


async def find_version(
    versions: Versions, project_id: str, text: str, *, head: str, see: str = ""
) -> Version:
    """Return the version with this name. Raises UsageError for none or several.

    see: a sentence that says where the versions are listed, if that is not `log`.

    A branch takes precedence over a label and a part of an id (its beginning or its end). `~N` at the end
    goes N versions back along the first parents; `HEAD` is the files' head.
    """
    found = await find_state(versions, project_id, text, head=head, see=see)
    if found is None:
        raise UsageError(f"{text!r} is the beginning, before the first version: there is no version of it.")
    return found


async def find_state(
    versions: Versions, project_id: str, text: str, *, head: str, see: str = ""
) -> Version | None:
    """Like `find_version`, but None for the state before the first version."""
    name, steps = _steps(text)
    see = see or f"`{typed('log')}` lists the versions, `{typed('branch')}` the branches."
    version = await _named(versions, project_id, name, head=head, see=see)
    if not steps:
        return version
    line = await versions.line(version.id, limit=steps + 1)
    if len(line) < steps:
        raise UsageError(f"{text!r}: only {len(line) - 1} versions come before {name!r}.")
    return line[steps] if len(line) > steps else None


def _steps(text: str) -> tuple[str, int]:
    found = _BACK.search(text)
    return (text[: found.start()], int(found[1] or 1)) if found else (text, 0)


async def _named(versions: Versions, project_id: str, name: str, *, head: str, see: str) -> Version:
    if name in (HEAD, "@"):
        if not head:
            raise UsageError(await _why_none_here(versions, project_id))
        return await _whole(versions, head)
    if branch := await find_branch(versions, project_id, name):
        return await _whole(versions, branch.version_id)
    found = await versions.with_id_part(project_id, name) if name else []
    if len(name) < ID_PART_CHARS_MIN:
        found = [version for version in found if version.label == name]
    if len(found) == 1:
        return await _whole(versions, found[0].id)
    if found:
        fits = "; ".join(
            f"{each.id} ({first_words(each.label or each.title, 30) or 'no title'})" for each in found
        )
        raise UsageError(f"Several versions match {name!r}: {fits}. Give more of the id.")
    raise UsageError(f"There is no version or branch {name!r}. {see}")


async def _why_none_here(versions: Versions, project_id: str) -> str:
    if not await versions.rows(project_id, limit=1):
        return "These files have no versions yet."
    return (
        "The files are at the beginning, before the first version, so there is no version to name. The "
        f"next turn makes one, `{typed('redo')}` redoes the one that was undone, and any other can be "
        f"named: `{typed('log')}` lists them."
    )


async def _whole(versions: Versions, version_id: str) -> Version:
    found = await versions.get([version_id])
    if not found:
        raise UsageError(
            f"The version {version_id} is named but not stored here. It may still be on its way from the "
            "machine that made it."
        )
    return found[0]


async def find_branch(versions: Versions, project_id: str, name: str) -> Branch | None:
    """Return the branch with this name, or None."""
    return next((each for each in await versions.branches(project_id) if each.name == name), None)


def shown(version: Version) -> str:
    """Return a version for a user: the end of its id, and its label or title."""
    words = version.label or first_words(version.title)
    return f"{short_id(version.id)} ({inline_code(words)})" if words else short_id(version.id)
