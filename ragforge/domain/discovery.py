"""Finding what a package holds, a file each: who adds one adds a file and changes no list."""

import importlib
import importlib.util
from typing import TypeVar

T = TypeVar("T")


def discover(package: str, attribute: str, kind: type[T]) -> dict[str, T]:
    """What each module of the package has under this name, by the names of the modules and in their order.

    Modules without it, or with something of another kind under it, are passed over.
    """
    import pkgutil  # one that is looked for by its name needs no list

    path = importlib.import_module(package).__path__
    found: dict[str, T] = {}
    for name in sorted(module.name for module in pkgutil.iter_modules(path)):
        value: object = getattr(importlib.import_module(f"{package}.{name}"), attribute, None)
        if isinstance(value, kind):
            found[name] = value
    return found


def find_one(package: str, name: str, attribute: str, kind: type[T]) -> T | None:
    """What the module of this name has under the attribute, or None; imports no other module."""
    module = f"{package}.{name}"
    if not name.isidentifier() or importlib.util.find_spec(module) is None:
        return None
    found: object = getattr(importlib.import_module(module), attribute, None)
    return found if isinstance(found, kind) else None
