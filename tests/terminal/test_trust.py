"""A folder with instructions of its own, in a real terminal."""

from tests.terminal.screen import CTRL_D, Desk


def test_a_folder_with_instructions_is_asked_about_once(desk: Desk) -> None:
    (desk.project / "AGENTS.md").write_text("Use tabs.\u200b\n")
    first = desk.start()
    first.wait_for("Do you trust them?")
    first.wait_for("Use tabs.<U+200B>")
    first.press(b"1")
    first.wait_for("Type a message")
    first.send("What is the capital of France?")
    first.wait_for("It is Paris, on the Seine.")
    first.send("!echo Be brief. >> AGENTS.md")
    first.wait_for("✓ ! echo Be brief.")
    first.send("What is the capital of France, again?")  # not asked about: the user wrote it here
    first.wait_for(lambda screen: screen.count("It is Paris, on the Seine.") == 2)
    first.press(CTRL_D)
    assert first.ended() == 0
    first.assert_restored()

    (desk.project / "AGENTS.md").write_text("Use spaces.\n")
    second = desk.start("--new")
    second.wait_for("have changed")
    second.wait_for("+ Use spaces.")
    second.press(b"3")
    assert second.ended() == 0
    second.assert_restored()
