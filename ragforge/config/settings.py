"""Load the settings, each value with its source.

Flags override the environment, which overrides the project's file, the user's file, and the defaults.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct, field

from ragforge.config import paths
from ragforge.config.check import check_store, check_value, find_key, misspelt_variables
from ragforge.config.keys import KEYS, KeyPath, SettingKey
from ragforge.config.kinds import ProjectMay
from ragforge.config.project import find_project
from ragforge.config.schema import BUILT_IN_ENDPOINTS, Settings
from ragforge.config.tomlfile import read_toml
from ragforge.domain.errors import UsageError
from ragforge.domain.json import JsonValue
from ragforge.domain.redact import hide_url_passwords


class SourceKind(StrEnum):
    """The kind of source of a value; later ones override earlier ones."""

    DEFAULT = "default"
    USER = "user file"
    PROJECT = "project file"
    ENVIRONMENT = "environment"
    FLAG = "flag"


class SettingSource(Struct, frozen=True):
    """The source of a value: the kind, and the file or variable if there is one."""

    kind: SourceKind
    where: str = ""

    def __str__(self) -> str:
        return self.where or self.kind


class SettingRow(Struct, frozen=True):
    """One setting as shown to a user: passwords in URLs are hidden."""

    key: str
    value: str
    source: SettingSource
    about: str


class Loaded(Struct, frozen=True):
    """The settings, their sources, and notices for the user.

    unconfirmed: what the project's file requests, by dotted key, and is not in the settings, because the user
    must confirm it first. Empty if the user's own settings override it.
    """

    settings: Settings
    sources: Mapping[str, SettingSource]
    notices: tuple[str, ...] = ()
    unconfirmed: Mapping[str, str] = field(default_factory=dict[str, str])

    def origin(self) -> str:
        """Return the sources of the settings, in words."""
        set_in = {str(each) for each in self.sources.values() if each.kind is not SourceKind.DEFAULT}
        return ", ".join((*sorted(set_in), "defaults"))

    def rows(self) -> list[SettingRow]:
        """Return every setting with its value and source, in the order of the documentation."""
        return [
            SettingRow(
                key := ".".join(path),
                hide_url_passwords(_shown(value)),
                self.sources.get(key, _DEFAULT),
                find_key(path, where="").about.text,
            )
            for path, value in _flatten(msgspec.to_builtins(self.settings))
        ]


def load_settings(
    *,
    cwd: Path,
    flags: Mapping[str, JsonValue],
    environ: Mapping[str, str],
    project_root: Path | None = None,
) -> Loaded:
    """Return the settings for `cwd`. Flags are given by dotted key; None means "not given".

    project_root: the project's folder; without it, the nearest folder upwards that git works in, else cwd.
    Raises UsageError that names the file, the key, the value and what is allowed.
    """
    merged = _Merge()
    merged.add_defaults(environ)
    user = paths.user_file(environ)
    merged.add(_flatten(read_toml(user)), SettingSource(SourceKind.USER, str(user)))
    project = paths.project_file(project_root or find_project(cwd, identify=False).root)
    if not _same_file(user, project):
        merged.add(_flatten(read_toml(project)), SettingSource(SourceKind.PROJECT, str(project)))
    _add_environment(merged, environ)
    for name, value in flags.items():
        if value is not None:
            merged.add([(tuple(name.split(".")), value)], SettingSource(SourceKind.FLAG, "command line"))
    return merged.loaded()


FILE_SCHEME = "sqlite://"
"""The beginning of an embedded store's address."""


def embedded_store(environ: Mapping[str, str]) -> str:
    """Return the default store's address, which needs nothing but a file."""
    return f"sqlite://{paths.data_dir(environ) / 'ragforge.db'}"


def check_user_settings(tree: Mapping[str, Any], *, where: str) -> None:
    """Raise UsageError if these tables are not valid user settings."""
    merged = _Merge()
    merged.add_defaults({})
    merged.add(_flatten(tree), SettingSource(SourceKind.USER, where))
    merged.loaded()


_DEFAULT = SettingSource(SourceKind.DEFAULT)


class _Merge:
    """Values merged layer by layer."""

    def __init__(self) -> None:
        self.values: dict[KeyPath, Any] = {}
        self.sources: dict[str, SettingSource] = {}
        self.notices: list[str] = []
        self.unconfirmed: dict[str, str] = {}

    def add_defaults(self, environ: Mapping[str, str]) -> None:
        """Set the default, which depends on the data folder."""
        self.values["store",] = embedded_store(environ)
        for name, endpoint in BUILT_IN_ENDPOINTS.items():
            for part, value in msgspec.to_builtins(endpoint).items():
                self.values["endpoints", name, part] = value

    def add(
        self, layer: Iterator[tuple[KeyPath, Any]] | list[tuple[KeyPath, Any]], source: SettingSource
    ) -> None:
        """Check the values of one layer and merge them in."""
        written = source.kind in (SourceKind.ENVIRONMENT, SourceKind.FLAG)
        for path, raw in layer:
            key = find_key(path, where=str(source))
            if source.kind is SourceKind.PROJECT and key.about.project is ProjectMay.NOT:
                raise UsageError(_not_for_projects(source, path))
            value = check_value(key, path, raw, where=str(source), from_text=written)
            if path == ("store",):
                check_store(value, where=str(source), in_file=not written)
            if source.kind is SourceKind.PROJECT and not self._project_may(key, value, source):
                continue
            self.values[path] = value
            self.sources[".".join(path)] = source

    def _project_may(self, key: SettingKey, value: Any, source: SettingSource) -> bool:
        """Whether the project's value is used. Raises UsageError if it would raise a limit."""
        own = self.values.get(key.path, key.default)
        if key.about.project is ProjectMay.LOWER and own is not None and value > own:
            raise UsageError(
                f"{source}: {key} = {value} is above your own limit of {own}; a project may only lower it. "
                f"To raise it, run: ragforge config set {key} {value}"
            )
        if key.about.project is ProjectMay.SAME_PROVIDER and _provider(value) != _provider(own):
            self.notices.append(
                f"{source} asks for the model {value}. A project cannot choose the provider that your words "
                f"are sent to; to use it, run: ragforge config set model {value}"
            )
            return False
        if key.about.project is ProjectMay.CONFIRMED:
            self.unconfirmed[str(key)] = str(value)
            return False
        return True

    def loaded(self) -> Loaded:
        """Return everything as settings."""
        tree: dict[str, Any] = {}
        for path, value in self.values.items():
            *sections, last = path
            node = tree
            for section in sections:
                node = node.setdefault(section, {})
            node[last] = value
        for name, endpoint in tree["endpoints"].items():
            if "base_url" not in endpoint:
                where = next(at for key, at in self.sources.items() if key.startswith(f"endpoints.{name}."))
                raise UsageError(
                    f"{where}: the endpoint {name} has no base_url, such as http://localhost:8080/v1."
                )
        names = {".".join(path): _DEFAULT for path in (*self.values, *KEYS) if "<name>" not in path}
        asked = {key: value for key, value in self.unconfirmed.items() if value and key not in self.sources}
        return Loaded(msgspec.convert(tree, Settings), names | self.sources, tuple(self.notices), asked)


def _add_environment(merged: _Merge, environ: Mapping[str, str]) -> None:
    """Add the RAGFORGE_ variables; an empty one counts as unset."""
    variables = {key.env: key for key in KEYS.values() if key.env}
    for name, key in variables.items():
        if environ.get(name):
            merged.add([(key.path, environ[name])], SettingSource(SourceKind.ENVIRONMENT, name))
    ours = [name for name in environ if name.startswith("RAGFORGE_")]
    merged.notices.extend(misspelt_variables(ours, [*variables, *paths.FOLDER_VARIABLES]))


def _flatten(tree: Mapping[str, Any], prefix: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Yield every leaf of a tree of tables with its path; an empty table is not one."""
    for name, value in tree.items():
        path = (*prefix, name)
        if isinstance(value, dict):
            yield from _flatten(cast("dict[str, Any]", value), path)
        else:
            yield path, value


def _not_for_projects(source: SettingSource, path: KeyPath) -> str:
    key = ".".join(path)
    allowed = ", ".join(str(key) for key in KEYS.values() if key.about.project is not ProjectMay.NOT)
    return (
        f"{source}: a project may not set {key}, because whoever clones it would get it unasked. Remove it "
        f"there; to set it for yourself, run: ragforge config set {key} VALUE. A project may set: {allowed}."
    )


def _provider(model: Any) -> str:
    return str(model).partition(":")[0]


def _shown(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:g}"
        case list():
            return ", ".join(map(str, cast("list[Any]", value)))
        case _:
            return str(value)


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
