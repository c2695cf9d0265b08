"""Images in the conversation: those of the turn before go again, older ones are opened by their reference."""

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ragforge.domain.approvals import Mode
from tests.flow.moving import read, turn
from tests.flow.recalling import chats
from tests.flow.running import environ, opened
from tests.standins.gemini import Call, GeminiStandIn

PNG = b"\x89PNG\r\n\x1a\n"


def images_in(contents: list[dict[str, Any]]) -> int:
    return json.dumps(contents).count('"inlineData"')


@pytest.mark.parametrize("profile", ["lean", "caching"])
async def test_of_images_those_of_the_turn_before_go_again_and_older_ones_can_be_opened(
    tmp_path: Path, gemini: GeminiStandIn, profile: str
) -> None:
    (tmp_path / "project").mkdir()
    for name in "abc":
        (tmp_path / "project" / f"{name}.png").write_bytes(PNG + name.encode())
    env = environ(tmp_path, gemini, RAGFORGE_CONTEXT_PROFILE=profile, RAGFORGE_MEMORY_ENABLED="false")
    async with opened(tmp_path, env) as session:
        session.live.consent.mode = Mode.ALL
        for name in "abc":
            await turn(session, gemini, f"Look at {name}.", read(f"{name}.png"))
        before, last = chats(gemini)[-3], chats(gemini)[-2]
        assert images_in(last) == (1 if profile == "lean" else 2), "b's; a's where nothing was cut"
        if profile == "caching":
            assert last[: len(before)] == before, "prompt caches know the beginning"
            session.live.view.window.compact_next = True
        await turn(session, gemini, "And now?")
        last = chats(gemini)[-1]
        assert images_in(last) == 1
        references = re.findall(r"a\.png, image/png, left out[^\]]*reference=(\w{64})", json.dumps(last))
        assert len(references) == 1
        await turn(session, gemini, "Show a.", Call("read_result", {"reference": references[0]}))
        assert images_in(chats(gemini)[-1][-1:]) == 1
        with sqlite3.connect(session.workspace.data_dir / "blobs.db") as contents:
            contents.execute("DELETE FROM blob")  # as on another machine
        await turn(session, gemini, "Go on.")
        last = chats(gemini)[-1]
        assert images_in(last) == 0
        assert "no longer stored" in json.dumps(last)
        await turn(session, gemini, "Show a.", Call("read_result", {"reference": references[0]}))
        assert "It was stored on another machine" in json.dumps(chats(gemini)[-1][-1:])
