"""`context`: the contents of the next model call, and how much of the context window each part takes."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Opens, Outcome, Report, Tell, Verb
from ragforge.domain.arguments import rest, shell_option
from ragforge.domain.commands import is_in_shell
from ragforge.domain.errors import UsageError
from ragforge.domain.messages import Parts, TextPart, UserMessage
from ragforge.domain.printable import inline_code, one_line
from ragforge.domain.words import counted

if TYPE_CHECKING:
    from ragforge.session.next_call import NextCall
    from ragforge.session.state import Session


class ContextArguments(Struct, frozen=True):
    """For which message."""

    message: Annotated[str, rest("MESSAGE", "The message that would be sent.")] = ""
    json: Annotated[bool, shell_option("--json", help="Print one JSON object.")] = False


async def _run(session: "Session", args: ContextArguments) -> Outcome:
    from ragforge.session.model import limits_of
    from ragforge.session.next_call import next_call

    if is_in_shell():
        return await _printed(session, args)
    parts: Parts = (TextPart(args.message),) if args.message else _last_words(session)
    call = await next_call(session, parts)
    window = (await limits_of(session)).context_tokens_max
    return Tell(
        "\n\n".join(
            [_table(call, window), *_recalled(session, call, bool(args.message)), *_background(session)]
        )
    )


async def _printed(session: "Session", args: ContextArguments) -> Report:
    """The parts, which the interface shows as a table."""
    from ragforge.session.context import prepare_recall
    from ragforge.session.instructions import untrusted_instructions
    from ragforge.session.next_call import next_call
    from ragforge.session.trust import left_out_words

    if not args.message.strip():
        raise UsageError(
            'Add the message that would be sent, for example: ragforge context "Which database?"'
        )
    await prepare_recall(session)
    call = await next_call(session, session.workspace.redactor.parts((TextPart(args.message),)))
    left_out = await untrusted_instructions(session)
    notes = (left_out_words(left_out, can_ask=False),) if left_out else ()
    if args.json:
        stored = session.id if session.live.stored else None
        return Report(notes=notes, data={"session": stored, **call.as_json()})
    return Report(exact=f"{_text(call)}\n", notes=notes)


def _text(call: "NextCall") -> str:
    block = call.block
    recalled = block.text or "Nothing is recalled for this message."
    limits = [f"({block.left_out} more did not fit.)"] if block.left_out else []
    limits += [f"({block.limited})"] if block.limited else []
    counts = (
        f"{call.system_tokens:,} tokens of system prompt, "
        f"{call.tools_tokens:,} of {counted(call.tools, 'tool')}, "
        f"{call.raw_tokens:,} of {counted(call.turns, 'turn')} word for word, "
        f"{block.tokens:,} of {len(block.items)} recalled in {block.took_ms:.0f} ms, "
        f"{call.prompt_tokens:,} of the message; {call.tokens:,} in all"
    )
    return "\n\n".join([call.raw_text, recalled, *limits, counts])


def _last_words(session: "Session") -> Parts:
    messages = session.live.view.window.messages
    said = [message.parts for message in messages if isinstance(message, UserMessage)]
    return said[-1] if said else ()


def _table(call: "NextCall", window: int) -> str:
    rows = {
        "system prompt": call.system_tokens,
        counted(call.tools, "tool"): call.tools_tokens,
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
    lines = [
        f"- {item.section}: {inline_code(one_line(item.text)[:100])} *({item.reason})*"
        for item in call.block.items
    ]
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
    "context",
    "Show what the next request would contain, and the tokens of each part.",
    ContextArguments,
    _run,
    opens=Opens.LOOK,
    reads=True,
)
