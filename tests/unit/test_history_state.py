"""The local state keeps what is known of a folder: its head, its manifest, its open turns and their notes."""

import stat
from datetime import datetime, timedelta
from pathlib import Path

import apsw
import pytest

from ragforge.domain.errors import (
    Conflict,
    StoreDamaged,
    StoreError,
    StoreMoved,
    StoreNewer,
    StoreUnavailable,
)
from ragforge.domain.ids import now
from ragforge.domain.versions import Change, Node, NodeKind, Provenance
from ragforge.versions.state import TURNS_KEPT, Head, HistoryState, open_history_state

ROOT = Path("/src/project")
ODD = Path("/src/gr\udce9n")
NODE = Node(NodeKind.FILE, "ab" * 32, 0o755, 12)
CHANGES = [
    Change("a.txt", None, NODE, Provenance.TOOL),
    Change("gr\udce9n/ü.txt", NODE, None, Provenance.SHELL, shared=True),
    Change("b", None, Node(NodeKind.LINK, "cd" * 32, 0), Provenance.SHELL, renamed_from="gr\udce9n"),
    Change("empty", Node(NodeKind.FOLDER, "", 0o700), None, Provenance.OUTSIDE),
]


async def test_a_folder_nobody_came_to_stands_nowhere(state: HistoryState) -> None:
    assert await state.head(ROOT) == Head("", "")
    assert await state.manifest(ROOT) is None
    assert await state.journal(ROOT) is None
    assert await state.open_turns(ROOT) == []
    assert await state.noted(ROOT, "t") == []
    assert not await state.prepared(ROOT, "s")
    assert await state.roots() == []


@pytest.mark.parametrize("root", [ROOT, ODD])
async def test_what_is_kept_of_a_folder_is_seen_by_others(
    root: Path, state: HistoryState, other: HistoryState
) -> None:
    await state.set_head(root, Head("v1", "main"))
    await state.set_manifest(root, b"\0first")
    await state.set_journal(root, b"\xffplan")
    await state.set_prepared(root, "s")
    assert await other.head(root) == Head("v1", "main")
    assert await other.manifest(root) == b"\0first"
    assert await other.journal(root) == b"\xffplan"
    assert await other.prepared(root, "s")
    assert await other.roots() == [root]
    assert not await other.prepared(root, "other")
    assert await other.head(root / "below") == Head()
    assert await other.manifest(root.parent) is None


@pytest.mark.parametrize("replaced", [False, True])
async def test_nothing_is_written_where_nobody_would_find_it(state: HistoryState, replaced: bool) -> None:
    await state.set_head(ROOT, Head("v1", "main"))
    away = state.path.rename(state.path.with_name("away.db"))
    if replaced:
        state.path.write_bytes(away.read_bytes())
    with pytest.raises(StoreMoved, match="removed, moved or replaced") as raised:
        await state.set_head(ROOT, Head("v2", "main"))
    assert "start it again" in str(raised.value)
    away.replace(state.path)
    await state.set_head(ROOT, Head("v3", "main"))
    assert await state.head(ROOT) == Head("v3", "main")


async def test_what_is_kept_is_replaced_and_cleared(state: HistoryState) -> None:
    for version in ("v1", "v2"):
        await state.set_head(ROOT, Head(version))
        await state.set_manifest(ROOT, version.encode())
        await state.set_journal(ROOT, version.encode())
        await state.set_prepared(ROOT, "s")
    assert await state.head(ROOT) == Head("v2", "")
    assert await state.manifest(ROOT) == b"v2"
    assert await state.journal(ROOT) == b"v2"
    await state.clear_journal(ROOT)
    await state.clear_journal(ROOT)
    await state.unprepare(ROOT)
    assert await state.journal(ROOT) is None
    assert not await state.prepared(ROOT, "s")


async def test_head_manifest_and_end_of_a_turn_come_together(state: HistoryState) -> None:
    await state.set_manifest(ROOT, b"before")
    await state.begin_turn(ROOT, "s", "t")
    await state.note(ROOT, "t", CHANGES)
    await state.set_head(ROOT, Head("v1"))
    assert await state.manifest(ROOT) == b"before"
    assert [turn.turn_id for turn in await state.open_turns(ROOT)] == ["t"]
    await state.set_head(ROOT, Head("v2"), manifest=b"after", ended_turn="t")
    assert await state.head(ROOT) == Head("v2")
    assert await state.manifest(ROOT) == b"after"
    assert await state.open_turns(ROOT) == []
    assert await state.noted(ROOT, "t") == []


async def test_notes_that_a_version_holds_are_forgotten_while_their_turn_goes_on(state: HistoryState) -> None:
    await state.begin_turn(ROOT, "s", "t")
    await state.begin_command(ROOT, "t")
    await state.note(ROOT, "t", CHANGES)
    await state.set_head(ROOT, Head("v1"), carried_turn="t")
    [turn] = await state.open_turns(ROOT)
    assert (turn.turn_id, turn.in_command) == ("t", True)
    assert await state.noted(ROOT, "t") == []
    await state.note(ROOT, "t", CHANGES[:1])
    assert await state.noted(ROOT, "t") == CHANGES[:1]
    await state.end_turn(ROOT, "t")
    with pytest.raises(Conflict):
        await state.set_head(ROOT, Head("v2"), manifest=b"lost", carried_turn="t")
    assert (await state.head(ROOT), await state.manifest(ROOT)) == (Head("v1"), None)


async def test_nothing_of_it_comes_alone(state: HistoryState) -> None:
    await state.set_head(ROOT, Head("v1"), manifest=b"first")
    with pytest.raises(TypeError):
        await state.set_head(ROOT, Head("v2"), manifest=object())  # pyright: ignore[reportArgumentType]
    assert await state.head(ROOT) == Head("v1")


async def test_notes_are_appended_in_order_and_come_back_whole(
    state: HistoryState, other: HistoryState
) -> None:
    await state.begin_turn(ROOT, "s", "t")
    await state.begin_turn(ODD, "s", "t")
    await state.note(ROOT, "t", CHANGES[:2])
    await state.note(ROOT, "t", [])
    await state.note(ODD, "t", CHANGES[:1])
    await state.note(ROOT, "t", CHANGES[2:])
    assert await other.noted(ROOT, "t") == CHANGES
    assert await other.noted(ODD, "t") == CHANGES[:1]


async def test_all_of_a_folder_moves_in_place_of_what_was_kept_there(state: HistoryState) -> None:
    await state.set_head(ROOT, Head("v1", "main"), manifest=b"first")
    await state.begin_turn(ROOT, "s", "t")
    await state.note(ROOT, "t", CHANGES)
    await state.set_journal(ROOT, b"journal")
    await state.set_planned(ROOT, b"plan")
    await state.set_prepared(ROOT, "s")
    await state.set_head(ODD, Head("other"), manifest=b"other")
    await state.move(ROOT, ODD)
    assert await state.roots() == [ODD]
    assert (await state.head(ODD), await state.manifest(ODD)) == (Head("v1", "main"), b"first")
    assert (await state.journal(ODD), await state.planned(ODD)) == (b"journal", b"plan")
    assert await state.prepared(ODD, "s")
    assert await state.noted(ODD, "t") == CHANGES


async def test_a_turn_that_does_not_run_takes_no_notes(state: HistoryState) -> None:
    await state.begin_turn(ROOT, "s", "t")
    await state.end_turn(ROOT, "t")
    await state.end_turn(ROOT, "t")
    for attempt in (
        state.note(ROOT, "t", CHANGES),
        state.begin_command(ROOT, "t"),
        state.end_command(ROOT, "never begun"),
    ):
        with pytest.raises(Conflict, match=r"is not running in /src/project"):
            await attempt


async def test_a_turn_that_runs_on_begins_without_notes(state: HistoryState) -> None:
    await state.begin_turn(ROOT, "s", "t")
    await state.note(ROOT, "t", CHANGES)
    await state.end_turn(ROOT, "t")
    await state.begin_turn(ROOT, "s", "t")
    assert await state.noted(ROOT, "t") == []
    assert len(await state.open_turns(ROOT)) == 1


async def test_beginning_an_open_turn_again_keeps_what_was_noted(
    state: HistoryState, other: HistoryState
) -> None:
    await state.begin_turn(ROOT, "s", "t")
    await state.begin_command(ROOT, "t")
    await state.note(ROOT, "t", CHANGES)
    [first] = await state.open_turns(ROOT)
    await state.begin_turn(ROOT, "s", "t")
    assert await state.open_turns(ROOT) == [first]
    await other.begin_turn(ROOT, "s", "t")
    await state.close()
    [turn] = await other.open_turns(ROOT)
    assert (turn.since, turn.pid_alive, turn.in_command) == (first.since, True, False)
    assert await other.noted(ROOT, "t") == CHANGES


async def test_turns_that_ended_long_ago_are_forgotten(state: HistoryState) -> None:
    long_ago = now() - TURNS_KEPT - timedelta(days=1)
    for turn in ("old", "new"):
        await state.begin_turn(ROOT, "s", turn)
        await state.end_turn(ROOT, turn)
    with apsw.Connection(str(state.path)) as connection:
        ended = int(long_ago.timestamp() * 1000)
        connection.execute("UPDATE turn SET ended = ? WHERE turn = 'old'", (ended,))
    await state.begin_turn(ROOT, "s", "next")
    with apsw.Connection(str(state.path)) as connection:
        assert [turn for (turn,) in connection.execute("SELECT turn FROM turn ORDER BY number")] == [
            "new",
            "next",
        ]


async def test_the_file_and_the_locks_are_for_their_owner_alone(tmp_path: Path) -> None:
    state = await open_history_state(tmp_path / "made" / "data")
    await state.begin_turn(ROOT, "s", "t")
    made = [path for path in (tmp_path / "made").rglob("*") if path.is_file()]
    assert len([path for path in made if path.name.startswith("history-")]) == 1
    assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o600}
    await state.close()


async def test_a_newer_file_is_refused(state: HistoryState) -> None:
    await state.close()
    connection = apsw.Connection(str(state.path))
    connection.pragma("user_version", 99)
    connection.close()
    with pytest.raises(StoreNewer, match=r"history\.db was written by a newer ragforge"):
        await open_history_state(state.path.parent)


async def test_notes_of_a_newer_ragforge_are_refused(state: HistoryState) -> None:
    await state.begin_turn(ROOT, "s", "t")
    await state.note(ROOT, "t", CHANGES[:1])
    with apsw.Connection(str(state.path)) as connection:
        connection.execute("UPDATE note SET changes = replace(changes, '\"tool\"', '\"dream\"')")
    with pytest.raises(StoreNewer, match="Update ragforge"):
        await state.noted(ROOT, "t")


async def test_a_damaged_file_is_named_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "history.db").write_bytes(b"not a database, but somebody's words" * 100)
    with pytest.raises(
        StoreDamaged, match=r"history\.db cannot be used .*are stored elsewhere\. Move it away"
    ):
        await open_history_state(tmp_path)
    assert (tmp_path / "history.db").read_bytes().startswith(b"not a database")


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnavailable, match="RAGFORGE_DATA_DIR"):
        await open_history_state(tmp_path / "file" / "data")


async def test_where_no_lock_can_be_made_no_turn_begins(state: HistoryState, tmp_path: Path) -> None:
    for file in (tmp_path / "locks").iterdir():
        file.unlink()
    (tmp_path / "locks").rmdir()
    (tmp_path / "locks").write_text("in the way")
    with pytest.raises(StoreUnavailable, match=r"history\.db \(.*File exists"):
        await state.begin_turn(ROOT, "s", "t")
    assert await state.open_turns(ROOT) == []


async def test_use_after_close_is_an_error_for_people(state: HistoryState) -> None:
    await state.close()
    with pytest.raises(StoreError, match=r"history\.db"):
        await state.head(ROOT)


async def test_a_moment_of_any_zone_is_the_same_moment(state: HistoryState) -> None:
    await state.begin_turn(ROOT, "theirs", "t")
    await state.end_turn(ROOT, "t")
    local = datetime.now().astimezone()
    assert not await state.active_since(ROOT, local + timedelta(seconds=1), "mine")
    assert await state.active_since(ROOT, local - timedelta(hours=1), "mine")
