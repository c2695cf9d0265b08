"""/alternatives in the interface: asked once, followed line by line, taken afterwards."""

from pathlib import Path

from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.text_rows import TextRows
from tests.flow.moving import tree
from tests.standins.gemini import Call, Calls, Hang, Recorded, Reply, Text
from tests.tui.chat_app import Chat, Lab


async def answered(chat: Chat, key: str) -> None:
    """Answer the question that comes up."""
    await chat.until(lambda: chat.top is not chat.screen)
    chat.top._last_key_s -= 10
    await chat.pilot.press(key)
    await chat.until(lambda: chat.top is chat.screen)


def copies(lab: Lab) -> list[Path]:
    folder = lab.tmp_path / "data" / "copies"
    return list(folder.iterdir()) if folder.exists() else []


async def test_three_at_once_one_stopped_one_taken(lab: Lab) -> None:
    def way(request: Recorded) -> Reply:
        whole = str(request.body)
        name = "fast" if "runs fastest" in whole else "other"
        if "functionResponse" not in whole:
            return Calls(Call("write", {"path": "a.txt", "content": f"{name}\n"}))
        return Hang() if name == "fast" else Text("Done.")

    async with lab.chat() as chat:
        lab.gemini.script(*[way] * 6)
        await chat.say("/alternatives 3 write it")
        await answered(chat, "n")
        assert not copies(lab)
        await chat.say("/alternatives 3 write it")
        await answered(chat, "y")
        await chat.sees("Making one copy of the project")
        await chat.sees("2 (fast): write a.txt")
        await chat.sees("1 (readable): finished, 1 file +1 -0")
        await chat.sees("3 (thorough): finished, 1 file +1 -0")
        # That its file is written is known to be by the model, which is asked again then.
        await lab.gemini.wait_for_requests(6, action="streamGenerateContent")
        await chat.say("/alternatives stop 2")
        await chat.sees("2 (fast): stopped, 1 file +1 -0")
        await chat.sees("#  way")
        await chat.sees("/alternatives take K moves files and chat to one of them")
        assert not copies(lab)
        assert tree(lab.project) == {}

        await chat.say("/alternatives take 2")
        await chat.sees("Taken")
        assert (lab.project / "a.txt").read_text() == "fast\n"
        assert "write it" in chat.words()
        await chat.say("/alternatives")
        await chat.sees("Alternatives from")
        assert "stopped, taken" in chat.words()


async def test_the_projects_check_is_asked_about_first_and_the_newest_request_is_worked_out_anew(
    lab: Lab,
) -> None:
    def way(request: Recorded) -> Reply:
        if "functionResponse" in str(request.body):
            return Text("Done.")
        return Calls(Call("write", {"path": "a.txt", "content": "good\n"}))

    (lab.project / ".ragforge").mkdir(parents=True)
    (lab.project / ".ragforge" / "config.toml").write_text("[history]\ncheck_command = 'grep good a.txt'\n")
    async with lab.chat() as chat:
        lab.gemini.script(Text("I did nothing yet."), *[way] * 8)
        await chat.say("write it")
        await chat.sees("I did nothing yet.")
        await chat.turn_ended()
        await chat.say("/alternatives 2")
        await chat.until(lambda: chat.top is not chat.screen)
        first = chat.top
        assert [line.text for line in first.query_one(TextRows).lines] == ["grep good a.txt"]
        first._last_key_s -= 10
        await chat.pilot.press("y")
        await chat.until(lambda: chat.top not in (first, chat.screen))
        assert "write it" in "\n".join(each.text for each in chat.top.query(PlainText))
        await answered(chat, "y")
        await chat.sees("1 (readable): check passed: `grep good a.txt`, exit code 0, ")
        await chat.sees("2 (fast): check passed")
        await chat.sees("#  way")
        assert not (lab.project / "a.txt").exists()


async def test_leaving_ends_them(lab: Lab) -> None:
    async with lab.chat() as chat:
        lab.gemini.script(*[Hang()] * 2)
        await chat.say("/alternatives 2 write it")
        await answered(chat, "y")
        await lab.gemini.wait_for_requests(2, action="streamGenerateContent")
        assert copies(lab)
    assert not copies(lab)
    assert tree(lab.project) == {}
