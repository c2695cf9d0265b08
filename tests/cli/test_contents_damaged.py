"""Contents that are lost or damaged: no command destroys the only copy that is left."""

import json

import pytest

from ragforge.store.files import contents_file
from tests.cli.running import Program, Ran
from tests.damage import KINDS, damage
from tests.standins.openai import Call, OpenAIStandIn, Reply

WORDS = b"of this there is only one copy\n"


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
        assert "does not run" in ran.err
        assert "ragforge db check --repair" in ran.err
        assert kind in {"truncated", "garbage", "a folder"}
    else:
        undone = await quick.run("undo")
        assert (undone.code, precious.read_bytes()) == (0, WORDS), undone.err
