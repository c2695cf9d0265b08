"""Retries, before the first event only: what a user has read is never repeated."""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from math import ceil, isfinite

from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.domain.errors import ModelError
from ragforge.domain.events import ModelEvent, RetryWaiting


class RetryPolicy(Struct, frozen=True):
    """How often and how long. Unless the server says otherwise, the wait doubles from `delay_s_first`."""

    attempts_max: int = 5
    delay_s_max: float = timeouts.RETRY_DELAY_S_MAX
    delay_s_first: float = timeouts.RETRY_DELAY_S_FIRST


class Retryable(Exception):
    """An attempt failed in a way that may be temporary.

    error: what the user is told if it is not. reason: a few words for the countdown, e.g. "429".
    delay_s: how long the server asks to wait; attempts_max: fewer attempts than the policy's.
    """

    def __init__(
        self,
        error: ModelError,
        *,
        reason: str,
        delay_s: float | None = None,
        attempts_max: int | None = None,
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.reason = reason
        self.delay_s = delay_s
        self.attempts_max = attempts_max


async def retried(
    attempt: Callable[[], AsyncGenerator[ModelEvent, None]], policy: RetryPolicy
) -> AsyncGenerator[ModelEvent, None]:
    """Yield the events of the first attempt that has one; a RetryWaiting before each further attempt.

    `RetryWaiting.attempt` is the number of the attempt that follows. Cancelling ends the wait.
    Raises the `error` of a Retryable if attempts run out, if an event was already sent, or if
    the server asks for a wait longer than `delay_s_max`; any other exception as it is.
    """
    number = 1
    while True:
        begun = False
        try:
            async with aclosing(attempt()) as events:
                async for event in events:
                    begun = True
                    yield event
            return
        except Retryable as failure:
            attempts_max = min(policy.attempts_max, failure.attempts_max or policy.attempts_max)
            delay_s = _delay_s(failure, policy, number)
            if begun:
                raise failure.error from failure
            if delay_s > policy.delay_s_max:
                raise _too_long(failure, delay_s, policy.delay_s_max) from failure
            if number >= attempts_max:
                raise _given_up(failure, number) from failure
            waiting = RetryWaiting(failure.reason, delay_s, number + 1, attempts_max)
        yield waiting
        await asyncio.sleep(waiting.delay_s)
        number += 1


def _delay_s(failure: Retryable, policy: RetryPolicy, number: int) -> float:
    """Return how long to wait after attempt `number`."""
    if failure.delay_s is not None:
        return failure.delay_s
    # Clients that failed together should not retry together.
    doubled = policy.delay_s_first * 2 ** (number - 1)
    return min(policy.delay_s_max, doubled) * random.uniform(0.5, 1.0)


def _given_up(failure: Retryable, number: int) -> ModelError:
    """Return the error with the number of attempts, if there was more than one."""
    if number == 1:
        return failure.error
    return type(failure.error)(f"{failure.error} Tried {number} times.")


def _too_long(failure: Retryable, delay_s: float, delay_s_max: float) -> ModelError:
    """Return the error with the wait that the service asks for, which is longer than a turn waits."""
    return type(failure.error)(
        f"{failure.error} The service asks to wait {wait_words(delay_s)}, which is longer than the limit "
        f"of {wait_words(delay_s_max)} (retry.delay_s_max)."
    )


def wait_words(seconds: float) -> str:
    """Return a wait in words: "45 s", "20 minutes", "24 hours", "3 days"."""
    for length_s, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        # 24 hours are called so, not one day.
        if seconds >= 2 * length_s or (seconds == length_s and name != "day"):
            count = ceil(seconds / length_s) if isfinite(seconds) else "many"
            return f"{count} {name}{'' if count == 1 else 's'}"
    return f"{seconds:g} s"
