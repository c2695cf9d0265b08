"""Remembering and forgetting in the chat, and what the chat tells of memory."""

import pytest

from ragforge.commands.remember import split_type
from ragforge.domain import timeouts
from ragforge.domain.ids import new_id, now
from ragforge.domain.memories import Memory, MemoryFilter, MemorySource, MemoryType
from ragforge.domain.schedule import KeptMemory, Progress
from ragforge.domain.usage import Purpose, Spent, Usage
from ragforge.tui.chat.watch import Watch, kept_words, progress_words
from ragforge.tui.screens.choose import ChooseScreen
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.widgets.recall_line import RecalledHead, RecalledItem, RecalledView
from ragforge.tui.widgets.status_line import Status, explained, status_words
from tests.standins.gemini import GeminiStandIn, Text
from tests.tui.chat_app import Chat, Lab

NEVER_S = 1_000_000.0


async def kept(chat: Chat, *, forgotten: bool = False) -> list[Memory]:
    """What the user had remembered."""
    found = await chat.screen.ready().workspace.store.memories.find(MemoryFilter(forgotten=forgotten))
    return [memory for memory in found if memory.source is MemorySource.USER]


def test_a_type_is_only_what_stands_before_a_colon() -> None:
    assert split_type("decision: use MySQL") == (MemoryType.DECISION, "use MySQL")
    assert split_type(" Todo :  a: b") == (MemoryType.TODO, "a: b")
    assert split_type("the rule: use MySQL") == (MemoryType.FACT, "the rule: use MySQL")
    assert split_type("decision") == (MemoryType.FACT, "decision")
    assert split_type(": x") == (MemoryType.FACT, ": x")


async def test_what_is_remembered_rests_on_no_turn_and_is_forgotten_by_its_id(
    lab: Lab, gemini: GeminiStandIn
) -> None:
    gemini.script(Text("Yes."))
    async with lab.chat() as chat:
        await chat.say("/remember")
        await chat.sees("needs [TYPE:] TEXT: What to remember")
        await chat.say("/remember preference: tabs are `four` wide")
        await chat.sees("Remembered as a preference")
        await chat.say("We use MySQL, don't we?")
        await chat.sees("Yes.")
        await chat.turn_ended()
        await chat.say("/remember decision: use MySQL")
        await chat.sees("Remembered as a decision")
        decision, preference = await kept(chat)
        assert (decision.content, decision.type, decision.turns) == ("use MySQL", "decision", ())
        assert (preference.content, preference.type, preference.turns) == (
            "tabs are `four` wide",
            "preference",
            (),
        )
        await chat.say(f"/forget {decision.id[:6]}")
        await chat.sees("Forgotten:")
        assert await kept(chat) == [preference]
        await chat.say("/forget --undo")
        await chat.sees("Restored:")
        assert len(await kept(chat)) == 2
        await chat.say("/forget --undo")
        await chat.sees("Nothing is forgotten.")


async def test_words_find_the_memory_and_the_user_is_asked(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.say("/forget")
        await chat.sees("Nothing is remembered yet")
        await chat.say("/remember decision: the orders lie in MySQL")
        await chat.sees("Remembered as")
        await chat.say("/forget orders MySQL")
        await chat.until(lambda: isinstance(chat.top, ConfirmScreen))
        assert len(await kept(chat)) == 1
        await chat.answers("y")
        await chat.sees("Forgotten:")
        assert await kept(chat) == []
        await chat.say("/forget orders MySQL")
        await chat.sees("No memory matches")


async def test_a_message_that_only_asks_to_forget_is_answered_here(lab: Lab, gemini: GeminiStandIn) -> None:
    gemini.script(Text("Which one do you mean?"), Text("A queue, then."), Text("As you like."))
    async with lab.chat() as chat:
        await chat.say("forget that")
        await chat.sees("Which one do you mean?")  # nothing is remembered: it is for the model
        await chat.turn_ended()
        await chat.say("/remember decision: the orders lie in MySQL")
        await chat.sees("Remembered as")
        await chat.say("/remember the gateway listens on port 8443")
        await chat.sees("Remembered as a fact")
        await chat.say("oublie ça")
        await chat.until(lambda: isinstance(chat.top, ChooseScreen))
        await chat.pilot.press("2")
        await chat.sees("Forgotten:")
        assert [memory.content for memory in await kept(chat)] == ["the gateway listens on port 8443"]
        await chat.say("forget that we use port 8443")
        await chat.until(lambda: isinstance(chat.top, ConfirmScreen))
        await chat.answers("n")
        assert len(gemini.asked("streamGenerateContent")) == 1, "nothing of it was sent"
        await chat.say("forget that approach, use a queue")
        await chat.sees("A queue, then.")
        await chat.turn_ended()
        await chat.say("forget that we use port 9999")
        await chat.sees("As you like.")


async def test_what_is_forgotten_everywhere_is_counted_and_asked_first(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.say("/remember the gateway listens on port 8443")
        await chat.sees("Remembered as a fact")
        await chat.say("/forget --everywhere port 8443")
        await chat.until(lambda: isinstance(chat.top, ConfirmScreen))
        assert "Found in: 1 memory." in str(chat.top.query_one(".dialog-detail").render())
        await chat.answers("n")
        assert len(await kept(chat)) == 1
        await chat.say("/forget --everywhere port 8443")
        await chat.until(lambda: isinstance(chat.top, ConfirmScreen))
        await chat.answers("y")
        await chat.sees("Removed everywhere:")
        assert await kept(chat, forgotten=True) == []
        await chat.say("/forget --everywhere --undo")
        await chat.sees("Restored everywhere: `the gateway listens on port 8443`")
        assert len(await kept(chat)) == 1


async def test_near_memories_are_told(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.say("/remember decision: the orders lie in MySQL")
        await chat.sees("Remembered as")
        await chat.say("/remember decision: the orders lie in PostgreSQL")
        await chat.sees("Similar memories, which are kept")
        await chat.say("/remember decision: The orders lie in MySQL.")
        await chat.sees("Already known")


async def test_each_turn_tells_what_was_recalled_also_when_it_is_resumed(
    lab: Lab, gemini: GeminiStandIn
) -> None:
    gemini.script(Text("MySQL it is."), Text("Hello."))
    async with lab.chat() as chat:
        await chat.say("/remember decision: the orders lie in MySQL")
        await chat.sees("Remembered as")
        await chat.say("Where do the orders lie?")
        await chat.sees("MySQL it is.")
        await chat.turn_ended()
        await chat.sees("recalled 1 (")
    async with lab.chat(continue_newest=True) as chat:
        await chat.sees("recalled 1 (")
        view = chat.screen.query_one(RecalledView)
        view.query_one(RecalledHead).focus()
        await chat.pilot.press("enter")
        await chat.sees("the orders lie in MySQL")
        view.query_one(RecalledItem).focus()
        await chat.pilot.press("delete")
        await chat.answers("y")
        await chat.sees("Forgotten:")
        assert await kept(chat) == []


async def test_what_memory_costs_is_told_apart_from_the_chat(lab: Lab, gemini: GeminiStandIn) -> None:
    gemini.script(Text("Yes."))
    async with lab.chat() as chat:
        await chat.say("hello")
        await chat.turn_ended()
        await chat.until(lambda: "$" in chat.status)
        conversation = chat.screen.ready()
        chat_cost = conversation.session.live.spending.cost_usd
        spent = Spent(
            new_id(),
            conversation.workspace.project.id,
            conversation.session.id,
            now(),
            "gemini:gemini-3.5-flash-lite",
            Purpose.RECALL,
            Usage(1000, 0, 100),
            7.25,
        )
        await conversation.workspace.store.usage.add(spent)
        await chat.say("hello again")
        await chat.turn_ended()
        await chat.until(lambda: "memory $7.2" in chat.status, "the cost of memory is told")
        assert chat_cost is not None
        assert (conversation.session.live.spending.cost_usd or 0) < 1
        await chat.say("/cost")
        await chat.sees("memory: look-ups")
        assert "$7.2500" in chat.words()
    async with lab.chat(continue_newest=True) as chat:
        await chat.until(lambda: "memory $7.2" in chat.status)
        assert (chat.screen.ready().session.live.spending.cost_usd or 0) < 1


async def test_a_cost_that_came_between_two_looks_is_told(lab: Lab) -> None:
    lab.monkeypatch.setattr(timeouts, "MEMORY_LOOK_EVERY_S", NEVER_S)
    async with lab.chat() as chat:
        workspace, session = chat.screen.ready().workspace, chat.screen.ready().session

        def told() -> float:
            return chat.screen.status.status.background_usd or 0.0

        async def one_turn(words: str) -> None:
            await chat.say(words)
            await chat.sees(f"You said: {words}")
            await chat.turn_ended()
            background = workspace.background
            await chat.until(lambda: not background.progress.turns, "its summary is made")
            await chat.until(lambda: not background.progress.vectors, "and its vectors")

        watch = Watch(chat.screen)
        await one_turn("hello")
        watch.look_at_background()
        await chat.until(lambda: told() > 0, "the summary has cost something")
        project_id, model = workspace.project.id, "gemini:gemini-3.5-flash-lite"
        usage = Usage(1000, 0, 100)
        looked_up = Spent(new_id(), project_id, session.id, now(), model, Purpose.RECALL, usage, 7.25)
        await workspace.store.usage.add(looked_up)
        await one_turn("hello again")
        watch.look_at_background()
        await chat.until(lambda: told() > 7.25, "what was spent meanwhile")


async def test_a_line_says_what_was_kept_and_a_key_forgets_it(lab: Lab, gemini: GeminiStandIn) -> None:
    gemini.script(Text("All right."), Text("Fine."))
    async with lab.chat() as chat:
        store = chat.screen.ready().workspace.store
        await chat.pilot.press("ctrl+n")
        await chat.sees("There is nothing new to forget")
        await chat.say("We decided to use MySQL for the orders.")
        await chat.sees("remembered: We decided to use MySQL for the orders · Ctrl+N forgets it")
        await chat.say("We decided to use PostgreSQL for the orders instead of MySQL.")
        await chat.sees("PostgreSQL for the orders instead of MySQL replaces")
        assert [memory.replaced for memory in await store.memories.find(MemoryFilter(replaced=True))] != [
            False
        ] * 2
        await chat.pilot.press("ctrl+n")
        await chat.sees("Forgotten:")
        [left] = await store.memories.find(MemoryFilter())
        assert left.content == "We decided to use MySQL for the orders."


def test_what_a_memory_replaces_is_told_by_the_words_that_differ() -> None:
    port = KeptMemory("a", "The gateway listens on port 9443.", ("The gateway listens on port 8443.",))
    assert (
        kept_words([port]) == "remembered: The gateway listens on port 9443 replaces 8443 · Ctrl+N forgets it"
    )
    many = [KeptMemory(str(number), f"Fact {number}") for number in range(5)]
    assert kept_words(many) == "remembered: Fact 0; Fact 1; Fact 2 and 2 more · Ctrl+N forgets them"


@pytest.mark.parametrize(
    ("flags", "marks"), [({"no_memory": True}, ["no memory"]), ({"incognito": True}, ["incognito"]), ({}, [])]
)
async def test_a_run_without_memory_or_traces_says_so(
    lab: Lab, flags: dict[str, bool], marks: list[str]
) -> None:
    async with lab.chat(**flags) as chat:
        shown = chat.status.split(" · ")
        assert [mark for mark in ("no memory", "incognito") if mark in shown] == marks


def test_what_the_background_does_is_told_after_all_that_matters_more() -> None:
    status = Status(
        model="gemini:flash",
        usage=Usage(1000, 0, 100),
        cost_usd=0.02,
        background=progress_words(Progress(turns=2, vectors=9)),
        background_note="The day's limit of $1 is reached.",
        background_usd=0.0123,
    )
    shown = {width: " ".join(status_words(status, width).split()) for width in (200, 60, 30)}
    assert shown[200] == (
        "ask · gemini:flash The day's limit of $1 is reached. · 2 turns to summarise · 1k in 100 out"
        " · memory $0.0123 · $0.0200"
    )
    assert "\n- The day's limit of $1 is reached.\n" in explained(status)
    assert shown[60] == "ask · flash memory: /context · 1.1k · +$0.0123 · $0.0200"
    assert shown[30] == "ask · flash 1.1k · $0.0200"
    assert progress_words(Progress(vectors=1)) == "1 text to embed"
    assert progress_words(Progress()) == ""
    assert "memory cost unknown" in status_words(Status(background_usd=None), 200)
    assert "memory cost" not in status_words(Status(background_usd=None, cost_usd=None), 200)
