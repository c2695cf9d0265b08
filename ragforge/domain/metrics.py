"""The metrics, and this process's counts that are not stored yet.

Names and units follow Prometheus (https://prometheus.io/docs/practices/naming/). `session/metrics.py` keeps
and publishes what is counted here. A label never contains text, a path, or the name of a person or file.
"""

from collections import defaultdict
from collections.abc import Mapping
from threading import Lock
from typing import TypeAlias

from msgspec import Struct

from ragforge.domain.usage import Purpose, Usage

SUM = "sum"
"""The part of a histogram with the sum of its values; the other parts are upper bounds of buckets."""

NO_BOUND = "+Inf"
"""The last bucket."""

Sample: TypeAlias = tuple[str, tuple[str, ...], str]
"""A metric's name, the values of its labels, and the part if it is a histogram."""


class Metric(Struct, frozen=True):
    """A counter, or with buckets a histogram. buckets: upper bounds; one without a bound follows them."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


QUERY_SECONDS = Metric(
    "memory_query_duration_seconds",
    "Time to find what is remembered: kind is block (all that stands before a message) or search.",
    ("kind",),
    (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0),
)
CACHE_REQUESTS = Metric(
    "memory_cache_requests_total",
    "Look-ups of preferences and other listed memories by whether the answer was cached: result is hit or "
    "miss.",
    ("result",),
)
TOKENS = Metric(
    "llm_tokens_total",
    "Tokens of model calls: kind is input (cached ones excluded), cached, output or thought.",
    ("model", "purpose", "kind"),
)
COST = Metric(
    "llm_cost_usd_total",
    "US dollars that model calls cost, of those whose price is known.",
    ("model", "purpose"),
)
HINTS = Metric(
    "memory_proactive_hints_generated_total",
    "Hints offered after an answer: type is preference_reminder, intent_followup or constraint_warning.",
    ("type",),
)
HINT_ANSWERS = Metric(
    "memory_hints_answered_total",
    "Hints by what the user answered: apply, ignore or later.",
    ("type", "answer"),
)
SUGGESTIONS = Metric(
    "memory_suggestions_total",
    "Messages suggested below the prompt: event is shown, taken or ended (none was taken of many).",
    ("event",),
)
CONSTRAINT_HITS = Metric(
    "memory_constraint_hits_total",
    "Calls that went against what the user said, by constraint: answer is declined or allowed by the user, "
    "refused (nobody to ask) or noted (it ran, and was told).",
    ("answer",),
)
PREFERENCES_EXTRACTED = Metric(
    "memory_preferences_extracted_total",
    "Wishes kept of turns, new or said again: type is preference, intent (a goal or todo) or constraint.",
    ("type",),
)
PREFERENCES_REJECTED = Metric(
    "memory_preferences_rejected_total",
    "Wishes that a model gave and that are not kept: reason is unreadable, not_the_users, not_their_words or "
    "not_stored.",
    ("reason",),
)
PREFERENCE_CONFIDENCE = Metric(
    "memory_preference_confidence",
    "How sure the wishes are that were kept, from 0 to 1.",
    buckets=(0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0),
)
EXTRACTION_SECONDS = Metric(
    "memory_preference_extraction_seconds",
    "Time to find what was said in turns that ended, with the model's call where there is one.",
    buckets=(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)
METRICS = (
    *(QUERY_SECONDS, CACHE_REQUESTS, TOKENS, COST, HINTS, HINT_ANSWERS, SUGGESTIONS, CONSTRAINT_HITS),
    *(PREFERENCES_EXTRACTED, PREFERENCES_REJECTED, PREFERENCE_CONFIDENCE, EXTRACTION_SECONDS),
)


class Tally:
    """This process's counts that are not stored yet. Threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts = defaultdict[Sample, float](float)

    def count(self, metric: Metric, *labels: str, by: float = 1) -> None:
        """Count one more, or `by` more, for these labels."""
        self.add({(metric.name, labels, ""): by})

    def observe(self, metric: Metric, value: float, *labels: str) -> None:
        """Add a value to the histogram."""
        bound = next((str(bound) for bound in metric.buckets if value <= bound), NO_BOUND)
        self.add({(metric.name, labels, bound): 1, (metric.name, labels, SUM): value})

    def add(self, counts: Mapping[Sample, float]) -> None:
        """Add these counts."""
        with self._lock:
            for sample, value in counts.items():
                self._counts[sample] += value

    def take(self) -> dict[Sample, float]:
        """Return all counts so far, and reset them."""
        with self._lock:
            taken, self._counts = self._counts, defaultdict[Sample, float](float)
        return dict(taken)


TALLY = Tally()
"""Those of this process."""


def count_usage(model: str, purpose: Purpose, usage: Usage, cost_usd: float | None) -> None:
    """Count what a model call used. model: as `provider:name`."""
    kinds = {
        "input": usage.input_tokens - usage.cached_tokens,
        "cached": usage.cached_tokens,
        "output": usage.output_tokens,
        "thought": usage.thought_tokens,
    }
    for kind, tokens in kinds.items():
        if tokens > 0:
            TALLY.count(TOKENS, model, purpose.value, kind, by=tokens)
    if cost_usd:
        TALLY.count(COST, model, purpose.value, by=cost_usd)
