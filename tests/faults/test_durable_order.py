"""In which order a turn and its tools reach the disk, read from the system calls that were made."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.faults.children import children
from tests.faults.shim import Fault, why_no_shim
from tests.faults.trials import Ground

pytestmark = pytest.mark.skipif(bool(why_no_shim()), reason=why_no_shim())


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Sequence[str]:
    """Of a turn with a tool that makes a file: which call on which file."""
    with children(tmp_path_factory.mktemp("forks")) as forked:
        ground = Ground(forked, tmp_path_factory.mktemp("ground")).begin()
        return ground.turn(Fault(str(ground.folder))).calls


def test_a_tools_file_is_on_the_disk_before_it_takes_the_place_of_the_old_one(calls: Sequence[str]) -> None:
    renames = [at for at, call in enumerate(calls) if call.startswith("rename /project/")]
    assert renames
    for at in renames:
        folder = str(Path(calls[at].split()[1]).parent)
        before = [call for call in calls[:at] if ".ragforge-tmp" in call and folder in call]
        assert before[-1].startswith("fsync "), calls[at - 5 : at + 1]
        assert f"fsync {folder}" in calls[at:], "the folder's new entry is on the disk as well"


def test_each_commit_of_the_store_is_on_the_disk_before_the_next_begins(calls: Sequence[str]) -> None:
    """What `synchronous = FULL` adds: without it the log is written on and synced at its end only."""
    for database in ("ragforge.db", "history.db", "blobs.db"):
        log = [call for call in calls if call.split()[1] == f"/data/{database}-wal"]
        synced = [at for at, call in enumerate(log) if call.startswith("fsync ")]
        assert len(synced) >= 3, (database, log)
        assert log[-1].startswith(("fsync", "unlink")), (database, log[-3:])
