from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

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
        "2. untitled session, 2026-01-02 03:04 UTC, shell call of turn 5\nls -l"
    )


async def test_each_kind_is_told_and_what_no_longer_holds_is_marked(tmp_path: Path) -> None:
    kinds = [
        replace(hit("use a hash"), abandoned=True),
        replace(hit("we chose"), kind=HitKind.SUMMARY, level=2),
        replace(hit("use mysql"), kind=HitKind.MEMORY, memory_type="decision", replaced=True),
        replace(hit("+x = 1"), kind=HitKind.VERSION, version_id="0" * 24 + "abcdefgh", abandoned=True),
        replace(hit("by hand"), kind=HitKind.VERSION, version_id="12345678", session_id="", turn_id=""),
    ]
    result = await search_history.run(SearchHistoryArgs("x"), make_context(tmp_path, Kept(hits=kinds)))
    heads = [line for line in result.text.splitlines() if line[1:2] == "."]
    assert [head.partition("UTC, ")[2] for head in heads] == [
        "turn 5, undone",
        "summary up to turn 5",
        "decision from turn 5, replaced",
        "version abcdefgh of turn 5, undone",
        "version 12345678",
    ]
    assert heads[-1].startswith("5. no session, ")


async def test_nothing_found_is_an_answer_and_an_empty_query_is_not(tmp_path: Path) -> None:
    ctx = make_context(tmp_path)
    assert not (await search_history.run(SearchHistoryArgs("x"), ctx)).failed
    assert (await search_history.run(SearchHistoryArgs("  "), ctx)).failed
