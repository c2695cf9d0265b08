"""The record of a task handed to a sub-agent."""

from msgspec import Struct

from ragforge.domain.derivations import DerivedKind
from ragforge.domain.messages import Parts, text_of

BEFORE_TASK = (
    "You are a sub-agent: you do one task for another assistant, which sees your last answer and nothing "
    "else. Answer with what was asked for, with paths and figures, and say what you could not do.\n\n"
    "The task:\n"
)


class SubAgent(Struct, frozen=True):
    """The session in which the task was done, and the one that handed it over."""

    session: str
    parent: str
    title: str


def is_task(message: Parts) -> bool:
    """Whether a model wrote the message, for a sub-agent: nothing in it is a wish of the user."""
    return text_of(message).startswith(BEFORE_TASK)


KIND = DerivedKind("SubAgent", SubAgent)
"""Kept with the turn that handed the task over, or with the sub-agent's own if a program did."""
