"""The whole way of a user: ask, approve, quit, come back, find."""

import re

from tests.terminal.screen import COMMAND, CTRL_D, DOWN, ENTER, ESCAPE, Desk

PROMPT = "Message, /command"


def test_ask_approve_quit_resume_from_the_list_and_search(desk: Desk):
    file = desk.project / "greet.txt"
    file.write_text("Hello there\n")

    first = desk.start(argv=[COMMAND])
    first.wait_for("gemini-3.8-flash")
    first.send("What is the capital of France?")
    first.wait_for("It is Paris, on the Seine.")
    first.send("Make it more polite")
    first.wait_for("press 1")
    assert file.read_text() == "Hello there\n"
    first.press(b"1")
    first.wait_for("It is polite now.")
    first.wait_for("/undo takes it back")  # the turn has ended
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

    third = desk.start("-r", session[-6:])
    third.wait_for("It is polite now.")
    third.press(CTRL_D)
    assert third.ended() == 0


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
    first.wait_for("gemini-3.8-flash")
    first.send("What is the capital of France?")
    first.wait_for("on the Seine.")
    first.press(CTRL_D)
    assert first.ended() == 0

    desk.configure('start = "new"\n')
    new = desk.start()
    new.wait_for(lambda screen: "/help" in screen and "gemini-3.8-flash" in screen)
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
