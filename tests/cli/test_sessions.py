"""`ragforge sessions` and `ragforge config`, `--help` and `--version`."""

import asyncio

from ragforge.store.local.state import open_local_state
from tests.cli.running import Program
from tests.contract.builders import a_project, new_session
from tests.faults.graph import opened
from tests.standins.openai import OpenAIStandIn

ROW_KEYS = ["id", "title", "cwd", "started", "last_activity", "turns", "last_message", "model", "person"]
ROW_KEYS += ["archived", "digest", "shared_by"]


async def test_sessions_are_listed_renamed_and_deleted(quick: Program, openai: OpenAIStandIn):
    first = (await quick.run("-p", "the first", "--output-format", "json")).json["session"]
    second = (await quick.run("-p", "the second", "--output-format", "json")).json["session"]
    await quick.run("-p", "and more", "-r", first)

    rows = (await quick.run("sessions", "--json")).json
    assert [list(row) for row in rows] == [ROW_KEYS] * 2
    assert [row["id"] for row in rows] == [first, second]
    newest = rows[0]
    assert (newest["title"], newest["turns"], newest["last_message"]) == ("the first", 2, "and more")
    assert (newest["cwd"], newest["model"]) == (str(quick.project), "stand-in:test-model")
    assert newest["started"] < newest["last_activity"]

    renamed = await quick.run("sessions", "rename", first, "A", "new", "name")
    assert (renamed.code, "A new name" in renamed.out) == (0, True)
    shown = await quick.run("sessions")
    assert "A new name" in shown.out
    assert shown.out.index(first) < shown.out.index(second)

    asked, unknown, empty = await asyncio.gather(
        quick.run("sessions", "delete", first, stdin=b"y\n"),
        quick.run("sessions", "delete", "ffffffff", "--yes"),
        quick.run("sessions", "rename", first, " "),
    )
    assert [asked.code, unknown.code, empty.code] == [2, 2, 2]
    assert "2 turns" in asked.out
    assert "--yes" in asked.err
    gone = await quick.run("sessions", "delete", first, "--yes")
    assert (gone.code, "Deleted" in gone.out) == (0, True)
    assert [row["id"] for row in (await quick.run("sessions", "--json")).json] == [second]
    assert "first" not in (await quick.run("search", "first")).out


async def test_a_secret_in_a_title_is_not_kept(quick: Program):
    session = (await quick.run("-p", "x", "--output-format", "json")).json["session"]
    ran = await quick.run(
        "sessions", "rename", session, "my-own-key-4711", env={"OPENAI_API_KEY": "my-own-key-4711"}
    )
    assert ran.code == 0
    for file in quick.data.iterdir():
        assert file.is_dir() or b"my-own-key-4711" not in file.read_bytes()


async def test_config_shows_sources_and_changes_the_users_file(alone: Program):
    alone.configure("# mine\nmouse = false\n")
    rows = {
        row["key"]: row for row in (await alone.run("config", "--json", env={"RAGFORGE_MODE": "plan"})).json
    }
    assert (rows["mouse"]["value"], rows["mode"]["value"]) == ("false", "plan")
    assert rows["mouse"]["source"].endswith("config.toml")
    assert (rows["mode"]["source"], rows["theme"]["source"]) == ("RAGFORGE_MODE", "default")

    flagged = await alone.run("--model", "ollama:x", "config")
    assert any(line.split() == ["model", "ollama:x", "command", "line"] for line in flagged.out.splitlines())

    changed = await alone.run("config", "set", "theme", "light")
    assert changed.code == 0
    file = alone.tmp_path / "config" / "config.toml"
    assert file.read_text() == '# mine\nmouse = false\ntheme = "light"\n'
    assert (await alone.run("config", "unset", "theme")).code == 0
    assert file.read_text() == "# mine\nmouse = false\n"

    wrong = [("set", "mouse", "maybe"), ("set", "nope", "1"), ("unset", "theme"), ("set", "mouse")]
    wrong += [("set", "model", "nope:x"), ("set", "memory.model", "nope:x"), ("set", "store", "ftp://x")]
    for ran in await asyncio.gather(*(alone.run("config", *args) for args in wrong)):
        assert (ran.code, ran.out) == (2, "")
        assert ran.err
    assert file.read_text() == "# mine\nmouse = false\n"


async def test_every_help_tells_the_exit_codes(alone: Program):
    commands = ("", "search", "sessions", "sessions rename", "sessions delete", "config", "config set")
    for ran in await asyncio.gather(*(alone.run(*command.split(), "--help") for command in commands)):
        assert (ran.code, ran.err) == (0, "")
        assert "Exit codes: 0 done; 1 failed or stopped; 2 wrong" in " ".join(ran.out.split())


async def test_the_interface_without_a_terminal_says_what_to_do(alone: Program):
    ran = await alone.run()
    assert (ran.code, ran.out) == (2, "")
    assert "ragforge -p" in ran.err


async def test_the_version_is_one_line(alone: Program):
    ran = await alone.run("--version")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("ragforge 0.")


async def test_sessions_say_who_began_them_and_are_narrowed_to_one_person(alone: Program) -> None:
    persons = ("ada@example.org", "ada@laptop", "bob@example.org")
    async with opened(f"sqlite://{alone.data}/ragforge.db", alone.data) as store:
        project = a_project()
        await store.projects.add(project)
        for person in persons:
            await new_session(store, project, title=f"Of {person}", person=person)
    local = await open_local_state(alone.data)
    await local.places.set_project(alone.project, project.id)
    await local.chosen.set_person(f"sqlite://{alone.data}/ragforge.db", "cleo@example.org")
    await local.close()
    listed = (await alone.run("sessions")).out
    assert all(f"  {person}\n" in listed for person in persons)
    newest = (await alone.run("sessions", "--limit", "1")).out
    assert sum(f"  {person}\n" in newest for person in persons) == 1, "all of one user, who is not the reader"
    for named, person in (("bob", "bob@example.org"), ("ada@laptop", "ada@laptop")):
        rows = (await alone.run("sessions", "--by", named, "--limit", "1", "--json")).json
        assert [(row["title"], row["person"]) for row in rows] == [(f"Of {person}", person)]
    several, nobody = await alone.run("sessions", "--by", "ada"), await alone.run("sessions", "--by", "eve")
    assert (several.code, nobody.code) == (2, 2)
    assert "ada@example.org, ada@laptop" in several.err
    assert "No user called 'eve'" in nobody.err


async def test_archived_sessions_leave_the_list_and_a_message_brings_them_back(quick: Program):
    old = (await quick.run("-p", "about walruses", "--output-format", "json")).json["session"]
    project = quick.project
    unasked = await quick.run("sessions", "archive", "--older-than", "0d", stdin=b"y\n")
    assert (unasked.code, "1 session" in unasked.out, "--yes" in unasked.err) == (2, True, True)
    for wrong in ((), (old, "--older-than", "1d"), ("--older-than", "soon"), ("ffffffff",)):
        ran = await quick.run("sessions", "archive", *wrong)
        assert (ran.code, ran.out) == (2, ""), wrong
    none = (await quick.run("sessions", "archive", "--older-than", "1d", "--yes", "--json")).json
    assert none == {"archived": [], "open": []}
    assert "without a model" in unasked.out or "call" in unasked.out
    await quick.run("sessions", "archive", old)
    assert "0 of 1 archived session consolidated" in (await quick.run("db", "check")).out
    assert (await quick.run("sessions", "consolidate", "--json")).json == {"consolidated": 1, "lacking": 0}
    again = await quick.run("sessions", "consolidate")
    assert again.out == "All archived sessions of this project are consolidated.\n"
    assert "1 of 1 archived session consolidated." in (await quick.run("db", "check")).out
    assert "walruses" in (await quick.run("sessions", "--archived")).out.split("\n", 2)[2]
    assert (await quick.run("sessions", "--json")).json == []
    assert "All sessions of this project are archived (--archived" in (await quick.run("sessions")).err
    (row,) = (await quick.run("sessions", "--archived", "--json")).json
    assert (row["id"], row["archived"] is None, "walruses" in row["digest"]) == (old, False, True)
    assert "about walruses" in (await quick.run("search", "walruses")).out

    again = await quick.run("-p", "and seals", "-c", "--output-format", "json")
    assert (again.json["session"], "archived" in again.err) == (old, True)
    (row,) = (await quick.run("sessions", "--json")).json
    assert (row["id"], row["archived"], row["cwd"]) == (old, None, str(project))
    many = (await quick.run("sessions", "archive", "--older-than", "0d", "--yes", "--json")).json
    assert many == {"archived": [old], "open": []}
    assert (await quick.run("sessions", "unarchive", old)).code == 0
    assert [row["id"] for row in (await quick.run("sessions", "--json")).json] == [old]


async def test_a_session_that_is_open_is_not_archived(alone: Program) -> None:
    async with opened(f"sqlite://{alone.data}/ragforge.db", alone.data) as store:
        session = await new_session(store)
        local = await open_local_state(alone.data)
        await local.places.set_project(alone.project, session.project_id)
        await local.close()
        claim = await store.sessions.claim(session.id)
        refused = await alone.run("sessions", "archive", session.id)
        assert (refused.code != 0, "is being written" in refused.err) == (True, True)
        many = (await alone.run("sessions", "archive", "--older-than", "0d", "--yes", "--json")).json
        assert many == {"archived": [], "open": [session.id]}
        await claim.release()
        found = await store.sessions.get(session.id)
        assert found is not None
        assert found.archived_at is None
