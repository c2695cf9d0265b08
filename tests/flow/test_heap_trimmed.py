"""What turns leave free goes back to the system."""

import ctypes
import sys
from pathlib import Path

from tests.flow.beside import beside, done, until
from tests.flow.running import environ, say
from tests.standins.gemini import GeminiStandIn

FREED_KB = 64 * 1024
PIECE_KB = 4
KEPT_EACH = 256
"""What stays between what is freed, so that nothing of it is at the end of the heap: a piece for each MB."""


def resident_kb() -> int:
    """Of this process, without files."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("RssAnon:")).split()[1])


async def test_memory_that_is_free_between_what_stays_is_given_back_after_a_turn(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        await say(session, "Hello.")  # what turns need is loaded
        await done(session)
        pieces = [bytearray(b"x" * (PIECE_KB * 1024 - 64)) for _ in range(FREED_KB // PIECE_KB)]
        full = resident_kb()
        kept = pieces[::KEPT_EACH]
        del pieces

        async def is_given_back() -> bool:
            return resident_kb() < full - FREED_KB // 2

        await say(session, "Hello again.")
        if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "malloc_trim"):
            await until(is_given_back)
        assert len(kept) == FREED_KB // PIECE_KB // KEPT_EACH
