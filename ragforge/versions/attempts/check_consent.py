"""Which check command may run: the user's own, or the project's after its exact text was confirmed."""

import shlex

from msgspec import Struct

from ragforge.domain.errors import UsageError
from ragforge.domain.printable import printable
from ragforge.domain.reveal import oddities, reveal_lines
from ragforge.session.state import Workspace

KEY = "history.check_command"
VARIABLE = "RAGFORGE_HISTORY_CHECK_COMMAND"

ASKED_CHARS_MAX, ASKED_LINES_MAX = 500, 6
"""A longer one is not asked about: nobody should confirm what does not fit on a screen."""


class CheckCommand(Struct, frozen=True):
    """command: the one that may run; empty if none may. asked: the project's, if not answered yet.

    note: what to tell the user, each time, if the project's is not run.
    """

    command: str = ""
    asked: str = ""
    note: str = ""

    @property
    def question(self) -> str:
        """The question to the user."""
        return (
            "This project sets a command that checks its files. May it run with your permissions, in "
            "copies of the project, now and for later checks?"
        )


async def check_command(workspace: Workspace) -> CheckCommand:
    """Return the check command for the workspace's folder, as the user allows it. Raises StoreError."""
    own, wanted = workspace.settings.history.check_command, workspace.loaded.unconfirmed.get(KEY, "")
    if own or not wanted:
        return CheckCommand(own)
    may_run = await workspace.local.trust.may_run(workspace.place.root, KEY, wanted)
    if may_run:
        return CheckCommand(wanted)
    lines = "\n".join(line.text for line in reveal_lines(wanted[:ASKED_CHARS_MAX]))
    shown = f"{lines}{' …' if len(wanted) > ASKED_CHARS_MAX else ''}"
    if may_run is None and not _why_not_asked(wanted):
        once = f"{VARIABLE}={shlex.quote(wanted)}"
        return CheckCommand(
            asked=wanted,
            note=f"The project's check command was not run, because you have not confirmed it: {shown}\n"
            "/merge and /alternatives in the interface ask once whether it may. To run it this time, start "
            f"the command with {printable(once)}",
        )
    why = "you said no to" if may_run is False else _why_not_asked(wanted)
    return CheckCommand(
        note=f"The project sets a check command that {why}, so it was not run: {shown}\n"
        f"To run it anyway, set it in your own settings: ragforge config set {KEY} COMMAND"
    )


async def answer(workspace: Workspace, *, may_run: bool) -> None:
    """Remember on this machine whether the project's current command may run in this folder.

    Raises UsageError if there is nothing to answer, StoreError.
    """
    wanted = workspace.loaded.unconfirmed.get(KEY, "")
    if not wanted or _why_not_asked(wanted):
        raise UsageError("This project sets no check command to confirm.")
    await workspace.local.trust.set_may_run(workspace.place.root, KEY, wanted, may_run=may_run)


def _why_not_asked(command: str) -> str:
    """Return why it is not asked about, since a yes applies to every later run; empty if it can be."""
    if len(command) > ASKED_CHARS_MAX or command.count("\n") >= ASKED_LINES_MAX:
        return "is too long to show"
    if found := oddities(command):
        return f"cannot be parsed reliably ({', '.join(found)})"
    return ""
