"""Preferences are read from the store once, and then again only where something has changed."""

from pathlib import Path

import pytest

from ragforge.domain import timeouts
from ragforge.domain.memories import MemoryFilter, MemorySource, MemoryType
from ragforge.domain.metrics import CACHE_REQUESTS
from ragforge.session.hints import SessionHints
from ragforge.session.memory_tools import save_memory
from ragforge.session.metrics import all_counts
from ragforge.session.state import Session
from ragforge.tools.base import ToSave
from tests.flow.running import environ, opened, say
from tests.flow.test_hints import OFFLINE, ended
from tests.standins.gemini import GeminiStandIn, Text

MESSAGES, TEACH_EVERY = 50, 10


async def requests(session: Session) -> tuple[float, float]:
    """Hits and misses so far."""
    counts = await all_counts(session.workspace.local)
    hits, misses = (counts.get((CACHE_REQUESTS.name, (each,), ""), 0) for each in ("hit", "miss"))
    return hits, misses


async def test_preference_cache_hit_rate(tmp_path: Path, gemini: GeminiStandIn) -> None:
    """Above 80 % in a session that teaches, counted."""
    async with opened(tmp_path, environ(tmp_path, gemini), flags=OFFLINE) as session:
        hints, before = SessionHints(session), (0.0, 0.0)
        for at in range(MESSAGES):
            teaches = at % TEACH_EVERY == TEACH_EVERY // 2
            said = f"I always prefer tool{at} for part {at}." if teaches else f"What does part {at} do?"
            gemini.script(Text("It turns."))
            turn = (await say(session, said))[-1]
            await hints.after_turn(turn)
            await session.workspace.background.finish(timeout_s=10)
            if at == 0:
                before = await requests(session)
        hits, misses = (after - first for after, first in zip(await requests(session), before, strict=True))
        # Four look-ups a message: preferences, who the user is, what matters most, what hints are about. The
        # block that makes later ones fast looks up three in the background.
        assert hits + misses - 4 * (MESSAGES - 1) in (0, 3)
        assert hits / (hits + misses) > 0.8, (hits, misses)
        wanted = MemoryFilter(session.workspace.project.id, types=(MemoryType.PREFERENCE,))
        preferences = await session.workspace.store.memories.find(wanted)
        assert len(preferences) == MESSAGES // TEACH_EVERY


async def test_an_old_list_is_read_again(
    tmp_path: Path, gemini: GeminiStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini), flags=OFFLINE) as session:
        await save_memory(session, ToSave("Use tabs", MemoryType.PREFERENCE), source=MemorySource.USER)
        hints = SessionHints(session)
        turn = await ended(session, gemini)
        await hints.after_turn(turn)
        first = await requests(session)
        monkeypatch.setattr(timeouts, "MEMORY_LIST_CACHED_S_MAX", -1.0)
        await hints.after_turn(turn)
        hits, misses = await requests(session)
        assert (hits, misses) == (first[0], first[1] + 1)
