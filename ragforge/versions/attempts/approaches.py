"""The ways to try a request: different approaches, or different models."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ragforge.domain.errors import UsageError

COUNT_MIN, COUNT_MAX = 2, 8

APPROACHES: Mapping[str, str] = {
    "readable": (
        "Of several ways to do this, choose the one that is easiest to read and to change later: plain code, "
        "good names, no cleverness."
    ),
    "fast": (
        "Of several ways to do this, choose the one that runs fastest and needs the least memory, as long as "
        "it stays correct."
    ),
    "thorough": (
        "Do this thoroughly: cover the edge cases and the errors, write or extend the tests, and check your "
        "work before you end."
    ),
}
"""What each adds to the request, by name."""


class Way(Struct, frozen=True):
    """One way. model: as `provider:name`. approach: of APPROACHES; empty if the models differ instead."""

    model: str
    approach: str = ""
    names_model: bool = False

    @property
    def name(self) -> str:
        """Its short name."""
        parts = [self.model] if self.names_model or not self.approach else []
        return " ".join([*parts, *([self.approach] if self.approach else [])])

    def request(self, prompt: str) -> str:
        """Return the prompt, with the approach's sentence."""
        return f"{prompt}\n\n{APPROACHES[self.approach]}" if self.approach else prompt


def without_approach(request: str) -> str:
    """Return the request without an approach's sentence, which it has if an alternative was taken."""
    for words in APPROACHES.values():
        request = request.removesuffix(f"\n\n{words}")
    return request


def ways_of(count: int, *, model: str, models: Sequence[str] = ()) -> list[Way]:
    """Return this many ways.

    models: other ones, in turn; each first without an approach, then with one after the other.
    Without models: the session's model with each approach in turn, starting again after the last one.
    Raises UsageError for an invalid number.
    """
    if not COUNT_MIN <= count <= COUNT_MAX:
        raise UsageError(f"Ask for {COUNT_MIN} to {COUNT_MAX} alternatives at once, not {count}.")
    if len(models) > count:
        raise UsageError(f"There are {len(models)} models for {count} alternatives: ask for {len(models)}.")
    names = tuple(APPROACHES)
    if not models:
        return [Way(model, names[index % len(names)]) for index in range(count)]
    rounds = ("", *names)
    return [
        Way(models[index % len(models)], rounds[index // len(models) % len(rounds)], names_model=True)
        for index in range(count)
    ]
