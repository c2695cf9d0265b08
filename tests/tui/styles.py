"""The styles of an app, read once for all apps of a process that have the same: a third of starting one.

Textual keeps what it has read with each app, for a program has one.
"""

from collections.abc import Hashable
from typing import Any

from textual.css.stylesheet import Stylesheet

_read: Any = Stylesheet._parse_rules  # pyright: ignore[reportPrivateUsage]
_known: dict[Hashable, Any] = {}


def read_once() -> None:
    """Let all stylesheets share what they read. Nothing changes it afterwards."""
    setattr(Stylesheet, _read.__name__, _read_or_known)


def _read_or_known(self: Any, *args: Hashable, **more: Hashable) -> Any:
    key = (frozenset(self._variables.items()), args, frozenset(more.items()))
    if key not in _known:
        _known[key] = _read(self, *args, **more)
    return _known[key]
