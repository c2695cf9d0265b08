"""Six turns that are foreseen, well and badly, in a real terminal."""

import json
import re
from pathlib import Path
from typing import Any

from tests.flow.running import MODEL
from tests.standins.gemini import KEY
from tests.terminal.screen import CTRL_D, ENTER, ESCAPE, OPEN, Desk, Screen, stand_in
from tests.terminal.test_versions import a_write

ROW = re.compile(r"^│[ ›]+-?[\d,]+ [≠ ] +\d+ +[-\d]+\*? (\d+)\. ", re.MULTILINE)
RIGHT = b"\x1b[C"
TAKEN, IGNORED = "Go ahead with the weeks", "Sort the imports of all files"
REPLIES = [
    *(a_write("src/dates.py", "day = 1\n"), "Dates are read."),
    *(a_write("src/zones.py", "zone = 1\n" * 60), "Zones are read."),
    "A week has seven days.",
    *(a_write("src/weeks.py", "week = 7\n" * 3), "Weeks are read."),
    *({"calls": [{"name": "shell", "args": {"command": "ls"}}]}, "These are all."),
    "You are welcome.",
]


def foreseen(next_message: str = "", *files: str) -> dict[str, Any]:
    """What is said of a turn after it."""
    foresight = {
        "individual_before_description": "The parser grows.",
        "collective_before_description": "The parser grows.",
        "predictability_individual": 5,
        "predictability_collective": 5,
        "individual_after_prediction": "Weeks are read as well.",
        "collective_after_prediction": "The parser grows.",
        "next_messages": [next_message] if next_message else [],
        "files_foreseen": list(files),
    }
    return {"summary": "The parser grows.", "foresight": foresight}


TURNS = [foreseen(TAKEN, "src/weeks.py", "tests/test_weeks.py"), foreseen(IGNORED), *[foreseen()] * 4]


def ask(screen: Screen, message: str, answer: str) -> None:
    screen.send(message)
    screen.wait_for(answer)


def test_a_suggestion_is_taken_another_ignored_and_the_turn_that_went_otherwise_is_on_top(
    tmp_path: Path,
) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": REPLIES, "turns": TURNS}))
    with stand_in(script) as url:
        desk = Desk(tmp_path, model=MODEL, env={"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url})
        screen = desk.start("--yolo")
        screen.wait_for(OPEN)
        ask(screen, "Read dates", "Dates are read.")
        screen.wait_for(f"next? {TAKEN} · Right takes it")
        screen.press(RIGHT)
        screen.wait_for(lambda text: f"│ {TAKEN}" in text and "next?" not in text)
        screen.press(ENTER)
        screen.wait_for("≠ not as foreseen: 2 files foreseen, neither changed")
        screen.wait_for(f"next? {IGNORED} · Right takes it")
        ask(screen, "How long is a week?", "A week has seven days.")
        assert IGNORED not in screen.text
        ask(screen, "Read weeks", "Weeks are read.")
        ask(screen, "Which files are there?", "These are all.")
        ask(screen, "Thanks", "You are welcome.")
        screen.send("/foresight")
        screen.wait_for(lambda text: first_turns(text) == ["2", "4", "1"])
        screen.press(ENTER)
        screen.wait_for("zone = 1")
        screen.press(ESCAPE)
        screen.wait_for("Read weeks")
        screen.press(ESCAPE)
        screen.wait_for("Message, /command")
        screen.press(CTRL_D)
        assert screen.ended() == 0
        screen.assert_restored()
        desk.close()


def first_turns(text: str) -> list[str]:
    """The numbers of the three turns to look at first."""
    return ROW.findall(text)[:3]
