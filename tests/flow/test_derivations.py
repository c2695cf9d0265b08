"""What is made of turns is found by its file: with a model, without one, and beside what is there."""

import sys
from pathlib import Path

import pytest

from ragforge.memory import derive
from ragforge.memory.derive.base import find_derivations
from ragforge.session.background.model import NO_MODEL
from ragforge.session.state import Session
from tests.flow.beside import beside, by_the_model, done, until
from tests.flow.running import ended, environ, say
from tests.standins.gemini import GeminiStandIn, Text

NAME = "moods"
ADDED = '''
"""The mood of each turn, kept beside this file."""

from pathlib import Path

from ragforge.domain.messages import TextPart, UserMessage
from ragforge.memory.derive.base import Derivation
from ragforge.providers.base import ModelRequest, read_whole

KEPT = Path(__file__).with_suffix(".txt")
SCHEMA = {"type": "object", "properties": {"summary": {"type": "string"}}}


class Moods(Derivation):
    """One line a turn; what lacks its line is what is to do."""

    title = "The moods of turns"

    def __init__(self, desk):
        super().__init__(desk)
        self._turns = {}

    async def understood(self, home, turn, owners, *, own):
        self._turns[turn.id] = home

    async def step(self):
        kept = KEPT.read_text() if KEPT.exists() else ""
        for turn_id, home in list(self._turns.items()):
            if turn_id not in kept:
                mood = await self.desk.ask(home, self._mood, tries=1) or "quiet (by rules)"
                kept += f"{turn_id} {mood}\\n"
        if kept:
            KEPT.write_text(kept)
        return None

    async def _mood(self, provider):
        request = ModelRequest("", (UserMessage((TextPart("Which mood?"),)),), json_schema=SCHEMA)
        answer = await read_whole(provider, request)
        return answer.text, answer.usage


DERIVATION = Moods
'''


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the derivation that was added keeps what it makes."""
    folder = tmp_path / "added"
    folder.mkdir()
    (folder / f"{NAME}.py").write_text(ADDED)
    monkeypatch.setattr(derive, "__path__", [*derive.__path__, str(folder)])
    monkeypatch.delitem(sys.modules, f"{derive.__name__}.{NAME}", raising=False)
    monkeypatch.delattr(derive, NAME, raising=False)
    return folder / f"{NAME}.txt"


def test_the_derivations_are_found_by_their_modules() -> None:
    assert [kind.title for kind in find_derivations()] == [
        "The summaries of earlier turns",
        "The summaries of summaries",
        "The consolidation of sessions",
        "Embedding",
        "Reading concepts ahead",
        "The foresight of earlier turns",
    ]


async def test_a_derivation_that_is_added_is_made_of_each_turn_by_the_model_and_paid_for(
    tmp_path: Path, gemini: GeminiStandIn, kept: Path
) -> None:
    gemini.always_structured(by_the_model("Done."))
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        turns = [ended(await say(session, text)) for text in ("Make it so.", "Again.")]
        await done(session)
        await until(lambda: lines(kept, len(turns)))
        told = dict(line.split(" ", 1) for line in kept.read_text().splitlines())
        assert set(told) == {turn.id for turn in turns}
        assert not any("by rules" in mood for mood in told.values())
        asked = [call for call in gemini.structured() if "Which mood?" in str(call.body)]
        assert len(asked) == len(turns)
        assert session.workspace.background.progress.payments == 2 * len(turns)


async def test_without_a_model_its_rules_make_it(tmp_path: Path, gemini: GeminiStandIn, kept: Path) -> None:
    async with beside(tmp_path, {**environ(tmp_path, gemini), "RAGFORGE_MEMORY_MODEL": NO_MODEL}) as session:
        gemini.script(Text("Done."))
        turn = ended(await say(session, "Make it so."))
        await until(lambda: lines(kept, 1))
        assert kept.read_text() == f"{turn.id} quiet (by rules)\n"
        assert_no_call(gemini, session)


async def lines(kept: Path, count: int) -> bool:
    return kept.exists() and len(kept.read_text().splitlines()) == count


def assert_no_call(gemini: GeminiStandIn, session: Session) -> None:
    assert gemini.structured() == []
    assert session.workspace.background.progress.payments == 0
