"""Change the user's settings file; values are checked, and comments are kept."""

import copy
import tomllib
from collections.abc import MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ragforge.config.check import check_value, find_key
from ragforge.config.keys import KeyPath
from ragforge.config.settings import check_user_settings
from ragforge.config.tomlfile import read_text, read_toml, write_text
from ragforge.domain.errors import UsageError
from ragforge.domain.json import JsonValue

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


def set_value(file: Path, key: str, value: JsonValue) -> None:
    """Set the key in the user's file, which is created if it is missing.

    Text is parsed by the key's type: "true", "50". Raises UsageError as loading would.
    """
    path = tuple(key.split("."))
    checked = check_value(find_key(path, where="config"), path, value, where="config", from_text=True)
    if checked is None:
        unset(file, key)
        return
    document, before = _open(file)
    wanted = copy.deepcopy(before)
    for tree in (document, wanted):
        _section(tree, path, file)[path[-1]] = checked
    check_user_settings(wanted, where=str(file))
    _save(file, document, wanted)


def unset(file: Path, key: str) -> bool:
    """Remove the key from the user's file, and a section that is empty then; return whether it was there."""
    path = tuple(key.split("."))
    document, before = _open(file)
    wanted = copy.deepcopy(before)
    for tree in (wanted, document):
        if not _remove(tree, path):
            return False
    # A file that is wrong already may be put right step by step.
    if _is_valid(before, file):
        check_user_settings(wanted, where=str(file))
    _save(file, document, wanted)
    return True


def _open(file: Path) -> "tuple[TOMLDocument, dict[str, Any]]":
    """Return the file with its comments, and as plain tables."""
    # Imported here: only who changes settings needs it.
    import tomlkit

    plain = read_toml(file)  # first: it tells of broken TOML in our own words
    return tomlkit.parse(read_text(file) or ""), plain


def _section(tree: Any, path: KeyPath, file: Path) -> Any:
    """Return the table of the key, created if it is missing."""
    table: Any = tree
    for name in path[:-1]:
        table.setdefault(name, {})
        table = table[name]
        if not isinstance(table, MutableMapping):
            raise UsageError(f"{file}: {name} is a section, not a setting. Correct the file first.")
        table = cast("Any", table)
    return table


def _remove(tree: Any, path: KeyPath) -> bool:
    """Remove the key, and tables that are empty then; return whether it was there."""
    tables: list[Any] = [tree]
    for name in path[:-1]:
        inner = tables[-1].get(name)
        if not isinstance(inner, MutableMapping):
            return False
        tables.append(cast("MutableMapping[str, Any]", inner))
    if path[-1] not in tables[-1]:
        return False
    for name, table in zip(reversed(path), reversed(tables), strict=True):
        del table[name]
        if table:
            break
    return True


def _is_valid(tree: dict[str, Any], file: Path) -> bool:
    try:
        check_user_settings(tree, where=str(file))
    except UsageError:
        return False
    return True


def _save(file: Path, document: "TOMLDocument", wanted: dict[str, Any]) -> None:
    import tomlkit  # as above

    text = tomlkit.dumps(document)
    # Comments and order are the editor library's work; that nothing else changed is made sure of here.
    if tomllib.loads(text) != wanted:
        raise UsageError(f"{file} cannot be changed safely. Edit it by hand.")
    write_text(file, text)
