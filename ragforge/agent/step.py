"""One answer of the model: requested, shown as it arrives, and stored however it ends."""

from contextlib import aclosing
from typing import assert_never

from msgspec import Struct, field

from ragforge.agent.parts import AgentParts, Fitted, TurnProgress
from ragforge.domain.errors import AnswerUnusable, ContextTooLong
from ragforge.domain.events import (
    AnswerEnded,
    CallSeen,
    FinishReason,
    Notice,
    RetryWaiting,
    StepEnded,
    StepStarted,
    TextDelta,
    ThoughtDelta,
    UsageSeen,
    UsageUpdated,
    WebSearched,
)
from ragforge.domain.messages import ModelMessage
from ragforge.domain.text_pieces import TextPieces
from ragforge.domain.turns import Step
from ragforge.domain.usage import Usage
from ragforge.domain.words import counted

CHARS_PER_TOKEN = 4
"""A rough measure of what was written, if nobody has counted it."""

REFITS_MAX = 3
"""How often a request that the provider found too long is shortened and sent again."""


class _Arriving(Struct):
    """What has arrived of an answer."""

    text: TextPieces = field(default_factory=TextPieces)
    thoughts: TextPieces = field(default_factory=TextPieces)
    usage: Usage | None = None
    estimated: bool = False
    ended: AnswerEnded | None = None


async def ask_model(parts: AgentParts, progress: TurnProgress) -> Step:
    """Append the model's next step to the progress, or what arrived of it before an error.

    Raises ModelError, including AnswerUnusable if the answer is blocked, cut, empty or malformed.
    """
    share = 1.0
    for _ in range(REFITS_MAX):
        try:
            return await _ask_once(parts, progress, share)
        except ContextTooLong:
            # Our count of tokens is an estimate; the provider's word is final.
            share /= 2
    return await _ask_once(parts, progress, share)


async def _ask_once(parts: AgentParts, progress: TurnProgress, share: float) -> Step:
    fitted = await parts.fit(progress.messages, share)
    await _tell_what_went(parts, progress, fitted)
    await parts.events.send(StepStarted(progress.next_index, parts.provider.model))
    progress.model_calls += 1
    arriving = _Arriving()
    try:
        await _receive(parts, fitted, arriving)
        parts.context.read_files.answered()
    finally:
        step = _keep(parts, progress, arriving, fitted)
    await parts.events.send(StepEnded(parts.redact.exact(step.message.text)))
    if searched := parts.redact.answer(step.message).searched:
        await parts.events.send(WebSearched(searched))
    await _tell_usage(parts, step, arriving, fitted)
    if reason := _why_unusable(arriving):
        raise AnswerUnusable(reason)
    return step


async def _receive(parts: AgentParts, fitted: Fitted, arriving: _Arriving) -> None:
    text_shown, thoughts_shown = parts.redact.stream(exact=True), parts.redact.stream(exact=True)
    try:
        async with aclosing(parts.provider.stream(fitted.request)) as stream:
            async for event in stream:
                match event:
                    case TextDelta(text):
                        arriving.text.add(text)
                        if shown := text_shown.feed(text):
                            await parts.events.send(TextDelta(shown))
                    case ThoughtDelta(text):
                        arriving.thoughts.add(text)
                        if shown := thoughts_shown.feed(text):
                            await parts.events.send(ThoughtDelta(shown))
                    case UsageSeen(usage, estimated):
                        arriving.usage, arriving.estimated = usage, estimated
                    case RetryWaiting():
                        await parts.events.send(event)
                    case AnswerEnded():
                        arriving.ended = event
                    case CallSeen():
                        pass  # the ended message contains all calls, in order
                    case _:
                        assert_never(event)
    finally:
        # What was held back, also of an interrupted answer: it is stored, so it is shown.
        if shown := thoughts_shown.flush():
            await parts.events.send(ThoughtDelta(shown))
        if shown := text_shown.flush():
            await parts.events.send(TextDelta(shown))


def _keep(parts: AgentParts, progress: TurnProgress, arriving: _Arriving, fitted: Fitted) -> Step:
    """Append the complete or partial step to the progress, unless nothing arrived."""
    ended = arriving.ended
    begun = bool(ended or arriving.text.chars or arriving.thoughts.chars or arriving.usage)
    # Many services count at the end only; an interrupted answer is paid for all the same.
    usage = arriving.usage or (_estimate(arriving, fitted) if begun else Usage())
    message = ended.message if ended else _partial(parts, arriving)
    step = Step(
        progress.turn_id,
        progress.next_index,
        message=message,
        usage=usage,
        cost_usd=parts.price(usage, message.searched.count) if begun else 0.0,
        interrupted=ended is None or _why_unusable(arriving) != "",
    )
    if begun:
        progress.steps.append(step)
        progress.next_index += 1
    return step


def _partial(parts: AgentParts, arriving: _Arriving) -> ModelMessage:
    return ModelMessage(
        parts.provider.name,
        parts.provider.model,
        arriving.text.joined(),
        thoughts=arriving.thoughts.joined(),
    )


def _estimate(arriving: _Arriving, fitted: Fitted) -> Usage:
    return Usage(
        input_tokens=fitted.tokens,
        output_tokens=-(-arriving.text.chars // CHARS_PER_TOKEN),
        thought_tokens=-(-arriving.thoughts.chars // CHARS_PER_TOKEN),
    )


async def _tell_what_went(parts: AgentParts, progress: TurnProgress, fitted: Fitted) -> None:
    """Report when older messages were dropped, and once per turn that the conversation no longer fits."""
    if fitted.compacted:
        await parts.events.send(Notice(fitted.compacted))
    gone = {
        ("shortens", "older tool result", ""): fitted.stubbed_results,
        ("leaves out", "older turn", ""): fitted.dropped_turns,
        ("leaves out", "earlier step", " of this turn"): fitted.dropped_steps,
    }
    what = " and ".join(
        f"{does} {counted(count, noun)}{of}" for (does, noun, of), count in gone.items() if count
    )
    if what and not progress.told_of_cut:
        progress.told_of_cut = True
        await parts.events.send(
            Notice(
                f"The request {what} to fit the model's context window of {fitted.tokens_max:,} tokens. "
                "The session keeps everything, and search finds it."
            )
        )


async def _tell_usage(parts: AgentParts, step: Step, arriving: _Arriving, fitted: Fitted) -> None:
    used = step.usage
    await parts.events.send(
        UsageUpdated(
            used,
            step.cost_usd,
            context_tokens=used.total_tokens or fitted.tokens,
            context_tokens_max=fitted.tokens_max,
            estimated=arriving.estimated or arriving.usage is None,
        )
    )


def _why_unusable(arriving: _Arriving) -> str:
    """Return why the answer cannot be used as the model's step, as a sentence; empty if it can."""
    ended = arriving.ended
    if ended is None:
        return "The answer was cut off. What arrived is kept; /retry asks again."
    detail = f" ({ended.detail})" if ended.detail else ""
    match ended.finish:
        case FinishReason.STOP | FinishReason.CALLS:
            if ended.message.calls or ended.message.text.strip():
                return ""
            return (
                f"The model returned an empty answer{detail}. "
                "/retry asks again; /model chooses another model."
            )
        case FinishReason.LENGTH:
            return (
                f"The answer was cut at the model's output limit{detail}. "
                "What arrived is kept; ask it to continue."
            )
        case FinishReason.BLOCKED:
            return (
                f"The provider blocked the answer{detail}. "
                "Rephrase the request, or choose another model with /model."
            )
        case FinishReason.MALFORMED:
            return f"The model sent a malformed tool call{detail}. /retry asks again."
        case FinishReason.INCOMPLETE:
            return f"The answer ended without a finish reason{detail}. /retry asks again."
        case _:
            assert_never(ended.finish)
