"""Messages that say to carry out the plan, such as "do it"."""

from ragforge.domain.language.base import AnyOf

CHARS_MAX = 60
"""A longer message says more than that."""

_GOES_AHEAD = AnyOf(lambda language: language.goes_ahead)


def goes_ahead(message: str) -> bool:
    """Whether the message says only that. One that begins with a space is for the model."""
    if len(message) > CHARS_MAX or message[:1].isspace():
        return False
    return _GOES_AHEAD.match(message.replace("’", "'").lower()) is not None
