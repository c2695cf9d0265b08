"""Giving the focus back to where is typed."""

from textual.message import Message


class FocusReturned(Message):
    """What was open is folded: the focus goes back to the prompt."""
