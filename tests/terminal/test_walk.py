"""The whole way of a user: ask, approve, quit, come back, find."""

import re

from tests.terminal.screen import COMMAND, CTRL_D, DOWN, ENTER, ESCAPE, OPEN, Desk

PROMPT = "Message, /command"


def test_ask_approve_quit_resume_from_the_list_and_search(desk: Desk):
    file = desk.project / "greet.txt"
    file.write_text("Hello there\n")

    first = desk.start(argv=[COMMAND])
    first.wait_for(OPEN)
    first.send("What is the capital of France?")
    first.wait_for("It is Paris, on the Seine.")
    first.send("Make it more polite")
    first.wait_for("press 1")
    assert file.read_text() == "Hello there\n"
    first.press(b"1")
    first.wait_for("It is polite now.")
    first.wait_for("/undo undoes it")  # the turn has ended
    first.wait_for(lambda screen: re.search(r"- *Hello there", screen))
    first.wait_for(lambda screen: re.search(r"\+ *Good day there", screen))
    assert file.read_text() == "Good day there\n"
    first.wait_for(PROMPT)
    first.press(CTRL_D)
    assert first.ended() == 0
    first.assert_restored()
    left = first.unwrapped
    assert "It is polite now." in left
    [session] = re.findall(r"ragforge -r ([0-9a-f]{8})\n", left)

    second = desk.start(argv=[COMMAND])
    second.wait_for("What is the capital")
    second.press(DOWN)
    second.press(ENTER)
    second.wait_for("It is polite now.")
    second.send("/search Paris")
    second.wait_for("Search this project")
    second.wait_for(lambda screen: screen.count("turn 1") and "It is **Paris**" in screen)
    second.press(ENTER)
    second.wait_for("Shown up to turn 1")
    assert "It is polite now." not in second.text  # pictures come whole
    second.press(CTRL_D)
    assert second.ended() == 0
    assert f"ragforge -r {session}" in second.unwrapped

    is_found_on_another_machine(desk, session)


def is_found_on_another_machine(desk: Desk, session: str) -> None:
    third = desk.start("-r", session[-6:])
    third.wait_for("It is polite now.")
    third.send("/similar Tell me the capital of France")
    third.wait_for(lambda screen: "turn 1, kept" in screen and "--at 1" in screen)
    third.send("/stats")
    third.wait_for("Prompts a day since")
    third.send("/export walk.ragforge")
    third.wait_for("2 turns")
    third.press(CTRL_D)
    assert third.ended() == 0
    (home := desk.project.parent / "elsewhere").mkdir()
    other = Desk(home)
    (other.project / "walk.ragforge").write_bytes((desk.project / "walk.ragforge").read_bytes())
    try:
        imported = other.start(argv=[COMMAND, "sessions", "import", "walk.ragforge"])
        assert imported.ended() == 0
        shown = other.start("--new")
        shown.wait_for("without a model")
        shown.press(ESCAPE)
        shown.wait_for("No model yet")
        shown.send("/similar Tell me the capital of France")
        shown.wait_for(lambda screen: "turn 1, kept, shared by" in screen)
        shown.send("/search Paris")
        shown.wait_for(lambda screen: "Search this project" in screen and "shared by" in screen)
        shown.press(ENTER)
        shown.wait_for("It is read-only")
        shown.press(CTRL_D)
        assert shown.ended() == 0
        assert f"ragforge -r {session}" in shown.unwrapped
    finally:
        other.close()


def test_without_a_model_the_setup_comes_first_and_search_answers(bare_desk: Desk):
    screen = bare_desk.start(argv=[COMMAND])
    screen.wait_for("without a model")
    screen.press(ESCAPE)
    screen.wait_for("No model yet")
    screen.send("Where is the marmalade?")
    screen.wait_for("No model configured: search results, not generated text")
    screen.press(CTRL_D)
    assert screen.ended() == 0
    screen.assert_restored()

    again = bare_desk.start("--new")
    again.wait_for("without a model")
    again.press(ESCAPE)
    again.wait_for("No model yet")
    again.send("marmalade")
    again.wait_for("Where is the marmalade?")
    again.press(CTRL_D)
    assert again.ended() == 0


def test_the_list_opens_for_r_alone_and_not_for_new(desk: Desk):
    first = desk.start(argv=[COMMAND])
    first.wait_for(OPEN)
    first.send("What is the capital of France?")
    first.wait_for("on the Seine.")
    first.press(CTRL_D)
    assert first.ended() == 0

    desk.configure('start = "new"\n')
    new = desk.start()
    new.wait_for(lambda screen: "/help" in screen and OPEN in screen)
    assert "capital" not in new.text
    new.press(CTRL_D)
    assert new.ended() == 0
    listed = desk.start("-r")
    listed.wait_for("What is the capital")
    listed.press(DOWN)
    listed.press(ENTER)
    listed.wait_for("on the Seine.")
    listed.press(CTRL_D)
    assert listed.ended() == 0


def test_a_question_leaves_its_answers_and_the_status_line_at_40x12(desk: Desk):
    (desk.project / "greet.txt").write_text("Hello there\n")
    screen = desk.start(columns=40, rows=12)
    screen.wait_for(lambda shown: "ask" in shown.split("\n")[11])
    screen.send("Make it more polite")
    screen.wait_for(lambda shown: shown.count("greet.txt") and "PgDn" in shown)
    rows = screen.text.split("\n")
    assert rows[1].strip() == "Edit greet.txt?"
    assert [row.split()[0] for row in rows[4:9] if row.split()] == ["1", "2", "3", "4", "5"], screen.text
    assert rows[11].strip().startswith("ask")
    screen.press(ESCAPE)
    screen.wait_for("interrupted")
    screen.press(CTRL_D)
    assert screen.ended() == 0
