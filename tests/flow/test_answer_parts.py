"""A part of the call about each turn is one file: asked, read and kept, or made by rules."""

import sys
from pathlib import Path
from typing import Any

import pytest

from ragforge.memory import derive
from tests.flow.beside import an_answer, beside, done
from tests.flow.running import ended, environ, say
from tests.standins.gemini import GeminiStandIn, JsonText

NAME = "lessons"
ADDED = '''
"""What was learned in a turn, kept beside this file."""

from pathlib import Path

from ragforge.memory.part import AnswerPart

KEPT = Path(__file__).with_suffix(".txt")


async def _keep(store, redactor, summary, lesson):
    with KEPT.open("a") as file:
        file.write(f"{summary.covers[0]} {redactor.text(lesson)}\\n")


PART = AnswerPart(
    "lesson",
    {"type": "string"},
    "what to do otherwise next time, in one sentence.",
    TOKENS,
    read=lambda material, value: value if isinstance(value, str) else None,
    without=lambda material: f"by rules: {material.user}",
    keep=_keep,
)
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the part is added."""
    folder = tmp_path / "added"
    folder.mkdir()
    monkeypatch.setattr(derive, "__path__", [*derive.__path__, str(folder)])
    monkeypatch.delitem(sys.modules, f"{derive.__name__}.{NAME}", raising=False)
    monkeypatch.delattr(derive, NAME, raising=False)
    return folder


def answering(lesson: Any) -> Any:
    """A reply with this lesson for each turn, where one is asked for."""

    def reply(request: Any) -> Any:
        answer = an_answer(request.schema, "It was done.")
        for turn in answer["turns"]:
            turn["lesson"] = lesson
        return JsonText(answer)

    return reply


@pytest.mark.parametrize(
    ("tokens", "lesson", "kept"),
    [
        (100, "Run the tests first.", "Run the tests first."),
        (100, 7, "by rules: Make it so."),  # what came cannot be read
        (100_000_000, "Never asked.", "by rules: Make it so."),  # no answer has room for it
    ],
)
async def test_a_part_that_is_added_is_asked_in_the_one_call_and_falls_back_by_itself(
    tmp_path: Path, gemini: GeminiStandIn, folder: Path, tokens: int, lesson: Any, kept: str
) -> None:
    (folder / f"{NAME}.py").write_text(ADDED.replace("TOKENS", str(tokens)))
    gemini.always_structured(answering(lesson))
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        turn = ended(await say(session, "Make it so."))
        await done(session)
        summaries = await session.workspace.store.summaries.of_session(session.id)
    assert [summary.text for summary in summaries] == ["It was done."]
    assert (folder / f"{NAME}.txt").read_text() == f"{turn.id} {kept}\n"
    [call] = gemini.structured()
    assert ("what to do otherwise next time" in str(call.body)) == (tokens == 100)
