"""When the day's backup is made beside a conversation."""

import asyncio
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from ragforge.domain.messages import TextPart
from ragforge.session.open import store_session
from ragforge.store.backups import BackupSet, list_backups
from tests.flow.beside import QUICK, WAIT_S, beside, until
from tests.flow.running import environ, say
from tests.standins.gemini import GeminiStandIn, Text, Until

CHANCE_S = 0.3


async def test_a_turn_is_in_it_whole(tmp_path: Path, gemini: GeminiStandIn) -> None:
    """One that runs would seem to have been cut off by a crash, once the backup is restored."""
    env = {**environ(tmp_path, gemini), "RAGFORGE_BACKUP_DAILY": "true"}
    go_on = asyncio.Event()
    gemini.script((Until(go_on), Text("Done.")))
    async with beside(tmp_path, env, timing=replace(QUICK, start_s=WAIT_S)) as session:

        async def made() -> list[BackupSet]:
            return list_backups(session.workspace.data_dir)

        await store_session(session, said=(TextPart("one"),))
        saying = asyncio.create_task(say(session, "one"))
        await gemini.wait_for_requests(1)
        with suppress(TimeoutError):
            await until(made, timeout_s=CHANCE_S)
        go_on.set()
        await saying
        (backup,) = await until(made)
        assert (backup.counts["turns"], backup.counts["versions"]) == (1, 1)
