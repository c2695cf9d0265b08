"""Which memories are about the same thing as a new one."""

from collections.abc import Sequence

from ragforge.domain.language.base import common_words
from ragforge.domain.memories import Memory
from ragforge.memory.likeness import content_words, stands_among
from ragforge.memory.recall.fit import Fit
from ragforge.memory.replacement import fields_in


async def near_to(statement: str, memories: Sequence[Memory]) -> list[Memory]:
    """Return those that name something of the same field, or that are similar to the statement and share a
    word with it.

    A word alone is not enough ("keep functions short", "keep the logs for 90 days"), and neither is meaning:
    short sentences of the same form are similar to the embedder.
    """
    words = [word for word in content_words(statement) if word not in common_words()]
    fields = fields_in(statement)
    fits = await Fit(statement).measure([each.content for each in memories])
    return [
        memory
        for memory, fitness in zip(memories, fits, strict=True)
        if fields & fields_in(memory.content) or (fitness.fits and _shares(words, memory.content))
    ]


def _shares(words: Sequence[str], text: str) -> bool:
    others = content_words(text)
    return any(stands_among(word, others) for word in words)
