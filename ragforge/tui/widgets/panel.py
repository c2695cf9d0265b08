"""Panels between the conversation and the prompt while they have something to show."""

from textual.widgets import Static


class Panel(Static):
    """Lines that are cut if they are too long; shown with the class `-shown`."""

    DEFAULT_CSS = """
    Panel {
        display: none;
        height: auto;
        padding: 0 2;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        &.-shown { display: block; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(markup=False, id=id)

    @property
    def is_shown(self) -> bool:
        """Whether anything of it is on the screen."""
        return self.has_class("-shown")
