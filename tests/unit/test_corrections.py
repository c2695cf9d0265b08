"""What corrects, and what a correction says to use: by its words, in English and French."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from ragforge.domain.turns import CallStatus, ToolCall, declined
from ragforge.domain.versions import USER, Change, CheckoutLog, MoveAction, Provenance, Version
from ragforge.memory.corrections import edited, reasons, undone_before, wishes_in

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "wishes"),
    [
        ("No, use yarn.", ["use yarn."]),
        ("nope. please use httpx", ["please use httpx"]),
        ("Not that. Use tabs.", ["Use tabs."]),
        ("Non, utilise ramda", ["utilise ramda"]),
        ("pas comme ça, utilise plutôt ramda", ["utilise plutôt ramda"]),
        ("no, never bower", ["never bower"]),
        ("Use yarn.", []),
        ("no, use it like the second approach", []),
        ("no, use src/other.py", []),
        ("no, maybe we could use yarn", []),
        ("no, should I use yarn?", []),
        ('no, the readme says "use yarn"', []),
        ("no\n```\nuse yarn\n```", []),
        ("no, add more tests", []),
    ],
)
def test_what_a_correction_says_to_use(said: str, wishes: list[str]) -> None:
    assert list(wishes_in(said, corrects=False)) == wishes


def call(status: CallStatus, result: str) -> ToolCall:
    return ToolCall("c1", "t1", 0, 0, "shell", {"command": "npm i"}, status, result, NOON, 1)


def test_only_the_user_gives_the_reason_of_a_declined_call() -> None:
    assert [(each.text, each.of) for each in reasons([call(CallStatus.DENIED, declined("use yarn"))])] == [
        ("use yarn", "shell(command: npm i)")
    ]
    others = [
        call(CallStatus.DENIED, declined("")),
        call(CallStatus.DENIED, "Not done. It goes against what the user said. They said: use yarn"),
        call(CallStatus.FAILED, declined("use yarn")),
        call(CallStatus.OK, declined("use yarn")),
    ]
    assert list(reasons(others)) == []


def test_a_message_follows_an_undo_where_nothing_else_came_between() -> None:
    undo = CheckoutLog(
        "m1", "p", "s", MoveAction.UNDO, NOON, from_turn="t3", to_turn="t1", turns=("t3", "t2")
    )
    redo = replace(undo, id="m2", action=MoveAction.REDO, at=NOON + timedelta(1), to_turn="t2")
    after = NOON + timedelta(2)
    assert undone_before([undo], parent="t1", at=after) == "t2"
    assert undone_before([undo], parent="t4", at=after) == ""
    assert undone_before([undo], parent="t1", at=NOON - timedelta(1)) == ""
    assert undone_before([redo, undo], parent="t2", at=after) == ""
    assert undone_before([redo, undo], parent="t1", at=NOON) == "t2"
    assert undone_before([replace(undo, to_turn="t3")], parent="t3", at=after) == ""
    assert undone_before([], parent=None, at=after) == ""


def test_an_edit_by_hand_corrects_the_lines_that_it_replaces() -> None:
    change = Change("a.py", None, None, Provenance.OUTSIDE)
    written = Version("v1", "p", (), NOON, "gemini:x", turn_id="t1", words="a.py\nprint('hello')\n}")
    by_hand = Version(
        "v2", "p", ("v1",), NOON, USER, (change,), words="a.py\nprint('hello')\nlog.info('hello')"
    )
    found = edited(by_hand, written)
    assert found is not None
    assert (found.of, found.text) == ("print('hello')", "log.info('hello')")
    assert edited(replace(by_hand, words="a.py\n}\nelse }"), written) is None
    assert edited(replace(by_hand, words="a.py\n" + "\n".join(map(str, range(30)))), written) is None
    assert edited(replace(by_hand, by="restore"), written) is None
    assert edited(by_hand, replace(written, by=USER)) is None
    by_a_command = replace(change, provenance=Provenance.SHELL)
    assert edited(replace(by_hand, changes=(by_a_command,)), written) is None
