"""`/mode`: how much may happen without asking."""

from ragforge.commands.base import Command, Confirm, Outcome, Tell
from ragforge.domain.approvals import Mode
from ragforge.domain.errors import UsageError
from ragforge.session.modes import MEANING, set_mode
from ragforge.session.state import Session

CONFIRMED = "--yes"


async def _run(session: Session, args: str) -> Outcome:
    words = args.split()
    if not words:
        lines = [f"- **{mode}**: {meaning}" for mode, meaning in MEANING.items()]
        return Tell(f"The mode is **{session.live.mode}**.\n\n" + "\n".join(lines))
    if words[0] not in list(Mode):
        raise UsageError(f"There is no mode {words[0]!r}. Choose one of: {', '.join(Mode)}.")
    mode = Mode(words[0])
    if mode is Mode.ALL and CONFIRMED not in words:
        return Confirm(
            "Let the model write files anywhere and run any command, without asking, until you leave?",
            then=f"mode all {CONFIRMED}",
        )
    await set_mode(session, mode)
    return Tell(f"The mode is now **{mode}**: {MEANING[mode]}")


COMMAND = Command("mode", "Show or choose how much may happen without asking.", _run, usage="[MODE]")
