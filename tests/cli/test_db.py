"""`ragforge db` as processes of their own."""

import asyncio
import gzip
import json
import os
import pty
import shutil
import signal
from pathlib import Path

import pytest

from ragforge.store.files import store_files
from ragforge.store.sqlite.connection import raw_connection
from tests.cli.running import TRACES, Program, ended
from tests.standins.openai import OpenAIStandIn

COMMANDS = (
    *("connect", "status", "migrate", "check", "backup", "restore", "copy", "waiting", "embedder", "backups"),
    "recover",
)


async def test_a_backup_is_restored_elsewhere(quick: Program, openai: OpenAIStandIn, tmp_path: Path):
    session = (await quick.run("-p", "the parser fails", "--output-format", "json")).json["session"]
    file = quick.project / "all.jsonl.gz"
    made = await quick.run("db", "backup", file.name)
    assert (made.code, made.err) == (0, "")
    assert "1 session\n" in made.out
    assert "1 turn\n" in made.out
    first, *_, last = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    assert (first["ragforge"], first["format"]) == ("backup", 4)
    assert str(tmp_path) not in json.dumps(first)
    assert last["counts"]["turn"] == 1

    refused = await quick.run("db", "backup", file.name)
    assert (refused.code, refused.out) == (2, "")
    assert "--force" in refused.err
    assert (await quick.run("db", "backup", file.name, "--force")).code == 0

    elsewhere = {"RAGFORGE_DATA_DIR": str(tmp_path / "elsewhere")}
    restored = await quick.run("db", "restore", file.name, env=elsewhere)
    assert (restored.code, restored.err) == (0, "")
    assert "read back and compared in" in restored.out
    rows = (await quick.run("sessions", "--all", "--json", env=elsewhere)).json
    assert [row["id"] for row in rows] == [session]
    assert "parser" in (await quick.run("search", "--all", "parser", env=elsewhere)).out
    again = await quick.run("db", "restore", file.name, env=elsewhere)
    assert "already there" in again.out
    assert " new" not in again.out


async def test_another_embedder_is_asked_about_with_what_it_costs(quick: Program, openai: OpenAIStandIn):
    await quick.run("-p", "the parser fails")
    none = await quick.run("db", "embedder", "nonsense")
    assert (none.code, "Unknown embedder 'nonsense'" in none.err) == (2, True)
    for name in ("minilm", "e5"):
        missing = await quick.run("db", "embedder", name)
        assert (missing.code, f"make {name}" in missing.err, "--yes" in missing.err) == (2, True, False)
    other = await quick.run("db", "embedder", "gemini:gemini-embedding-2")
    assert (other.code, "vectors of static:" in other.err, "--yes" in other.err) == (2, True, True)
    assert "gemini" not in (await quick.run("config", "get", "memory.embedder")).out
    same = await quick.run("db", "embedder", "static")
    assert (same.code, "already" in same.out) == (0, True)


async def test_a_copy_twice_doubles_nothing(quick: Program, openai: OpenAIStandIn, tmp_path: Path):
    await quick.run("-p", "the parser fails")
    assert (await quick.run("memory", "add", "the parser is written by hand")).code == 0
    to = f"sqlite://{tmp_path}/copy.db"
    # What the background made of the turn is copied too: its summary, their vectors, what they cost.
    counts = (await quick.run("db", "status", "--json")).json["counts"]
    kept = ("project", "session", "turn", "step", "summary", "memory")
    assert [counts[kind] for kind in kept] == [1] * len(kept)
    total = sum(counts.values())
    for words in (f"Records: {total} new.", f"Records: {total} already there."):
        ran = await quick.run("db", "copy", "--to", to)
        assert (ran.code, ran.err) == (0, "")
        assert words in ran.out
        # Every kind is named.
        assert sum(int(line.split()[0]) for line in ran.out.splitlines() if line.startswith("  ")) == total
    status = (await quick.run("db", "status", "--store", to, "--json")).json
    assert status["counts"] == counts
    assert status["kind"].startswith("SQLite")
    assert status["place"] == str(tmp_path / "copy.db")
    assert (status["waiting"], status["away"]) == (0, "")
    shown = await quick.run("--store", to, "db", "status")
    assert (shown.code, str(tmp_path / "copy.db") in shown.out) == (0, True)
    assert "1 memory" in shown.out


async def test_check_finds_what_is_wrong_and_repairs_what_can_be(quick: Program, openai: OpenAIStandIn):
    await quick.run("-p", "the parser fails")
    sound = await quick.run("db", "check")
    assert (sound.code, sound.err) == (0, "")
    assert "no problems" in sound.out
    url = f"sqlite://{quick.data / 'ragforge.db'}"
    assert [line for line in sound.out.splitlines() if line.endswith(": sound.")] == [
        f"{row.title}: sound." for row in store_files(quick.data, url)
    ]
    connection = raw_connection(quick.data / "ragforge.db")
    connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
    connection.close()
    wrong = await quick.run("db", "check")
    assert wrong.code == 1
    assert "cannot be found by search" in wrong.out
    assert "--repair" in wrong.err
    repaired = await quick.run("db", "check", "--repair")
    assert (repaired.code, repaired.err) == (0, "")
    assert "no problems" in repaired.out
    assert (await quick.run("db", "check")).code == 0


async def test_where_a_repair_is_not_enough_it_is_said_what_is(quick: Program, openai: OpenAIStandIn):
    await quick.run("-p", "the parser fails")
    await quick.run("-c", "-p", "it still does")
    connection = raw_connection(quick.data / "ragforge.db")
    connection.execute("DELETE FROM turn WHERE parent IS NULL")
    connection.close()
    repaired = await quick.run("db", "check", "--repair")
    assert repaired.code == 1
    assert "This cannot be repaired. `ragforge db backups` lists" in repaired.out
    for args in (("--repair",), (), ()):
        assert (await quick.run("db", "check", *args)).err.endswith("--repair` could not repair them.\n")
    (quick.data / "history.db").write_bytes(b"")
    assert (await quick.run("db", "check")).err.endswith("--repair` repairs what can be repaired.\n"), "news"


async def test_what_cannot_be_says_why(alone: Program, tmp_path: Path):
    shutil.rmtree(alone.data)
    file = alone.project / "cut.gz"
    file.write_bytes(
        gzip.compress(b'{"ragforge":"backup","format":1,"made_at":"","from":"","schema":1}\n')[:-9]
    )
    newer = alone.project / "newer.gz"
    newer.write_bytes(gzip.compress(b'{"ragforge":"backup","format":9}\n'))
    none = f"sqlite://{tmp_path}/none.db"
    wrong: dict[tuple[str, ...], tuple[int, str]] = {
        ("db", "status"): (4, "There is no store"),
        ("db", "backup", "x.gz"): (4, "There is no store"),
        ("db", "check", "--store", none): (4, "There is no store"),
        ("db", "copy", "--from", none, "--to", f"sqlite://{tmp_path}/other.db"): (4, "There is no store"),
        ("db", "restore", "none.gz"): (2, "There is no file none.gz"),
        ("db", "restore", "cut.gz"): (4, "truncated or altered"),
        ("db", "restore", "newer.gz"): (4, "newer ragforge"),
        ("db", "connect"): (2, "ragforge db connect bolt://HOST"),
        ("db", "connect", none): (2, "Neo4j server's address"),
        ("db", "connect", "bolt://127.0.0.1:1"): (4, "127.0.0.1:1"),
        ("db", "connect", "bolt://ada:hush-4711@127.0.0.1:1"): (4, "127.0.0.1:1"),
        ("db", "migrate", "--store", "mongo://x"): (2, "mongo"),
        ("db", "copy"): (2, "--to"),
    }
    ran = await asyncio.gather(*(alone.run(*args) for args in wrong))
    for (args, (code, words)), found in zip(wrong.items(), ran, strict=True):
        assert (args, found.code, found.out) == (args, code, "")
        assert words in found.err
        assert "hush-4711" not in found.err
    # Nothing was made by looking, and nothing was saved.
    assert not [*alone.tmp_path.rglob("*.db")]
    assert not (alone.tmp_path / "config").exists()


async def test_every_db_help_has_an_example_and_the_exit_codes(alone: Program):
    ran = await asyncio.gather(*(alone.run("db", *command.split(), "--help") for command in ("", *COMMANDS)))
    for found in ran:
        words = " ".join(found.out.split())
        assert (found.code, found.err) == (0, "")
        assert "Example: ragforge db" in words
        assert "Exit codes: 0 done; 1 failed or stopped; 2 wrong" in words
    assert all(command in ran[0].out for command in COMMANDS)


async def test_migrate_of_a_file_says_that_it_is_up_to_date(quick: Program, openai: OpenAIStandIn):
    await quick.run("-p", "hello")
    ran = await quick.run("db", "migrate")
    assert (ran.code, ran.err) == (0, "")
    assert "is up to date (schema" in ran.out
    waiting = await quick.run("db", "waiting")
    assert (waiting.code, waiting.out, waiting.err) == (
        0,
        "Nothing is waiting: everything has reached the server.\n",
        "",
    )
    assert (await quick.run("db", "waiting", "--carry", "--discard")).code == 2


@pytest.mark.skipif(not Path("/proc/self/wchan").exists(), reason="needs Linux's /proc")
async def test_connect_asks_again_after_a_wrong_address(alone: Program):
    main, other = pty.openpty()
    process = await alone.start("db", "connect", stdin=other, stdout=other, stderr=other)
    os.close(other)
    seen = ""

    async def until(words: str) -> None:
        nonlocal seen
        async with asyncio.timeout(180):
            while words not in seen:
                seen += (await asyncio.to_thread(os.read, main, 65536)).decode()
        seen = seen.partition(words)[2]

    await until("Server [bolt://localhost:7687]")
    os.write(main, b"http://example.org\n")
    await until("not a Neo4j server's address")
    await until("Server")
    os.write(main, b"127.0.0.1:1\n")
    await until("Cannot reach Neo4j at bolt://127.0.0.1:1")
    await until("Server [bolt://127.0.0.1:1]")
    async with asyncio.timeout(180):
        # A signal between the question and the reading of its answer is heard with the answer.
        while b"wait_woken" not in Path(f"/proc/{process.pid}/wchan").read_bytes():
            await asyncio.sleep(0.02)
    process.send_signal(signal.SIGINT)
    ran = await ended(process)
    os.close(main)
    assert ran.code == 130
    assert not any(trace in seen for trace in TRACES)
    assert not (alone.tmp_path / "config").exists()


async def test_what_is_one_users_is_exported_and_removed(quick: Program) -> None:
    assert (await quick.run("-p", "about the zebra")).code == 0
    [row] = (await quick.run("sessions", "--json")).json
    file = quick.tmp_path / "mine.jsonl"
    nobody = await quick.run("db", "person", "export", "eve", str(file))
    assert (nobody.code, "No user called 'eve'" in nobody.err, file.exists()) == (2, True, False)
    exported = await quick.run("db", "person", "export", row["person"], str(file))
    assert (exported.code, "Not covered: " in exported.err) == (0, True), exported
    assert "about the zebra" in file.read_text()
    again = await quick.run("db", "person", "export", row["person"], str(file))
    assert (again.code, "--force" in again.err) == (2, True)
    unasked = await quick.run("db", "person", "remove", row["person"], stdin=b"y\n")
    assert (unasked.code, "1 session without turns of other users" in unasked.out) == (2, True), unasked
    assert (await quick.run("db", "person", "remove", row["person"], "--yes")).code == 0
    assert (await quick.run("sessions", "--json")).json == []
    assert (await quick.run("db", "check")).code == 0
