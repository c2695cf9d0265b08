"""What was said before is recalled, in a real terminal."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flow.running import MODEL
from tests.standins.gemini import KEY
from tests.terminal.screen import CTRL_D, ENTER, ESCAPE, OPEN, Desk, stand_in

SAID = (
    "Hello there, I am Ada",
    "The nightly import writes its log to /var/log/heron.log",
    "Which colours does the theme have?",
    "Rename the parser's main function",
    "How long do the tests take?",
    "Add a changelog line for the parser",
    "What does the retry do at midnight?",
    "Sort the imports of the shop",
    "Is the gateway's certificate still good?",
    "Thanks, that is all for today",
)


@pytest.fixture
def talker(tmp_path: Path) -> Iterator[Desk]:
    """A desk whose model says something different to each message."""
    rules = [
        {"contains": text[:18], "reply": {"text": [f"Answer number {number}."]}}
        for number, text in enumerate(SAID, 1)
    ]
    script = tmp_path / "script.json"
    asked = {"contains": "nightly import put", "reply": {"text": ["Into heron.log, I was told."]}}
    script.write_text(json.dumps({"when": [asked, *rules]}))
    with stand_in(script) as url:
        desk = Desk(tmp_path, model=MODEL, env={"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url})
        yield desk
        desk.close()


@pytest.mark.long
def test_ten_turns_quit_and_what_turn_2_said_is_recalled_in_a_new_session(talker: Desk) -> None:
    first = talker.start()
    first.wait_for(OPEN)
    for number, text in enumerate(SAID, 1):
        first.send(text)
        first.wait_for(f"Answer number {number}.")
    first.send("/remember decision: the shop keeps its orders in MySQL")
    first.wait_for("Remembered as a decision")
    first.press(CTRL_D)
    assert first.ended() == 0

    second = talker.start("--new")
    second.wait_for(OPEN)
    second.send("Where does the nightly import put what it logs?")
    screen = second.wait_for("Into heron.log, I was told.")
    assert re.search(r"▸ recalled \d+ \([\d,]+ tokens, [\d.]+ m?s\)", screen)
    second.send("/context Where does the nightly import put what it logs?")
    # Words that only the answer has: what is typed sooner would be one paste with the command.
    screen = second.wait_for("• Relevant Past Context (turns): The nightly import writes its log")
    assert "MySQL" not in screen  # the decision says nothing of what was asked

    second.send("/memory")
    second.wait_for(lambda screen: "Memories · 1" in screen and "based on" in screen)
    second.press(ENTER)
    second.wait_for("based on no")  # it was said by a command
    second.press(ESCAPE)
    second.wait_for(lambda screen: "Memories ·" not in screen)
    second.send("/memory MySQL")
    second.wait_for("Ctrl+X forgets")
    second.press(b"\x18")
    second.wait_for("Forgotten: the shop keeps")
    second.press(b"\x15")
    second.wait_for("Restored: the shop keeps")
    second.press(ESCAPE)
    second.wait_for(lambda screen: "Memories ·" not in screen)
    second.press(CTRL_D)
    assert second.ended() == 0
    second.assert_restored()


def test_incognito_in_the_middle_of_the_day(talker: Desk) -> None:
    # What is begun anew must not take the project's modules for Python's own.
    (talker.project / "json.py").write_text("raise SystemExit('the project was run')\n")
    run = talker.start()
    run.wait_for(OPEN)
    run.send(SAID[0])
    run.wait_for("Answer number 1.")
    run.send("/incognito")
    run.wait_for(lambda screen: "incognito" in screen.splitlines()[-1] and "Answer number 1." not in screen)
    run.send(SAID[3])
    run.wait_for("Answer number 4.")
    run.send("/incognito")
    run.wait_for("This run is incognito")
    run.press(CTRL_D)
    assert run.ended() == 0
    run.assert_restored()
    kept = b"".join(path.read_bytes() for path in talker.data.rglob("*") if path.is_file())
    assert SAID[0].encode() in kept
    assert SAID[3].encode() not in kept
