"""A source of context is one file: what is found in it stands in the block, with its reason."""

import sys
from pathlib import Path

import pytest

from ragforge.memory.recall import sources
from ragforge.memory.recall.source import find_sources, sections_of
from ragforge.session.state import Session
from tests.flow.examples import example
from tests.flow.recalling import block_of, built, chats, remembered
from tests.flow.running import say
from tests.standins.gemini import GeminiStandIn, Text

NAME = "weather"
ADDED = example("A source of context")


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / f"{NAME}.py").write_text(ADDED)
    monkeypatch.setattr(sources, "__path__", [*sources.__path__, str(tmp_path)])
    module = f"{sources.__name__}.{NAME}"
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.delattr(sources, NAME, raising=False)
    return module


def test_the_sources_are_found_by_their_modules() -> None:
    sections = [
        "Standing Instructions and Preferences",
        "Where You Left Off",
        "Foresight",
        "Tried before",
        "Relevant Past Context (turns)",
        "Relevant Past Context (summaries)",
        "Recent Level 1 Summaries (not yet in level 2)",
        "Memories",
    ]
    assert [each.heading for each in sections_of(find_sources()) if each.heading in sections] == sections


async def test_a_source_that_is_added_puts_its_line_into_the_block_and_says_why(
    session: Session, gemini: GeminiStandIn, added: str
) -> None:
    (session.workspace.place.root / ".weather").write_text("It rains.\nIt pours.")
    await remembered(session, "Use PostgreSQL for the persistence layer.")
    gemini.script(Text("PostgreSQL, and take a coat."))
    block = built(await say(session, "Which database do we use, and what do I wear?")).block
    assert added in sys.modules
    *others, last = block.items
    assert others
    assert (last.text, last.reason, last.section) == ("It rains.", "outside now", "Weather")
    (contents,) = chats(gemini)
    sent = block_of(contents)
    assert "\n## Weather\n" in sent
    assert sent.index("## Memories") < sent.index("It rains.")
    kept = await session.workspace.local.recalls.block(last_turn(session))
    assert kept is not None
    assert kept.items[-1] == last


async def test_a_source_that_fails_costs_only_its_own_lines(
    session: Session, gemini: GeminiStandIn, added: str
) -> None:
    await remembered(session, "Use PostgreSQL for the persistence layer.")
    gemini.script(Text("PostgreSQL."))
    block = built(await say(session, "Which database do we use in a storm?")).block
    assert added in sys.modules
    assert {item.section for item in block.items} == {"Memories"}
    assert block.limited == "Not everything could be searched: RuntimeError: no weather"


def last_turn(session: Session) -> str:
    assert session.live.record.head is not None
    return session.live.record.head
