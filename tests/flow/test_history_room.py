"""What the kept contents take: told, and cleaned up from within the interface."""

import re
from pathlib import Path

import pytest

from ragforge.commands.base import Confirm, Report, run_command
from ragforge.domain.errors import UsageError
from ragforge.session.state import Session
from ragforge.session.storage import room_warning, size_lines
from ragforge.versions.clean_up import HistorySize
from tests.flow.moving import turn, write
from tests.flow.recorded import a_day_passes
from tests.flow.running import environ, opened
from tests.standins.gemini import GeminiStandIn

GARBAGE = b"nobody needs this " * 100


async def with_garbage(session: Session, gemini: GeminiStandIn) -> str:
    """A version, and a content that nothing needs; the hash of that."""
    await turn(session, gemini, "write a", write("a.txt", "one\n"))
    digest = await session.workspace.blobs.put(GARBAGE)
    await a_day_passes(session)
    return digest


async def test_a_clean_up_says_first_what_would_go_and_removes_it_after_a_yes(
    session: Session, gemini: GeminiStandIn
) -> None:
    garbage = await with_garbage(session, gemini)
    asked = await run_command(session, "history", "gc")
    assert isinstance(asked, Confirm)
    assert asked.question.startswith("Would remove 1 content, ")
    assert await session.workspace.blobs.get(garbage) == GARBAGE

    name, _, args = asked.then.partition(" ")
    done = await run_command(session, name, args)
    assert isinstance(done, Report)
    assert done.shown.startswith("Removed 1 content, ")
    assert await session.workspace.blobs.missing([garbage]) == [garbage]
    nothing = await run_command(session, "history", "gc")
    assert isinstance(nothing, Report)
    assert nothing.lines == ["There is nothing to remove."]


@pytest.mark.parametrize("args", ["room", "gc soon", "gc 1 2", "gc -1", "gc 1000000", "gc ²"])
async def test_what_it_does_not_know_is_refused_with_what_it_takes(session: Session, args: str) -> None:
    with pytest.raises(UsageError, match=re.escape("/history gc")):
        await run_command(session, "history", args)


async def test_more_than_it_may_take_is_told_with_what_a_clean_up_would_free(
    session: Session, gemini: GeminiStandIn, tmp_path: Path
) -> None:
    await with_garbage(session, gemini)
    assert await room_warning(session.workspace) == ""
    limited = environ(tmp_path, gemini, RAGFORGE_HISTORY_SIZE_GB_MAX="0.000001")
    async with opened(tmp_path, limited) as other:
        warning = await room_warning(other.workspace)
    assert "more than history.size_gb_max (1e-06 GB)" in warning
    assert re.search(r"`/history gc` would free \d+ bytes", warning)


def test_what_is_there_for_a_reason_that_is_not_known_is_told_too() -> None:
    found = HistorySize(
        contents=9,
        bytes=3 * 1024**3,
        versions_bytes=1024**3,
        conversations_bytes=0,
        local_bytes=0,
        free_bytes=1024**3,
        unknown_bytes=1024**3,
    )
    told = "\n".join(size_lines(found, size_gb_max=2))
    assert "1.0 GB stays, because an older ragforge stored it" in told
    assert "1.0 GB is not needed: `/history gc`" in told
    assert "more than history.size_gb_max (2 GB). `/history gc DAYS --dry-run`" in told
