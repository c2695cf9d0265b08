"""`db`: the database of conversations itself, on the command line alone."""

from typing import Annotated, Any

from msgspec import Struct

from ragforge.commands.base import NoArguments, Opens, Verb
from ragforge.domain.arguments import option, word

Store = Annotated[str, option("--store", metavar="URL", help="This store instead of the one in use.")]


class ConnectArguments(Struct, frozen=True):
    """Which server, and the answers to what would be asked."""

    url: Annotated[str, word("URL", "The server, such as bolt://localhost.")] = ""
    user: Annotated[
        str, option("--user", metavar="NAME", help="Whom to be there, unless the URL says it.")
    ] = ""
    yes: Annotated[
        bool,
        option("--yes", "-y", help="Yes to all: use a graph that holds other things, copy the history."),
    ] = False
    no_copy: Annotated[bool, option("--no-copy", help="Leave the history that exists where it is.")] = False


class StoreArguments(Struct, frozen=True):
    """Which store."""

    store: Store = ""


class StatusArguments(Struct, frozen=True):
    """Which store."""

    store: Store = ""
    json: Annotated[bool, option("--json", help="Print one JSON object.")] = False


class EmbedderArguments(Struct, frozen=True):
    """By what, and in which store."""

    name: Annotated[str, word("NAME", "As in memory.embedder: static, minilm, gemini:..., ENDPOINT:MODEL.")]
    yes: Annotated[bool, option("--yes", "-y", help="Do not ask before it is changed.")] = False
    store: Store = ""


class WaitingArguments(Struct, frozen=True):
    """What becomes of rows for a database that is gone."""

    carry: Annotated[
        bool, option("--carry", help="Carry what was for a database that is gone into the one in its place.")
    ] = False
    discard: Annotated[
        bool, option("--discard", help="Remove what was for a database that is gone, for good.")
    ] = False
    yes: Annotated[bool, option("--yes", "-y", help="Do not ask before anything is removed.")] = False
    store: Store = ""


class CheckArguments(Struct, frozen=True):
    """Which store, and whether it is repaired."""

    repair: Annotated[
        bool, option("--repair", help="Repair what can be: indexes, contents, what is derived from turns.")
    ] = False
    store: Store = ""


class BackupArguments(Struct, frozen=True):
    """Where to, and of what."""

    file: Annotated[str, word("FILE", "The file to write.")]
    force: Annotated[bool, option("--force", "-f", help="Replace the file where it exists.")] = False
    partial: Annotated[bool, option("--partial", help="Leave out what has not reached the server yet.")] = (
        False
    )
    store: Store = ""


class RestoreArguments(Struct, frozen=True):
    """From where, and where to."""

    file: Annotated[str, word("FILE", "A file that `ragforge db backup` wrote.")]
    to: Annotated[str, option("--to", metavar="URL", help="Into this store instead of the one in use.")] = ""


class BackupsArguments(Struct, frozen=True):
    """Whether one is made, and how they are printed."""

    now: Annotated[bool, option("--now", help="Make one first, even if the last one is recent.")] = False
    json: Annotated[bool, option("--json", help="Print one JSON object for each.")] = False


class RecoverArguments(Struct, frozen=True):
    """Which backup, and what of it."""

    name: Annotated[str, word("NAME", "As `ragforge db backups` lists it.")] = ""
    only: Annotated[
        tuple[str, ...],
        option("--only", metavar="ROLE", help="Only conversations, versions, machine or outbox; repeatable."),
    ] = ()
    empty: Annotated[bool, option("--empty", help="Start an empty store in place of a lost one.")] = False


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
    """One that follows `db`, and opens the store by itself. examples: what follows its name."""
    lines = tuple(f"db {name} {each}".rstrip() for each in examples)
    return Verb(name, help, args, more=more, opens=Opens.ITSELF, examples=lines)


VERB = Verb(
    "db",
    "Look after the database that conversations are kept in: connect, back up, copy.",
    NoArguments,
    examples=("db backup history.jsonl.gz",),
    verbs=(
        _verb(
            "connect",
            ConnectArguments,
            "Keep conversations in a Neo4j server from now on: asks, tries, explains, and saves.",
            "neo4j+s://ada@graph.example.org",
            "(it asks)",
            more="The password is asked for, or taken from RAGFORGE_STORE_PASSWORD; it is kept in the "
            "system's keyring, else in keys.toml beside your settings, and nowhere else.",
        ),
        _verb(
            "waiting",
            WaitingArguments,
            "Show what waits here for the server, and what was for a database that was emptied or replaced.",
            "",
            "--carry",
        ),
        _verb(
            "embedder",
            EmbedderArguments,
            "Change what the store is embedded by, for everybody who uses it, and set memory.embedder here.",
            "static",
            "ollama:nomic-embed-text",
            more="Everything is embedded anew in the background; until then search goes by words.",
        ),
        _verb(
            "backups",
            BackupsArguments,
            "List the backups that ragforge makes by itself: one each day, and one before each migration.",
            "",
            "--now",
        ),
        _verb(
            "recover",
            RecoverArguments,
            "Bring back one of the backups that ragforge made: it takes the place of the databases as they "
            "are.",
            "20261122T131500Z",
            "20261122T131500Z --only machine",
            more="These are set aside in a folder beside them, and nothing is deleted. Every ragforge must "
            "be closed.\nA file that `ragforge db backup` wrote is for `ragforge db restore`.",
        ),
        _verb(
            "status",
            StatusArguments,
            "Tell which store is used, what it holds and how it is: schema, indexes, latency, what waits.",
            "",
            "--json",
        ),
        _verb(
            "migrate",
            StoreArguments,
            "Bring the database's schema up to date, after ragforge was updated on all machines that share "
            "it.",
            "",
            "--store bolt://localhost:7687",
            more="A file of SQLite is brought up to date whenever it is opened.",
        ),
        _verb(
            "check",
            CheckArguments,
            "Look for what is wrong with any file of the store; exit code 1 if something is.",
            "",
            "--repair",
            more="Each file is named: conversations, contents, versions, this machine's state, what waits "
            "for servers.",
        ),
        _verb(
            "backup",
            BackupArguments,
            "Write all conversations and versions, with their contents, to one file that every store reads.",
            "history.jsonl.gz",
            more="Keep it private: it holds all that was said. Nobody but you can read the file.",
        ),
        _verb(
            "restore",
            RestoreArguments,
            "Put a backup's conversations into a store, beside those that it has; doing so twice changes "
            "nothing.",
            "history.jsonl.gz",
            "FILE --to bolt://localhost",
            more="The file is read to its end first: one that is cut or altered changes nothing.",
        ),
        Verb(
            "person",
            "Give out or take away all that is one user's.",
            NoArguments,
            verbs=(
                Verb(
                    "export",
                    "Write all that is one user's to a file, a record a line as in a backup.",
                    PersonExportArguments,
                    opens=Opens.ITSELF,
                    more="Keep it private: it holds all that they said. Nobody but you can read the file.",
                    examples=("db person export ada@example.org ada.jsonl",),
                ),
                Verb(
                    "remove",
                    "Take away all that is one user's: says how much, and asks.",
                    PersonRemoveArguments,
                    opens=Opens.ITSELF,
                    more="What others built on keeps its place, without the words.",
                    examples=("db person remove ada@example.org",),
                ),
            ),
        ),
        _verb(
            "copy",
            CopyArguments,
            "Copy all conversations from one store to another, which keeps what it has; read back at the "
            "end.",
            "--to bolt://localhost:7687",
            "--from bolt://localhost:7687 --to sqlite:///home/me/mine.db",
            more="Broken off, the same command goes on where it was. Copying twice changes nothing.",
        ),
    ),
)
