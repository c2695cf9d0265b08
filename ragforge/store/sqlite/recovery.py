"""End turns whose writer died."""

from datetime import datetime

from ragforge.domain.ids import now
from ragforge.domain.turns import Step, cut_off_calls, cut_off_end
from ragforge.store.sqlite.calls import insert_call
from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.rows import from_ms, key_of
from ragforge.store.sqlite.turns import STEPS, end_turn


def interrupt_running_turns(connection: Connection, session_id: str) -> None:
    """Mark them interrupted, with the text of the stored steps, and their unfinished calls too.

    Raises Conflict if there is no such session.
    """
    session = key_of(connection, "session", session_id)
    running = list(
        connection.execute(
            "SELECT key, id, started_at FROM turn WHERE status = 'running' AND session = ?", (session,)
        )
    )
    for turn, identifier, started_at in running:
        steps, started = _steps(connection, turn), from_ms(started_at)
        _interrupt_calls(connection, turn, steps, started)
        end_turn(connection, turn, cut_off_end(identifier, steps, at=max(now(), started)))


def _steps(connection: Connection, turn: int) -> list[Step]:
    rows = connection.execute(
        f"SELECT {STEPS.select} FROM step JOIN turn ON turn.key = step.turn "
        "WHERE turn.key = ? ORDER BY number",
        (turn,),
    )
    return [STEPS.record(row) for row in rows]


def _interrupt_calls(connection: Connection, turn: int, steps: list[Step], at: datetime) -> None:
    ended = {call for (call,) in connection.execute("SELECT id FROM tool_call WHERE turn = ?", (turn,))}
    for step in steps:
        for call in cut_off_calls(step, ended=ended, at=at):
            insert_call(connection, call, turn)
