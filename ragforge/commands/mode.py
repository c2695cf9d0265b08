"""`/mode`: how much may happen without asking."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Confirm, Outcome, Tell, Verb
from ragforge.domain.approvals import Mode
from ragforge.domain.arguments import option, word

if TYPE_CHECKING:
    from ragforge.session.state import Session

MEANING: Mapping[Mode, str] = {
    Mode.ASK: "file changes and commands need your approval.",
    Mode.ACCEPT_EDITS: "file changes inside the project are allowed; commands need your approval.",
    Mode.PLAN: "nothing is changed; the model only reads and plans.",
    Mode.ALL: "everything is allowed without asking. Use it only in folders that you can afford to lose.",
}


class ModeArguments(Struct, frozen=True):
    """Which one. yes: the question about it was answered."""

    mode: Annotated[Mode | None, word("MODE", "The mode: what is allowed without asking.")] = None
    yes: Annotated[bool, option("--yes", hidden=True)] = False


async def _run(session: "Session", args: ModeArguments) -> Outcome:
    if args.mode is None:
        lines = [f"- **{mode}**: {meaning}" for mode, meaning in MEANING.items()]
        return Tell(f"The mode is **{session.live.consent.mode}**.\n\n" + "\n".join(lines))
    if args.mode is Mode.ALL and not args.yes:
        return Confirm(
            "Let the model write files anywhere and run any command, without asking, until you leave?",
            then=VERB.line(ModeArguments(Mode.ALL, yes=True)),
        )
    await session.set_mode(args.mode)
    return Tell(f"The mode is now **{args.mode}**: {MEANING[args.mode]}")


VERB = Verb("mode", "Show or change what is allowed without asking.", ModeArguments, _run)
