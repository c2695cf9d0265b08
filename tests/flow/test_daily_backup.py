"""When the day's backup is made beside a conversation."""

import asyncio
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from ragforge.domain.messages import TextPart
from ragforge.session.open import store_session
from ragforge.store.backups import BackupSet, list_backups
from tests.contract.builders import a_turn
from tests.flow.beside import QUICK, WAIT_S, beside, until
from tests.flow.running import environ
from tests.standins.gemini import GeminiStandIn

CHANCE_S = 0.3


async def test_words_that_are_being_stored_are_in_it(tmp_path: Path, gemini: GeminiStandIn) -> None:
    """The session is stored a moment before its first turn, and the next backup is made a day later."""
    env = {**environ(tmp_path, gemini), "RAGFORGE_BACKUP_DAILY": "true"}
    async with beside(tmp_path, env, timing=replace(QUICK, start_s=WAIT_S)) as session:
        workspace = session.workspace

        async def made() -> tuple[BackupSet, ...]:
            return tuple(list_backups(workspace.data_dir))

        async def first_turn() -> None:
            await store_session(session, first_words=(TextPart("one"),))
            workspace.background.turn_begins(session)
            with suppress(TimeoutError):
                await until(made, timeout_s=CHANCE_S)
            await workspace.store.turns.start(a_turn(session.live.record, "one"))
            workspace.background.turn_stored()
            await until(made)

        await asyncio.create_task(first_turn())
        (backup,) = await made()
        assert backup.counts["turns"] == 1
