"""Find what a package provides, one per file: to add one, add a file; there is no list to change."""

import importlib
import importlib.util
from typing import TypeVar

T = TypeVar("T")


def discover(package: str, attribute: str, kind: type[T]) -> dict[str, T]:
    """Return what each module of the package has under this name, by and in the order of module names.

    Modules without it, or with something of another kind under it, are skipped.
    """
    import pkgutil  # not needed to look one up by its name

    path = importlib.import_module(package).__path__
    found: dict[str, T] = {}
    for name in sorted(module.name for module in pkgutil.iter_modules(path)):
        value: object = getattr(importlib.import_module(f"{package}.{name}"), attribute, None)
        if isinstance(value, kind):
            found[name] = value
    return found


def find_one(package: str, name: str, attribute: str, kind: type[T]) -> T | None:
    """Return what the module of this name has under the attribute, or None; imports no other module."""
    module = f"{package}.{name}"
    if not name.isidentifier() or importlib.util.find_spec(module) is None:
        return None
    found: object = getattr(importlib.import_module(module), attribute, None)
    return found if isinstance(found, kind) else None
