"""A data folder that cannot be written: it is said, and a command that may write does not run."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Program
from tests.disks import small_disk
from tests.standins.openai import Call, OpenAIStandIn, Reply


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", size="50m"):
        yield tmp_path / "disk"


def remount(disk: Path, mode: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{mode}", str(disk)], check=True)


@pytest.mark.parametrize("args", [("-c", "--yolo", "-p", "go"), ("db", "check"), ("db", "check", "--repair")])
async def test_a_store_on_a_read_only_disk_is_told(
    quick: Program, openai: OpenAIStandIn, disk: Path, args: tuple[str, ...]
):
    quick.env["RAGFORGE_DATA_DIR"] = str(disk / "data")
    precious = quick.project / "precious.txt"
    precious.write_text("precious")
    openai.script(
        Reply(calls=[Call("shell", '{"command": "touch other"}')]),
        Reply(text=["Done."]),
        Reply(calls=[Call("shell", '{"command": "rm precious.txt"}')]),
        Reply(text=["Done."]),
    )
    assert (await quick.run("--yolo", "-p", "begin")).code == 0
    remount(disk, "ro")
    ran = await quick.run(*args)
    assert ran.code in {1, 4}
    assert "writ" in ran.out + ran.err
    assert str(disk / "data") in ran.out + ran.err
    assert precious.exists()
    remount(disk, "rw")
    assert (await quick.run("db", "check")).code == 0
