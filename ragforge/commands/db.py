"""`db`: the database of conversations, only on the command line."""

from typing import Annotated, Any

from msgspec import Struct

from ragforge.commands.base import NoArguments, Opens, Verb
from ragforge.domain.arguments import option, word

Store = Annotated[str, option("--store", metavar="URL", help="This store instead of the one in use.")]


class ConnectArguments(Struct, frozen=True):
    """Which server, and answers to the questions."""

    url: Annotated[str, word("URL", "The server, such as bolt://localhost.")] = ""
    user: Annotated[str, option("--user", metavar="NAME", help="The user name, unless the URL has one.")] = ""
    yes: Annotated[
        bool,
        option(
            "--yes",
            "-y",
            help="Answer yes to everything: use a database that contains other data, copy the history.",
        ),
    ] = False
    no_copy: Annotated[bool, option("--no-copy", help="Do not copy the existing history.")] = False


class StoreArguments(Struct, frozen=True):
    """Which store."""

    store: Store = ""


class StatusArguments(Struct, frozen=True):
    """Which store."""

    store: Store = ""
    json: Annotated[bool, option("--json", help="Print one JSON object.")] = False


class EmbedderArguments(Struct, frozen=True):
    """The embedder, and the store."""

    name: Annotated[
        str, word("NAME", "As in memory.embedder: static, minilm, e5, gemini:..., ENDPOINT:MODEL.")
    ]
    yes: Annotated[bool, option("--yes", "-y", help="Do not ask before changing it.")] = False
    store: Store = ""


class WaitingArguments(Struct, frozen=True):
    """What to do with rows for a database that is gone."""

    carry: Annotated[
        bool,
        option(
            "--carry", help="Carry rows for a database that no longer exists into the one that replaced it."
        ),
    ] = False
    discard: Annotated[
        bool, option("--discard", help="Permanently remove rows for a database that no longer exists.")
    ] = False
    yes: Annotated[bool, option("--yes", "-y", help="Do not ask before removing anything.")] = False
    store: Store = ""


class CheckArguments(Struct, frozen=True):
    """Which store, and whether to repair it."""

    repair: Annotated[
        bool,
        option(
            "--repair", help="Repair what can be repaired: indexes, contents, what is derived from turns."
        ),
    ] = False
    store: Store = ""


class BackupArguments(Struct, frozen=True):
    """Where to, and what."""

    file: Annotated[str, word("FILE", "The file to write.")]
    force: Annotated[bool, option("--force", "-f", help="Replace the file where it exists.")] = False
    partial: Annotated[
        bool, option("--partial", help="Leave out everything that has not reached the server yet.")
    ] = False
    store: Store = ""


class RestoreArguments(Struct, frozen=True):
    """From where, and where to."""

    file: Annotated[str, word("FILE", "A file that `ragforge db backup` wrote.")]
    to: Annotated[str, option("--to", metavar="URL", help="Into this store instead of the one in use.")] = ""


class BackupsArguments(Struct, frozen=True):
    """Whether to make one, and how to print them."""

    now: Annotated[bool, option("--now", help="Make one first, even if the last one is recent.")] = False
    json: Annotated[bool, option("--json", help="Print one JSON object for each.")] = False


class RecoverArguments(Struct, frozen=True):
    """Which backup, and what of it."""

    name: Annotated[str, word("NAME", "As `ragforge db backups` lists it.")] = ""
    only: Annotated[
        tuple[str, ...],
        option("--only", metavar="ROLE", help="Only conversations, versions, machine or outbox; repeatable."),
    ] = ()
    empty: Annotated[bool, option("--empty", help="Create an empty store in place of a lost one.")] = False


class PersonExportArguments(Struct, frozen=True):
    """Whose, and where to."""

    name: Annotated[str, word("NAME", "The user: a name or an id.")]
    file: Annotated[str, word("FILE", "The file to write.")]
    force: Annotated[bool, option("--force", "-f", help="Replace the file where it exists.")] = False
    store: Store = ""


class PersonRemoveArguments(Struct, frozen=True):
    """Whose."""

    name: Annotated[str, word("NAME", "The user: a name or an id.")]
    yes: Annotated[bool, option("--yes", "-y", help="Do not ask.")] = False
    store: Store = ""


class CopyArguments(Struct, frozen=True, kw_only=True):
    """From where, and where to."""

    to: Annotated[str, option("--to", metavar="URL", help="Into this store.")]
    origin: Annotated[
        str, option("--from", metavar="URL", help="From this store instead of the one in use.")
    ] = ""


def _verb(name: str, args: type[Struct], help: str, *examples: str, more: str = "") -> Verb[Any]:
    """A verb after `db` that opens the store by itself. examples: what follows its name."""
    lines = tuple(f"db {name} {each}".rstrip() for each in examples)
    return Verb(name, help, args, more=more, opens=Opens.ITSELF, examples=lines)


VERB = Verb(
    "db",
    "Manage the database that stores your conversations: connect, back up, restore, copy.",
    NoArguments,
    examples=("db backup history.jsonl.gz",),
    verbs=(
        _verb(
            "connect",
            ConnectArguments,
            "Use a Neo4j server from now on: asks for its address, tests the connection and saves it.",
            "neo4j+s://ada@graph.example.org",
            "(it asks)",
            more="The password is read from RAGFORGE_STORE_PASSWORD, or you are asked for it. It is saved "
            "in the system keyring, or in keys.toml beside your settings if there is no keyring.",
        ),
        _verb(
            "waiting",
            WaitingArguments,
            "Show the rows that wait for the server, and those meant for a database that was emptied or "
            "replaced.",
            "",
            "--carry",
        ),
        _verb(
            "embedder",
            EmbedderArguments,
            "Change the store's embedder for everybody who uses it, and set memory.embedder here.",
            "static",
            "ollama:nomic-embed-text",
            more="Everything is embedded again in the background. Until that is done, search uses words "
            "only.",
        ),
        _verb(
            "backups",
            BackupsArguments,
            "List the automatic backups: one each day, and one before each migration.",
            "",
            "--now",
        ),
        _verb(
            "recover",
            RecoverArguments,
            "Restore a backup that ragforge made automatically, in place of the current databases.",
            "20261122T131500Z",
            "20261122T131500Z --only machine",
            more="The current databases are moved to a folder next to them; nothing is deleted. Close every "
            "ragforge first.\nUse `ragforge db restore` for a file that `ragforge db backup` wrote.",
        ),
        _verb(
            "status",
            StatusArguments,
            "Show the store in use, what it contains, and its state: schema, indexes, latency, waiting rows.",
            "",
            "--json",
        ),
        _verb(
            "migrate",
            StoreArguments,
            "Update the database's schema. Update ragforge on all machines that share it first.",
            "",
            "--store bolt://localhost:7687",
            more="An SQLite file is updated automatically when it is opened.",
        ),
        _verb(
            "check",
            CheckArguments,
            "Check every file of the store for problems; the exit code is 1 if there are any.",
            "",
            "--repair",
            more="It lists each file: conversations, contents, versions, this machine's state, and what "
            "waits for servers.",
        ),
        _verb(
            "backup",
            BackupArguments,
            "Write all conversations and versions, with their contents, to one file that any store can read.",
            "history.jsonl.gz",
            more="Keep the file private: it contains everything that was said. Only you can read it.",
        ),
        _verb(
            "restore",
            RestoreArguments,
            "Add the conversations of a backup to those in a store; restoring twice changes nothing.",
            "history.jsonl.gz",
            "FILE --to bolt://localhost",
            more="The whole file is checked first: a truncated or altered file changes nothing.",
        ),
        Verb(
            "person",
            "Export or remove all data of one user.",
            NoArguments,
            verbs=(
                Verb(
                    "export",
                    "Write all data of one user to a file, in the backup format: one record per line.",
                    PersonExportArguments,
                    opens=Opens.ITSELF,
                    more="Keep the file private: it contains everything that they said. Only you can read "
                    "it.",
                    examples=("db person export ada@example.org ada.jsonl",),
                ),
                Verb(
                    "remove",
                    "Remove all data of one user; shows how much and asks first.",
                    PersonRemoveArguments,
                    opens=Opens.ITSELF,
                    more="Turns that other users built on stay in place, but their text is removed.",
                    examples=("db person remove ada@example.org",),
                ),
            ),
        ),
        _verb(
            "copy",
            CopyArguments,
            "Copy all conversations into another store, keep what is already there, and verify the copy.",
            "--to bolt://localhost:7687",
            "--from bolt://localhost:7687 --to sqlite:///home/me/mine.db",
            more="If it is interrupted, run the same command again to continue. Copying twice changes "
            "nothing.",
        ),
    ),
)
