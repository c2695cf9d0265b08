"""Contents that are lost or damaged: no command destroys the only copy that is left."""

import json
import os

import pytest

from ragforge.store.files import contents_file, outbox_file
from tests.cli.running import Program, Ran
from tests.damage import KINDS, damage, flipped
from tests.standins.openai import Call, OpenAIStandIn, Reply

WORDS = b"of this there is only one copy\n"
SOME = [
    pytest.param(kind, marks=() if kind in {"missing", "garbage", "flipped"} else pytest.mark.long)
    for kind in KINDS
]
"""Some of the damage takes the same way as other damage does."""


async def command(quick: Program, openai: OpenAIStandIn, text: str, *flags: str) -> Ran:
    call = Call("shell", json.dumps({"command": text}))
    openai.script(Reply(calls=[call]), Reply(text=["Done."]))
    return await quick.run(*flags, "--yolo", "-p", "go")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_command_never_destroys_what_undo_could_not_restore(
    quick: Program, openai: OpenAIStandIn, kind: str
):
    precious = quick.project / "precious.txt"
    precious.write_bytes(WORDS)
    assert (await command(quick, openai, "touch other")).code == 0
    damage(contents_file(quick.data), kind, at=WORDS)

    ran = await command(quick, openai, "rm precious.txt", "-c")
    assert "contents" in ran.err, "it is said"
    if precious.exists():
        assert "Not run, because" in ran.err
        assert "ragforge db check --repair" in ran.err
        assert kind in {"truncated", "garbage", "a folder"}
    else:
        undone = await quick.run("undo")
        assert (undone.code, precious.read_bytes()) == (0, WORDS), undone.err


async def test_an_undo_says_what_it_kept_again(quick: Program, openai: OpenAIStandIn):
    precious = quick.project / "precious.txt"
    precious.write_bytes(WORDS)
    assert (await command(quick, openai, "echo after > a; echo more > b")).code == 0
    flipped(contents_file(quick.data), at=WORDS)
    undone = await quick.run("undo")
    assert undone.code == 0, undone
    assert "They were stored again from the files: precious.txt." in undone.err
    redone = await quick.run("redo")
    assert (redone.code, redone.err) == (0, ""), "it is said once"


@pytest.mark.parametrize("kind", SOME)
async def test_check_says_what_is_lost_and_repair_brings_back_what_files_still_have(
    quick: Program, openai: OpenAIStandIn, kind: str
):
    precious = quick.project / "precious.txt"
    precious.write_bytes(WORDS)
    assert (await command(quick, openai, "printf one > a; printf two > b")).code == 0
    damage(contents_file(quick.data), kind, at=WORDS)

    checked = await quick.run("db", "check")
    assert checked.code == 1
    assert f"{contents_file(quick.data).path} (contents of files and tool results): 1 problem" in checked.out
    assert "ragforge db check --repair" in checked.err

    repaired = await quick.run("db", "check", "--repair")
    assert (repaired.code, repaired.err) == (0, ""), repaired
    assert "The store has no problems" in (await quick.run("db", "check")).out
    await command(quick, openai, "rm precious.txt", "-c")
    assert not precious.exists()
    undone = await quick.run("undo")
    assert (undone.code, precious.read_bytes()) == (0, WORDS), undone.err


async def test_a_repair_rescues_what_no_file_has_any_more(quick: Program, openai: OpenAIStandIn):
    precious = quick.project / "precious.txt"
    precious.write_bytes(WORDS)
    (quick.project / "large.bin").write_bytes(os.urandom(1_500_000))
    large = (quick.project / "large.bin").read_bytes()
    assert (await command(quick, openai, "rm precious.txt large.bin")).code == 0
    file = contents_file(quick.data)
    flipped(file, at=b"CREATE INDEX blob_at")

    assert (await quick.run("db", "check")).code == 1
    repaired = await quick.run("db", "check", "--repair")
    assert repaired.code == 0, repaired
    assert "that can be read" in repaired.out
    undone = await quick.run("undo")
    assert (undone.code, precious.read_bytes()) == (0, WORDS), undone.err
    assert (quick.project / "large.bin").read_bytes() == large


async def test_what_waits_for_a_server_that_is_not_used_hides_nothing_that_is_lost(
    quick: Program, openai: OpenAIStandIn
):
    (quick.project / "precious.txt").write_bytes(WORDS)
    assert (await command(quick, openai, "rm precious.txt")).code == 0
    flipped(contents_file(quick.data), at=WORDS)
    waiting = outbox_file(quick.data, "0192d8e4-0000-7000-8000-000000000001").path
    waiting.parent.mkdir(exist_ok=True)
    waiting.write_bytes(b"garbage" * 500)
    checked = await quick.run("db", "check")
    assert f"{waiting} (what waits for a server): 1 problem." in checked.out
    assert "Damaged: 1 content: precious.txt." in checked.out


async def test_what_no_file_has_any_more_is_said_to_be_lost(quick: Program, openai: OpenAIStandIn):
    (quick.project / "precious.txt").write_bytes(WORDS)
    assert (await command(quick, openai, "rm precious.txt")).code == 0
    flipped(contents_file(quick.data), at=WORDS)
    assert "Damaged: 1 content: precious.txt." in (await quick.run("db", "check")).out
    repaired = await quick.run("db", "check", "--repair")
    assert repaired.code == 1
    assert "Moved 1 damaged content" in repaired.out
    assert "Missing: 1 content that versions or conversations need: precious.txt." in repaired.out
    undone = await quick.run("undo")
    assert undone.code != 0
    assert "precious.txt" in undone.err


async def test_a_repair_removes_what_a_crash_left_behind(quick: Program, openai: OpenAIStandIn):
    assert (await command(quick, openai, "touch a")).code == 0
    folder = contents_file(quick.data).beside
    assert folder
    folder.mkdir(exist_ok=True)
    old, new = folder / "0123456789abcdef.staged", folder / "fedcba9876543210.staged"
    for path in (old, new):
        path.write_bytes(b"half a content")
    os.utime(old, (0, 0))
    repaired = await quick.run("db", "check", "--repair")
    assert (repaired.code, "Removed 1 temporary file" in repaired.out) == (0, True), repaired
    assert (old.exists(), new.exists()) == (False, True), "somebody may be writing the new one"


@pytest.mark.parametrize("kind", SOME)
async def test_an_undo_that_lacks_a_content_says_so_and_changes_nothing(
    quick: Program, openai: OpenAIStandIn, kind: str
):
    precious = quick.project / "precious.txt"
    precious.write_bytes(WORDS)
    assert (await command(quick, openai, "echo after > precious.txt; echo new > other")).code == 0
    damage(contents_file(quick.data), kind, at=WORDS)
    undone = await quick.run("undo")
    assert undone.code != 0
    assert "precious.txt" in undone.err or "ragforge db check --repair" in undone.err, undone
    assert (precious.read_text(), (quick.project / "other").read_text()) == ("after\n", "new\n")


@pytest.mark.parametrize("kind", ["garbage", "a folder"])
async def test_a_long_result_that_cannot_be_kept_whole_ends_no_turn(
    quick: Program, openai: OpenAIStandIn, kind: str
):
    assert (await command(quick, openai, "touch other")).code == 0
    damage(contents_file(quick.data), kind, at=b"")
    (quick.project / "long").write_text("word " * 100_000)
    ran = await command(quick, openai, "cat long", "-c")
    assert (ran.code, ran.out) == (0, "Done.\n"), ran
