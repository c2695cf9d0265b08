"""Return the focus to the prompt."""

from textual.message import Message


class FocusReturned(Message):
    """What was open is folded: the focus returns to the prompt."""
