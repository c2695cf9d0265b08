"""The backups that the program makes by itself, listed and brought back by commands of their own."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from ragforge.domain.ids import now
from tests.cli.running import Program, Ran
from tests.standins.openai import OpenAIStandIn


@pytest.fixture
def daily(quick: Program) -> Program:
    """Backs up each day, as it does where nothing is set."""
    del quick.env["RAGFORGE_BACKUP_DAILY"]
    return quick


def names(ran: Ran) -> list[str]:
    assert (ran.code, ran.err) == (0, "")
    return [each["name"] for each in ran.lines]


def make_older(program: Program, name: str, by: timedelta) -> None:
    """Let a backup have been made so long ago."""
    facts = program.data / "backups" / name / "backup.json"
    content = json.loads(facts.read_bytes())
    content["made_at"] = (now() - by).isoformat()
    facts.write_text(json.dumps(content))


async def test_each_day_that_it_is_used_is_backed_up_once(daily: Program, openai: OpenAIStandIn):
    ran = await daily.run("-p", "the parser fails")
    assert (ran.code, ran.err) == (0, "")
    (first,) = (await daily.run("db", "backups", "--json")).lines
    assert (first["reason"], first["counts"]["turns"]) == ("daily", 1)
    assert {file["role"] for file in first["files"].values()} == {"conversations", "versions", "machine"}
    await daily.run("-p", "and again")
    assert names(await daily.run("db", "backups", "--json")) == [first["name"]]
    make_older(daily, first["name"], timedelta(hours=25))
    await daily.run("-p", "and the next day")
    later = names(await daily.run("db", "backups", "--json"))
    assert len(later) == 2
    assert later[1] == first["name"]
    listed = await daily.run("db", "backups")
    assert all(name in listed.out for name in later)
    assert "ragforge db recover NAME" in listed.out


async def test_none_is_made_incognito_or_where_it_is_switched_off(daily: Program, openai: OpenAIStandIn):
    assert (await daily.run("-p", "hello", "--incognito")).code == 0
    assert (await daily.run("-p", "hello", env={"RAGFORGE_BACKUP_DAILY": "false"})).code == 0
    ran = await daily.run("db", "backups")
    assert (ran.code, ran.err) == (0, "")
    assert "No backups yet" in ran.out
    assert not (daily.data / "backups").exists()
    assert (await daily.run("db", "backups", "--now")).code == 0
    assert len(names(await daily.run("db", "backups", "--json"))) == 1


async def test_a_lost_store_comes_back(daily: Program, openai: OpenAIStandIn):
    session = (await daily.run("-p", "the parser fails", "--output-format", "json")).json["session"]
    (name,) = names(await daily.run("db", "backups", "--json"))
    await daily.run("-p", "said later")
    for path in daily.data.glob("ragforge.db*"):
        path.unlink()
    ran = await daily.run("db", "recover", name)
    assert (ran.code, ran.err) == (0, "")
    assert str(daily.data / "ragforge.db") in ran.out
    rows = (await daily.run("sessions", "--json")).json
    assert [row["id"] for row in rows] == [session]
    assert (await daily.run("db", "check")).code == 0
    # What came later of the other databases is set aside, not deleted.
    (aside,) = daily.data.glob("set-aside-*")
    assert {path.name for path in aside.glob("*.db")} == {"history.db", "local.db"}
    again = await daily.run("-c", "-p", "it goes on")
    assert (again.code, again.err) == (0, "")


async def test_missing_contents_are_named(daily: Program, openai: OpenAIStandIn, tmp_path: Path):
    (daily.project / "notes.txt").write_text("one\n")
    await daily.run("-p", "hello")
    (daily.project / "notes.txt").write_text("two\n")
    await daily.run("-p", "hello again")
    assert (await daily.run("db", "backups", "--now")).code == 0
    newest = names(await daily.run("db", "backups", "--json"))[0]
    for path in daily.data.glob("blobs.db*"):
        path.unlink()
    ran = await daily.run("db", "recover", newest)
    assert ran.code == 0
    assert "that the backup needs are missing" in ran.err


async def test_what_cannot_be_brought_back_says_why(daily: Program):
    for args, code, words in (
        (("recover", "nothing"), 2, "No backup is called 'nothing'"),
        (
            ("recover", "nothing", "--only", "everything"),
            2,
            "--only must be one of conversations, versions, machine, outbox",
        ),
        (("backups", "--now"), 4, "No backup was made"),
    ):
        ran = await daily.run("db", *args)
        assert (ran.code, ran.out) == (code, "")
        assert words in ran.err
