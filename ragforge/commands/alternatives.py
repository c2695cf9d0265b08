"""`/alternatives`: one request worked out in several ways at once, of which one can be taken."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from ragforge.commands.base import Command, Confirm, Follow, Outcome, Tell
from ragforge.commands.check_question import OPTION as CHECK
from ragforge.commands.check_question import question_before, take_answer
from ragforge.commands.move_arguments import ON_CONFLICT, count_of, parse_arguments
from ragforge.commands.move_outcome import moved_or_asked
from ragforge.domain.errors import UsageError
from ragforge.session.state import Session
from ragforge.versions.attempts.alternatives import alternatives_here, here_words, take
from ragforge.versions.attempts.start import COPYING, AttemptRequest, question, start_alternatives, ways_for

MODELS, YES = "--models", "--yes"
NUMBER = "The number of an alternative"
USAGE = (
    "Write /alternatives 3 PROMPT to work a request out in three ways, /alternatives 3 for the newest "
    "request anew, /alternatives to see them, /alternatives take K, or /alternatives stop K."
)


async def _run(session: Session, args: str) -> Outcome:
    word, rest = _first(args)
    match word:
        case "":
            return Tell(here_words(await alternatives_here(session)))
        case "take":
            given = parse_arguments("alternatives take", rest, words_max=1)
            number = count_of("".join(given.words), NUMBER)
            return await moved_or_asked(take(session, number, choices=given.choices), f"alternatives {args}")
        case "stop":
            return await _stop(session, count_of(rest, NUMBER))
        case _ if word.isdecimal():
            return await _start(session, word, rest)
        case _:
            raise UsageError(f"/alternatives does not know {word!r}. {USAGE}")


async def _start(session: Session, count: str, rest: str) -> Outcome:
    consented = False
    models: tuple[str, ...] = ()
    prompt = rest
    while prompt.startswith("--"):
        option, after = _first(prompt)
        name, has_value, value = option.partition("=")
        if name == MODELS:
            if not has_value:
                value, after = _first(after)
            models = tuple(filter(None, value.split(",")))
        elif option == YES:
            consented = True
        elif option.startswith(CHECK):
            await take_answer(session, option)
        else:
            raise UsageError(f"/alternatives has no {option}. {USAGE} {MODELS} A,B names other models.")
        prompt = after
    wanted = AttemptRequest(count_of(count, "The number of alternatives"), prompt, models)
    said = f"{MODELS}={','.join(models)} {prompt}" if models else prompt
    if consented:
        return Follow(_lines(session, wanted))
    asked = await question(session, wanted)
    first = await question_before(session, lambda option: f"alternatives {count} {option} {said}")
    return first or Confirm(asked, then=f"alternatives {count} {YES} {said}")


async def _lines(session: Session, wanted: AttemptRequest) -> AsyncGenerator[str | Outcome, None]:
    """All that is heard from the beginning to the table at the end."""
    ways_for(session, wanted)  # what cannot be started says so, and nothing else
    yield COPYING
    group = await start_alternatives(session, wanted)
    async with aclosing(group.lines()) as lines:
        async for line in lines:
            yield line


async def _stop(session: Session, number: int) -> Outcome:
    if session.live.alternatives is None:
        raise UsageError("No alternatives run.")
    await session.live.alternatives.stop(number)
    return Tell(f"Alternative {number} ends. What it did so far is kept.")


def _first(text: str) -> tuple[str, str]:
    """The first word, and what follows it as it was typed."""
    word, *rest = text.strip().split(maxsplit=1) or [""]
    return word, rest[0] if rest else ""


COMMAND = Command(
    "alternatives",
    "Work a request out in N ways at once, each in a copy of the project; list them, take one.",
    _run,
    usage=f"[N [{MODELS} A,B] [PROMPT] | take K [{ON_CONFLICT} keep|restore|merge] | stop K]",
)
