"""A store that is missing, empty or of a newer version says so and what to do; nothing runs or changes."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ragforge.domain.errors import StoreNewer
from ragforge.store.backups import Reason, list_backups
from ragforge.store.files import (
    Role,
    StoreFile,
    contents_file,
    conversations_row,
    machine_file,
    versions_file,
)
from ragforge.store.open import open_store
from ragforge.store.role_schemas import schema_of
from ragforge.store.sqlite.connection import raw_connection
from ragforge.store.sqlite.prepare import Schema, prepare
from tests.cli.running import Program
from tests.damage import NOT_FILES
from tests.standins.openai import OpenAIStandIn

UNWRITABLE = Path("/sys/kernel/uevent_seqnum")
"""A file that not even root may write."""
OPENERS = (("-p", "hello"), ("sessions",), ("search", "parser"), ("db", "status"), ("db", "check"))


def file_of(folder: Path, role: Role) -> Path:
    match role:
        case Role.CONVERSATIONS:
            row = conversations_row(f"sqlite://{folder}/ragforge.db")
            assert isinstance(row, StoreFile)
            return row.path
        case Role.CONTENTS:
            return contents_file(folder).path
        case Role.VERSIONS:
            return versions_file(folder).path
        case _:
            return machine_file(folder).path


def lose(path: Path) -> None:
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def databases(folder: Path) -> dict[str, bytes]:
    """Every database of the folder with what its log holds; the shared memory follows from these."""
    found = {path.name: path.read_bytes() for path in folder.glob("*.db*") if not path.name.endswith("-shm")}
    return {name: content for name, content in found.items() if content or not name.endswith("-wal")}


async def used(program: Program) -> None:
    (program.project / "notes.txt").write_text("one\n")
    ran = await program.run("-p", "the parser fails")
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize("damage", [lose, empty])
async def test_lost_conversations_are_an_alarm(
    quick: Program, openai: OpenAIStandIn, damage: Callable[[Path], None]
):
    await used(quick)
    assert (await quick.run("db", "backups", "--now")).code == 0
    (made,) = list_backups(quick.data)
    damage(file_of(quick.data, Role.CONVERSATIONS))
    asked, before = len(openai.requests), databases(quick.data)
    checked = await quick.run("db", "check")  # which tells of damage by itself
    assert checked.code != 0
    assert f"ragforge db recover {made.name}" in checked.out + checked.err
    for args in OPENERS[:-1]:
        ran = await quick.run(*args)
        assert (args, ran.code, ran.out) == (args, 4, "")
        assert "it held conversations" in ran.err
        assert f"ragforge db recover {made.name}" in ran.err
        assert "ragforge db recover --empty" in ran.err
    told = (await quick.run("-p", "hello", "--output-format", "json")).json
    assert (told["status"], told["session"]) == ("failed", None)
    assert len(openai.requests) == asked
    assert databases(quick.data) == before
    assert (await quick.run("db", "recover", made.name)).code == 0
    assert len((await quick.run("sessions", "--json")).json) == 1


async def test_a_folder_in_place_of_the_store_is_named_and_the_backup_comes_back(quick: Program):
    await used(quick)
    assert (await quick.run("db", "backups", "--now")).code == 0
    (made,) = list_backups(quick.data)
    store = file_of(quick.data, Role.CONVERSATIONS)
    lose(store)
    store.mkdir()
    (store / "notes.txt").write_text("mine")
    ran = await quick.run("sessions")
    assert (ran.code, ran.out) == (4, "")
    assert "is a folder and should be a database. Move it away" in ran.err
    assert f"ragforge db recover {made.name}" in ran.err
    recovered = await quick.run("db", "recover", made.name)
    assert recovered.code == 0, recovered.err
    assert len((await quick.run("sessions", "--json")).json) == 1
    (aside,) = quick.data.glob("set-aside-*/ragforge.db/notes.txt")
    assert aside.read_text() == "mine"


@pytest.mark.parametrize("kind", NOT_FILES)
async def test_what_is_in_the_place_of_the_store_is_named_and_the_backup_comes_back(
    quick: Program, kind: str
):
    await used(quick)
    assert (await quick.run("db", "backups", "--now")).code == 0
    (made,) = list_backups(quick.data)
    store = file_of(quick.data, Role.CONVERSATIONS)
    make, words = NOT_FILES[kind]
    make(StoreFile(Role.CONVERSATIONS, store))
    for args in OPENERS[:2]:
        ran = await quick.run(*args)
        assert (ran.code, ran.out) == (4, "")
        assert f"{store} {words}" in ran.err
        assert f"ragforge db recover {made.name}" in ran.err
    looked = await quick.run("doctor")
    assert words in " ".join(looked.out.split())
    recovered = await quick.run("db", "recover", made.name)
    assert recovered.code == 0, recovered.err
    assert len((await quick.run("sessions", "--json")).json) == 1
    (aside,) = quick.data.glob("set-aside-*")
    assert os.path.lexists(aside / store.name)


@pytest.mark.parametrize("kind", NOT_FILES)
@pytest.mark.parametrize("role", [Role.MACHINE, Role.VERSIONS])
async def test_what_is_in_the_place_of_another_database_is_named(quick: Program, role: Role, kind: str):
    await used(quick)
    lost = file_of(quick.data, role)
    make, words = NOT_FILES[kind]
    make(StoreFile(role, lost))
    ran = await quick.run("-p", "hello")
    assert ran.code == 4
    assert f"{lost} cannot be used" in ran.err
    assert f"it {words}" in ran.err


@pytest.mark.skipif(not UNWRITABLE.exists(), reason="no file that nobody may write")
@pytest.mark.parametrize("role", [Role.MACHINE, Role.VERSIONS])
async def test_what_to_make_usable_is_the_file_too(quick: Program, role: Role):
    await used(quick)
    lost = file_of(quick.data, role)
    lose(lost)
    lost.symlink_to(UNWRITABLE)  # as little use as a file of somebody else's
    ran = await quick.run("-p", "hello")
    assert ran.code == 4
    assert f"Cannot use {lost}" in ran.err
    assert "Make the file and its folder readable and writable" in ran.err


async def test_without_a_backup_the_neighbours_raise_it(quick: Program, openai: OpenAIStandIn):
    await used(quick)
    lose(file_of(quick.data, Role.CONVERSATIONS))
    ran = await quick.run("sessions")
    assert (ran.code, ran.out) == (4, "")
    assert "there is no backup" in ran.err
    lose(file_of(quick.data, Role.CONTENTS))
    ran = await quick.run("sessions")
    assert (ran.code, ran.out) == (4, "")
    assert "refers to turns in it" in ran.err
    # Going on without it is said, not guessed.
    began = await quick.run("db", "recover", "--empty")
    assert (began.code, began.err) == (0, "")
    assert (await quick.run("sessions", "--json")).json == []
    assert (await quick.run("-p", "hello")).code == 0
    again = await quick.run("db", "recover", "--empty")
    assert (again.code, again.out) == (2, "")
    assert "so nothing was changed" in again.err


async def test_a_store_that_was_never_used_is_no_alarm(quick: Program, openai: OpenAIStandIn, tmp_path: Path):
    await used(quick)
    other = {"RAGFORGE_STORE": f"sqlite://{tmp_path}/other.db"}
    assert (await quick.run("-p", "hello", env=other)).code == 0
    # A store that exists, whatever it holds, was meant.
    assert (await quick.run("-p", "hello", env=other)).code == 0


async def test_a_backup_file_is_restored_into_a_store_that_is_lost(quick: Program, openai: OpenAIStandIn):
    await used(quick)
    assert (await quick.run("db", "backup", "all.gz")).code == 0
    lose(file_of(quick.data, Role.CONVERSATIONS))
    assert (await quick.run("db", "restore", "all.gz")).code == 0
    assert len((await quick.run("sessions", "--json")).json) == 1


@pytest.mark.parametrize("logged", [False, True], ids=["alone", "in its log"])
@pytest.mark.parametrize("role", [Role.CONVERSATIONS, Role.CONTENTS, Role.VERSIONS, Role.MACHINE])
async def test_an_older_program_changes_nothing_of_a_newer_store(
    quick: Program, openai: OpenAIStandIn, role: Role, logged: bool
):
    await used(quick)
    path = file_of(quick.data, role)
    known = len(schema_of(role).steps)
    connection = raw_connection(path)
    connection.pragma("user_version", known + 1)
    if not logged:
        connection.close()
    before, listed = databases(quick.data), sorted(path.name for path in quick.data.iterdir())
    ran = await asyncio.gather(*(quick.run(*args) for args in OPENERS))
    for args, found in zip(OPENERS, ran, strict=True):
        assert (args, found.code, found.out) == (args, 4, "")
        assert str(path) in found.err
        assert f"newer ragforge (schema {known + 1}; this one knows up to {known})" in found.err
        assert "Nothing was changed" in found.err
    assert databases(quick.data) == before
    assert sorted(path.name for path in quick.data.iterdir()) == listed
    connection.close()


@pytest.mark.parametrize("role", Role)
async def test_no_database_of_a_newer_version_is_touched_by_opening_it(tmp_path: Path, role: Role):
    path, schema = tmp_path / "a.db", schema_of(role)
    prepare(path, schema, lock_dir=tmp_path / "locks")
    connection = raw_connection(path)
    connection.pragma("user_version", 4711)
    before = databases(tmp_path)
    with pytest.raises(StoreNewer, match="schema 4711; this one knows up to"):
        prepare(path, schema, lock_dir=tmp_path / "locks")
    assert databases(tmp_path) == before
    connection.close()


async def test_a_migration_is_preceded_by_a_backup(tmp_path: Path):
    path, whole = file_of(tmp_path, Role.CONVERSATIONS), schema_of(Role.CONVERSATIONS)
    prepare(path, Schema(whole.application_id, whole.steps[:-1]), lock_dir=tmp_path / "locks")
    connection = raw_connection(path)
    connection.execute("INSERT INTO project VALUES (1, 'p', 'parser', 0, '', '', '', NULL)")
    connection.execute(
        "INSERT INTO session (id, project, cwd, started_at, last_activity_at, title, model, mode, user, "
        "host) VALUES ('s', 1, '/', 0, 0, '', '', 'ask', '', '')"
    )
    connection.close()
    for _ in range(2):  # the second time nothing is migrated
        store = await open_store(f"sqlite://{path}", machine_dir=tmp_path)
        await store.close()
        (made,) = list_backups(tmp_path)
        assert made.reason is Reason.MIGRATION
        assert [(file.role, file.schema) for file in made.files] == [
            (Role.CONVERSATIONS, len(whole.steps) - 1)
        ]


@pytest.mark.parametrize("role", [Role.CONVERSATIONS, Role.VERSIONS, Role.MACHINE])
async def test_damage_names_the_backup_and_its_command(quick: Program, openai: OpenAIStandIn, role: Role):
    await used(quick)
    assert (await quick.run("db", "backups", "--now", "--json")).code == 0
    (made,) = list_backups(quick.data)
    path = file_of(quick.data, role)
    for each in path.parent.glob(f"{path.name}-*"):
        each.unlink()
    path.write_bytes(b"garbage" * 1000)
    ran = await quick.run("-p", "hello", "--output-format", "json")
    assert ran.code == 4
    assert f"ragforge db recover {made.name}" in json.loads(ran.out)["error"]
    only = () if role is Role.CONVERSATIONS else ("--only", role)
    assert (await quick.run("db", "recover", made.name, *only)).code == 0
    assert (await quick.run("-p", "hello")).code == 0
