"""What is kept of a task that was handed to a sub-agent."""

from msgspec import Struct

from ragforge.domain.derivations import DerivedKind


class SubAgent(Struct, frozen=True):
    """The session of its own that the task was done in, and the one that it was handed over in."""

    session: str
    parent: str
    title: str


KIND = DerivedKind("SubAgent", SubAgent)
"""Kept with the turn that handed the task over, one record for each of its sub-agents."""
