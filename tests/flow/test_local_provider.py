"""What is answered where there is no model: what is stored, said to be just that."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.events import AnswerEnded, FinishReason, TextDelta, UsageSeen
from ragforge.domain.ids import short_id
from ragforge.domain.messages import ImagePart, ModelMessage, TextPart, ToolSpec, UserMessage
from ragforge.domain.search import Hit, HitKind
from ragforge.domain.usage import Usage
from ragforge.providers.base import ModelRequest
from ragforge.providers.local import FIRST_LINE, LocalProvider

AT = datetime(2026, 11, 20, 14, 3, tzinfo=UTC)


def hit(text: str, *, kind: HitKind = HitKind.TURN, title: str = "Parser work", tool: str = "") -> Hit:
    return Hit(
        kind=kind,
        id="h",
        session_id="0197-session",
        session_title=title,
        turn_id="t",
        turn_index=2,
        at=AT,
        score=1.0,
        text=text,
        marks=(),
        cwd="/home/ada/project",
        tool=tool,
    )


class Shelf:
    """Hits to be found, and what was asked for."""

    def __init__(self, *hits: Hit) -> None:
        self.hits = list(hits)
        self.asked: list[str] = []

    async def search(self, text: str, limit: int) -> list[Hit]:
        self.asked.append(text)
        return self.hits[:limit]


async def answer(shelf: Shelf, *messages: UserMessage | ModelMessage) -> str:
    request = ModelRequest("You are a coder.", messages, (ToolSpec("read", "Read."),))
    events = [event async for event in LocalProvider(shelf.search).stream(request)]
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    usage, end = events[-2:]
    assert usage == UsageSeen(Usage())
    assert isinstance(end, AnswerEnded)
    assert (end.message.text, end.finish, end.message.calls) == (text, FinishReason.STOP, ())
    assert text.splitlines()[0] == FIRST_LINE
    return text


def say(text: str) -> UserMessage:
    return UserMessage((TextPart(text),))


def test_the_words_that_say_what_it_is_are_exactly_these():
    assert FIRST_LINE == "No model configured: search results, not generated text"


async def test_hits_are_quoted_with_where_they_come_from_and_how_to_get_there():
    shelf = Shelf(hit("The lexer keeps\nits state."), hit("3 passed", kind=HitKind.TOOL_CALL, tool="shell"))
    text = await answer(shelf, say("old question"), ModelMessage("local", "search", "…"), say("the lexer"))
    assert shelf.asked == ["the lexer"]
    assert "1. Parser work · turn 3 · 2026-11-20 " in text
    assert f"`ragforge -r {short_id('0197-session')}`\n\n    The lexer keeps\n    its state." in text
    assert text.endswith("or start with --model PROVIDER:NAME.")
    assert "2. Parser work · shell call of turn 3 · " in text


async def test_nothing_found_says_so_and_what_to_do():
    text = await answer(Shelf(), say("unicorns"))
    assert "No results." in text
    assert "/model" in text


async def test_the_question_itself_and_earlier_lists_are_no_answer():
    shelf = Shelf(
        hit("where is the   lexer?"),
        hit(f"{FIRST_LINE}\n\n1. Parser work"),
        hit("… is the lexer? …"),
        hit("In lexer.py."),
    )
    text = await answer(shelf, say("where is the lexer?"))
    assert "In lexer.py." in text
    assert "2. " not in text


async def test_summaries_and_memories_are_told_as_what_they_are():
    memory = replace(hit("We use MySQL.", kind=HitKind.MEMORY), memory_type="decision", replaced=True)
    shelf = Shelf(
        replace(hit("All about lexers.", kind=HitKind.SUMMARY), level=2, abandoned=True),
        memory,
        replace(memory, session_id="", session_title="", turn_id="", turn_index=-1, text="Be brief."),
    )
    text = await answer(shelf, say("q"))
    assert "1. Parser work · summary up to turn 3, undone · " in text
    assert "2. Parser work · decision from turn 3, replaced · " in text
    assert "3. Remembered · decision, replaced · " in text
    assert "`ragforge memory show h`\n\n    Be brief." in text


async def test_versions_are_told_as_what_they_are():
    version = replace(hit("+lex()", kind=HitKind.VERSION), version_id="0" * 24 + "abcdefgh")
    shelf = Shelf(
        version, replace(version, session_id="", session_title="", turn_id="", turn_index=-1, text="-lex()")
    )
    text = await answer(shelf, say("q"))
    assert "1. Parser work · version abcdefgh of turn 3 · " in text
    assert "2. Changed · version abcdefgh · " in text
    assert "`ragforge diff abcdefgh~ abcdefgh`\n\n    -lex()" in text


@pytest.mark.parametrize("parts", [(), (TextPart("  \n"),), (ImagePart("abc", "image/png"),)])
async def test_without_words_nothing_is_looked_for(parts):
    shelf = Shelf(hit("x"))
    text = await answer(shelf, UserMessage(parts))
    assert "Enter words to search for" in text
    assert not shelf.asked


async def test_what_is_quoted_cannot_pass_for_the_answers_own_markdown():
    shelf = Shelf(hit("# Heading\n```\nopen fence\n" + "long " * 500, title="a\n# b"))
    lines = (await answer(shelf, say("q"))).splitlines()
    assert not [line for line in lines if line.startswith(("#", "```"))]
    assert sum(map(len, lines)) < 1_500


async def test_a_lost_store_is_not_taken_for_an_empty_one():
    async def lost(text: str, limit: int) -> list[Hit]:
        raise StoreUnavailable("The disk is gone.")

    with pytest.raises(StoreUnavailable):
        [event async for event in LocalProvider(lost).stream(ModelRequest("", (say("q"),)))]


async def test_it_needs_nothing_to_be_checked():
    provider = LocalProvider(Shelf().search)
    await provider.verify()
    assert await provider.models() == ["search"]
    assert (await provider.limits()).context_tokens_max >= 100_000
    await provider.close()
