"""The prompt's history, kept across sessions."""

from collections.abc import Callable, Iterable, Sequence

from ragforge.tui.widgets.history import ListHistory


class StoredHistory:
    """What was sent before; `keep` is told of each new text."""

    def __init__(self, texts: Iterable[str], keep: Callable[[str], None]) -> None:
        self._texts = ListHistory(list(texts))
        self._keep = keep

    def entries(self) -> Sequence[str]:
        """Newest first."""
        return self._texts.entries()

    def add(self, text: str) -> None:
        """Keep a text as the newest."""
        self._texts.add(text)
        self._keep(text)
