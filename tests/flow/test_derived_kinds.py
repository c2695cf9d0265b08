"""A kind of record is one file: made of every turn, in both stores, and reached from the terminal."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ragforge import commands
from ragforge.commands.base import Tell, find_verbs, run_command
from ragforge.domain.derivations import Derived, DerivedFilter
from ragforge.domain.ids import now
from ragforge.memory import derive
from ragforge.session.background.model import NO_MODEL
from ragforge.session.state import Session
from tests.flow.beside import an_answer, beside, by_the_model, done, until
from tests.flow.examples import example
from tests.flow.running import ended, environ, say
from tests.servers.shared import Servers
from tests.standins.gemini import GeminiStandIn, JsonText, Text

FILES = {
    derive: ("questions", example("A derived kind")),
    commands: ("questions", example("A derived kind", 1)),
}

AHEAD = """
from msgspec import Struct, field

from ragforge.domain.derivations import DerivedKind, DerivedOwner
from ragforge.domain.messages import TextPart, UserMessage, text_of
from ragforge.memory.derive.records import RecordDerivation
from ragforge.providers.base import ModelRequest, read_whole

SCHEMA = {"type": "object", "properties": {"summary": {"type": "string"}}}


class Outlook(Struct, frozen=True):
    next_step: str
    open_files: tuple[str, ...] = ()


class Lesson(Struct, frozen=True):
    sessions: int


class Outlooks(RecordDerivation):
    title = "What may come next"
    kind = DerivedKind("Outlook", Outlook, relation="MADE_AFTER", recipe="What comes next?")

    async def make(self, home, source):
        turn = await self.turn(home, source)
        said = await self.desk.ask(home, lambda provider: self._ask(provider, text_of(turn.user)), tries=1)
        next_step, model = (said, "gemini") if said else ("Nothing.", "")
        return [self.kind.record(source, Outlook(next_step), model=model)]

    async def _ask(self, provider, text):
        words = UserMessage((TextPart(f"{self.kind.recipe} {text}"),))
        answer = await read_whole(provider, ModelRequest("", (words,), json_schema=SCHEMA))
        return answer.text, answer.usage


class Lessons(RecordDerivation):
    title = "The lessons"
    kind = DerivedKind("Lesson", Lesson, owner=DerivedOwner.PROJECT)

    async def make(self, home, source):
        found = await home.store.sessions.recent(project_id=source.owner)
        return [self.kind.record(source, Lesson(len(found)), name=name) for name in ("first", "second")]


DERIVATION = KIND
"""


def put_file(
    package: ModuleType, name: str, code: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let the file be in the package, beside what is there."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(code)
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    monkeypatch.delitem(sys.modules, f"{package.__name__}.{name}", raising=False)
    monkeypatch.delattr(package, name, raising=False)


@pytest.fixture
def questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The files of docs/extending.md are there."""
    for package, (name, code) in FILES.items():
        put_file(package, name, code, tmp_path / package.__name__, monkeypatch)
    find_verbs.cache_clear()
    yield
    find_verbs.cache_clear()


# What a server does with a record of any kind, `contract/test_derivations.py` proves.
@pytest.fixture(params=["sqlite", pytest.param("neo4j-5", marks=pytest.mark.long_on_servers)])
def store(request: pytest.FixtureRequest, tmp_path: Path, neo4j_servers: Servers) -> Iterator[str]:
    """The address of a store."""
    with ExitStack() as stack:
        if request.param == "sqlite":
            yield f"sqlite://{tmp_path}/store.db"
        else:
            yield stack.enter_context(neo4j_servers.among_others(request.param)).url


async def kept(session: Session, count: int, kind: str = "OpenQuestions") -> list[Derived]:
    wanted = DerivedFilter(kind, session.workspace.project.id)

    async def enough() -> list[Derived]:
        found = await session.workspace.store.derivations.find(wanted)
        return found if len(found) == count else []

    return await until(enough)


async def told(session: Session) -> str:
    answer = await run_command(session, "questions", "")
    assert isinstance(answer, Tell)
    return answer.text


def asking(question: Any) -> Any:
    def reply(request: Any) -> Any:
        answer = an_answer(request.schema, "It was done.")
        for turn in answer["turns"]:
            turn["open_questions"] = [question]
        return JsonText(answer)

    return reply


async def test_a_kind_that_is_added_is_made_by_rules_of_turns_that_were_there_and_of_each_new_one(
    tmp_path: Path, gemini: GeminiStandIn, store: str, request: pytest.FixtureRequest
) -> None:
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL=NO_MODEL, RAGFORGE_STORE=store)
    gemini.script(Text("Tabs it is. Shall I reformat src/?"), Text("Reformatted."), Text("Which files?"))
    async with beside(tmp_path, env) as session:
        await say(session, "Use tabs.")
        await done(session)
    request.getfixturevalue("questions")
    async with beside(tmp_path, env) as session:
        [old] = await kept(session, 1)
        assert (old.data, old.model) == ({"questions": ["Shall I reformat src/?"]}, "")
        assert await told(session) == "- Shall I reformat src/?"
        await say(session, "Yes.")
        turn = ended(await say(session, "Now the tests."))
        assert {record.owner for record in await kept(session, 3)} >= {turn.id, old.owner}
        assert set((await told(session)).splitlines()) == {"- Shall I reformat src/?", "- Which files?"}
        await session.workspace.store.derivations.forget([old.id], now())
        assert await told(session) == "- Which files?"


async def test_a_kind_that_is_added_is_asked_in_the_one_call_and_keeps_no_secret(
    tmp_path: Path, gemini: GeminiStandIn, questions: None
) -> None:
    gemini.always_structured(asking("Is postgres://ada:Zk9-otter@db/zoo the address?"))
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        gemini.script(Text("Done."))
        turn = ended(await say(session, "Make it so."))
        await done(session)
        [record] = await kept(session, 1)
        assert (record.owner, record.model.partition(":")[0]) == (turn.id, "gemini")
        [question] = record.data["questions"]
        assert question.startswith("Is postgres://")
        assert "Zk9-otter" not in question
        assert len(gemini.structured()) == 1


async def test_a_kind_may_ask_the_model_itself_or_be_of_the_project(
    tmp_path: Path, gemini: GeminiStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("Outlooks", "Lessons"):
        put_file(derive, name.lower(), AHEAD.replace("KIND", name), tmp_path / name, monkeypatch)
    gemini.always_structured(by_the_model("Done."))
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        turns = [ended(await say(session, text)) for text in ("Make it so.", "Again.")]
        made = await kept(session, 2, "Outlook")
        assert {record.owner for record in made} == {turn.id for turn in turns}
        assert {(record.model, record.relation) for record in made} == {("gemini", "MADE_AFTER")}
        asked = [call for call in gemini.structured() if "What comes next?" in str(call.body)]
        assert len(asked) == 2, "each is asked for once, and paid for"

        async def knows_of_the_last_turn() -> bool:
            lessons = await kept(session, 2, "Lesson")
            row = (await session.workspace.store.sessions.recent(project_id=lessons[0].owner))[0]
            return {record.at for record in lessons} == {row.session.last_activity_at}

        await until(knows_of_the_last_turn)
