"""A message that is only a request to forget something, such as "forget that"."""

from msgspec import Struct

from ragforge.domain.language.base import AnyOf, first_group
from ragforge.memory.statements import plain

CHARS_MAX = 200
"""A longer message says more than that."""

_BARE = AnyOf(lambda language: language.forgets)
_THAT = AnyOf(lambda language: language.forgets_that)


class ForgetRequest(Struct, frozen=True):
    """statement: what to forget, in the user's words; empty if they do not say."""

    statement: str = ""


def forget_request(message: str) -> ForgetRequest | None:
    """Return the request that the message is, or None for any other one.

    "Forget that approach, use a queue" is an order to the model, and so is anything that may be one. A
    message that begins with a space is never a request.
    """
    if len(message) > CHARS_MAX or message[:1].isspace():
        return None
    words = plain(message.rstrip())
    if _BARE.match(words):
        return ForgetRequest()
    found = _THAT.match(words)
    return ForgetRequest(first_group(found).strip()) if found else None
