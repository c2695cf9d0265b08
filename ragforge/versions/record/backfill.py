"""Make missing versions after a crash, at the next opportunity."""

from collections.abc import Collection

from ragforge.domain.ids import short_id
from ragforge.domain.turns import Turn, TurnStatus
from ragforge.domain.versions import Provenance, Untracked
from ragforge.domain.words import counted
from ragforge.store.base import Store
from ragforge.versions.assembly import TurnFacts
from ragforge.versions.record.ledger import Ledger, Owner
from ragforge.versions.record.omissions import not_kept
from ragforge.versions.record.write_ahead import take_in_planned
from ragforge.versions.state import OpenTurn
from ragforge.versions.tree import summed

CUT_OFF = "Made after a crash in the middle of this turn."
CUT_OFF_IN_COMMAND = (
    "Made after a crash: ragforge ended while a command of this turn ran, so changes found afterwards are "
    "attributed to the command."
)
ENDED = "Made afterwards: ragforge ended right after this turn, before its version was made."


async def came_to_nothing(store: Store, turn: Turn) -> bool:
    """Whether it ended before the model said or did anything, so that its words belong in the prompt.

    A blocked or empty answer cost something, so its step is stored; it said nothing all the same.
    A turn whose version says that something ran did something, even if none of its steps is stored.
    """
    if turn.status not in (TurnStatus.INTERRUPTED, TurnStatus.FAILED):
        return False
    steps = await store.turns.steps([turn.id])
    if any(not step.interrupted or step.message.text.strip() for step in steps):
        return False
    versions = await store.versions.of_turns([turn.id])
    return not any(version.changes or version.note == CUT_OFF_IN_COMMAND for version in versions)


async def make_up(ledger: Ledger, *, but: Collection[str] = ()) -> list[str]:
    """Make the versions of interrupted turns, from their recorded changes and the current files.

    but: running turns of this process. Returns what to tell the user.
    """
    cut_off = [turn for turn in ledger.turns if not turn.pid_alive and turn.turn_id not in but]
    if not cut_off:
        return []
    commanding = next((turn for turn in reversed(cut_off) if turn.in_command), None)
    untracked: tuple[Untracked, ...] = ()
    await take_in_planned(ledger, [turn.turn_id for turn in cut_off])
    if commanding:
        since = commanding.since
        owner = Owner(commanding.session_id, commanding.turn_id, Provenance.SHELL, since)
        untracked = await ledger.take_in(owner)
    said = [
        words
        for turn in cut_off
        if (words := await _end(ledger, turn, untracked if turn is commanding else ()))
    ]
    # Any other differences came after the turns, or from elsewhere: the user's, outside.
    await ledger.take_in()
    return said


async def _end(ledger: Ledger, open_turn: OpenTurn, untracked: tuple[Untracked, ...]) -> str:
    turn = await ledger.files.store.turns.get(open_turn.turn_id)
    if turn is None:
        # Of another store, or deleted since: its changes are kept, without a turn.
        await ledger.end_unknown(open_turn.turn_id)
        return ""
    if turn.status is TurnStatus.WAITING:
        await ledger.carry(turn.id, end=True)  # it continues when the user answers
        return ""
    was_cut_off = turn.status in (TurnStatus.RUNNING, TurnStatus.INTERRUPTED)
    note = (CUT_OFF_IN_COMMAND if open_turn.in_command else CUT_OFF) if was_cut_off else ENDED
    facts = TurnFacts(turn, usage=turn.usage, cost_usd=turn.cost_usd, note=note, untracked=untracked)
    version = await ledger.add_turn(facts, after_crash=True)
    if not was_cut_off:
        return ""
    lost = f" {not_kept(untracked)}" if untracked else ""
    paths = {change.path for change in summed(version.changes)}
    files = counted(len(paths), "changed file")
    return (
        f"A turn of session {short_id(turn.session_id)} was interrupted by a crash. What it did is kept as "
        f"version {short_id(version.id)}, with {files}.{lost}"
    )


async def make_left(ledger: Ledger, turn_id: str) -> bool:
    """Make the version of a turn whose end could not be stored at first; return False if it still cannot."""
    turn = await ledger.files.store.turns.get(turn_id)
    if turn is None or turn.status in (TurnStatus.RUNNING, TurnStatus.WAITING):
        return False
    await ledger.add_turn(TurnFacts(turn, usage=turn.usage, cost_usd=turn.cost_usd))
    return True


async def make_missing(ledger: Ledger, session_id: str, *, but: Collection[str] = ()) -> None:
    """Give empty versions to the session's ended turns that have none, because nothing is known of them.

    This happens if a crash came before their start was recorded. Turns older than the version tree are not
    among them: no store names those.
    """
    turns, versions = ledger.files.store.turns, ledger.files.store.versions
    for turn_id in await versions.unversioned(session_id):
        turn = await turns.get(turn_id) if turn_id not in but else None
        if turn is not None:
            facts = TurnFacts(turn, usage=turn.usage, cost_usd=turn.cost_usd, note=ENDED)
            await ledger.add_turn(facts, after_crash=True)
