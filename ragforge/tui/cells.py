"""Text in a fixed number of terminal cells."""

from rich.cells import cell_len, set_cell_size


def fitting(text: str, width: int) -> str:
    """Return the text in at most so many cells; one that is cut ends in `…`."""
    return text if cell_len(text) <= width else set_cell_size(text, max(0, width - 1)).rstrip() + "…"


def cut(text: str, width: int) -> str:
    """Return the text in exactly so many cells, at least one."""
    return set_cell_size(fitting(text, max(1, width)), max(1, width))
