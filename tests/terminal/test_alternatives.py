"""The same request worked out three ways, in a real terminal."""

import json
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from ragforge.domain import timeouts
from tests.flow.moving import tree
from tests.flow.running import MODEL
from tests.standins.gemini import KEY
from tests.terminal.screen import OPEN, Desk, stand_in


def a_write(content: str) -> dict[str, Any]:
    return {"calls": [{"name": "write", "args": {"path": "a.txt", "content": content}}]}


SCRIPT = {
    "when": [
        {"contains": "functionResponse", "reply": ["It is written."]},
        {"contains": "runs fastest", "reply": [a_write("fast\n")]},
        {"contains": "Write the file", "reply": [a_write("other\n")]},
    ]
}


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Desk]:
    """A desk whose model goes another way when it has to be fast."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT))
    with stand_in(script) as url:
        desk = Desk(tmp_path, model=MODEL, env={"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url})
        yield desk
        desk.close()


@pytest.mark.long
def test_three_ways_are_worked_out_beside_the_project_and_one_is_taken(worker: Desk) -> None:
    (worker.project / "own.txt").write_text("mine\n")
    before = tree(worker.project)
    screen = worker.start()
    screen.wait_for(OPEN)
    screen.send("/alternatives 3 Write the file")
    screen.wait_for("y  yes")
    sleep(2 * timeouts.APPROVAL_QUIET_S)  # what is pressed at once was meant for the prompt
    screen.press(b"y")
    screen.wait_for(lambda text: "1 (readable)" in text and "2 (fast)" in text and "3 (thorough)" in text)
    screen.wait_for("#  way")
    assert tree(worker.project) == before
    screen.send("/alternatives take 2")
    screen.wait_for("Taken")
    assert (worker.project / "a.txt").read_text() == "fast\n"
    screen.send("/alternatives take 3")
    screen.wait_for(lambda text: "Do this thoroughly" in text and "Taken version" in text)
    assert (worker.project / "a.txt").read_text() == "other\n"
    screen.send("/undo")
    screen.wait_for(lambda _: tree(worker.project) == before)
