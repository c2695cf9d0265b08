"""The dashboard, hints and the archive in a real terminal, narrow, usual and wide."""

from pathlib import Path

import pytest

from tests.terminal.screen import CTRL_D, ENTER, ESCAPE, Desk

TAB, CTRL_F = b"\t", b"\x06"
LONG = pytest.mark.long


@pytest.mark.parametrize("columns", [40, pytest.param(80, marks=LONG), pytest.param(200, marks=LONG)])
def test_the_dashboard_hints_and_the_archive_are_used_by_key_and_mouse(tmp_path: Path, columns: int) -> None:
    desk = Desk(tmp_path, model="local", env={"COLUMNS": str(columns)})
    screen = desk.start(columns=columns)
    screen.wait_for("local")
    screen.send("Is the kiosk blue?")
    screen.wait_for(lambda text: "No results" in text or "found" in text.lower())
    screen.send("/remember todo: Paint it")
    screen.wait_for("Remembered")
    screen.send("/remember preference: pytest")
    screen.wait_for(lambda text: text.count("Remembered") == 2)

    screen.send("/dashboard")
    screen.wait_for("Wanted  Concepts  Archive  Numbers")
    screen.click("pytest")
    screen.press(b"e")
    screen.wait_for("Enter saves the new text")
    screen.press(b" -q")
    screen.wait_for("pytest -q")
    screen.press(ENTER)
    screen.wait_for("Saved.")
    screen.click("Numbers")
    screen.wait_for("recall rate")
    screen.press(ENTER)
    screen.wait_for("quoted")
    screen.click("Archive")
    screen.wait_for("Is the kiosk blue?")
    screen.press(TAB)
    screen.wait_for("recall rate")
    screen.press(ESCAPE)
    screen.wait_for(lambda text: "recall rate" not in text)

    screen.send("/hints")
    screen.wait_for("no open hints")
    screen.send("/archive")
    screen.wait_for("A new session.")
    screen.send("/sessions")
    screen.wait_for("Sessions")
    screen.press(CTRL_F)
    screen.wait_for("Is the kiosk blue?")
    screen.press(ESCAPE)
    screen.wait_for(lambda text: "Is the kiosk" not in text)
    screen.press(CTRL_D)
    assert screen.ended() == 0
    screen.assert_restored()
    desk.close()
