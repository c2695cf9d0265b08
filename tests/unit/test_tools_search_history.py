from datetime import UTC, datetime
from pathlib import Path

from ragforge.domain.search import Hit, HitKind
from ragforge.tools import search_history
from ragforge.tools.search_history import SearchHistoryArgs
from tests.tool_context import Kept, make_context


def hit(text: str, *, title: str = "", tool: str = "") -> Hit:
    kind = HitKind.TOOL_CALL if tool else HitKind.TURN
    at = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    return Hit(kind, "id", "session", title, "turn", 4, at, 1.0, text, (), "/project", tool)


async def test_hits_say_where_and_when_they_were(tmp_path: Path) -> None:
    kept = Kept(hits=[hit("we chose SQLite", title="Stores"), hit("ls -l\n", tool="shell")])
    result = await search_history.run(SearchHistoryArgs("sqlite", 2), make_context(tmp_path, kept))
    assert kept.asked == [("sqlite", 2)]
    assert result.text == (
        "1. Stores, 2026-01-02 03:04 UTC, turn 5\nwe chose SQLite\n\n"
        "2. untitled session, 2026-01-02 03:04 UTC, turn 5, tool shell\nls -l"
    )


async def test_nothing_found_is_an_answer_and_an_empty_query_is_not(tmp_path: Path) -> None:
    ctx = make_context(tmp_path)
    assert not (await search_history.run(SearchHistoryArgs("x"), ctx)).failed
    assert (await search_history.run(SearchHistoryArgs("  "), ctx)).failed
