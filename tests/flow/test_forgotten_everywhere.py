"""`/forget --everywhere`: no file of the data folder holds the statement any more, or it can be put back."""

import asyncio
from pathlib import Path

import pytest

from ragforge.commands.base import Confirm, Tell, run_command
from ragforge.domain.errors import UsageError
from ragforge.domain.memories import MemoryFilter
from ragforge.domain.messages import text_of
from ragforge.domain.search import Query
from ragforge.domain.usage import Spent
from ragforge.domain.vectors import Embedding
from ragforge.memory.forgotten import MARK
from ragforge.memory.recall.results import HitSource
from ragforge.memory.recall.search import search
from ragforge.session.redaction import remove_sealed
from ragforge.session.state import Session
from ragforge.store.archive_items import key_of, kind_of
from ragforge.store.archive_lines import exact_form
from ragforge.store.backup_copies import make_backup
from ragforge.store.backups import Reason, list_backups
from tests.flow.beside import done
from tests.flow.running import environ, opened, say
from tests.servers.shared import Servers
from tests.standins.gemini import Call, Calls, GeminiStandIn, Text, Thought

VALUE = "quokka7391"
SAID = f"The staging host is {VALUE}.internal."


async def talk(session: Session, gemini: GeminiStandIn) -> None:
    """A turn that says it in every place that a turn has, a memory, a backup and what is kept beside."""
    (session.workspace.place.root / "long.txt").write_text(f"cormorant\n{SAID}\n" + "a line of it\n" * 20_000)
    gemini.script(
        Calls(Call("shell", {"command": f"echo {VALUE}.internal; cat long.txt"})),
        (Thought(f"So {VALUE}.internal it is."), Text(f"Noted: {VALUE}.internal. The tests pass.")),
    )
    await say(session, SAID)
    workspace = session.workspace
    await workspace.store.sessions.rename(session.id, f"On {VALUE}.internal")
    await run_command(session, "remember", SAID)
    gemini.script(Text("It is that host."))
    await say(session, "Which staging host is it?")
    await workspace.local.prompts.add(SAID, project_id=workspace.project.id)
    await workspace.local.prompts.set_draft(session.id, f"About {VALUE}.internal: go on.")
    await done(session)
    await asyncio.to_thread(make_backup, workspace.data_dir, workspace.store.url, reason=Reason.ASKED)


def files_with(folder: Path, value: str) -> list[str]:
    found = [path for path in folder.rglob("*") if path.is_file() and value.encode() in path.read_bytes()]
    return sorted(str(path.relative_to(folder)) for path in found)


async def stored(session: Session) -> dict[str, bytes]:
    """Every record but vectors and costs, by its key."""
    found = [each async for each in session.workspace.store.archive.dump()]
    kept = [each for each in found if not isinstance(each, Embedding | Spent)]
    return {f"{kind_of(each)} {key_of(each)}": exact_form(each) for each in kept}


async def found_by_words(session: Session) -> list[str]:
    found = (await search(session.workspace.recall, Query(VALUE))).found
    return [each.hit.id for each in found if any(why.source is HitSource.WORDS for why in each.why)]


async def memory_id(session: Session, value: str = VALUE) -> str:
    found = await session.workspace.store.memories.find(MemoryFilter(project_id=session.workspace.project.id))
    return next(each.id for each in found if value in each.content)


async def told(session: Session, args: str) -> str:
    outcome = await run_command(session, "forget", args)
    assert isinstance(outcome, Tell)
    return outcome.text


async def test_at_once_no_file_holds_it_any_more(session: Session, gemini: GeminiStandIn) -> None:
    await talk(session, gemini)
    workspace = session.workspace
    assert files_with(workspace.data_dir, VALUE)
    asked = await run_command(session, "forget", f"{await memory_id(session)} --everywhere --now")
    assert isinstance(asked, Confirm)
    assert "session title" in asked.detail
    assert "1 backup of the program" in asked.detail
    assert "cannot be undone" in asked.detail
    assert "git" in asked.detail
    assert "Removed everywhere" in await told(session, asked.then.partition(" ")[2])
    assert files_with(workspace.data_dir, VALUE) == []
    assert len(list_backups(workspace.data_dir)) == 1
    store = workspace.store
    [turn, *_] = await store.turns.path(session.live.record.head)
    assert turn.assistant == f"{MARK} The tests pass."
    assert not await found_by_words(session)
    [call] = await store.calls.of_turns([turn.id])
    assert call.result_blob
    whole = (await workspace.blobs.get(call.result_blob)).decode()
    assert "cormorant" in whole
    assert VALUE not in whole
    assert await store.check() == []
    with pytest.raises(UsageError, match="forgotten everywhere can be restored"):
        await told(session, "--everywhere --undo")


async def test_until_a_clean_up_it_can_be_put_back(session: Session, gemini: GeminiStandIn) -> None:
    await is_put_back_until_a_clean_up(session, gemini)


@pytest.mark.parametrize("kind", ["neo4j-5"])
async def test_on_a_server_it_is_removed_there_and_in_what_is_kept_here_of_it(
    kind: str, tmp_path: Path, gemini: GeminiStandIn, neo4j_servers: Servers
) -> None:
    with neo4j_servers.emptied(kind) as server:
        async with opened(tmp_path, environ(tmp_path, gemini, RAGFORGE_STORE=server.url)) as session:
            await is_put_back_until_a_clean_up(session, gemini)


async def is_put_back_until_a_clean_up(session: Session, gemini: GeminiStandIn) -> None:
    await talk(session, gemini)
    workspace, memory = session.workspace, await memory_id(session)
    before = await stored(session)
    assert "sealed" in await told(session, f"--everywhere --yes {memory}")
    assert set(files_with(workspace.data_dir, VALUE)) <= {
        "local.db", f"backups/{list_backups(workspace.data_dir)[0].name}/local.db"
    }  # fmt: skip
    assert await workspace.store.memories.get([memory]) == []
    assert SAID in await told(session, f"--everywhere --undo {memory[:8]}")
    await done(session)
    assert await stored(session) == before
    assert await found_by_words(session)
    assert await workspace.store.check() == []
    await told(session, f"--everywhere --yes {memory}")
    assert await remove_sealed(workspace)
    assert files_with(workspace.data_dir, VALUE) == []


async def test_what_shares_a_record_is_put_back_in_turn_and_removed_from_what_is_sealed(
    session: Session, gemini: GeminiStandIn
) -> None:
    workspace, other = session.workspace, "The licence costs 8124 euros."
    gemini.script(Text("Noted."))
    await say(session, f"{SAID} {other} And the tests pass.")
    await done(session)
    await run_command(session, "remember", SAID)
    await run_command(session, "remember", other)
    host, price = [await memory_id(session, value) for value in (VALUE, "8124")]

    async def said() -> str:
        [turn] = await workspace.store.turns.path(session.live.record.head)
        return text_of(turn.user)

    await told(session, f"--everywhere --yes {host}")
    await told(session, f"--everywhere --yes {price}")
    assert await said() == f"{MARK} And the tests pass."
    with pytest.raises(UsageError, match=r"Restore first .*8124"):
        await told(session, f"--everywhere --undo {host}")
    await told(session, "--everywhere --undo")
    await told(session, "--everywhere --undo")
    assert await said() == f"{SAID} {other} And the tests pass."

    await told(session, f"--everywhere --yes {host}")
    await told(session, f"--everywhere --now --yes {price}")
    assert files_with(workspace.data_dir, "8124") == []
    await told(session, f"--everywhere --undo {host}")
    assert await said() == f"{SAID} {MARK} And the tests pass."
    with pytest.raises(UsageError, match="--everywhere"):
        await told(session, f"--now {host}")
    with pytest.raises(UsageError, match="a memory by its id"):
        await told(session, "--everywhere")
