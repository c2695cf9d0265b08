"""How the code hangs together gets no worse."""

import re
from pathlib import Path

import pytest

from tests.house import RECORDED, ROOT, circles, figures, is_participle, repeated, rooms, written_outside


def test_no_figure_is_worse_than_the_recorded_one() -> None:
    now = figures()
    worse = {
        name: f"{value}, recorded {RECORDED[name]}" for name, value in now.items() if value > RECORDED[name]
    }
    assert worse == {}


def test_circles_are_found_directly_and_through_others() -> None:
    imports = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert sorted(map(sorted, circles(imports))) == [["a", "b", "c"], ["d", "e"]]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [("moving", True), ("seen_files", True), ("settings", False), ("embedding", False), ("journal", False)],
)
def test_modules_are_told_by_their_names(name: str, expected: bool) -> None:
    assert is_participle(name) is expected


def test_class_names_are_counted_with_and_without_an_underscore() -> None:
    assert repeated(
        ["class Row: ...", "class _Row: ...\nclass Head: ...", "def f():\n    class Row: ..."]
    ) == ["Row"]


def test_only_the_session_writes_what_changes_while_it_is_open() -> None:
    sources = {path.relative_to(ROOT): path.read_text() for path in ROOT.rglob("*.py")}
    assert written_outside(sources) == []
    wrong = "session.live.stored = a.live.view.window = True\nself.chat.activity.moving += 1\nx.alive.y = 1\n"
    wrong += "live.unkept.append(1)\ndel a.live.seen['b']\nlive.read.files()"
    assert written_outside({Path("tui/x.py"): wrong, Path("session/x.py"): wrong}) == [
        "tui/x.py:1: session.live.stored",
        "tui/x.py:1: a.live.view.window",
        "tui/x.py:2: self.chat.activity.moving",
        "tui/x.py:5: a.live.seen['b']",
        "tui/x.py:4: live.unkept",
    ]


def test_the_docs_draw_the_rooms_as_the_import_graph_does() -> None:
    text = (ROOT.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawn = re.findall(r"^([a-z]+) +-> ([a-z ]+)$", text, re.MULTILINE)
    assert {room: set(others.split()) for room, others in drawn} == {
        room: others for room, others in rooms().items() if others
    }
