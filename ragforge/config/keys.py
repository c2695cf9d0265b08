"""Every setting as a flat table, made from the tree in `schema`: for loading, editing, showing,
documenting."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from ragforge.config.kinds import About
from ragforge.config.schema import Settings

KeyPath = tuple[str, ...]
ANY_NAME = "<name>"
"""Stands in a key for a name that the user chooses: an endpoint's, or that of a key's action."""


class SettingKey(Struct, frozen=True):
    """One setting. `type` is what msgspec validates a value against; `default` is absent for `store`."""

    path: KeyPath
    type: Any
    about: About
    default: Any

    def __str__(self) -> str:
        return ".".join(self.path)

    @property
    def env(self) -> str | None:
        """The variable that sets it, like RAGFORGE_TURN_STEPS_MAX; None for endpoints and keys."""
        return None if ANY_NAME in self.path else "RAGFORGE_" + "_".join(self.path).upper()


def _keys(struct: type[Struct], prefix: KeyPath = ()) -> Iterator[SettingKey]:
    """Return the keys of a struct and of nested ones, in their order in the source."""
    hints = get_type_hints(struct, include_extras=True)
    for field in msgspec.structs.fields(struct):
        hint = hints[field.name]
        path = (*prefix, field.name)
        if get_origin(hint) is dict:
            path, hint = (*path, ANY_NAME), get_args(hint)[1]
        if isinstance(hint, type) and issubclass(hint, Struct):
            yield from _keys(hint, path)
        else:
            about = next(item for item in get_args(hint) if isinstance(item, About))
            yield SettingKey(path, hint, about, None if field.default is msgspec.NODEFAULT else field.default)


KEYS: Mapping[KeyPath, SettingKey] = {key.path: key for key in _keys(Settings)}
SECTIONS = frozenset(path[:size] for path in KEYS for size in range(1, len(path)))
