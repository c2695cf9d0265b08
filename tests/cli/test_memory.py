"""`ragforge memory`: what is remembered, as a user reads and changes it."""

import asyncio
import os
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from ragforge.domain.ids import now
from ragforge.domain.memories import MemorySource, MemoryType
from ragforge.memory.memories import new_memory, remember
from ragforge.session.library import close_library, open_library
from ragforge.store.base import keep_project
from tests.cli.running import Program
from tests.standins.openai import OpenAIStandIn

KEYS = [
    "id", "type", "content", "scope", "owner", "importance", "confidence", "topic", "strength",
    "applies_to", "said", "held", "broken", "source", "origin", "project", "session", "turns",
    "created", "updated", "valid_from", "valid_to", "accessed", "used", "forgotten", "replaced",
    "undone",
]  # fmt: skip


async def add_all(program: Program, cwd: Path, texts: list[str]) -> None:
    """What `ragforge memory add` does, without a process for each."""
    library = await open_library(cwd=cwd, flags={}, environ=program.env)
    await keep_project(library.store, library.project)
    for text in texts:
        memory = new_memory(
            text, MemoryType.FACT, project_id=library.project.id, at=now(), source=MemorySource.USER
        )
        await remember(library.store, memory)
    await close_library(library)


async def contents(program: Program, *args: str, cwd: Path | None = None) -> list[str]:
    ran = await program.run("memory", "list", "--json", "--limit", "1000", *args, cwd=cwd)
    assert ran.code == 0
    return [row["content"] for row in ran.json]


async def test_memories_are_added_listed_changed_and_explained(alone: Program) -> None:
    added = await alone.run("memory", "add", "Use", "MySQL", "--type", "decision", "--topic", "database")
    assert (added.code, "Use MySQL" in added.out) == (0, True)
    short = added.out.split()[1]
    await alone.run("memory", "add", "Tabs are four wide", "--scope", "global", "--importance", "0.2")

    rows = (await alone.run("memory", "list", "--sort", "importance", "--json")).json
    assert [list(row) for row in rows] == [KEYS] * 2
    assert [(row["content"], row["type"], row["importance"], row["scope"]) for row in rows] == [
        ("Use MySQL", "decision", 0.8, "project"),
        ("Tabs are four wide", "fact", 0.2, "global"),
    ]
    assert (rows[0]["source"], rows[0]["topic"], rows[0]["id"][:8]) == ("person", "database", short)
    assert rows[0]["origin"] == "ragforge memory add"
    assert await contents(alone, "--type", "decision") == ["Use MySQL"]
    assert await contents(alone, "--scope", "global") == ["Tabs are four wide"]
    assert len(await contents(alone, "--limit", "1")) == 1
    listed = await alone.run("memory", "list")
    assert (listed.out.count("\n"), short in listed.out) == (2, True)

    changed = await alone.run(
        "memory", "edit", short[:4], "Use", "PostgreSQL", "--importance", "0.9", "--owner", "me"
    )
    assert (changed.code, "forget" in changed.err) == (0, True)
    new = changed.out.split()[1]
    rows = {row["content"]: row for row in (await alone.run("memory", "list", "--json")).json}
    assert rows["Use MySQL"]["replaced"]
    assert (rows["Use PostgreSQL"]["importance"], rows["Use PostgreSQL"]["topic"]) == (0.9, "database")
    assert rows["Use PostgreSQL"]["owner"]
    assert rows["Use MySQL"]["owner"] is None
    everybodys = (await alone.run("memory", "list", "--all-owners")).out
    assert f"Use PostgreSQL  {rows['Use PostgreSQL']['owner']}" in everybodys
    assert "Tabs are four wide  everybody" in everybodys
    assert rows["Use PostgreSQL"]["created"] == rows["Use MySQL"]["created"]
    assert f"replaced by: {new}  Use PostgreSQL" in (await alone.run("memory", "why", short)).out
    why = (await alone.run("memory", "why", new, "--json")).json
    assert [(link["kind"], link["direction"], link["id"][:8]) for link in why["linked"]] == [
        ("updates", "out", short)
    ]
    shown = (await alone.run("memory", "show", new, "--json")).json
    assert (shown["content"], shown["used"]) == ("Use PostgreSQL", 1)

    await alone.run("memory", "forget", new)
    assert not (await alone.run("memory", "show", short, "--json")).json["replaced"], (
        "the old one holds again"
    )


async def test_what_is_forgotten_can_be_restored(alone: Program) -> None:
    ids = [(await alone.run("memory", "add", text)).out.split()[1] for text in ("One", "Two")]
    gone = await alone.run("memory", "forget", *ids)
    assert (gone.code, gone.out.count("Forgotten"), f"restore {ids[0]} {ids[1]}" in gone.err) == (0, 2, True)
    assert await contents(alone) == []
    assert sorted(await contents(alone, "--forgotten")) == ["One", "Two"]
    assert "Two" not in (await alone.run("search", "Two")).out
    back = (await alone.run("memory", "restore", ids[0], "--json")).json
    assert [(each["content"], each["forgotten"]) for each in back["restored"]] == [("One", None)]
    assert (await alone.run("memory", "add", "two.")).code == 0
    assert sorted(await contents(alone)) == ["One", "Two"]
    one_is_wrong = await alone.run("memory", "forget", ids[0], "ffffffff")
    assert one_is_wrong.code == 2
    assert sorted(await contents(alone)) == ["One", "Two"], "a wrong id changes nothing"


async def test_a_prompt_that_only_asks_to_forget_is_told_the_command(alone: Program) -> None:
    await add_all(alone, alone.project, ["The gateway listens on port 8443.", "Tabs are four wide."])
    [listed] = [row for row in (await alone.run("memory", "list", "--json")).json if "8443" in row["content"]]
    command = f"ragforge memory forget {listed['id'][:8]}  The gateway listens on port 8443."
    for words in ("forget that", "oublie que le port est 8443"):
        ran = await alone.run("-p", words)
        assert (ran.code, ran.out, command in ran.err) == (2, "", True)
    assert (await alone.run("-p", "forget that approach, use a queue")).code == 0


async def test_what_is_forgotten_everywhere_is_asked_first_and_put_back_until_a_clean_up(
    alone: Program,
) -> None:
    one, two = [
        (await alone.run("memory", "add", text)).out.split()[1] for text in ("Host quokka7391", "Two")
    ]
    unasked = await alone.run("memory", "forget", one, "--everywhere")
    assert (unasked.code, "Found in: 1 memory" in unasked.out, "--yes" in unasked.err) == (2, True, True)
    assert sorted(await contents(alone)) == ["Host quokka7391", "Two"]
    gone = await alone.run("memory", "forget", one, "--everywhere", "--yes")
    assert (gone.code, "sealed" in gone.out, await contents(alone, "--forgotten")) == (0, True, ["Two"])
    back = await alone.run("memory", "restore", one, "--everywhere")
    assert (back.code, "Host quokka7391" in back.out) == (0, True)
    assert sorted(await contents(alone)) == ["Host quokka7391", "Two"]
    again = (await alone.run("memory", "forget", one, "--everywhere", "--yes", "--json")).json
    assert ([each["content"] for each in again["removed"]], again["sealed"]) == (["Host quokka7391"], True)
    would = await alone.run("history", "gc", "--dry-run")
    assert would.out == "Would remove 1 statement that you had forgotten everywhere.\n"
    assert (await alone.run("history", "gc")).out.startswith("Removed 1 statement")
    too_late = await alone.run("memory", "restore", one, "--everywhere")
    assert (too_late.code, "Nothing that was forgotten" in too_late.err) == (2, True)
    for wrong in ((one, two, "--everywhere"), (two, "--now")):
        assert (await alone.run("memory", "forget", *wrong)).code == 2
    assert await contents(alone) == ["Two"]


async def test_why_names_the_turn_and_the_command_that_opens_it(
    quick: Program, openai: OpenAIStandIn
) -> None:
    ran = await quick.run("-p", "we use MySQL", "--output-format", "json")
    library = await open_library(cwd=quick.project, flags={}, environ=quick.env)
    memory = new_memory(
        "Use MySQL",
        MemoryType.DECISION,
        project_id=library.project.id,
        at=now(),
        source=MemorySource.MODEL,
        session_id=ran.json["session"],
        turns=[ran.json["turn"]],
    )
    await remember(library.store, memory)
    await close_library(library)

    told = await quick.run("memory", "why", memory.id)
    command = f"ragforge -r {ran.json['session']} --at 1"
    assert command in told.out
    assert "we use MySQL" in told.out
    assert "source      model" in told.out
    [evidence] = (await quick.run("memory", "why", memory.id, "--json")).json["evidence"]
    assert (evidence["turn"], evidence["resume"], evidence["undone"]) == (ran.json["turn"], command, False)

    await quick.run("sessions", "delete", ran.json["session"], "--yes")
    told = await quick.run("memory", "why", memory.id)
    assert (told.code, "It is not based on a stored turn" in told.out) == (0, True)


async def test_no_redaction(alone: Program) -> None:
    """A secret in a memory reaches no file of the store, however it comes in."""
    env = {"OPENAI_API_KEY": "my-own-key-4711"}
    added = await alone.run("memory", "add", "my-own-key-4711 or ghp_" + "k3Zq9A" * 6, env=env)
    short = added.out.split()[1]
    await alone.run(
        "memory", "edit", short, "still", "my-own-key-4711", "--topic", "my-own-key-4711", env=env
    )
    assert "still [redacted]" in await contents(alone)
    for file in alone.data.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            assert b"my-own-key" not in data, file
            assert b"ghp_k3" not in data, file


async def test_another_directory_losing_39_of_40_memories(alone: Program) -> None:
    """A project's memories are found from every folder of it, and after it was moved."""
    repository = alone.project
    below = repository / "src" / "deep"
    below.mkdir(parents=True)
    git = ("git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b")
    for args in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run([*git, *args], check=True, env={**os.environ, "HOME": str(alone.tmp_path)})
    facts = [f"Fact number {number}" for number in range(40)]
    await add_all(alone, repository, facts[:1])
    await add_all(alone, below, facts[1:])
    assert sorted(await contents(alone, cwd=below)) == sorted(facts)
    assert sorted(await contents(alone, cwd=repository)) == sorted(facts)

    moved = alone.tmp_path / "elsewhere"
    shutil.move(repository, moved)
    assert sorted(await contents(alone, cwd=moved / "src")) == sorted(facts)


async def test_unrelated_projects_sharing_one_memory(alone: Program) -> None:
    """Each project has its own; only what is global is everybody's, and `--all` shows all."""
    other = alone.tmp_path / "other"
    other.mkdir()
    await add_all(alone, alone.project, ["We use MySQL"])
    await add_all(alone, other, ["We use PostgreSQL"])
    await alone.run("memory", "add", "Tabs are four wide", "--scope", "global")
    assert sorted(await contents(alone)) == ["Tabs are four wide", "We use MySQL"]
    assert sorted(await contents(alone, cwd=other)) == ["Tabs are four wide", "We use PostgreSQL"]
    assert len(await contents(alone, "--all", cwd=other)) == 3
    same_words = await alone.run("memory", "add", "We use MySQL", cwd=other)
    assert "Remembered" in same_words.out
    assert len(await contents(alone, "--all")) == 4


async def test_wrong_words_ids_and_values_are_named(alone: Program) -> None:
    short = (await alone.run("memory", "add", "One")).out.split()[1]
    wrong = {
        ("add", " . "): "needs a text",
        ("add", "x", "--importance", "nan"): "between 0 and 1",
        ("add", "x", "--type", "opinion"): "observation",
        ("add", "x", "--scope", "session"): "project or global",
        ("show", "abc"): "first 4",
        ("show", "ffffffff"): "ragforge memory list",
        ("edit", short): "--importance",
        ("edit", short, "ONE."): "text is unchanged",
        ("edit", short, "Other", "--importance", "-1"): "between 0 and 1",
        ("list", "--sort", "age"): "importance",
    }
    ends = await asyncio.gather(*(alone.run("memory", *args) for args in wrong))
    for (args, words), ran in zip(wrong.items(), ends, strict=True):
        assert (ran.code, ran.out) == (2, ""), args
        assert words in " ".join(ran.err.split()), args
    assert await contents(alone) == ["One"]


async def test_every_help_tells_the_exit_codes_and_an_empty_list_is_said(alone: Program) -> None:
    commands = ("", "list", "edit", "restore")
    helps = await asyncio.gather(*(alone.run("memory", *command.split(), "--help") for command in commands))
    for ran in helps:
        assert (ran.code, ran.err) == (0, "")
        assert "Exit codes: 0 done" in " ".join(ran.out.split())
    nothing = await alone.run("memory", "list")
    assert (nothing.code, nothing.out, "--all" in nothing.err) == (0, "", True)


async def test_a_memory_may_begin_with_its_type_as_in_the_interface(alone: Program) -> None:
    added = await alone.run("memory", "add", "Decision: use", "MySQL")
    assert added.out.split(maxsplit=2)[2] == "decision  use MySQL\n"
    named = await alone.run("memory", "add", "decision: use tabs", "--type", "preference")
    assert named.out.split(maxsplit=2)[2] == "preference  decision: use tabs\n"


async def test_of_rules_that_contradict_each_other_the_older_one_names_the_newer(alone: Program) -> None:
    for words in ("Never use npm", "Use two spaces", "Always use npm", "Never use docker"):
        await alone.run("memory", "add", words, "--type", "preference")
    rows = {row["content"]: row["id"][:8] for row in (await alone.run("memory", "list", "--json")).json}

    lines = (await alone.run("memory", "list")).out.splitlines()
    marked = {line.split()[0]: line for line in lines if "contradicted" in line}
    assert list(marked) == [rows["Never use npm"]], lines
    assert marked[rows["Never use npm"]].endswith(f"[contradicted by the newer {rows['Always use npm']}]")

    only_old = await alone.run("memory", "list", "--limit", "1", "--sort", "created", "--type", "preference")
    assert "contradicted" not in only_old.out, "the newest is contradicted by none"
    await alone.run("memory", "forget", rows["Always use npm"])
    assert "contradicted" not in (await alone.run("memory", "list")).out


async def test_what_held_at_a_moment_is_listed(alone: Program) -> None:
    library = await open_library(cwd=alone.project, flags={}, environ=alone.env)
    await keep_project(library.store, library.project)
    days = [datetime(2026, month, 1, tzinfo=UTC) for month in (1, 2, 3, 4)]
    kept = [
        new_memory(text, MemoryType.DECISION, project_id=library.project.id, at=at, source=MemorySource.USER)
        for text, at in zip(("Use MySQL", "Use SQLite"), days, strict=False)
    ]
    await remember(library.store, kept[0])
    await remember(library.store, kept[1], updates=[kept[0].id])
    # Said again, the first one holds again.
    await remember(library.store, replace(kept[0], updated_at=days[2]))
    await library.store.memories.forget([kept[0].id], days[3])
    await close_library(library)
    held = [
        await contents(alone, "--at", when)
        for when in ("2025-12-01", "2026-01-03", "2026-02-15", "2026-03-15")
    ]
    assert held == [[], ["Use MySQL"], ["Use SQLite"], ["Use MySQL"]]
    assert await contents(alone, "--at", "2026-04-15") == ["Use SQLite"], "what it had replaced"
    shown = (await alone.run("memory", "show", kept[0].id, "--json")).json
    assert datetime.fromisoformat(shown["valid_from"]) == days[2], "since it was said again"
    # A day is meant whole.
    added = await alone.run("memory", "add", "Use tabs")
    assert added.code == 0
    today = f"{datetime.now().astimezone():%Y-%m-%d}"
    assert await contents(alone, "--at", today) == ["Use tabs", "Use SQLite"]
    # So is the last day that the words name.
    await alone.run("memory", "add", "Deploys are frozen until 3 March 2999")
    listed = await alone.run("memory", "list", "--at", "2999-03-03")
    assert "frozen until 3 March 2999 [until 2999-03-03]" in listed.out
    assert "frozen" not in (await alone.run("memory", "list", "--at", "2999-03-04")).out
    # What was replaced before its first day never held.
    await alone.run("memory", "add", "The port is 8443 from 1 May 2999 on")
    short = (await alone.run("memory", "list", "--limit", "1")).out[:8]
    await alone.run("memory", "edit", short, "The port is 9443")
    assert f"[replaced] [until {today}]" in (await alone.run("memory", "list")).out
    assert "8443" not in (await alone.run("memory", "list", "--at", "2999-06-01")).out
    wrong = await alone.run("memory", "list", "--at", "someday")
    assert (wrong.code, "--at 'someday' is not a date" in wrong.err) == (2, True)
