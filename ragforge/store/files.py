"""The files of a store on this machine by role: the content, check, repair and backup of each.

Code and tests ask for a role, never for a file name. Nothing here opens or creates a file.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from ragforge.config.store_address import parse_store_url

CHECK = "ragforge db check"
REPAIR = "ragforge db check --repair"
BACKUPS = "ragforge db backups"
ASIDE = "damaged"
"""A repair that replaces a file keeps the old one beside it: its name, this word and the time."""


class Role(StrEnum):
    """The purpose of a part of the store."""

    CONVERSATIONS = "conversations"
    CONTENTS = "contents"
    VERSIONS = "versions"
    MACHINE = "machine"
    OUTBOX = "outbox"


class Backup(StrEnum):
    """How a part gets into a backup set."""

    COPIED = "copied"
    """A consistent copy through SQLite's backup interface."""
    CHECKED = "checked"
    """Never copied: contents are named by their hash, so a set only says which ones it needs."""
    SERVER = "server"
    """By the server's own means, or `ragforge db backup`."""


class RoleFacts(Struct, frozen=True):
    """What applies to every file of a role.

    All texts are for users. check, repair: what `ragforge db check` and its `--repair` do.
    """

    name: str
    holds: str
    check: str
    repair: str
    backup: Backup


class StoreFile(Struct, frozen=True):
    """One row of the table: a database on this machine. beside: the folder that belongs to it, if any."""

    role: Role
    path: Path
    beside: Path | None = None

    @property
    def facts(self) -> RoleFacts:
        """The description of its role."""
        return ROLES[self.role]

    @property
    def title(self) -> str:
        """Its path and purpose, for users."""
        return f"{self.path} ({self.facts.name})"


class StoreServer(Struct, frozen=True):
    """One row of the table: what a server stores. address: without its password."""

    role: Role
    address: str

    @property
    def facts(self) -> RoleFacts:
        """The description of its role, on a server."""
        return ON_SERVER

    @property
    def title(self) -> str:
        """Its address and purpose, for users."""
        return f"{self.address} ({self.facts.name})"


def conversations_row(url: str) -> StoreFile | StoreServer:
    """The conversations and the version tree of the store at this address. Raises UsageError."""
    if server := parse_store_url(url):
        return StoreServer(Role.CONVERSATIONS, server.bare_url)
    return StoreFile(Role.CONVERSATIONS, Path(url.removeprefix("sqlite://")))


def contents_file(folder: Path) -> StoreFile:
    """The contents of files and tool results, in the data folder."""
    path = folder / "blobs.db"
    return StoreFile(Role.CONTENTS, path, beside=path.with_suffix(""))


def versions_file(folder: Path) -> StoreFile:
    """The versions that this machine's folders are at, in the data folder."""
    return StoreFile(Role.VERSIONS, folder / "history.db")


def machine_file(folder: Path) -> StoreFile:
    """This machine's own state, in the data folder."""
    return StoreFile(Role.MACHINE, folder / "local.db")


def outbox_folder(folder: Path) -> Path:
    """The folder of everything that waits for servers, in the data folder."""
    return folder / "outbox"


def outbox_file(folder: Path, database_id: str) -> StoreFile:
    """The rows that wait for the server's database of this id, in the data folder."""
    path = outbox_folder(folder) / f"{database_id}.db"
    return StoreFile(Role.OUTBOX, path)


def outbox_files(folder: Path) -> list[StoreFile]:
    """The rows that wait for servers, a file for each database that was ever reached from here."""
    found = sorted(outbox_folder(folder).glob("*.db"))
    return [StoreFile(Role.OUTBOX, path) for path in found]


def servers_file(folder: Path) -> Path:
    """Which database answered at which address last, in the data folder."""
    return outbox_folder(folder) / "servers.json"


def store_files(folder: Path, url: str) -> list[StoreFile | StoreServer]:
    """The table: every part of the store at this address, whether its file exists or not.

    folder: the data folder. Raises UsageError.
    """
    return [
        conversations_row(url),
        contents_file(folder),
        versions_file(folder),
        machine_file(folder),
        *outbox_files(folder),
    ]


_DATABASE = "SQLite's integrity check"

ROLES: Mapping[Role, RoleFacts] = {
    Role.CONVERSATIONS: RoleFacts(
        name="conversations and the version tree",
        holds="sessions, turns, tool calls, summaries, memories, the version tree, vectors",
        check=f"{_DATABASE}, references, the search index, what is derived from turns",
        repair="indexes and whatever is derived from turns are rebuilt; turns are never touched",
        backup=Backup.COPIED,
    ),
    Role.CONTENTS: RoleFacts(
        name="contents of files and tool results",
        holds="the contents that undo, checkout and long tool results need",
        check=f"{_DATABASE}, every content read and compared with its hash, what versions need",
        repair="readable contents are kept, lost ones are stored again from files that still have them",
        backup=Backup.CHECKED,
    ),
    Role.VERSIONS: RoleFacts(
        name="versions that the folders on this machine are at",
        holds="the version that each folder corresponds to, its last scan, turns and restores in progress",
        check=_DATABASE,
        repair="indexes are rebuilt; rows are copied to a new file if all of them are readable",
        backup=Backup.COPIED,
    ),
    Role.MACHINE: RoleFacts(
        name="this machine's own state",
        holds="prompt history, drafts, queued messages, permission rules, the folders of projects",
        check=_DATABASE,
        repair="indexes are rebuilt; rows are copied to a new file if all of them are readable",
        backup=Backup.COPIED,
    ),
    Role.OUTBOX: RoleFacts(
        name="what waits for a server",
        holds="rows written on this machine that have not reached the server",
        check=_DATABASE,
        repair="indexes are rebuilt; rows are copied to a new file if all of them are readable",
        backup=Backup.COPIED,
    ),
}

ON_SERVER = RoleFacts(
    name="conversations and the version tree",
    holds="sessions, turns, tool calls, summaries, memories, the version tree, vectors",
    check="constraints, indexes, references, what is derived from turns",
    repair="indexes and whatever is derived from turns are rebuilt; turns are never touched",
    backup=Backup.SERVER,
)
