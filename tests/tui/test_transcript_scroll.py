"""Where the conversation is scrolled to, and what of it is mounted."""

from textual.pilot import Pilot

from ragforge.domain.events import TextDelta, ToolEnded, TurnEnded, TurnStarted
from ragforge.domain.turns import TurnStatus
from ragforge.tui.widgets.transcript import NewBelow
from ragforge.tui.widgets.turn_record import StoredTurns
from ragforge.tui.widgets.turn_view import TurnView
from tests.tui.transcript_app import ChatApp, answers_drawn, call, toggle_last, turn
from tests.tui.waiting import until, until_still

ANSWER = "One paragraph.\n\nTwo.\n\nThree.\n\nFour."


def stored(first: int, last: int) -> StoredTurns:
    return StoredTurns(
        [
            turn(n, f"question {n}", TurnStatus.FINISHED, assistant=f"answer {n}\n\n{ANSWER}")
            for n in range(first, last)
        ],
        (),
        [call(id=f"call-{n}", turn_id=f"turn-{n}") for n in range(first, last)],
    )


async def load(app: ChatApp, pilot: Pilot[None], first: int, last: int) -> None:
    found = stored(first, last)
    await app.transcript.load(found.turns, found.steps, found.calls)
    await until(pilot, lambda: answers_drawn(app) and f"answer {last - 1}" in app.text())
    await until_still(pilot)  # the view has gone to the end, and no scrolling of its own is still to come


async def settle(app: ChatApp, pilot: Pilot[None]) -> None:
    """Until the frames look the same and all Markdown is drawn."""
    await until(pilot, lambda: answers_drawn(app))
    await until_still(pilot)


async def test_the_end_stays_in_view_while_an_answer_streams() -> None:
    app = ChatApp()
    async with app.run_test(size=(60, 20)) as pilot:
        app.transcript.show(TurnStarted(turn()))
        for count in range(40):
            app.transcript.show(TextDelta(f"paragraph {count}\n\n"))
        await until(pilot, lambda: "paragraph 39" in app.screen_text())
        assert "paragraph 1\n" not in app.screen_text()
        assert app.transcript.following
        assert not app.query_one(NewBelow).display


async def test_a_reader_further_up_is_left_alone_and_told_of_what_is_new() -> None:
    app = ChatApp()
    async with app.run_test(size=(60, 20)) as pilot:
        await load(app, pilot, 0, 10)
        app.transcript.show(TurnStarted(turn(10)))
        app.transcript.show(TextDelta("It begins."))
        await until(pilot, lambda: "It begins." in app.screen_text())
        app.transcript.action_page_up()
        await settle(app, pilot)
        before = app.screen_text().split("\n")[:12]
        for count in range(30):
            app.transcript.show(TextDelta(f"\n\nparagraph {count}"))
        await until(pilot, lambda: "↓ new output below" in app.screen_text())
        await settle(app, pilot)
        assert app.screen_text().split("\n")[:12] == before
        assert not app.transcript.following
        await app.transcript.action_end()
        await until(
            pilot, lambda: "paragraph 29" in app.screen_text() and "new output" not in app.screen_text()
        )
        app.transcript.show(TextDelta("\n\nthe last words"))
        await until(pilot, lambda: "the last words" in app.screen_text())


async def test_scrolling_down_to_the_end_follows_again() -> None:
    app = ChatApp()
    async with app.run_test(size=(60, 20)) as pilot:
        await load(app, pilot, 0, 10)
        app.transcript.action_page_up()
        await until(pilot, lambda: not app.transcript.following)
        app.transcript.show(TurnStarted(turn(10)))
        app.transcript.show(TextDelta("More."))
        await until(pilot, lambda: app.query_one(NewBelow).display)
        for _ in range(10):
            app.transcript.action_page_down()
            await pilot.pause()
        await until(pilot, lambda: app.transcript.following)
        await until(pilot, lambda: not app.query_one(NewBelow).display)


async def test_a_click_on_new_output_goes_there() -> None:
    app = ChatApp()
    async with app.run_test(size=(60, 20)) as pilot:
        await load(app, pilot, 0, 10)
        app.transcript.action_page_up()
        await until(pilot, lambda: not app.transcript.following)
        app.transcript.show(TurnStarted(turn(10)))
        app.transcript.show(TextDelta("The news."))
        await until(pilot, lambda: app.query_one(NewBelow).display and app.query_one(NewBelow).region)
        await pilot.click(NewBelow)
        await until(pilot, lambda: "The news." in app.screen_text())


async def test_only_what_is_near_is_mounted_and_all_of_it_can_be_reached() -> None:
    app = ChatApp()
    async with app.run_test(size=(60, 20)) as pilot:
        await load(app, pilot, 0, 14)
        assert len(app.query(TurnView)) < 10
        seen: set[str] = set()

        def look() -> None:
            seen.update(line.strip() for line in app.screen_text().split("\n") if "question" in line)

        for _ in range(100):
            await settle(app, pilot)
            look()
            assert len(app.query(TurnView)) < 15
            if any(line.endswith("question 0") for line in seen):
                break
            app.transcript.action_page_up()
        missing = [n for n in range(14) if not any(line.endswith(f"question {n}") for line in seen)]
        assert missing == []
        await app.transcript.action_end()
        await until(pilot, lambda: "answer 13" in app.screen_text())
        assert len(app.query(TurnView)) < 15


async def test_older_turns_are_loaded_from_the_store_without_a_jump() -> None:
    asked: list[tuple[str, int]] = []

    async def load_before(turn_id: str, count: int) -> StoredTurns:
        asked.append((turn_id, count))
        last = int(turn_id.removeprefix("turn-"))
        return stored(max(0, last - count), last)

    app = ChatApp(load_before=load_before)
    async with app.run_test(size=(60, 20)) as pilot:
        await load(app, pilot, 13, 16)
        for _ in range(100):
            await settle(app, pilot)
            top = app.screen_text().split("\n")[0]
            if "question 0" in app.screen_text():
                break
            app.transcript.action_line_up()
            app.transcript.action_line_up()
            await settle(app, pilot)
            assert top == "" or top in app.screen_text().split("\n")[2:3]
            app.transcript.action_page_up()
        assert "question 0" in app.screen_text()
        assert asked[-1][0] == "turn-0"
        assert len(asked) == len(set(asked))


async def test_a_live_turn_goes_on_while_it_is_far_away() -> None:
    app = ChatApp()
    async with app.run_test(size=(60, 20)) as pilot:
        await load(app, pilot, 0, 20)
        app.transcript.show(TurnStarted(turn(20, "the live one")))
        app.transcript.show(TextDelta("It begins. "))
        await until(pilot, lambda: "It begins." in app.screen_text())
        for _ in range(8):
            app.transcript.action_page_up()
            await settle(app, pilot)
        assert "the live one" not in app.text()
        app.transcript.show(TextDelta("It goes on."))
        app.transcript.show(ToolEnded(call(id="new", turn_id="turn-20", args={"path": "late.py"})))
        app.transcript.show(TurnEnded(turn(20, "the live one", TurnStatus.INTERRUPTED)))
        await until(pilot, lambda: "new output below" in app.screen_text())
        await app.transcript.action_end()
        for said in ("It begins. It goes on.", "late.py", "■ interrupted"):
            await until(pilot, lambda said=said: said in app.screen_text(), what=said)


async def test_opening_a_tool_at_the_end_does_not_move_its_line() -> None:
    app = ChatApp()
    async with app.run_test(size=(60, 20)) as pilot:
        await load(app, pilot, 0, 10)
        app.transcript.show(TurnStarted(turn(10)))
        app.transcript.show(ToolEnded(call(id="x", args={"path": "here.py"}, result="row\n" * 100)))
        await until(pilot, lambda: "here.py" in app.screen_text())
        await settle(app, pilot)

        def line_of_the_tool() -> list[int]:
            lines = app.screen_text().split("\n")
            return [number for number, line in enumerate(lines) if "read here.py" in line]

        before = line_of_the_tool()
        toggle_last(app)
        await until(pilot, lambda: "path: here.py" in app.text())
        await settle(app, pilot)
        assert line_of_the_tool() == before


async def test_another_size_keeps_the_end_in_view_and_the_reader_in_place() -> None:
    app = ChatApp()
    async with app.run_test(size=(60, 20)) as pilot:
        await load(app, pilot, 0, 20)
        await pilot.resize_terminal(40, 12)
        await until(pilot, lambda: app.size.width == 40 and "Four." in app.screen_text())
        await settle(app, pilot)
        assert app.transcript.following
        app.transcript.action_page_up()
        await settle(app, pilot)
        first = next(line for line in app.screen_text().split("\n") if line.strip())
        await pilot.resize_terminal(100, 30)
        await until(pilot, lambda: app.size.width == 100 and first.strip() in app.screen_text())


async def test_a_tool_opened_and_closed_in_a_short_conversation_does_not_end_the_following() -> None:
    app = ChatApp()
    async with app.run_test(size=(60, 20)) as pilot:
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(ToolEnded(call()))
        await until(pilot, lambda: "parser.py" in app.screen_text())
        for wanted in (True, False):
            toggle_last(app)
            await until(pilot, lambda wanted=wanted: ("path: parser.py" in app.text()) is wanted)
            await settle(app, pilot)
        for count in range(30):
            app.transcript.show(TextDelta(f"paragraph {count}\n\n"))
        await until(pilot, lambda: "paragraph 29" in app.screen_text())
        assert "new output" not in app.screen_text()
