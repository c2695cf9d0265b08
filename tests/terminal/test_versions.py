"""Files and chat go back and forth between versions, in a real terminal."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.flow.moving import tree
from tests.flow.running import MODEL
from tests.standins.gemini import KEY
from tests.terminal.screen import CTRL_C, CTRL_D, ESCAPE, OPEN, Desk, Screen, stand_in

PLAN = "".join(f"line {number}\n" for number in range(8))
PROMPT = "Message, /command"
PRECIOUS = bytes(range(256))


Tree = dict[str, tuple[str, int, bytes]]
"""What `tree` tells of a folder."""


def a_write(path: str, content: str) -> dict[str, Any]:
    return {"calls": [{"name": "write", "args": {"path": path, "content": content}}]}


def an_edit(path: str, old: str, new: str) -> dict[str, Any]:
    return {"calls": [{"name": "edit", "args": {"path": path, "old": old, "new": new}}]}


REPLIES = [
    *(a_write("notes/plan.txt", PLAN), "It is written."),
    *(an_edit("notes/plan.txt", "line 1", "LINE 1"), "It is changed."),
    *({"calls": [{"name": "shell", "args": {"command": "rm precious.bin notes/alt-ü.txt"}}]}, "It is tidy."),
    *(a_write("left.txt", "left\r\n"), "That was the left one."),
    {"calls": [{"name": "read", "args": {"path": "notes/plan.txt"}}]},
    *(an_edit("notes/plan.txt", "line 6", "LINE 6"), "That was the right one."),
]


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Desk]:
    """A desk whose model works on a plan."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": REPLIES}))
    with stand_in(script) as url:
        desk = Desk(tmp_path, model=MODEL, env={"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url})
        yield desk
        desk.close()


def ask(screen: Screen, message: str, answer: str) -> None:
    """A turn, to its end."""
    screen.send(message)
    screen.wait_for(lambda text: "/undo undoes it" in text.partition(answer)[2])


def back_in_prompt(screen: Screen, message: str) -> None:
    """The message that was undone is in the prompt again; clear it."""
    screen.wait_for(lambda text: message in text and PROMPT not in text)
    screen.press(CTRL_C)
    screen.wait_for(PROMPT)


def test_edits_are_undone_redone_branched_and_merged(worker: Desk) -> None:
    project = worker.project
    beginning = furnish(project)
    screen = worker.start("--yolo")
    screen.wait_for(OPEN)
    written, changed = work_three_turns(screen, project)
    take_three_turns_back(screen, project, [changed, written, beginning])

    screen.send("/redo")
    screen.wait_for("Redone turn 1")
    redone = tree(project)
    assert without_own(project) == written

    look_at_log(screen, "Change the plan", "Tidy up")
    assert tree(project) == redone

    left, right = work_on_two_lines(screen, project)
    screen.send("/merge left")
    screen.wait_for("Merged version")
    assert tree(project) == left | right
    leave(screen)
    screen.assert_restored()
    assert tree(project) == left | right

    # Nothing was lost on the way: what was undone and what was overwritten by hand can be had.
    again = worker.start("--new", "--yolo")
    again.wait_for(OPEN)
    look_at_log(again, "plan.txt, changed outside")
    leave(again)


def furnish(project: Path) -> Tree:
    """Files of every kind, as they lie before the first turn."""
    (project / "notes").mkdir()
    (project / "notes" / "alt-ü.txt").write_bytes(b"old\r\nwords")
    (project / "precious.bin").write_bytes(PRECIOUS)
    (project / "run.sh").write_text("#!/bin/sh\n")
    (project / "run.sh").chmod(0o755)
    (project / "link").symlink_to("run.sh")
    (project / "empty").mkdir()
    return tree(project)


def work_three_turns(screen: Screen, project: Path) -> tuple[Tree, Tree]:
    """The assistant writes, edits and removes; between, the user writes `own.txt`.

    What lies there after the first turn, and after the second.
    """
    ask(screen, "Write the plan", "It is written.")
    written = tree(project)
    assert (project / "notes/plan.txt").read_text() == PLAN
    (project / "own.txt").write_text("by hand\n")
    ask(screen, "Change the plan", "It is changed.")
    changed = tree(project)
    ask(screen, "Tidy up", "It is tidy.")
    assert set(changed) - set(tree(project)) == {"precious.bin", "notes/alt-ü.txt"}
    return written, changed


def take_three_turns_back(screen: Screen, project: Path, before: list[Tree]) -> None:
    """Undo all three, the newest first; `before` is what lay there before each."""
    plan, own = project / "notes" / "plan.txt", project / "own.txt"
    by_hand = own.read_bytes()
    screen.send("/undo")
    screen.wait_for("Undone turn 3")
    back_in_prompt(screen, "Tidy up")
    assert tree(project) == before[0]

    plan.write_text("all by hand\n")
    screen.send("/undo")
    screen.wait_for("What should happen to it?")
    assert plan.read_text() == "all by hand\n"
    screen.press(b"2")  # restore
    screen.wait_for("Undone turn 2")
    back_in_prompt(screen, "Change the plan")
    assert without_own(project) == before[1]
    assert own.read_bytes() == by_hand

    screen.send("/undo")
    screen.wait_for("Undone turn 1")
    back_in_prompt(screen, "Write the plan")
    assert without_own(project) == before[2]


def work_on_two_lines(screen: Screen, project: Path) -> tuple[Tree, Tree]:
    """What lies there after a turn on one branch, and after one on another from the same place."""
    together = tree(project)
    screen.send("/branch right")
    screen.wait_for("The branch right points to")
    screen.send("/branch left")
    screen.wait_for("The branch left points to")
    ask(screen, "Go left", "That was the left one.")
    assert (project / "left.txt").read_bytes() == b"left\r\n"
    left = tree(project)
    screen.send("/checkout right")
    screen.wait_for("Checked out version")
    assert tree(project) == together
    ask(screen, "Go right", "That was the right one.")
    assert (project / "notes/plan.txt").read_text() == PLAN.replace("line 6", "LINE 6")
    return left, tree(project)


def look_at_log(screen: Screen, *words: str) -> None:
    """The tree of versions shows these words; it is left again."""
    screen.send("/log")
    screen.wait_for(lambda text: "Versions ·" in text and all(each in text for each in words))
    screen.press(ESCAPE)
    screen.wait_for(lambda text: "Versions ·" not in text)


def without_own(project: Path) -> Tree:
    """What lies there but for the user's own file."""
    return {path: found for path, found in tree(project).items() if path != "own.txt"}


def leave(screen: Screen) -> None:
    screen.press(CTRL_D)
    assert screen.ended() == 0
