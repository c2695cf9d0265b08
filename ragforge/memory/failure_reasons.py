"""The reason that a user's words give for taking something back, word for word."""

from ragforge.domain.language.base import AnyOf
from ragforge.memory.likeness import content_words, share_of
from ragforge.memory.statements import is_wondering, said_by

SAME_SHARE = 0.6
"""A sentence with so many of its words in the request that was undone says the request again."""
REASON_CHARS_MAX = 240

_CORRECTS = AnyOf(lambda language: language.corrects)
_STATES = AnyOf(lambda language: (*language.cues["is"], *language.cues["past"]))
_ORDERS = AnyOf(lambda language: (*language.cues["order"], *language.cues["set"], *language.chooses))
_FAULTS = AnyOf(lambda language: language.faults)


def reason_in(message: str, *, request: str) -> str:
    """Return the sentences that say why, word for word; empty for a message that only asks otherwise.

    request: what was undone. A problem that it stated already is no reason.
    """
    asked = content_words(request)
    found: list[str] = []
    for sentence, words in said_by(message):
        opening = _CORRECTS.match(words)
        said = sentence[opening.end() :] if opening else sentence
        plainly = words[opening.end() :] if opening else words
        # "No, an hour blocks all workers" says why, "no, write it to a file" what to do.
        says_why = _FAULTS.search(plainly) or (
            opening and _STATES.search(plainly) and not _ORDERS.search(plainly)
        )
        if says_why and not is_wondering(plainly) and share_of(said, asked) < SAME_SHARE:
            found.append(said.strip())
    reason = " ".join(found)
    return reason if len(reason) <= REASON_CHARS_MAX else reason[: REASON_CHARS_MAX - 1].rstrip() + "…"
