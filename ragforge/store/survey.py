"""Inspect the databases of a store before any is opened, without creating or changing anything.

A newer version's are refused before anything is written, older ones are backed up before they are migrated.
One that is missing or empty though it had content raises an alarm, and is never "no history".
"""

import logging
import stat
from collections.abc import Iterable
from pathlib import Path

import apsw

from ragforge.config.store_address import bare_url, parse_store_url
from ragforge.domain.errors import StoreError, StoreLost, UsageError
from ragforge.domain.words import counted, moment_words
from ragforge.store.backups import Reason, list_backups, recovery_words
from ragforge.store.files import (
    Role,
    StoreFile,
    contents_file,
    conversations_row,
    machine_file,
    outbox_file,
    outbox_files,
    servers_file,
    store_files,
    versions_file,
)
from ragforge.store.role_schemas import schema_of
from ragforge.store.sqlite.connection import not_a_file
from ragforge.store.sqlite.prepare import INSTEAD, INSTEAD_OF_FOLDER, look, reading, refuse_newer

log = logging.getLogger(__name__)


def prepare_opening(folder: Path, url: str) -> None:
    """Refuse databases of a newer version, and back up those about to be migrated.

    folder: the data folder. Raises StoreNewer; nothing was changed then.
    """
    if refuse_newer_files(folder, url):
        _back_up(folder, url)


def refuse_newer_files(folder: Path, url: str) -> list[StoreFile]:
    """Return the databases that are older than this program. Raises StoreNewer if one is newer."""
    older: list[StoreFile] = []
    for file in _files(folder, url):
        found, schema = look(file.path), schema_of(file.role)
        if found is None or found.application_id != schema.application_id:
            continue  # opening it says what is wrong
        instead = INSTEAD if file.role is Role.CONVERSATIONS else INSTEAD_OF_FOLDER
        refuse_newer(file.path, found.version, schema, instead=instead)
        if 0 < found.version < len(schema.steps):
            older.append(file)
    return older


def _files(folder: Path, url: str) -> Iterable[StoreFile]:
    """Return those opened with the store. The table of an outbox loads a driver that most never need."""
    is_server = parse_store_url(url) is not None
    for file in store_files(folder, url):
        if isinstance(file, StoreFile) and (is_server or file.role is not Role.OUTBOX):
            yield file


def _back_up(folder: Path, url: str) -> None:
    from ragforge.store.backup_copies import make_backup  # only the first start after an update makes one

    try:
        make_backup(folder, url, reason=Reason.MIGRATION)
    except StoreError as error:
        # A migration is one transaction; to refuse all work until there is space would help nobody.
        log.warning("No backup was made before the migration: %s", error)


def refuse_lost(folder: Path, url: str) -> None:
    """Raise StoreLost if the store's file is missing or empty, and its neighbours show that it was not."""
    row = conversations_row(url)
    if not isinstance(row, StoreFile) or _holds_something(row.path):
        return
    shown = _backup_shown(folder, url) or _neighbours_shown(folder, url)
    if not shown:
        return
    how = not_a_file(row.path) or ("is empty" if row.path.exists() else "is missing")
    raise StoreLost(
        f"The store {row.path} {how}, but it held conversations: {shown} Nothing was changed. If you moved "
        f"it, move it back, or {INSTEAD}. To start with an empty store instead, run: ragforge db recover "
        "--empty."
    )


def lost_words(folder: Path, url: str) -> list[str]:
    """Return sentences on this machine's own databases that are missing or empty though they had content.

    url: of the store in use. Call it before they are opened, which creates new ones. No conversation is
    stored only there.
    """
    machine, versions = machine_file(folder), versions_file(folder)
    words: list[str] = []
    for file, neighbour, query in (
        (machine, versions, "SELECT 1 FROM turn LIMIT 1"),
        (versions, machine, "SELECT 1 FROM recalled LIMIT 1"),
    ):
        backup = recovery_words(folder, file.path)
        if not _holds_something(file.path) and (backup or _values(neighbour.path, query)):
            words.append(
                f"{file.path} was lost, and a new one was made. It held {file.facts.holds}; conversations "
                f"and versions are still there.{backup}"
            )
    for file in own_outboxes(folder, url):
        if not _holds_something(file.path):
            words.append(
                f"{file.path} was lost, and a new one is made when its server is used. It held "
                f"{file.facts.holds}.{recovery_words(folder, file.path)}"
            )
    return words


def own_outboxes(folder: Path, url: str) -> list[StoreFile]:
    """Return what waits for the server at this address, which was made when it first answered; [] for a file.

    Empty too if it never answered, and for an address that cannot be read: opening it says so.
    """
    try:
        if parse_store_url(url) is None:
            return []
        from ragforge.store.neo4j.identity import KnownServers  # most have no server

        return [outbox_file(folder, each) for each in KnownServers(servers_file(folder)).ids_at(url)]
    except UsageError:
        return []


def _holds_something(path: Path) -> bool:
    try:
        about = path.stat()
    except FileNotFoundError:
        return False
    except (OSError, ValueError):  # the latter for an invalid path
        return True  # opening it says why it cannot be read
    return about.st_size > 0 or not stat.S_ISREG(about.st_mode)  # opening it reports the latter


def _backup_shown(folder: Path, url: str) -> str:
    for made in list_backups(folder, store=url):
        held = ", ".join(counted(number, noun.removesuffix("s")) for noun, number in made.counts.items())
        when = moment_words(made.made_at)
        return f"a backup of {when} has {held}. To restore it, close every ragforge and run: {made.command}."
    return ""


def _neighbours_shown(folder: Path, url: str) -> str:
    stores = _values(contents_file(folder).path, "SELECT url FROM used_by")
    if bare_url(url) in stores:
        return f"{contents_file(folder).path} has contents of its files and results, and there is no backup."
    # Nothing says of which store these are: of the default one, as long as no other was ever used.
    row = conversations_row(url)
    is_default = isinstance(row, StoreFile) and row.path.parent == folder
    if not is_default or stores or outbox_files(folder):
        return ""
    for path, query in (
        (versions_file(folder).path, "SELECT 1 FROM turn LIMIT 1"),
        (versions_file(folder).path, "SELECT 1 FROM head WHERE version != '' LIMIT 1"),
        (machine_file(folder).path, "SELECT 1 FROM recalled LIMIT 1"),
    ):
        if _values(path, query):
            return f"{path} refers to turns in it, and there is no backup."
    return ""


def _values(path: Path, query: str) -> list[object]:
    """Return the first column; empty if the database is missing, unreadable or of another schema."""
    if not path.is_file():
        return []
    try:
        with reading(path) as connection:
            return [row[0] for row in connection.execute(query)]
    except apsw.Error:
        return []
