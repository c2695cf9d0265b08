"""Backup sets: whole or not at all, each database referring only to what the others have."""

import asyncio
import json
import os
import re
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from threading import Event

import apsw
import pytest

from ragforge.domain.errors import StoreDamaged, StoreError, StoreMoved, StoreUnavailable, UsageError
from ragforge.domain.ids import now
from ragforge.store.backup_copies import BackupStopped, make_backup
from ragforge.store.backup_recovery import begin_empty, recover_backup
from ragforge.store.backups import (
    FACTS,
    KEPT,
    BackupSet,
    Reason,
    backup_of,
    backups_folder,
    get_backup,
    is_due,
    list_backups,
    path_of,
)
from ragforge.store.base import Store
from ragforge.store.blob_repair import rebuild
from ragforge.store.file_check import file_faults
from ragforge.store.files import (
    Role,
    StoreFile,
    contents_file,
    conversations_row,
    machine_file,
    versions_file,
)
from ragforge.store.local.state import open_local_state
from ragforge.store.open import open_store
from ragforge.store.sqlite.prepare import look
from ragforge.versions.state import Head, HistoryState, open_history_state
from tests.contract.builders import new_session, said
from tests.contract.builders_versions import a_version
from tests.damage import NOT_FILES
from tests.disks import small_disk


def address(folder: Path) -> str:
    return f"sqlite://{folder}/ragforge.db"


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """A data folder in which one session was stored."""
    folder = tmp_path / "data"
    await fill(folder)
    return folder


async def fill(folder: Path) -> None:
    store = await open_store(address(folder), machine_dir=folder)
    session = await new_session(store)
    await said(store, session)
    await store.close()
    local = await open_local_state(folder)
    await local.prompts.add("Fix it.", project_id=session.project_id)
    await local.close()
    await (await open_history_state(folder)).close()


def made(folder: Path, reason: Reason = Reason.ASKED) -> BackupSet:
    found = make_backup(folder, address(folder), reason=reason)
    assert found
    return found


def copy_of(folder: Path, backup: BackupSet, role: Role) -> Path:
    (name,) = (file.name for file in backup.files if file.role is role)
    return backups_folder(folder) / backup.name / name


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    connection = apsw.Connection(
        f"file:{path}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )
    try:
        return list(connection.execute(query))
    finally:
        connection.close()


def left_over(folder: Path) -> set[str]:
    """What is in the folder of backups and is no set."""
    listed = {each.name for each in list_backups(folder)}
    return {path.name for path in backups_folder(folder).glob("*")} - listed


async def test_a_set_holds_conversations_versions_and_this_machines_state(folder: Path) -> None:
    found = made(folder)
    assert {file.role for file in found.files} == {Role.CONVERSATIONS, Role.VERSIONS, Role.MACHINE}
    assert found.counts == {"sessions": 1, "turns": 1, "versions": 0}
    assert rows(copy_of(folder, found, Role.CONVERSATIONS), "SELECT count(*) FROM turn") == [(1,)]
    assert rows(copy_of(folder, found, Role.MACHINE), "SELECT text FROM prompt") == [("Fix it.",)]
    assert [each.name for each in list_backups(folder)] == [found.name]
    assert get_backup(folder, found.name) == found
    for path in (backups_folder(folder), *backups_folder(folder).rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


async def test_an_empty_store_is_not_backed_up(tmp_path: Path) -> None:
    assert make_backup(tmp_path, address(tmp_path), reason=Reason.ASKED) is None
    store = await open_store(address(tmp_path), machine_dir=tmp_path)
    await store.close()
    assert make_backup(tmp_path, address(tmp_path), reason=Reason.ASKED) is None
    assert not [*backups_folder(tmp_path).glob("*")]


async def test_a_daily_set_is_due_after_a_day(folder: Path) -> None:
    assert is_due(folder, address(folder), now())
    assert make_backup(folder, address(folder), reason=Reason.DAILY)
    assert make_backup(folder, address(folder), reason=Reason.DAILY) is None
    assert not is_due(folder, address(folder), now() + timedelta(hours=23))
    assert is_due(folder, address(folder), now() + timedelta(hours=25))
    assert is_due(folder, "sqlite:///elsewhere/other.db", now())
    # Made under a clock that was wrong.
    assert is_due(folder, address(folder), now() - timedelta(days=400))


async def test_three_are_kept_and_those_before_migrations_by_themselves(folder: Path) -> None:
    migration = made(folder, Reason.MIGRATION)
    names = [made(folder).name for _ in range(KEPT + 2)]
    assert [each.name for each in list_backups(folder)] == [*reversed(names[-KEPT:]), migration.name]
    assert not left_over(folder)


async def test_sets_from_the_future_make_way_for_those_of_today(folder: Path) -> None:
    for _ in range(KEPT):
        facts = backups_folder(folder) / made(folder).name / FACTS
        said = json.loads(facts.read_bytes())
        said["made_at"] = (now() + timedelta(days=900)).isoformat()
        facts.write_text(json.dumps(said))
    todays = make_backup(folder, address(folder), reason=Reason.DAILY)
    assert list_backups(folder)[0] == todays
    assert backup_of(folder, versions_file(folder).path) == todays
    assert len(list_backups(folder)) == KEPT
    assert not is_due(folder, address(folder), now())


async def test_what_was_never_finished_is_no_set_and_goes_with_the_next(folder: Path) -> None:
    half = backups_folder(folder) / "20200101T000000Z.partial"
    half.mkdir(parents=True)
    (half / "ragforge.db").write_bytes(b"half")
    removed = backups_folder(folder) / "20200102T000000Z"
    removed.mkdir()
    (removed / "local.db").write_bytes(b"the rest of one")
    assert list_backups(folder) == []
    made(folder)
    assert not left_over(folder)


async def test_a_stopped_backup_leaves_nothing(folder: Path) -> None:
    older, stop = made(folder), Event()
    stop.set()
    with pytest.raises(BackupStopped):
        make_backup(folder, address(folder), reason=Reason.ASKED, stop=stop)
    assert list_backups(folder) == [older]
    assert not left_over(folder)


async def test_a_damaged_database_displaces_no_older_set(folder: Path) -> None:
    older = [made(folder) for _ in range(KEPT)]
    path = versions_file(folder).path
    data = bytearray(path.read_bytes())
    data[4096 * 2 : 4096 * 4] = os.urandom(4096 * 2)
    path.write_bytes(data)
    with pytest.raises(StoreDamaged, match=str(path)):
        make_backup(folder, address(folder), reason=Reason.ASKED)
    assert list_backups(folder) == [*reversed(older)]
    assert not left_over(folder)


async def test_a_full_disk_fails_in_words_and_leaves_the_older_sets(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size="4m"):
        folder = tmp_path / "disk" / "data"
        await fill(folder)
        older = made(folder)
        ballast, room = folder / "ballast", os.statvfs(folder)
        ballast.write_bytes(b"x" * (room.f_bavail * room.f_frsize - older.bytes // 2))
        with pytest.raises(StoreUnavailable, match=r"disk is full|No space left"):
            made(folder)
        assert list_backups(folder) == [older]
        assert not left_over(folder)
        await fill(folder)  # work goes on


async def test_a_backup_does_not_take_the_last_room_of_the_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size="4m"):
        folder = tmp_path / "disk" / "data"
        await fill(folder)
        older, room = made(folder), os.statvfs(folder)
        (folder / "ballast").write_bytes(b"x" * (room.f_bavail * room.f_frsize - older.bytes * 3 // 2))
        with pytest.raises(StoreUnavailable, match="disk is full"):
            made(folder)
        assert list_backups(folder) == [older]
        (folder / "ballast").unlink()
        assert made(folder)


@pytest.fixture
async def writing(folder: Path) -> AsyncIterator[tuple[Store, HistoryState]]:
    """The store and the state of the folders, while somebody moves a head on and on."""
    store = await open_store(address(folder), machine_dir=folder)
    state = await open_history_state(folder)
    session = await new_session(store)

    async def write() -> None:
        version = a_version(session)
        while True:
            await store.versions.add(version)
            await state.set_head(Path("/project"), Head(version.id))
            version = a_version(session, version)

    task = asyncio.create_task(write())
    yield store, state
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await store.close()
    await state.close()


async def test_no_set_refers_to_a_version_that_it_lacks(
    folder: Path, writing: tuple[Store, HistoryState]
) -> None:
    heads = set[object]()
    async with asyncio.timeout(60):
        while len(heads) < 8:
            found = await asyncio.to_thread(made, folder)
            conversations = copy_of(folder, found, Role.CONVERSATIONS)
            stored = {identifier for (identifier,) in rows(conversations, "SELECT id FROM version")}
            moved = {
                head for (head,) in rows(copy_of(folder, found, Role.VERSIONS), "SELECT version FROM head")
            }
            assert moved <= stored
            heads |= moved


async def test_only_one_process_makes_or_brings_back_a_set(folder: Path) -> None:
    older = made(folder)
    ran = await asyncio.gather(
        *(asyncio.to_thread(make_backup, folder, address(folder), reason=Reason.DAILY) for _ in range(4))
    )
    assert ran == [None] * 4
    assert list_backups(folder) == [older]


async def test_a_set_that_is_brought_back_takes_the_place_of_what_is_there(folder: Path) -> None:
    older = made(folder)
    await fill(folder)
    later = made(folder)
    brought = recover_backup(folder, older.name)
    assert set(brought.files) == {path_of(folder, file) for file in older.files}
    store = await open_store(address(folder), machine_dir=folder)
    assert len(await store.sessions.recent()) == 1
    assert await store.check() == []
    await store.close()
    # What was there is set aside and can be brought back as well.
    (aside,) = {path.parent for path in brought.aside}
    assert {path.name for path in aside.iterdir()} >= {path.name for path in brought.files}
    recover_backup(folder, later.name)
    assert len(rows(conversations_path(folder), "SELECT id FROM session")) == 2


def conversations_path(folder: Path) -> Path:
    row = conversations_row(address(folder))
    path = getattr(row, "path", None)
    assert isinstance(path, Path)
    return path


async def test_one_part_alone_can_be_brought_back(folder: Path) -> None:
    older = made(folder)
    await fill(folder)
    machine_file(folder).path.unlink()
    brought = recover_backup(folder, older.name, only=[Role.MACHINE])
    assert brought.files == (machine_file(folder).path,)
    assert brought.aside == ()
    assert len(rows(conversations_path(folder), "SELECT id FROM session")) == 2


async def test_a_log_of_the_database_before_never_meets_the_one_brought_back(folder: Path) -> None:
    older = made(folder)
    path = conversations_path(folder)
    for end in ("-wal", "-shm"):
        path.with_name(path.name + end).write_bytes(b"of another database")
    path.unlink()
    recover_backup(folder, older.name)
    assert not [each for each in path.parent.iterdir() if each.name.endswith(("-wal", "-shm"))]
    assert len(rows(path, "SELECT id FROM session")) == 1


@asynccontextmanager
async def held_open(path: Path) -> AsyncIterator[None]:
    """Another process has the database open."""
    holder = await asyncio.create_subprocess_exec(
        "python3",
        "-c",
        "import sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1])\n"
        "connection.execute('SELECT count(*) FROM sqlite_schema').fetchall()\n"
        "print('open', flush=True)\n"
        "sys.stdin.read()\n",
        str(path),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert holder.stdout
    assert await holder.stdout.readline() == b"open\n"
    yield
    await holder.communicate(b"")


async def test_nothing_is_brought_back_under_a_process_that_has_it_open(folder: Path) -> None:
    older = made(folder)
    before = {path: path.read_bytes() for path in folder.glob("*.db")}
    async with held_open(machine_file(folder).path):
        with pytest.raises(StoreUnavailable, match=r"Another process has .*local\.db open"):
            recover_backup(folder, older.name)
    assert {path: path.read_bytes() for path in folder.glob("*.db")} == before
    recover_backup(folder, older.name)


@pytest.mark.parametrize("replaced", ["", "by a file", "by a broken link"])
async def test_nothing_is_brought_back_under_a_process_whose_file_was_removed(
    folder: Path, replaced: str
) -> None:
    older, path = made(folder), conversations_path(folder)
    content = path.read_bytes()
    async with held_open(path):
        path.unlink()
        if replaced == "by a file":
            path.write_bytes(content)
        elif replaced:
            path.symlink_to("/nowhere/ragforge.db")
        with pytest.raises(StoreUnavailable, match=r"Another process has .*ragforge\.db open"):
            recover_backup(folder, older.name)
        if replaced != "by a file":
            with pytest.raises(StoreUnavailable, match=r"Another process has .*ragforge\.db open"):
                begin_empty(folder, address(folder))
        assert os.path.lexists(path) == bool(replaced)
    recover_backup(folder, older.name)
    assert len(rows(path, "SELECT id FROM session")) == 1


async def test_no_new_database_is_made_under_a_process_whose_file_was_removed(folder: Path) -> None:
    path = machine_file(folder).path
    async with held_open(path):
        path.unlink()
        with pytest.raises(StoreMoved, match=r"local\.db .* Otherwise close every ragforge"):
            await open_local_state(folder)
        assert not path.exists()
    local = await open_local_state(folder)
    await local.prompts.add("Again.", project_id="p")
    assert await local.prompts.history() == ["Again."]
    await local.close()


async def test_an_altered_copy_is_refused_and_nothing_changes(folder: Path) -> None:
    older = made(folder)
    copy = copy_of(folder, older, Role.MACHINE)
    data = bytearray(copy.read_bytes())
    data[-1] ^= 1
    copy.write_bytes(data)
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    with pytest.raises(StoreDamaged, match="was altered"):
        recover_backup(folder, older.name)
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


async def test_a_set_of_a_newer_version_is_refused(folder: Path) -> None:
    older = made(folder)
    facts = backups_folder(folder) / older.name / "backup.json"
    content = json.loads(facts.read_bytes())
    content["files"][0]["schema"] = 4711
    facts.write_text(json.dumps(content))
    with pytest.raises(StoreError, match="newer ragforge"):
        recover_backup(folder, older.name)


async def test_an_unknown_name_lists_those_that_there_are(folder: Path) -> None:
    with pytest.raises(UsageError, match="none yet"):
        recover_backup(folder, "nothing")
    older = made(folder)
    with pytest.raises(UsageError, match=older.name):
        recover_backup(folder, "../nothing")


@pytest.mark.parametrize("kind", ["a link to nothing", "a link to itself"])
def test_contents_are_not_made_anew_where_they_are_on_a_disk_that_is_not_connected(
    folder: Path, kind: str
) -> None:
    file = contents_file(folder)
    make, words = NOT_FILES[kind]
    make(file)
    with pytest.raises(StoreError, match=re.escape(f"{file.path} {words}. Put the file back, or remove")):
        rebuild(file)
    assert file.path.is_symlink()


@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
async def test_what_is_no_database_is_named_and_set_aside_for_the_one_brought_back(
    folder: Path, kind: str
) -> None:
    older = made(folder)
    row = conversations_row(address(folder))
    assert isinstance(row, StoreFile)
    row.path.unlink()
    match kind:
        case "folder":
            row.path.mkdir()
        case "link":
            row.path.symlink_to("/nowhere/ragforge.db")
        case _:
            os.mkfifo(row.path)
    (fault,) = file_faults(row)
    assert {"folder": "a folder", "link": "a link", "pipe": "a named pipe"}[kind] in fault
    assert await asyncio.wait_for(asyncio.to_thread(look, row.path), 5) is None
    (aside,) = (path for path in recover_backup(folder, older.name).aside if path.name == row.path.name)
    assert os.path.lexists(aside)
    assert not row.path.is_symlink()
    assert len(rows(row.path, "SELECT id FROM session")) == 1
