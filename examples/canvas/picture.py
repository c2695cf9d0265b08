"""A canvas of pixels, and its parts as PNG images."""

import struct
import zlib

SCALE = 8
"""How many dots of an image show a pixel, across and down: of smaller images models see little."""
RGB = 2
BITS = 8


class Canvas:
    """Pixels, black at first. A colour is three bytes: red, green, blue."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self._rows = [bytearray(3 * width) for _ in range(height)]

    def paint(self, x: int, y: int, colour: bytes) -> None:
        """Set a pixel; 0, 0 is at the top left."""
        self._rows[y][3 * x : 3 * x + 3] = colour

    def png(self, left: int, top: int, width: int, height: int) -> bytes:
        """Return a part of the canvas as a PNG image."""
        dots = bytearray()
        for row in self._rows[top : top + height]:
            pixels = (row[3 * x : 3 * x + 3] for x in range(left, left + width))
            # The byte before each row says that it is not filtered.
            dots += (b"\0" + b"".join(pixel * SCALE for pixel in pixels)) * SCALE
        header = struct.pack(">IIBBBBB", width * SCALE, height * SCALE, BITS, RGB, 0, 0, 0)
        chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(dots)), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
