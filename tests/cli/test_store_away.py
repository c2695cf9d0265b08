"""Commands while the server is away: what they show is a part, and they say so."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ragforge.commands.base import Verb, verbs_on
from ragforge.commands.program import VERB as PROGRAM
from ragforge.domain.arguments import Face
from ragforge.store.files import outbox_file, outbox_folder, servers_file
from ragforge.store.local.state import open_local_state
from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.identity import KnownServers
from tests.cli.running import Program, Ran
from tests.contract.builders import a_memory, new_session, said
from tests.contract.builders_versions import new_version
from tests.faults.graph import opened
from tests.servers.proxy import unanswered_url

DATABASE = "0192d8e4-0000-7000-8000-000000000001"
UNKNOWN = "is unknown while their own database is damaged"
MISSING = "Only data on this machine was read, because the server did not answer."
READS = {
    "agents": ("agents",),
    "agents open": ("agents", "open", "0"),
    "branch": ("branch",),
    "dashboard": ("dashboard", "--json"),
    "diff": ("diff", "{version}"),
    "context": ("context", "zebra"),
    "cost": ("cost",),
    "foresight": ("foresight", "--json"),
    "history show": ("history", "show", "{version}", "src/parser.py"),
    "lessons": ("lessons", "--json"),
    "log": ("log", "--json"),
    "memory list": ("memory", "list", "--json"),
    "memory show": ("memory", "show", "{memory}", "--json"),
    "memory why": ("memory", "why", "{memory}", "--json"),
    "project list": ("project", "list", "--json"),
    "proposals": ("proposals", "--json"),
    "search": ("search", "zebra", "--json"),
    "sessions": ("sessions", "--json"),
    "similar": ("similar", "zebra", "--json"),
    "stats": ("stats", "--json"),
    "todo": ("todo",),
}
SHOWS_NO_PART = {
    *("alternatives", "alternatives take", "checkout", "config", "config set", "config unset", "doctor"),
    *("history gc", "history size", "memory add", "memory edit", "memory forget", "memory restore"),
    *(
        "merge",
        "metrics",
        "project join",
        "project leave",
        "project merge",
        "project split",
        *(f"program {verb.name}" for verb in PROGRAM.verbs),  # a run of a program says what it could not read
        "proposals accept",
        "proposals refuse",
        "rate",
        "redo",
        "run",
        "sessions archive",
        "sessions consolidate",
        "sessions delete",
        "sessions export",
        "sessions import",
        "sessions rename",
        "sessions unarchive",
        "undo",
    ),
}


def names(verb: Verb, above: str = "") -> Iterator[tuple[str, Verb]]:
    """Return what can be typed in a shell, with what follows its name."""
    name = f"{above} {verb.name}".strip()
    if verb.opens or verb.shell:
        yield name, verb
    for each in verb.verbs_on(Face.SHELL) if name != "db" else ():  # which is about the server itself
        yield from names(each, name)


@pytest.fixture
def address() -> Iterator[str]:
    with unanswered_url() as url:
        yield url


@pytest.fixture
async def ids(address: str, tmp_path: Path) -> dict[str, str]:
    """A memory and a version in a project with a session, which wait for the server."""
    data = tmp_path / "data"
    servers = KnownServers(outbox_folder(data) / "servers.json")
    servers.remember(Address.from_url(address, "").shown, DATABASE)
    async with opened(address, data) as store:
        session = await new_session(store)
        turn = await said(store, session, "Feed the zebra.")
        version = await new_version(store, session)
        await store.memories.save(kept := a_memory(session, "Zebras eat hay.", turn))
    local = await open_local_state(data)
    await local.places.set_project(tmp_path / "project", session.project_id)
    await local.close()
    return {"memory": kept.id, "version": version.id}


def test_every_command_of_the_shell_is_one_that_reads_or_one_that_does_not() -> None:
    found = dict(each for verb in verbs_on(Face.SHELL).values() for each in names(verb))
    reads = {name for name, verb in found.items() if verb.reads}
    assert reads == READS.keys()
    assert found.keys() - reads == SHOWS_NO_PART


async def test_every_command_that_reads_says_that_it_shows_a_part(
    address: str, ids: dict[str, str], tmp_path: Path
) -> None:
    program = Program(tmp_path, env={"RAGFORGE_STORE": address, "RAGFORGE_STORE_PASSWORD": "wrong"})

    async def run(line: tuple[str, ...]) -> Ran:
        return await program.run(*(word.format(**ids) for word in line))

    for name, ran in zip(READS, await asyncio.gather(*map(run, READS.values())), strict=True):
        assert MISSING in ran.err, (name, ran)
        assert "--json" not in READS[name] or MISSING in ran.json["partial"], (name, ran)
    assert [row["title"] for row in (await run(READS["sessions"])).json["rows"]]
    board = (await run(READS["dashboard"])).json
    assert [each["cost_usd"] for each in board["sessions"]] == [None]
    assert (board["memory_cost_usd"], board["chat_cost_usd"]) == (None, None), (
        "this machine knows a part of it"
    )


def _garbage(path: Path) -> None:
    path.write_bytes(b"garbage" * 500)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _broken_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/nowhere/outbox.db")


@pytest.mark.parametrize("damage", [_garbage, _cut, _folder, _broken_link])
async def test_a_damaged_outbox_says_what_it_holds_and_is_checked(
    address: str, ids: dict[str, str], tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    box = outbox_file(tmp_path / "data", DATABASE).path
    damage(box)
    program = Program(tmp_path, env={"RAGFORGE_STORE": address})
    ran = await program.run("sessions")
    assert (ran.code, str(box) in ran.err) == (4, True)
    assert "It holds rows written on this machine that have not reached the server." in ran.err
    assert "`ragforge db check --repair`" in ran.err
    assert "RAGFORGE_STORE=" not in ran.err  # names the conversations, and not what waits for them
    for args in (("db", "check"), ("db", "check", "--repair")):
        checked = await program.run(*args)
        assert f"{box} (what waits for a server): 1 problem." in checked.out, checked
        assert "To give up what waited in it, move it away." in checked.out
        assert UNKNOWN in checked.out
        assert checked.code == 1


async def test_an_outbox_that_is_gone_is_told_once_when_its_server_is_used(
    address: str, ids: dict[str, str], tmp_path: Path
) -> None:
    box = outbox_file(tmp_path / "data", DATABASE).path
    program = Program(tmp_path, env={"RAGFORGE_STORE": address, "RAGFORGE_STORE_PASSWORD": "wrong"})
    assert "was lost" not in (await program.run("context", "zebra")).err
    box.unlink()
    elsewhere = f"sqlite://{tmp_path}/data/ragforge.db"
    ran = await program.run("context", "zebra", env={"RAGFORGE_STORE": elsewhere})
    assert (ran.code, "was lost" in ran.err) == (0, False), ran
    assert f"{box} was lost" in (await program.run("context", "zebra")).err
    assert "was lost" not in (await program.run("context", "zebra")).err


@pytest.mark.parametrize("content", ["null", "5", "[1]", '{"a": ["x"]}', '{"a": {}}', "", "{"])
async def test_a_damaged_list_of_servers_stops_nothing(
    address: str, ids: dict[str, str], tmp_path: Path, content: str
) -> None:
    servers_file(tmp_path / "data").write_text(content)
    program = Program(tmp_path)
    assert (await program.run("sessions")).code == 0
    ran = await program.run("sessions", env={"RAGFORGE_STORE": address})
    assert (ran.code, "This server was never reached before" in ran.err) == (4, True)
