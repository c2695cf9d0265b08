"""Drawing for nobody: a third of the time of an app that runs in tests.

Textual draws whatever changed sixty times a second, also where no terminal is. Here a change of a part waits
for the next ones, and what has waited is drawn with the last of them. What tests read from the screen, and
pictures of it, are drawn when they ask.
"""

from itertools import count
from typing import Any

from textual._compositor import Compositor

TOGETHER = 32
"""So many changes of parts are drawn at once."""

_draw: Any = Compositor.render_partial_update
_changes = count(1)


def draw_less() -> None:
    """Let all apps draw changes of parts together. What changes as a whole is drawn at once."""
    setattr(Compositor, _draw.__name__, _draw_together)


def _draw_together(self: Compositor) -> Any:
    return None if next(_changes) % TOGETHER else _draw(self)
