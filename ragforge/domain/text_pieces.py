"""Text that arrives in pieces."""

PIECES_MAX = 1_000
"""So many are joined: a string of one letter takes fifty bytes."""


class TextPieces:
    """Collects pieces of a text; however many and small they are, they take little more than the text."""

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self._pieces: list[str] = []
        self.chars = 0
        """How long the text is so far."""

    def add(self, piece: str) -> None:
        """Append a piece."""
        self._pieces.append(piece)
        self.chars += len(piece)
        if len(self._pieces) >= PIECES_MAX:
            self._blocks.append("".join(self._pieces))
            self._pieces.clear()

    def joined(self) -> str:
        """Return the text so far, the same string each time while nothing is added."""
        self._blocks = ["".join((*self._blocks, *self._pieces))]
        self._pieces.clear()
        return self._blocks[0]
