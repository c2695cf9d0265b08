"""/undo and its kin in the interface: the conversation, the prompt, and what is said of the files."""

from ragforge.files.folder_lock import folder_lock
from tests.flow.moving import tree
from tests.standins.gemini import Call, Calls, Text
from tests.tui.chat_app import Chat, Lab


async def turn(lab: Lab, chat: Chat, words: str, command: str) -> None:
    lab.gemini.script(Calls(Call("shell", {"command": command})), Text(f"Did {words}."))
    await chat.say(words)
    await chat.sees(f"Did {words}.")
    await chat.turn_ended()


async def test_undo_and_redo_change_what_is_seen_and_fill_the_prompt(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.say("/mode all")
        await chat.until(lambda: chat.top is not chat.screen)
        chat.top._last_key_s -= 10
        await chat.pilot.press("y")
        await chat.until(lambda: chat.status.startswith("ALL"))
        await turn(lab, chat, "first", "echo 1 > a.txt")
        await turn(lab, chat, "second", "echo 2 > a.txt; echo 2 > b.txt")

        data_dir = chat.screen.ready().workspace.data_dir
        async with folder_lock(data_dir, lab.project, timeout_s=30):  # another session is at the folder
            await chat.say("/undo")
            await chat.until(lambda: "moving files" in chat.status, "what takes so long")
        await chat.sees("Restored: a.txt.")
        await chat.sees("Removed: b.txt.")
        await chat.until(lambda: "moving files" not in chat.status, "it is done")
        assert "Did second." not in chat.words()
        assert "Did first." in chat.words()
        await chat.until(lambda: chat.draft == "second")
        assert (lab.project / "a.txt").read_text() == "1\n"

        await chat.type("/redo")  # the message waits behind it
        await chat.enter()
        await chat.sees("Did second.")
        assert (lab.project / "a.txt").read_text() == "2\n"
        await chat.until(lambda: not chat.draft, "what came again leaves the prompt")

        (lab.project / "a.txt").write_text("mine\n")
        await chat.say("/undo 2 --on-conflict keep")
        await chat.sees("Kept as it is, because it has changed since then: a.txt.")
        await chat.until(lambda: chat.draft == "first")
        assert set(tree(lab.project)) == {"a.txt"}
        await chat.say("/undo")
        await chat.sees("There is nothing to undo")


async def test_what_is_said_while_files_move_is_still_seen_afterwards(lab: Lab) -> None:
    async with lab.chat() as chat:
        lab.gemini.script(Calls(Call("write", {"path": "a.txt", "content": "a"})), Text("Did it."))
        await chat.pilot.press("shift+tab")
        await chat.until(lambda: "accept edits" in chat.status)
        await chat.say("do it")
        await chat.sees("Did it.")
        await chat.turn_ended()
        await chat.say("/rename Before")
        await chat.sees("is now called `Before`")
        data_dir = chat.screen.ready().workspace.data_dir
        async with folder_lock(data_dir, lab.project, timeout_s=30):  # another session is at the folder
            await chat.say("/undo")
            await chat.until(lambda: "moving files" in chat.status)
            await chat.say("/undo")
            await chat.sees("Files are being moved to another version.")
            await chat.say("/rename Meanwhile")
            await chat.sees("is now called `Meanwhile`")
        await chat.sees("a.txt.")
        await chat.until(lambda: "moving files" not in chat.status, "it is done")
        said = chat.words()
        assert "Did it." not in said
        assert "`Before`" not in said
        lines = ("Files are being moved to another version.", "is now called `Meanwhile`", "a.txt.")
        places = [said.index(line) for line in lines]
        assert places == sorted(places)
        assert all(said.count(line) == 1 for line in lines)
        assert not (lab.project / "a.txt").exists()


async def test_a_command_typed_while_files_move_is_not_joined_to_the_message_that_returns(lab: Lab) -> None:
    async with lab.chat() as chat:
        lab.gemini.script(Calls(Call("write", {"path": "a.txt", "content": "a"})), Text("Did it."))
        await chat.pilot.press("shift+tab")
        await chat.until(lambda: "accept edits" in chat.status)
        await chat.say("do it")
        await chat.sees("Did it.")
        await chat.turn_ended()
        data_dir = chat.screen.ready().workspace.data_dir
        async with folder_lock(data_dir, lab.project, timeout_s=30):  # another session is at the folder
            await chat.say("/undo")
            await chat.until(lambda: "moving files" in chat.status)
            await chat.pilot.press(*"/log")
            await chat.until(lambda: chat.draft == "/log", "what is typed meanwhile")
        await chat.sees("press Up for the message that was undone.")
        assert chat.draft == "/log"
