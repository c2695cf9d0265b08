"""Text in so many cells of the terminal."""

from rich.cells import cell_len, set_cell_size


def fitting(text: str, width: int) -> str:
    """The text in so many cells at most; `…` ends one that is cut."""
    return text if cell_len(text) <= width else set_cell_size(text, max(0, width - 1)).rstrip() + "…"


def cut(text: str, width: int) -> str:
    """The text in exactly so many cells, one at least."""
    return set_cell_size(fitting(text, max(1, width)), max(1, width))
