"""Vectors as stand-ins make them: nothing is learned, but texts that share words are near."""

import hashlib
import math
import re


def vector_of(text: str, dimensions: int) -> list[float]:
    """A vector by the words of the text: the same words in any order give the same, length 1."""
    values = [0.0] * dimensions
    for word in re.findall(r"\w+", text.lower()) or [text]:
        digest = hashlib.sha256(word.encode()).digest()
        values[int.from_bytes(digest[:4]) % dimensions] += 1.0 if digest[4] % 2 else -1.0
    length = math.sqrt(sum(value * value for value in values)) or 1.0
    return [value / length for value in values]
