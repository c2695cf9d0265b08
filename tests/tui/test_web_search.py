"""Web search by the provider's own tool: off until it is wanted, then shown, kept and sent back."""

import pytest

from ragforge.domain.ids import now
from ragforge.domain.messages import CallResult, ToolMessage, WebSearch, WebSource
from ragforge.domain.usage import Purpose, cost_usd
from ragforge.providers.prices import price_of
from tests.flow.gemini_asking import READ, ask, end_of, open_provider
from tests.flow.openai_asking import READ as OPENAI_READ
from tests.flow.openai_asking import ask as ask_openai
from tests.flow.openai_asking import ended, provider_for, say
from tests.standins.gemini import Call, Calls, GeminiStandIn, Searched, Text
from tests.standins.openai import OpenAIStandIn, Reply
from tests.tui.chat_app import Lab

PAGE = ("Python [docs]", "https://docs.python.org/3/whatsnew")
FOUND = Searched(("python 3.15 release",), (PAGE, ("a script", "javascript:alert(1)"), PAGE))
SOURCES = WebSearch(FOUND.queries, (WebSource(*PAGE),))


async def test_what_was_searched_is_shown_kept_and_undone_with_its_turn(lab: Lab) -> None:
    lab.set_environ(RAGFORGE_WEB_SEARCH="true")
    (lab.project / "a.txt").write_text("3.11")
    look = (FOUND, Calls(Call("read", {"path": "a.txt"})))
    lab.gemini.script(look, (Text("It is out."), Searched(("more",), ())))
    line = "Searched the web for “python 3.15 release”: [Python \\[docs\\]](<https://docs.python.org/3/whatsnew>)"
    async with lab.chat() as chat:
        await chat.say("Is 3.15 out?")
        await chat.turn_ended()
        await chat.sees("It is out.")
        await chat.sees(line)
        assert "Searched the web for “more”." in chat.words()
        first, second = lab.gemini.asked("streamGenerateContent")
        assert {"googleSearch": {}} in first.body["tools"]
        assert "toolResponse" in str(second.body["contents"]), "its parts go back as they came"
        await chat.say("/status")
        await chat.sees("on, by the provider")
        used = await chat.screen.ready().workspace.store.usage.by_model()
        [asked] = [each for each in used if each.purpose is Purpose.CHAT]
        tokens = cost_usd(asked.usage, price_of("gemini-3.8-flash", now()))
        assert tokens is not None
        assert asked.cost_usd == pytest.approx(tokens + 2 * 0.014)
        await chat.say("/undo")
        await chat.until(lambda: line not in chat.words(), "undone")
        await chat.say("/redo")
        await chat.sees(line)
    async with lab.chat(continue_newest=True) as chat:
        await chat.sees(line)


@pytest.mark.parametrize(
    ("model", "wanted", "sent"),
    [
        ("gemini-3.8-flash", True, True),
        ("models/gemini-4-carbon", True, True),
        ("gemini-2.5-flash", True, False),
        ("gemini-3.8-flash", False, False),
    ],
)
async def test_gemini_searches_where_it_is_wanted_and_the_model_can(
    gemini: GeminiStandIn, model: str, wanted: bool, sent: bool
) -> None:
    gemini.models["gemini-2.5-flash"] = gemini.models["gemini-3.8-flash"]
    gemini.script((FOUND, Calls(Call("read", {"path": "a"}))), Text("Done."))
    async with open_provider(gemini, model, web_search=wanted) as provider:
        message = end_of(await ask(provider, "x", tools=(READ,))).message
        [call] = message.calls
        results = ToolMessage((CallResult(call.id, call.name, "y"),))
        assert end_of(await ask(provider, "x", message, results, tools=(READ,))).message.text == "Done."
    assert message.searched == SOURCES
    bodies = [request.body for request in gemini.asked("streamGenerateContent")]
    assert ["googleSearch" in str(body) for body in bodies] == [sent, sent]


async def test_an_endpoint_searches_by_the_tool_that_it_declares() -> None:
    async with OpenAIStandIn() as server:
        server.script(Reply(["It is out."], cited=[PAGE, PAGE]), Reply(["No."]))
        searching = provider_for(server, search_tool="openrouter:web_search")
        found = ended(await ask_openai(searching, say("x"), tools=[OPENAI_READ]))
        await ask_openai(provider_for(server), say("x"), tools=[OPENAI_READ])
        assert found.message.searched == WebSearch(sources=(WebSource(*PAGE),))
        first, second = server.chats
        assert [tool["type"] for tool in first["tools"]] == ["function", "openrouter:web_search"]
        assert [tool["type"] for tool in second["tools"]] == ["function"]
