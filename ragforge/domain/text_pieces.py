"""Text that arrives in pieces."""


class TextPieces:
    """Collects pieces of a text, however small, in one buffer with little overhead."""

    def __init__(self, text: str = "") -> None:
        self._buffer = bytearray()
        self._joined: str | None = text
        self.chars = len(text)
        """The length of the text so far."""

    def add(self, piece: str) -> None:
        """Append a piece."""
        if self._joined is not None:
            self._buffer += self._joined.encode("utf-8", "surrogatepass")
            self._joined = None
        self._buffer += piece.encode("utf-8", "surrogatepass")
        self.chars += len(piece)

    def joined(self) -> str:
        """Return the text so far, the same string each time while nothing is added."""
        if self._joined is None:
            self._joined = self._buffer.decode("utf-8", "surrogatepass")
            self._buffer = bytearray()  # stored once
        return self._joined
