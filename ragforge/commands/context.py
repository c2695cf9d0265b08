"""`/context`: what the next call would carry, and what each part takes of the model's window."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Outcome, Tell, Verb
from ragforge.domain.arguments import rest
from ragforge.domain.messages import Parts, TextPart, UserMessage
from ragforge.domain.words import counted

if TYPE_CHECKING:
    from ragforge.session.next_call import NextCall
    from ragforge.session.state import Session


class ContextArguments(Struct, frozen=True):
    """What follows the name."""

    message: Annotated[str, rest("MESSAGE", "The message that would be sent.")] = ""


async def _run(session: "Session", args: ContextArguments) -> Outcome:
    from ragforge.session.model import limits_of
    from ragforge.session.next_call import next_call

    parts: Parts = (TextPart(args.message),) if args.message else _last_words(session)
    call = await next_call(session, parts)
    window = (await limits_of(session)).context_tokens_max
    return Tell(
        "\n\n".join(
            [_table(call, window), *_recalled(session, call, bool(args.message)), *_background(session)]
        )
    )


def _last_words(session: "Session") -> Parts:
    said = [message.parts for message in session.live.window.messages if isinstance(message, UserMessage)]
    return said[-1] if said else ()


def _table(call: "NextCall", window: int) -> str:
    rows = {
        "system prompt": call.system_tokens,
        f"{call.tools} tools": call.tools_tokens,
        f"{counted(call.turns, 'turn')} word for word": call.raw_tokens,
        f"{len(call.block.items)} recalled": call.block.tokens,
        "**all**": call.tokens - call.prompt_tokens,
    }
    lines = [f"| {name} | {tokens:,} | {tokens / window:.1%} |" for name, tokens in rows.items()]
    return "\n".join([f"| part | tokens | of {window:,} |", "|---|--:|--:|", *lines])


def _recalled(session: "Session", call: "NextCall", is_asked: bool) -> list[str]:
    from ragforge.session.context import recalls

    if not recalls(session.workspace):
        return ["Nothing is recalled in this run."]
    lines = [f"- {item.section}: {item.text[:100]} *({item.reason})*" for item in call.block.items]
    told = ["\n".join(lines)] if lines else []
    if not is_asked:
        told.append("What is recalled depends on the message: `/context MESSAGE` shows it for another one.")
    return [*told, call.block.limited] if call.block.limited else told


def _background(session: "Session") -> list[str]:
    progress = session.workspace.background.progress
    waiting = [f"{counted(progress.turns, 'turn')} for a summary"] if progress.turns else []
    waiting += [f"{counted(progress.vectors, 'text')} for a vector"] if progress.vectors else []
    told = [f"Waiting in the background: {' and '.join(waiting)}."] if waiting else []
    return [*told, progress.note] if progress.note else told


VERB = Verb(
    "context", "Show what the next call would carry, and what each part costs.", ContextArguments, _run
)
