"""The loop of a turn: call the model and run the tools that it asks for, until it asks for none."""

import json
from collections.abc import Sequence

from ragforge.agent.execute import execute_calls
from ragforge.agent.parts import AgentParts, Outcome, TurnProgress
from ragforge.agent.step import ask_model
from ragforge.domain.approvals import ConsentAnswer, GoOnApproval
from ragforge.domain.messages import CallRequest, CallResult, ToolMessage
from ragforge.domain.turns import Step, ToolCall, TurnStatus
from ragforge.domain.usage import sum_costs
from ragforge.domain.words import counted

STREAK_REMINDED_AT = (3, 5)
STREAK_MAX = 8
"""A model that makes the same call with the same arguments this often in a row is stuck."""
CYCLE_MAX = 6
"""The longest sequence of calls that counts as repeated."""
KEPT_MAX = CYCLE_MAX * (STREAK_MAX + 1)


async def run_turn(
    parts: AgentParts,
    progress: TurnProgress,
    *,
    pending: Step | None = None,
    done: Sequence[ToolCall] = (),
) -> Outcome:
    """Run a turn and return how it ended. `progress` has the results, also if this raises or is cancelled.

    pending: a step of an earlier run with calls that have not run yet; `done` are those that have.
    Raises ModelError if the model gives no usable answer, StoreError if something cannot be stored.
    """
    repetition = _Repetition()
    step, finished_calls = pending, done
    while True:
        if step is None:
            if stop := await _may_go_on(parts, progress):
                return stop
            step = await ask_model(parts, progress)
            finished_calls = ()
            progress.messages.append(parts.redact.answer(step.message))
        if not step.message.calls:
            return Outcome(TurnStatus.FINISHED)
        if stop := repetition.stop_for(step.message.calls):
            return stop
        if step.index not in progress.stored:
            # Before its calls run: whenever the process dies, it is known what may have run.
            await parts.record.save_step(step)
            progress.stored.add(step.index)
        results = await execute_calls(parts, progress, step, finished_calls, from_store=step is pending)
        progress.messages.append(repetition.remind(results))
        if parts.has_queued():
            return Outcome(TurnStatus.CONTINUED)
        step = None


async def _may_go_on(parts: AgentParts, progress: TurnProgress) -> Outcome | None:
    """Return None to continue, or how the turn stops."""
    limits, calls = parts.limits, progress.model_calls
    if limits.model_calls_max is not None and calls >= limits.model_calls_max:
        return Outcome(TurnStatus.STOPPED, f"Stopped after {counted(calls, 'model call')} (--max-turns).")
    if limits.price_usd_max is not None:
        elsewhere = limits.spent_elsewhere()
        spent = sum_costs((progress.cost_usd, elsewhere))
        if spent is None:
            return Outcome(
                TurnStatus.STOPPED,
                f"Stopped: the price of {parts.provider.model} is unknown, so the limit of "
                f"${limits.price_usd_max:.4f} cannot be enforced. Add its price to prices.toml "
                "next to your settings (0 for a model that you host), or run without a limit.",
            )
        if spent >= limits.price_usd_max:
            together = " for the turn and its sub-agents" if elsewhere else ""
            return Outcome(
                TurnStatus.STOPPED,
                f"Stopped at ${spent:.4f}{together}: the limit is ${limits.price_usd_max:.4f}.",
            )
    if calls and calls % limits.steps_max == 0:
        answer = await parts.approve(GoOnApproval(calls))
        if answer.answer is ConsentAnswer.NO:
            return Outcome(
                TurnStatus.STOPPED, f"Stopped after {counted(calls, 'step')}. /retry continues from here."
            )
    return None


class _Repetition:
    """Count how often in a row the model made the same call, or the same few with the same results."""

    def __init__(self) -> None:
        self._calls: list[str] = []
        """The last ones, with their arguments."""
        self._results: list[str] = []
        """The result of each."""
        self._times = 0
        """How often the last few had been made after the previous step."""

    def stop_for(self, calls: Sequence[CallRequest]) -> Outcome | None:
        """Return how the turn stops, if these calls continue what was repeated too often."""
        keys = [f"{call.name} {json.dumps(call.args, sort_keys=True)}" for call in calls]
        period, times = self._repeated()
        if period and times >= STREAK_MAX and keys[0] == self._calls[-period]:
            return _stuck(f"made the same {period} calls, with the same results,")
        self._calls = [*self._calls, *keys][-KEPT_MAX:]
        for at, call in enumerate(calls, len(self._calls) - len(calls)):
            if self._streak(at) >= STREAK_MAX:
                return _stuck(f"made the same call ({call.name})")
        return None

    def remind(self, results: ToolMessage) -> ToolMessage:
        """Return the results, with a note to the model if it repeats itself."""
        self._results = [*self._results, *(result.text for result in results.results)][-KEPT_MAX:]
        period, times = self._repeated()
        # Within a round, each call completes as many rounds as the one before.
        has_grown, self._times = times != self._times, times
        alone = self._streak(len(self._calls) - 1)
        if alone in STREAK_REMINDED_AT:
            said = (
                f"This call has now been made {alone} times in a row with the same arguments. "
                "Its result will not change"
            )
        elif has_grown and times in STREAK_REMINDED_AT:
            said = (
                f"The last {period} calls have now been made {times} times in a row, with the same results. "
                "They will not change"
            )
        else:
            return results
        *others, last = results.results
        reminder = f"\n\n({said}: try something else, or say what is missing.)"
        told = CallResult(
            last.call_id, last.name, last.text + reminder, last.failed, last.provider_id, last.images
        )
        return ToolMessage((*others, told))

    def _streak(self, at: int) -> int:
        """Return how often in a row the call at this place has been made by then."""
        length = 1
        while length <= at and self._calls[at - length] == self._calls[at]:
            length += 1
        return length

    def _repeated(self) -> tuple[int, int]:
        """Return how many calls the last ones repeat, and how often; (0, 0) for none."""
        made = list(zip(self._calls, self._results, strict=False))
        for period in range(2, CYCLE_MAX + 1):
            times = 1
            last = made[-period:]
            while last and last == made[-period * (times + 1) : -period * times]:
                times += 1
            if times > 1 and len(set(last)) > 1:
                return period, times
        return 0, 0


def _stuck(what: str) -> Outcome:
    return Outcome(TurnStatus.STOPPED, f"Stopped, because the model {what} {STREAK_MAX} times in a row.")
