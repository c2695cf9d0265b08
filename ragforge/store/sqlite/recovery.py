"""The end of turns whose writer died."""

from ragforge.domain.ids import now
from ragforge.domain.turns import TurnStatus
from ragforge.store.json_text import message_from_json, storable
from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.index import index_ended
from ragforge.store.sqlite.owed import owe_turn
from ragforge.store.sqlite.rows import key_of, to_ms

SUM_OF_STEPS = """
UPDATE turn SET (input_tokens, cached_tokens, output_tokens, thought_tokens, cost_usd) = (
    SELECT coalesce(sum(input_tokens), 0), coalesce(sum(cached_tokens), 0), coalesce(sum(output_tokens), 0),
        coalesce(sum(thought_tokens), 0),
        -- One unknown price makes the sum unknown.
        CASE WHEN count(*) = count(cost_usd) THEN coalesce(sum(cost_usd), 0.0) END
    FROM step WHERE step.turn = turn.key
) WHERE key = ?
"""


def interrupt_running_turns(connection: Connection, session_id: str) -> None:
    """Mark them interrupted, with the text of the steps that were stored.

    Raises Conflict where there is no such session.
    """
    session = key_of(connection, "session", session_id)
    running = list(
        connection.execute("SELECT key FROM turn WHERE status = 'running' AND session = ?", (session,))
    )
    for (turn,) in running:
        connection.execute(
            "UPDATE turn SET status = ?, ended_at = ?, assistant = ? WHERE key = ?",
            (TurnStatus.INTERRUPTED, to_ms(now()), storable(_text_of_steps(connection, turn)), turn),
        )
        connection.execute(SUM_OF_STEPS, (turn,))
        index_ended(connection, turn)
        owe_turn(connection, turn)


def _text_of_steps(connection: Connection, turn: int) -> str:
    rows = connection.execute("SELECT message FROM step WHERE turn = ? ORDER BY number", (turn,))
    texts = [message_from_json(message, provider="", model="").text for (message,) in rows]
    return "\n\n".join(text for text in texts if text)
