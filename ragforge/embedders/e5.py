"""The model multilingual-e5-small in 4 bits, from the package `ragforge-e5`: no network, no key, 70 MB.

It compares a hundred languages with each other, unlike ragforge's other embedders, and takes twice as long as
`minilm`: 30 ms for a query, 100 to 200 ms for a turn. Its own vectors are all alike, with cosines from .7 up;
so the package contains their mean, which is subtracted.
"""

from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragforge.embedders.package import PackagedModel, Vocabulary
from ragforge.embedders.unigram import Unigram

PIECES = "pieces.txt"
BEGIN, END, UNKNOWN = "<s>", "</s>", "<unk>"
QUERY = "query: "
"""The prefix with which the model was trained for texts that are compared with texts of the same kind."""


def _vocabulary(folder: Path, arrays: Mapping[str, Any]) -> Vocabulary:
    # One of the pieces is a character that ends a line for splitlines().
    pieces = (folder / PIECES).read_text(encoding="utf-8").split("\n")
    scores = array("f", arrays["scores"].tobytes())
    if len(scores) != len(pieces):
        raise ValueError(f"{len(pieces)} pieces, {len(scores)} scores")
    split = Unigram(pieces, scores, unknown=pieces.index(UNKNOWN)).of
    return Vocabulary(split, pieces.index(BEGIN), pieces.index(END), len(pieces))


MODEL = PackagedModel("e5", "e5:multilingual-e5-small-int4-1", _vocabulary, prefix=QUERY, query_prefix=QUERY)
EMBEDDER = MODEL.embedder
