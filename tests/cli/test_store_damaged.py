"""Damage to each file of the store: it is said in words, and what is left of the file is left alone."""

import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ragforge.domain.errors import StoreDamaged
from ragforge.store.file_check import file_faults, repair_indexes
from ragforge.store.file_text import repair_text
from ragforge.store.files import Role, StoreFile, store_files
from ragforge.store.role_schemas import schema_of
from ragforge.store.sqlite.connection import raw_connection
from ragforge.store.sqlite.prepare import prepare
from tests.cli.running import Program
from tests.damage import DAMAGE, NOT_FILES
from tests.standins.openai import OpenAIStandIn

ROLES = (Role.CONVERSATIONS, Role.VERSIONS, Role.MACHINE)
WORDS = {
    "empty": "is empty",
    "truncated": "damaged",
    "garbage": "not a database",
    "a folder": "is a folder",
    "a page": "1 problem",
}


def a_page(file: StoreFile) -> None:
    """The first page of the newest table or index is overwritten."""
    with closing(raw_connection(file.path)) as db:
        ((root, page_bytes),) = db.execute(
            "SELECT max(rootpage), page_size FROM sqlite_master, pragma_page_size"
        )
    with file.path.open("r+b") as opened:
        opened.seek((root - 1) * page_bytes)
        opened.write(b"\x55" * page_bytes)


KINDS: dict[str, Callable[[StoreFile], None]] = {**DAMAGE, "a page": a_page}


DAMAGES = [
    pytest.param(
        role, kind, marks=() if role is Role.CONVERSATIONS or kind == "garbage" else pytest.mark.long
    )
    for role in ROLES
    for kind in KINDS
]


def part(data: Path, role: Role) -> StoreFile:
    rows = store_files(data, f"sqlite://{data / 'ragforge.db'}")
    [found] = [row for row in rows if row.role is role]
    assert isinstance(found, StoreFile)
    return found


def content(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


@pytest.mark.parametrize("role", [Role.CONTENTS, *ROLES])
async def test_a_missing_table_is_found_and_named(quick: Program, openai: OpenAIStandIn, role: Role):
    (quick.project / "kept.txt").write_text("kept")
    await quick.run("-p", "the parser fails")
    assert (await quick.run("db", "check")).code == 0
    file = part(quick.data, role)
    gone = {Role.CONTENTS: "blob", Role.CONVERSATIONS: "memory", Role.VERSIONS: "turn", Role.MACHINE: "rule"}[
        role
    ]
    with closing(raw_connection(file.path)) as db:
        db.execute(f"DROP TABLE {gone}")
    checked = await quick.run("db", "check")
    assert (checked.code, checked.err.count("Stopped unexpectedly")) == (1, 0), checked
    assert str(file.path) in checked.out
    assert gone in checked.out
    repaired = await quick.run("db", "check", "--repair")
    assert "Stopped unexpectedly" not in repaired.err
    if role is Role.CONTENTS:
        assert (await quick.run("db", "check")).code == 0
        assert (await quick.run("-p", "and now?")).code == 0


@pytest.mark.parametrize(("role", "kind"), DAMAGES)
async def test_damage_is_said_in_words_and_nothing_is_destroyed(
    quick: Program, openai: OpenAIStandIn, role: Role, kind: str
):
    await quick.run("-p", "the parser fails")
    file = part(quick.data, role)
    KINDS[kind](file)
    before = content(file.path)

    checked = await quick.run("db", "check")
    if kind in WORDS:
        assert checked.code == 1, checked
        assert WORDS[kind] in checked.out
        assert str(file.path) in checked.out
    if kind in {"empty", "a folder", "garbage"}:  # what to do about it is no second problem
        assert "1 problem found" in checked.err
        assert "so it is not replaced by an empty one" in checked.out
    assert content(file.path) == before
    if kind != "a page":  # which is an index that a repair rebuilds, or one that it cannot
        await quick.run("db", "check", "--repair")
        assert content(file.path) == before

    ran = await quick.run("-p", "and now?")
    assert ran.code in {0, 4}
    if kind in {"garbage", "a folder", "truncated"}:
        assert ran.code == 4
        assert str(file.path) in ran.err
        assert content(file.path) == before


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("kind", WORDS)
def test_every_role_is_checked(tmp_path: Path, role: Role, kind: str):
    file = StoreFile(role, tmp_path / "part.db")
    assert file_faults(file) == [], "there is none"
    assert not file.path.exists()
    prepare(file.path, schema_of(role), lock_dir=tmp_path)
    assert file_faults(file) == []
    KINDS[kind](file)
    assert file_faults(file)


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("kind", NOT_FILES)
def test_what_is_no_file_is_told_of_every_role(tmp_path: Path, role: Role, kind: str):
    file = StoreFile(role, tmp_path / "part.db")
    make, words = NOT_FILES[kind]
    make(file)
    assert file_faults(file) == [f"It {words}."]
    with pytest.raises(StoreDamaged) as refused:
        prepare(file.path, schema_of(role), lock_dir=tmp_path)
    assert f"{file.path} {words}. Move it away" in str(refused.value)


@pytest.mark.parametrize("role", [Role.MACHINE, Role.VERSIONS])
async def test_a_check_does_not_expect_what_a_broken_link_leads_to(quick: Program, role: Role):
    await quick.run("-p", "hello")
    file = part(quick.data, role)
    DAMAGE["missing"](file)
    assert "It does not exist yet." in (await quick.run("db", "check")).out
    make, words = NOT_FILES["a link to nothing"]
    make(file)
    checked = await quick.run("db", "check")
    assert checked.code == 1
    assert f"It {words}." in checked.out
    assert "`ragforge db backups` lists what can be restored." in checked.out
    assert "It does not exist yet." not in checked.out


def test_of_a_link_to_an_empty_file_it_is_said_where_that_is(tmp_path: Path):
    (tmp_path / "other").touch()
    (tmp_path / "part.db").symlink_to("other")
    (fault,) = file_faults(StoreFile(Role.CONVERSATIONS, tmp_path / "part.db"))
    assert fault == f"It is empty (0 bytes). It is a link to {tmp_path.resolve() / 'other'}."


def test_a_link_to_a_database_on_another_disk_is_followed_and_made_there(tmp_path: Path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "part.db").symlink_to("disk/part.db")
    prepare(tmp_path / "part.db", schema_of(Role.CONVERSATIONS), lock_dir=tmp_path)
    assert (tmp_path / "part.db").is_symlink()
    assert file_faults(StoreFile(Role.CONVERSATIONS, tmp_path / "disk" / "part.db")) == []


def test_a_database_of_another_role_is_told(tmp_path: Path):
    path = tmp_path / "part.db"
    prepare(path, schema_of(Role.MACHINE), lock_dir=tmp_path)
    assert file_faults(StoreFile(Role.OUTBOX, path)) == ["It is a different kind of database."]


def unsearchable(file: StoreFile) -> None:
    connection = raw_connection(file.path)
    connection.execute("UPDATE words_data SET block = zeroblob(length(block)) WHERE id > 10")
    connection.close()


def an_index_is_zeros(file: StoreFile) -> None:
    """The whole page of an index: not even emptying it is possible."""
    connection = raw_connection(file.path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    ((page,),) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'turn_parent'")
    connection.close()
    with file.path.open("r+b") as opened:
        opened.seek((page - 1) * 4096)
        opened.write(bytes(4096))


INDEX_DAMAGE = {"words": unsearchable, "zeros": an_index_is_zeros}


@pytest.mark.parametrize("kind", INDEX_DAMAGE)
async def test_a_damaged_index_names_the_repair_that_heals_it(
    quick: Program, openai: OpenAIStandIn, kind: str
):
    await quick.run("-p", "the parser fails")
    INDEX_DAMAGE[kind](part(quick.data, Role.CONVERSATIONS))
    ran = await quick.run(*(["search", "parser"] if kind == "words" else ["-c", "-p", "and now?"]))
    assert ran.code == 4, ran
    assert "ragforge db check --repair" in ran.err
    assert (await quick.run("db", "check")).code == 1
    repaired = await quick.run("db", "check", "--repair")
    assert (repaired.code, repaired.err) == (0, ""), repaired
    assert "parser" in (await quick.run("search", "parser")).out
    assert (await quick.run("-c", "-p", "and now?")).code == 0


async def test_a_text_with_a_flipped_bit_is_told_and_made_readable(quick: Program, openai: OpenAIStandIn):
    await quick.run("-p", "the parser fails")
    connection = raw_connection(part(quick.data, Role.CONVERSATIONS).path)
    connection.execute("UPDATE session SET title = CAST(x'74ff65' AS TEXT)")
    connection.close()
    ran = await quick.run("sessions")
    assert ran.code == 4, ran
    assert "ragforge db check --repair" in ran.err
    checked = await quick.run("db", "check")
    assert (checked.code, "session.title cannot be read as text" in checked.out) == (1, True)
    assert (await quick.run("db", "check", "--repair")).code == 0
    assert "t\ufffde" in (await quick.run("sessions")).out


@pytest.mark.parametrize("role", Role)
def test_no_flipped_bit_stops_the_check_or_the_repair(tmp_path: Path, role: Role):
    file, chance = StoreFile(role, tmp_path / "part.db"), random.Random(1)
    prepare(file.path, schema_of(role), lock_dir=tmp_path)
    sound = file.path.read_bytes()
    places = [place for place, byte in enumerate(sound) if byte]
    for _ in range(40):
        place = chance.choice(places)
        damaged = bytearray(sound)
        damaged[place] ^= 1 << chance.randrange(8)
        for tail in ("-wal", "-shm"):
            file.path.with_name(file.path.name + tail).unlink(missing_ok=True)
        file.path.write_bytes(damaged)
        file_faults(file)
        repair_indexes(file)
        repair_text(file)
        for sentence in file_faults(file):
            assert sentence.endswith(".")
