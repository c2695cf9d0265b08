import asyncio
import random
import signal
import sys
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

from ragforge.domain.ids import now
from ragforge.store.blobs import SqliteBlobs
from tests.scope import TIMES

PUTTER = Path(__file__).with_name("blob_putter.py")
ROUNDS = 4 * TIMES


async def killed_putter(path: Path, number: int) -> list[str]:
    """Let it put contents, kill it in the middle of something; the hashes that it was promised."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(PUTTER), str(path), str(number), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout
    lines = [await process.stdout.readline() for _ in range(random.Random(number).randrange(2, 6))]
    await asyncio.sleep(random.Random(-number).random() / 50)
    process.send_signal(signal.SIGKILL)
    rest, _ = await process.communicate()
    said = (b"".join(lines) + rest).decode()
    # A line that was cut off was promised nothing; after "deleted" the first of the line before is gone.
    whole = said[: said.rfind("\n")].split("\n")
    deleted = {line.split()[0] for line, after in pairwise(whole) if after == "deleted"}
    last_first = {whole[-1].split()[0]}  # it may have been deleted without a word
    return [
        digest
        for line in whole
        if line != "deleted"
        for digest in line.split()
        if digest not in deleted | last_first
    ]


async def test_what_was_promised_is_there_after_a_kill_and_nothing_is_half_there(tmp_path: Path) -> None:
    path = tmp_path / "blobs.db"
    promised: list[str] = []
    for number in range(1, ROUNDS + 1):
        promised += await killed_putter(path, number)
        blobs = SqliteBlobs(path, store_url="sqlite:///x.db")
        assert await blobs.missing(promised) == []
        for digest in await blobs.sizes():
            await blobs.get(digest)  # verified by its hash
        await blobs.close()
    blobs = SqliteBlobs(path, store_url="sqlite:///x.db")
    await blobs.tidy(now() + timedelta(days=1))
    files = {each.name for each in (tmp_path / "blobs").rglob("*") if each.is_file()}
    assert files <= set(await blobs.sizes()), "no file is left that no content needs"
    assert await blobs.missing(promised) == []
    await blobs.close()
