"""Compare the pieces of a message, because one vector stands for everything that is said in a turn."""

import asyncio
import hashlib
import threading
from collections.abc import Sequence

from ragforge.domain.blas import load_numpy
from ragforge.domain.language.words import words_of
from ragforge.domain.messages import text_of
from ragforge.domain.search import Candidate, HitKind, Query
from ragforge.domain.vectors import Vector
from ragforge.embedders.static import StaticEmbedder
from ragforge.memory.recall.results import Key, Recall, key_of
from ragforge.memory.sentences import sentences

COMPARED_MAX = 60
"""How many turns are compared by their pieces, the best first."""
PIECE_CHARS_MAX = 400
"""Sentences that together are not longer than this are one piece."""
PIECES_MAX = 20
"""Of one message, from its beginning."""
TEXTS_MAX = 512
"""How many messages' vectors of pieces are cached, a kilobyte per piece; most messages are one piece."""


async def nearest_pieces(recall: Recall, query: Query, leading: Sequence[Candidate]) -> dict[Key, float]:
    """Return for each turn the nearness of the nearest piece of the user's words, 0 to 1: (1 + cosine) / 2.

    Pieces are compared without stop words, as questions are, and only by the included embedder, because any
    other would take longer than the search. Raises StoreError.
    """
    if recall.embedder is None or recall.embedder.name != StaticEmbedder.name:
        return {}
    turns = {each.id: key_of(each) for each in leading if each.kind is HitKind.TURN and each.meaning}
    vector, _ = await recall.questions.vector(recall.embedder, query.text)
    if vector is None or not turns:
        return {}
    read = await recall.store.turns.read(list(turns))
    near = await asyncio.to_thread(_nearness, vector, [text_of(turn.user) for turn in read])
    return {turns[turn.id]: each for turn, each in zip(read, near, strict=True)}


def _nearness(question: Vector, texts: Sequence[str]) -> list[float]:
    load_numpy()
    import numpy as np

    asked = np.frombuffer(question, dtype=np.float32)
    found: list[float] = []
    for rows in _vectors(texts):
        cosines = np.frombuffer(rows, dtype=np.float32).reshape(-1, len(asked)) @ asked
        found.append((1 + float(cosines.max())) / 2)
    return found


_known: dict[bytes, bytes] = {}
"""By the hash of the message, which may be long."""
_reading = threading.Lock()


def _vectors(texts: Sequence[str]) -> list[bytes]:
    """Return the vectors of each text's pieces, one after the other. The newest `TEXTS_MAX` are cached."""
    keys = {
        text: hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        for text in texts
    }
    with _reading:
        known = {key: _known.pop(key) for key in dict.fromkeys(keys.values()) if key in _known}
    new = {key: _pieces(text) for text, key in keys.items() if key not in known}
    vectors = iter(StaticEmbedder().vectors([piece for each in new.values() for piece in each]))
    for key, each in new.items():
        known[key] = b"".join(bytes(next(vectors)) for _ in each)
    with _reading:
        _known.update(known)
        for key in list(_known)[: max(0, len(_known) - TEXTS_MAX)]:
            del _known[key]
    return [known[keys[text]] for text in texts]


def _pieces(text: str) -> list[str]:
    """Return the text as sentences without stop words, with short ones joined; at least one."""
    joined: list[str] = []
    for sentence in sentences(text) or [text]:
        if joined and len(joined[-1]) + len(sentence) < PIECE_CHARS_MAX:
            joined[-1] += f" {sentence}"
        elif len(joined) < PIECES_MAX:
            joined.append(sentence)
    return [" ".join(words_of(piece)) or piece for piece in joined]
