"""The panel of what is to do, at any size, and plan mode to its end."""

import pytest

from ragforge.domain.approvals import Mode
from ragforge.domain.turns import TodoItem, Todos, TodoState
from ragforge.tui.widgets.todo_panel import TodoPanel, todo_content
from tests.standins.gemini import Call, Calls, Text
from tests.tui.chat_app import Chat, Lab


def todo(*items: tuple[str, str]) -> Calls:
    return Calls(Call("todo", {"items": [{"text": text, "state": state} for text, state in items]}))


def panel(chat: Chat) -> list[str]:
    found = chat.screen.query_one(TodoPanel)
    return str(found.render()).splitlines() if found.is_shown else []


async def test_the_list_is_seen_while_something_is_open_and_comes_back_with_the_session(lab: Lab) -> None:
    lab.gemini.script(todo(("parse", "active"), ("test", "pending")), Text("Begun."))
    async with lab.chat() as chat:
        assert panel(chat) == []
        await chat.pilot.press("ctrl+t")
        assert "There is no to-do list yet" in chat.notices()
        await chat.say("begin")
        await chat.until(lambda: panel(chat) == ["To do · 0 of 2 done", "▸ parse", "· test"])
        await chat.turn_ended()
        await chat.pilot.press("ctrl+t")
        await chat.until(lambda: panel(chat) == [])
        await chat.pilot.press("ctrl+t")
        await chat.until(lambda: len(panel(chat)) == 3)
    async with lab.chat(continue_newest=True) as chat:
        await chat.until(lambda: len(panel(chat)) == 3, "the list of the session")
        lab.gemini.script(todo(("parse", "done"), ("test", "done")), Text("Finished."))
        await chat.say("finish")
        await chat.sees("Finished.")
        await chat.until(lambda: panel(chat) == [], "a list that is done is not in the way")
        await chat.turn_ended()
        await chat.say("/undo")
        await chat.until(lambda: len(panel(chat)) == 3, "undone with its turn")


async def test_do_it_leaves_plan_mode_and_carries_the_plan_out(lab: Lab) -> None:
    lab.gemini.script(Text("The plan."), Text("Carried out."))
    async with lab.chat() as chat:
        await chat.say("/plan add a flag")
        await chat.sees("The plan.")
        await chat.turn_ended()
        await chat.sees("Say `do it` to carry out the plan")
        assert chat.screen.ready().session.live.consent.mode is Mode.PLAN
        await chat.say("do it")
        await chat.sees("Carried out.")
        assert chat.screen.ready().session.live.consent.mode is Mode.ASK


async def test_a_plan_is_carried_out_by_the_session_that_is_resumed_and_undone(lab: Lab) -> None:
    lab.gemini.script(todo(("add the flag", "pending")), Text("The plan."))
    async with lab.chat() as chat:
        await chat.say("/plan add a flag")
        await chat.sees("The plan.")
        await chat.turn_ended()
    written = lab.project / "flag.txt"
    async with lab.chat(continue_newest=True) as chat:
        await chat.until(lambda: panel(chat) == ["To do · 0 of 1 done", "· add the flag"], "the plan")
        assert chat.screen.ready().session.live.consent.mode is Mode.PLAN
        write = Call("write", {"path": "flag.txt", "content": "on\n"})
        lab.gemini.script(Calls(write), todo(("add the flag", "done")), Text("Carried out."))
        await chat.say("do it")
        await chat.asked()
        await chat.pilot.press("1")
        await chat.sees("Carried out.")
        await chat.turn_ended()
        assert written.read_text() == "on\n"
        assert chat.screen.ready().session.live.consent.mode is Mode.ASK
        await chat.until(lambda: panel(chat) == [], "all is done")
        await chat.say("/undo")
        await chat.until(lambda: len(panel(chat)) == 2, "the plan again")
        assert not written.exists()


@pytest.mark.parametrize(("width", "height"), [(40, 12), (200, 60)])
async def test_a_long_list_leaves_room_and_shows_what_is_being_done(
    lab: Lab, width: int, height: int
) -> None:
    items = [
        (f"第{number}步 שלום 🎉 " + "long " * 60, "done" if number < 40 else "pending")
        for number in range(80)
    ]
    items[40] = (items[40][0], "active")
    lab.gemini.script(todo(*items), Text("Listed."))
    async with lab.chat((width, height)) as chat:
        await chat.say("begin")
        await chat.sees("Listed.")
        await chat.until(lambda: any(line.startswith("▸") for line in panel(chat)))
        found = chat.screen.query_one(TodoPanel)
        await chat.until(lambda: 0 < found.size.height <= max(3, height // 4))
        await chat.pilot.press("ctrl+t", "ctrl+t")
        await chat.until(lambda: 2 < found.size.height <= height // 2)
        assert any(line.startswith("▸") for line in panel(chat))


@pytest.mark.parametrize("rows", range(1, 9))
@pytest.mark.parametrize("active", range(6))
def test_every_window_holds_what_is_being_done_and_counts_the_rest(rows: int, active: int) -> None:
    states = [TodoState.DONE] * active + [TodoState.ACTIVE] + [TodoState.PENDING] * (5 - active)
    todos = Todos(tuple(TodoItem(f"step {at}", state) for at, state in enumerate(states)))
    head, *lines = str(todo_content(todos, rows_max=rows)).splitlines()
    counted = sum(int(part.split()[0]) for part in head.split(" · ") if " more " in part)
    assert len(lines) + counted == 6
    assert rows == 1 or f"▸ step {active}" in lines
