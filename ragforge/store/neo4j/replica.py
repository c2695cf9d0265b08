"""A local replica of a server's database, in the tables of the SQLite store, for when it is unreachable.

The tables are in memory and are filled from the outbox when its rows have changed. What a row refers to but
this machine does not have, such as the session of another machine's turn, is an empty row in them.
"""

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar, cast

import apsw

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.messages import ModelMessage, TextPart
from ragforge.domain.turns import ConversationSession, Project, Turn, TurnStatus
from ragforge.domain.versions import Version
from ragforge.store.base_versions import VersionRow
from ragforge.store.json_text import message_to_json
from ragforge.store.neo4j.carry_versions import GONE
from ragforge.store.neo4j.derivation_rows import derived_of
from ragforge.store.neo4j.memory_rows import association_of, memory_of, spent_of
from ragforge.store.neo4j.outbox import ASSOCIATION, Outbox, OutboxRow, Rows
from ragforge.store.neo4j.rows import Label, call_of, project_of, session_of, step_of, summary_of, turn_of
from ragforge.store.neo4j.version_rows import branch_of, move_of, version_of
from ragforge.store.sqlite.abandonment import count_afresh
from ragforge.store.sqlite.associations import insert_association
from ragforge.store.sqlite.calls import insert_call
from ragforge.store.sqlite.connection import Connection, Database
from ragforge.store.sqlite.derivations import SqliteDerived, put_derived
from ragforge.store.sqlite.index import index_turn
from ragforge.store.sqlite.memories import SqliteMemories
from ragforge.store.sqlite.memory_rows import put_memory
from ragforge.store.sqlite.migrations import STORE
from ragforge.store.sqlite.projects import insert_project
from ragforge.store.sqlite.rows import EPOCH, key_of, one
from ragforge.store.sqlite.search import SqliteSearch
from ragforge.store.sqlite.sessions import SqliteSessions, insert_session
from ragforge.store.sqlite.summaries import SqliteSummaries, put_summary
from ragforge.store.sqlite.turns import SqliteTurns, insert_step, insert_turn
from ragforge.store.sqlite.usage import SqliteUsageLog, insert_spent
from ragforge.store.sqlite.vectors import SqliteVectors
from ragforge.store.sqlite.version_rows import put_branch, put_move, put_version, turn_ended
from ragforge.store.sqlite.versions import SqliteVersions

T = TypeVar("T")

TOO_LARGE = OverflowError
"""A provider may count more tokens than SQLite can store; such a row is found by its id alone."""
NOTHING_SAID = message_to_json(ModelMessage("", "", ""))
RUNNING = (TurnStatus.RUNNING, TurnStatus.WAITING)


class Replica(Database):
    """The tables, for reading; writes go to the outbox."""

    def __init__(self, outbox: Outbox) -> None:
        super().__init__(outbox.path)
        self._outbox = outbox
        self._state: object = None
        self._tables: Tables | None = None
        self.sessions = SqliteSessions(self, outbox.path.parent)
        self.turns = SqliteTurns(self)
        self.usage = SqliteUsageLog(self)
        self.summaries = SqliteSummaries(self)
        self.memories = SqliteMemories(self)
        self.derivations = SqliteDerived(self)
        indexed = _Indexed(self)
        self.search = SqliteSearch(indexed, SqliteVectors(indexed))
        self.versions = ReplicaVersions(self)

    async def read(self, job: Callable[[Connection], T]) -> T:
        """Return the job's result. It runs on the thread on which the outbox is read."""
        return await self._outbox.read(lambda rows: job(self._filled(rows).connection))

    async def read_indexed(self, job: Callable[[Connection], T]) -> T:
        """Do the same, with the tool calls and an index of all words."""

        def run(rows: Rows) -> T:
            tables = self._filled(rows)
            tables.index(rows)
            return job(tables.connection)

        return await self._outbox.read(run)

    @property
    def missing(self) -> frozenset[str]:
        """Ids of what other rows refer to, but this machine does not have."""
        return frozenset(self._tables.missing if self._tables else ())

    @property
    def written(self) -> frozenset[str]:
        """Ids of the turns that this machine wrote, so that it knows of their versions."""
        return frozenset(self._tables.written if self._tables else ())

    def _filled(self, rows: Rows) -> "Tables":
        state = rows.state()
        if self._tables is None or self._state != state:
            self._tables, self._state = Tables(rows), state
        return self._tables


class _Indexed(Database):
    """The same tables for a search: the index of words takes longer to build than all the rest."""

    def __init__(self, replica: Replica) -> None:
        super().__init__(replica.path)
        self._replica = replica

    async def read(self, job: Callable[[Connection], T]) -> T:
        """Return the job's result."""
        return await self._replica.read_indexed(job)


class ReplicaVersions(SqliteVersions):
    """The version tree, but never less of it than was requested.

    The files of a version are the sum of its line, and a clean-up removes what no version names. So a version
    that is requested by its id and is not on this machine raises StoreUnavailable.
    """

    def __init__(self, replica: Replica) -> None:
        super().__init__(replica)
        self._replica = replica

    async def get(self, ids: Sequence[str]) -> list[Version]:
        """Return these versions, in the order of the ids."""
        found = await super().get(ids)
        self._need(ids, found)
        return found

    async def of_turns(self, turn_ids: Sequence[str]) -> list[Version]:
        """Return the versions of these turns, oldest first."""
        found = await super().of_turns(turn_ids)
        unknown = {*turn_ids} - {version.turn_id for version in found} - self._replica.written
        if unknown:
            raise StoreUnavailable(f"The versions of the turn {min(unknown)} are not on this machine.")
        return found

    async def rows(self, project_id: str, *, limit: int = 200, before: str | None = None) -> list[VersionRow]:
        """Return the project's versions that are here, newest first."""
        if before is not None:
            await self.get([before])
        found = await super().rows(project_id, limit=limit, before=before)
        return [row for row in found if row.version.id not in self._replica.missing]

    async def with_id_part(self, project_id: str, part: str, *, limit: int = 5) -> list[Version]:
        """Return those that are here, newest first."""
        found = await super().with_id_part(project_id, part, limit=limit)
        return [version for version in found if version.id not in self._replica.missing]

    async def line(self, version_id: str, *, limit: int | None = None) -> list[Version]:
        """Return the version and its first parents, newest first."""
        found = await super().line(version_id, limit=limit)
        self._need([version_id, *(version.id for version in found)], found)
        return found

    def _need(self, ids: Sequence[str], found: Sequence[Version]) -> None:
        here = {version.id for version in found} - self._replica.missing
        if lost := [each for each in ids if each not in here]:
            raise StoreUnavailable(f"The version {lost[0]} is not on this machine.")


class Tables:
    """A database in memory, filled from the rows of the outbox."""

    def __init__(self, rows: Rows) -> None:
        self.connection = cast("Connection", apsw.Connection(":memory:"))
        self.missing = set[str]()
        """Ids of what is not here and has an empty row."""
        self.written = set[str]()
        """Ids of the turns that this machine wrote."""
        self._turns = dict[str, int]()
        """The keys of the turns by their ids."""
        self._is_indexed = False
        for step in STORE.steps:
            self.connection.execute(step)
        with self._transaction():
            self._fill_conversations(rows)
            self._fill_memory(rows)
            self._fill_versions(rows)

    def index(self, rows: Rows) -> None:
        """Add the tool calls and index the turns, unless that was done. rows: the same as before."""
        if self._is_indexed:
            return
        with self._transaction():
            for row in rows.of_label(Label.CALL):
                if turn := self._turns.get(row.props["turnId"]):
                    insert_call(self.connection, call_of(row.props), turn)
            for key in self._turns.values():
                index_turn(self.connection, key)
        self._is_indexed = True

    @contextmanager
    def _transaction(self) -> Generator[None]:
        self.connection.execute("BEGIN")
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def _fill_conversations(self, rows: Rows) -> None:
        for row in rows.of_label(Label.PROJECT):
            insert_project(self.connection, project_of(row.props))
        sessions = [session_of(row.props) for row in rows.of_label(Label.SESSION)]
        for session in sessions:
            self._project(session.project_id)
            insert_session(self.connection, session, head=None)
        self._fill_turns(rows)
        self._set_heads(sessions)

    def _fill_turns(self, rows: Rows) -> None:
        """Add the turns and, without their messages, their steps."""
        turns = rows.of_label(Label.TURN)
        for row in sorted(turns, key=lambda row: (row.props["turnIndex"], row.id)):
            with suppress(TOO_LARGE):
                self._add_turn(row)
        for row in rows.of_label(Label.STEP):
            if row.props["turnId"] in self._turns:
                with suppress(TOO_LARGE):
                    insert_step(self.connection, step_of({**row.props, "message": NOTHING_SAID}))

    def _add_turn(self, row: OutboxRow) -> None:
        turn = turn_of(row.props)
        session = self._session(turn.session_id, row.props["projectId"])
        key = insert_turn(self.connection, turn, session, self._turns.get(turn.parent or ""))
        self._turns[turn.id] = key
        if row.waits or row.epoch > 0:
            self.written.add(turn.id)
            if row.props.get("versionDue") and turn.status not in RUNNING:
                turn_ended(self.connection, key)

    def _set_heads(self, sessions: Sequence[ConversationSession]) -> None:
        """Set the heads, and which turns are abandoned.

        A turn of a session whose head is here is abandoned if no path to a head that is here contains it.
        """
        for session in sessions:
            if session.head is not None:
                head = self._turn(session.head, session.id, session.project_id)
                self.connection.execute("UPDATE session SET head = ? WHERE id = ?", (head, session.id))
        count_afresh(self.connection)
        whole = [session.id for session in sessions if session.head is None or session.head in self._turns]
        self.connection.execute(
            "DELETE FROM left_turn WHERE turn NOT IN (SELECT turn.key FROM turn "
            "JOIN session ON session.key = turn.session JOIN json_each(?) ON value = session.id)",
            (json.dumps(whole),),
        )

    def _fill_memory(self, rows: Rows) -> None:
        for row in rows.of_label(Label.SUMMARY):
            summary = summary_of(row.props)
            self._session(summary.session_id, summary.project_id)
            put_summary(self.connection, summary)
        memories = [memory_of(row.props) for row in rows.of_label(Label.MEMORY)]
        for memory in memories:
            self._project(memory.project_id)
            put_memory(self.connection, memory)
        here = {memory.id for memory in memories}
        for row in rows.of_label(ASSOCIATION):
            association = association_of(row.props)
            if here >= {association.from_id, association.to_id}:
                insert_association(self.connection, association)
        for row in rows.of_label(Label.DERIVED):
            record = derived_of(row.props)
            self._project(record.project_id)
            put_derived(self.connection, record)
        for row in rows.of_label(Label.USAGE):
            with suppress(TOO_LARGE):
                insert_spent(self.connection, spent_of(row.props))

    def _fill_versions(self, rows: Rows) -> None:
        versions = [version_of(row.props) for row in rows.of_label(Label.VERSION)]
        # Parents are older than their children.
        for version in sorted(versions, key=lambda version: (version.at, version.id)):
            for parent in version.parents:
                self._version(parent, version.project_id)
            if version.session_id:
                self._session(version.session_id, version.project_id)
            if version.turn_id:
                self._turn(version.turn_id, version.session_id, version.project_id)
            self._project(version.project_id)
            try:
                put_version(self.connection, version)
            except TOO_LARGE:
                self._version(version.id, version.project_id)
        for row in rows.of_label(Label.BRANCH):
            if not row.props.get(GONE):
                branch = branch_of(row.props)
                self._version(branch.version_id, branch.project_id)
                put_branch(self.connection, branch)
        for row in rows.of_label(Label.MOVE):
            move = move_of(row.props)
            self._project(move.project_id)
            put_move(self.connection, move)

    def _project(self, project_id: str) -> None:
        if self._lacks("project", project_id):
            insert_project(self.connection, Project(project_id, "", EPOCH))

    def _session(self, session_id: str, project_id: str) -> int:
        if self._lacks("session", session_id):
            self._project(project_id)
            empty = ConversationSession(session_id, project_id, "", EPOCH, EPOCH, forked_from="")
            insert_session(self.connection, empty, head=None)
        return key_of(self.connection, "session", session_id)

    def _turn(self, turn_id: str, session_id: str, project_id: str) -> int:
        if self._lacks("turn", turn_id):
            session = self._session(session_id, project_id)
            empty = Turn(turn_id, session_id, None, index=-1, user=(TextPart(""),), started_at=EPOCH)
            insert_turn(self.connection, empty, session, None)
        return key_of(self.connection, "turn", turn_id)

    def _version(self, version_id: str, project_id: str) -> None:
        if self._lacks("version", version_id):
            self._project(project_id)
            put_version(self.connection, Version(version_id, project_id, (), EPOCH, ""))
            # Its date is the only word that would be found.
            key = key_of(self.connection, "version", version_id)
            self.connection.execute("DELETE FROM words WHERE rowid = ?", (key,))

    def _lacks(self, table: str, identifier: str) -> bool:
        """Return whether an empty row must be added."""
        if one(self.connection, f"SELECT 1 FROM {table} WHERE id = ?", (identifier,)) is not None:
            return False
        self.missing.add(identifier)
        return True
