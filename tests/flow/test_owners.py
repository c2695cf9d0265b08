"""On a store that several share, what somebody is and prefers is theirs alone."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.commands.base import Report, run_command
from ragforge.domain.events import ContextBuilt
from ragforge.domain.memories import Memory, MemoryFilter, MemorySort
from ragforge.memory.forgotten import MARK
from ragforge.session.library import close_library, open_library
from ragforge.session.memory_book import MemoryBook
from ragforge.session.moves import undo
from ragforge.session.open import close_workspace, new_session, open_workspace
from ragforge.session.persons import be_somebody_else, same_person_words
from ragforge.session.state import Session
from ragforge.store.local.state import open_local_state
from tests.flow.beside import MANY_TOKENS, all_embedded, beside, by_the_model, done, until
from tests.flow.recalling import chats
from tests.flow.running import environ, of_type, say
from tests.servers.shared import Servers
from tests.standins.gemini import GeminiStandIn, Text

FRENCH = "Always answer in French, please."
GERMAN = "No, always answer in German instead of French, please."
DECIDED = "We decided to keep the orders in PostgreSQL."


# One kind of server is enough: who is asked differs in nothing between them.
@pytest.fixture(params=["sqlite", "neo4j-5"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path, neo4j_servers: Servers) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite://{tmp_path}/shared/ragforge.db"
        return
    with neo4j_servers.emptied(request.param) as server:
        yield server.url


async def machine(
    tmp_path: Path, name: str, store_url: str, gemini: GeminiStandIn, *, email: str
) -> dict[str, str]:
    """The environment of a data folder whose git knows this address."""
    home = tmp_path / name / "home"
    home.mkdir(parents=True)
    (home / ".gitconfig").write_text(f"[user]\n\temail = {email}\n")
    if store_url.startswith("sqlite:"):
        # An embedded store has one person, whatever git says.
        (tmp_path / name / "data").mkdir()
        local = await open_local_state(tmp_path / name / "data")
        await local.chosen.set_person(store_url, email)
        await local.close()
    env = environ(tmp_path / name, gemini, RAGFORGE_MEMORY_MODEL="local", RAGFORGE_STORE=store_url)
    return env | {"HOME": str(home)}


async def block_before(session: Session, gemini: GeminiStandIn, message: str) -> str:
    gemini.script(Text("Yes."))
    built = of_type(await say(session, message), ContextBuilt)
    return built[0].block.text if built else ""


async def listed(session: Session) -> list[Memory]:
    return await MemoryBook(session.workspace).list(sort=MemorySort.RECENT, forgotten=False)


async def test_a_preference_is_in_its_owners_block_alone_and_a_decision_in_everybodys(
    store_url: str, tmp_path: Path, gemini: GeminiStandIn
) -> None:
    ada = await machine(tmp_path, "ada", store_url, gemini, email="ada@example.org")
    bob = await machine(tmp_path, "bob", store_url, gemini, email="bob@example.org")
    question = "In which language and database do we answer and keep the orders?"
    async with beside(tmp_path, ada) as session:
        gemini.script(Text("D'accord."), Text("Noted."))
        await say(session, FRENCH)
        await say(session, DECIDED)
        await done(session)
        assert {each.content: each.owner for each in await listed(session)} == {
            FRENCH: "ada@example.org",
            DECIDED: "",
        }
    async with beside(tmp_path, bob) as session:
        block = await block_before(session, gemini, question)
        assert "PostgreSQL" in block
        assert "French" not in block
        gemini.script(Text("Ja."))
        await say(session, GERMAN)
        await done(session)
        assert {each.content for each in await listed(session)} == {DECIDED, GERMAN}
    async with beside(tmp_path, ada) as session:
        block = await block_before(session, gemini, question)
        assert "PostgreSQL" in block
        assert "French" in block, "what somebody else says replaces nothing of hers"
        assert "German" not in block
        [mine] = [each for each in await listed(session) if each.content == FRENCH]
        assert not (await MemoryBook(session.workspace).hand_over(mine)).owner
    async with beside(tmp_path, bob) as session:
        assert "French" in await block_before(session, gemini, question)


async def test_what_two_decided_holds_while_one_of_them_stands_by_it(
    store_url: str, tmp_path: Path, gemini: GeminiStandIn
) -> None:
    ada = await machine(tmp_path, "ada", store_url, gemini, email="ada@example.org")
    bob = await machine(tmp_path, "bob", store_url, gemini, email="bob@example.org")
    question = "Which database are the orders in?"
    async with beside(tmp_path, ada) as hers:
        gemini.script(Text("Noted."), Text("Noted."))
        await say(hers, DECIDED)
        await done(hers)
        async with beside(tmp_path, bob) as his:
            await say(his, DECIDED)
            await done(his)
            [both] = await listed(hers)
            assert len(both.turns) == 2, "one memory, said twice"
            await undo(hers)
            [left] = await listed(his)
            assert not left.abandoned
            asking = await new_session(hers.workspace)
            assert "PostgreSQL" in await block_before(asking, gemini, question)
            await undo(his)
            [gone] = await listed(his)
            assert gone.abandoned
            assert "PostgreSQL" not in await block_before(await new_session(hers.workspace), gemini, question)


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
async def test_what_one_forgets_is_cut_from_nothing_that_others_said(
    store_url: str, tmp_path: Path, gemini: GeminiStandIn
) -> None:
    ada = await machine(tmp_path, "ada", store_url, gemini, email="ada@example.org")
    bob = await machine(tmp_path, "bob", store_url, gemini, email="bob@example.org")
    async with beside(tmp_path, ada) as hers, beside(tmp_path, bob) as his:
        for session in (hers, his):
            gemini.script(Text("D'accord."))
            await say(session, FRENCH)
            await done(session)
        [mine] = await listed(hers)
        await run_command(hers, "forget", mine.id)
        assert await listed(hers) == []
        assert [each.content for each in await listed(his)] == [FRENCH]
        for session, said in ((hers, MARK), (his, FRENCH)):
            gemini.script(Text("Oui."))
            await say(session, "Where were we?")
            assert chats(gemini)[-1][0]["parts"] == [{"text": said}]


@pytest.mark.parametrize("store_url", ["neo4j-5"], indirect=True)
async def test_the_same_address_on_another_machine_is_the_same_person_until_the_user_says_no(
    store_url: str, tmp_path: Path, gemini: GeminiStandIn
) -> None:
    laptop = await machine(tmp_path, "laptop", store_url, gemini, email="ada@example.org")
    desktop = await machine(tmp_path, "desktop", store_url, gemini, email="ada@example.org")
    async with beside(tmp_path, laptop) as session:
        session.change(host="laptop")
        gemini.script(Text("D'accord."))
        await say(session, FRENCH)
        await done(session)
        await until(partial(all_embedded, session))
    other_setting = laptop | {"RAGFORGE_MEMORY_EMBEDDER": "gemini:gemini-embedding-2"}
    workspace = await open_workspace(cwd=tmp_path / "project", flags={}, environ=other_setting)
    assert workspace.recall.embedder is None, "the database names another"
    assert "`ragforge db embedder NAME`" in " ".join(workspace.loaded.notices)
    await close_workspace(workspace)
    library = await open_library(cwd=tmp_path / "project", flags={}, environ=desktop)
    assert (library.person.id, library.person.elsewhere) == ("ada@example.org", "laptop")
    assert "as on laptop" in same_person_words(library.person)
    other = await be_somebody_else(library.local, library.store.url, library.person)
    await close_library(library)
    again = await open_library(cwd=tmp_path / "project", flags={}, environ=desktop)
    assert again.person.id == other.id != "ada@example.org"
    assert not again.person.elsewhere, "it is asked once"
    await close_library(again)


async def test_an_embedded_store_has_one_person_who_has_what_was_said_before_there_were_any(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local")
    async with beside(tmp_path, env) as session:
        session.change(user="ada", host="laptop", person="")
        gemini.script(Text("D'accord."))
        await say(session, FRENCH)
        await done(session)
        memories, person = session.workspace.store.memories, session.workspace.person
        [memory] = await memories.find(MemoryFilter())
        assert memory.owner == person.id
        await memories.change(replace(memory, owner="ada@laptop"))
    (tmp_path / "data" / "local.db").unlink()
    async with beside(tmp_path, env) as session:
        assert session.workspace.person == person
        [memory] = await session.workspace.store.memories.find(MemoryFilter())
        assert memory.owner == person.id


# An embedded store has one user, whatever its history names.
@pytest.mark.parametrize("store_url", ["neo4j-5"], indirect=True)
async def test_each_user_has_a_limit_of_the_day_and_turns_and_costs_of_their_own(
    store_url: str, tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.always_structured(by_the_model(tokens=MANY_TOKENS))
    told = ""
    for asked, name in enumerate(("ada", "bob"), start=1):
        email = f"{name}@example.org"
        env = await machine(tmp_path, name, store_url, gemini, email=email)
        env |= {"RAGFORGE_MEMORY_MODEL": "", "RAGFORGE_MEMORY_COST_USD_PER_DAY_MAX": "0.5"}
        async with beside(tmp_path, env) as session:
            for message in ("one", "two"):
                gemini.script(Text("Yes."))
                await say(session, message)
            await done(session)
            assert "0.5 USD" in session.workspace.background.progress.note
            assert len(gemini.structured()) == asked, "what she used up is not his"
            outcome = await run_command(session, "cost", "")
            told = outcome.shown if isinstance(outcome, Report) else ""
            path = await session.workspace.store.turns.path(session.live.record.head)
            assert [turn.person for turn in path] == [email, email]
    assert "| bob@example.org (you) | 3 |" in told
    assert "| ada@example.org | 3 |" in told
