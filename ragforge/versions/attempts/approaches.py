"""In which ways a request is worked out: by other approaches, or by other models."""

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
"""By name, what is added to the request."""


class Way(Struct, frozen=True):
    """One way. model: as `provider:name`. approach: of APPROACHES, empty where the model is what differs."""

    model: str
    approach: str = ""
    names_model: bool = False

    @property
    def name(self) -> str:
        """What tells it from the others."""
        parts = [self.model] if self.names_model or not self.approach else []
        return " ".join([*parts, *([self.approach] if self.approach else [])])

    def request(self, prompt: str) -> str:
        """The prompt, with the approach's sentence."""
        return f"{prompt}\n\n{APPROACHES[self.approach]}" if self.approach else prompt


def without_approach(request: str) -> str:
    """The request without an approach's sentence: it may be that of an alternative that was taken."""
    for words in APPROACHES.values():
        request = request.removesuffix(f"\n\n{words}")
    return request


def ways_of(count: int, *, model: str, models: Sequence[str] = ()) -> list[Way]:
    """This many ways.

    models: other ones, taken in turn, each first as it is and then with one approach after the other.
    Without them it is the session's model with each approach in turn; beyond those they come again.
    Raises UsageError for a number that makes no sense.
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
