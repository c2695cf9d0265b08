"""The version tree in the graph: versions, branches, and moves of the heads."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.errors import Conflict, StoreUnavailable
from ragforge.domain.turns import TurnStatus
from ragforge.domain.versions import Branch, CheckoutLog, Version
from ragforge.store.base_versions import VersionRow
from ragforge.store.json_text import storable
from ragforge.store.neo4j.carry_versions import GONE, MACHINE
from ragforge.store.neo4j.index_rows import version_props
from ragforge.store.neo4j.nodes import FIELDS, Nodes, fields, valid_ids
from ragforge.store.neo4j.outbox import Rows
from ragforge.store.neo4j.rows import Label, Props
from ragforge.store.neo4j.version_rows import (
    branch_key,
    branch_of,
    branch_row,
    move_of,
    move_row,
    version_of,
    version_row,
)
from ragforge.store.version_text import moment_after

if TYPE_CHECKING:
    from ragforge.store.neo4j.replica import ReplicaVersions

T = TypeVar("T")

KEPT_MAX = 20
"""Versions requested by id that are stored here, so that they can get children without the server."""

MOVES_MAX = 2**31
"""More than there can be."""

BRIEF = frozenset({"changes", "words"})
"""The properties that a list of versions leaves out."""

WHOLE = f"RETURN {fields('n', Label.VERSION)} AS n"
SHORT = f"RETURN n {{{', '.join(f'.{name}' for name in FIELDS[Label.VERSION] if name not in BRIEF)}}} AS n"
OLDEST_FIRST = "ORDER BY n.timestamp, n.id"

# The index has them in this order: conditions on all its properties let it be read from its end. Without the
# hint, a server that has seen no version yet would plan otherwise.
NEWEST_FIRST = "ORDER BY n.projectId DESC, n.timestamp DESC, n.id DESC"
BY_TIME = f"MATCH (n:{Label.VERSION}) USING INDEX SEEK n:{Label.VERSION}(projectId, timestamp, id)"
IN_ORDER = "n.projectId = $project AND n.timestamp IS NOT NULL AND n.id IS NOT NULL"

GET = f"MATCH (n:{Label.VERSION}) WHERE n.id IN $ids {WHOLE}"
OF_TURNS = f"MATCH (n:{Label.VERSION}) WHERE n.turnId IN $ids {WHOLE} {OLDEST_FIRST}"
CHILDREN = (
    f"MATCH (n:{Label.VERSION})-[:PARENT]->(:{Label.VERSION} {{id: $id}}) WITH DISTINCT n {WHOLE} "
    f"{OLDEST_FIRST}"
)
UNVERSIONED = f"""
MATCH (t:{Label.TURN} {{sessionId: $session}})
WHERE t.versionDue AND NOT t.status IN $running AND NOT EXISTS {{ (:{Label.VERSION})-[:MADE_IN]->(t) }}
RETURN t.id AS id ORDER BY t.timestamp, t.turnIndex, t.id LIMIT $limit
"""
ROWS = f"{BY_TIME} WHERE {IN_ORDER} WITH n {NEWEST_FIRST} LIMIT $limit {SHORT}"
# An `OR` instead of the `CASE` may be planned as two reads of the index, whose union is then sorted whole.
ROWS_BEFORE = f"""
{BY_TIME}
WHERE n.projectId = $project AND n.timestamp <= $at AND n.id IS NOT NULL
  AND CASE WHEN n.timestamp = $at THEN n.id < $before ELSE true END
WITH n {NEWEST_FIRST} LIMIT $limit {SHORT}
"""
BY_ID = f"MATCH (n:{Label.VERSION} {{id: $id}}) {SHORT}"
WITH_ID_PART = f"""
{BY_TIME} WHERE {IN_ORDER}
  AND (n.id STARTS WITH $id OR n.id ENDS WITH $id OR right(n.id, 8) STARTS WITH $id OR n.label = $label)
WITH n {NEWEST_FIRST} LIMIT $limit {SHORT}
"""
BRANCHES = f"MATCH (n:{Label.BRANCH} {{projectId: $project}}) RETURN {fields('n', Label.BRANCH)} AS n"
BRANCH = f"MATCH (n:{Label.BRANCH} {{id: $id}}) RETURN {fields('n', Label.BRANCH)} AS n"
MOVES = f"""
MATCH (n:{Label.MOVE}) USING INDEX SEEK n:{Label.MOVE}(projectId, timestamp, id)
WHERE {IN_ORDER} AND ($session IS NULL OR n.sessionId = $session)
WITH n {NEWEST_FIRST} LIMIT $limit RETURN {fields("n", Label.MOVE)} AS n
"""
MERGED_INTO = f"""
MATCH (p:{Label.PROJECT} {{id: $id}}) WHERE coalesce(p.mergedInto, '') <> '' RETURN p.mergedInto AS into
"""
ALL_IDS = f"""
MATCH (n:{Label.VERSION}) WHERE $project IS NULL OR n.projectId = $project
RETURN n.id AS id ORDER BY n.timestamp, n.id
"""


class Neo4jVersions:
    """Implements `Versions`."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    async def add(self, version: Version) -> None:
        """Store a new version; one of the same id stays as it is, here and in the graph.

        Raises Conflict if a parent, its project, or a turn or session that it names is not stored, or a
        parent is another project's.
        """
        if await self._nodes.outbox.read(lambda rows: rows.get(Label.VERSION, version.id)):
            return
        try:
            await self._need_all(version)
            version = await self._as_merged(version)
        except Conflict:
            # What it names may be gone by now; then it was stored before that.
            if await self._nodes.get(Label.VERSION, version.id):
                return
            raise

        def write(rows: Rows) -> None:
            if rows.get(Label.VERSION, version.id):
                return
            parents = [_parent(rows, version, parent) for parent in version.parents]
            props = version_row(after_parents(version, parents))
            rows.put(Label.VERSION, version.id, props | version_props(props))

        await self._nodes.write(write)

    async def get(self, ids: Sequence[str]) -> list[Version]:
        """Return the existing ones, whole, in the order of the ids.

        Raises StoreUnavailable if the server is unreachable and one is not here.
        """
        wanted = valid_ids(list(dict.fromkeys(ids)))
        found = await self._ask(GET, lambda here: here.get(wanted), version_of, ids=wanted)
        by_id = {version.id: version for version in found}
        if len(by_id) <= KEPT_MAX:
            await self._keep(found)
        return [by_id[each] for each in wanted if each in by_id]

    async def of_turns(self, turn_ids: Sequence[str]) -> list[Version]:
        """Return the versions of these turns, whole, oldest first."""
        wanted = valid_ids(turn_ids)
        return await self._ask(OF_TURNS, lambda here: here.of_turns(wanted), version_of, ids=wanted)

    async def unversioned(self, session_id: str, *, limit: int = 100) -> list[str]:
        """Return the session's ended turns that have no version, oldest first."""
        if not valid_ids([session_id]):
            return []
        await self._nodes.settle()
        running = [str(TurnStatus.RUNNING), str(TurnStatus.WAITING)]
        try:
            found = await self._nodes.ask(
                UNVERSIONED, session=session_id, running=running, limit=max(0, limit)
            )
        except StoreUnavailable:
            return await self._nodes.here.versions.unversioned(session_id, limit=limit)
        return [each["id"] for each in found]

    async def rows(self, project_id: str, *, limit: int = 200, before: str | None = None) -> list[VersionRow]:
        """Return the project's, newest first by (time, id); with `before`, those that follow that one."""
        if not valid_ids([project_id, before or ""]):
            return []
        at: datetime | None = None
        if before is not None:
            found = await self._ask(BY_ID, lambda here: here.get([before]), version_of, id=before)
            if not found:
                return []
            at = found[0].at
        rows = await self._ask(
            ROWS if at is None else ROWS_BEFORE,
            lambda here: here.rows(project_id, limit=limit, before=before),
            lambda props: VersionRow(version_of(props), props["files"]),
            project=project_id,
            before=before,
            at=at,
            limit=max(0, limit),
        )
        return sorted(rows, key=lambda row: _when(row.version), reverse=True)

    async def with_id_part(self, project_id: str, part: str, *, limit: int = 5) -> list[Version]:
        """Return those with a matching id or this label; newest first, without changes."""
        label, limit = storable(part), max(0, limit)
        if not part or not valid_ids([project_id]):
            return []
        identifier = label.lower()

        found = await self._ask(
            WITH_ID_PART,
            lambda here: here.with_id_part(project_id, part, limit=limit),
            version_of,
            project=project_id,
            id=identifier,
            label=label,
            limit=limit,
        )
        return sorted(found, key=_when, reverse=True)

    async def line(self, version_id: str, *, limit: int | None = None) -> list[Version]:
        """Return the version and its first parents up to the root, newest first; with a limit, the newest.

        Raises StoreUnavailable if the server is unreachable and not all of it is here.
        """
        if not valid_ids([version_id]) or (limit is not None and limit <= 0):
            return []
        # The length of a pattern cannot be a parameter; it is a number of ours.
        reach = "" if limit is None else str(int(limit) - 1)
        found = await self._ask(
            f"MATCH (:{Label.VERSION} {{id: $id}})-[:PARENT*0..{reach} {{ord: 0}}]->(n:{Label.VERSION}) "
            f"WITH DISTINCT n {WHOLE}",
            lambda here: here.line(version_id, limit=limit),
            version_of,
            id=version_id,
        )
        await self._keep([version for version in found if version.id == version_id])
        return _in_line(version_id, found)

    async def children(self, version_id: str) -> list[Version]:
        if not valid_ids([version_id]):
            return []
        return await self._ask(CHILDREN, lambda here: here.children(version_id), version_of, id=version_id)

    async def label(self, version_id: str, label: str) -> None:
        await self._nodes.need(Label.VERSION, version_id)

        def write(rows: Rows) -> None:
            row = rows.get(Label.VERSION, version_id)
            if row is None:
                raise Conflict(f"The version {version_id} is not in the store; it may have been deleted.")
            changes = {"label": storable(label)}
            # Of the version's search words it changes only the user's.
            words = {"searchUser": version_props(row.props | changes)["searchUser"]}
            rows.put(Label.VERSION, version_id, changes | words, surely=True)

        await self._nodes.write(write)

    async def set_branch(self, branch: Branch) -> None:
        """Set the branch to the version. Raises Conflict if that is not one of the project's."""
        await self._nodes.need(Label.VERSION, branch.version_id)

        def write(rows: Rows) -> None:
            version = rows.get(Label.VERSION, branch.version_id)
            if version is None or version.props["projectId"] != branch.project_id:
                raise Conflict(
                    f"Branch {branch.name} cannot point to version {branch.version_id}: "
                    f"project {branch.project_id} has no version with that id."
                )
            _put_branch(rows, branch_row(branch) | {GONE: False})

        await self._nodes.write(write)

    async def delete_branch(self, project_id: str, name: str) -> bool:
        key = branch_key(project_id, name)
        found = await self._ask(BRANCH, lambda here: here.branches(project_id), branch_of, id=key)
        gone = [branch_row(branch) for branch in found if branch_key(project_id, branch.name) == key]
        for row in gone:
            await self._nodes.write(lambda rows, row=row: _put_branch(rows, row | {GONE: True}))
        return bool(gone)

    async def branches(self, project_id: str) -> list[Branch]:
        if not valid_ids([project_id]):
            return []
        found = await self._ask(
            BRANCHES, lambda here: here.branches(project_id), branch_of, project=project_id
        )
        return sorted(found, key=lambda branch: branch.name)

    async def add_move(self, move: CheckoutLog) -> None:
        """Store a move of heads; one of the same id stays. Raises Conflict for an unknown project."""
        await self._nodes.need(Label.PROJECT, move.project_id)

        def write(rows: Rows) -> None:
            if rows.get(Label.MOVE, move.id) is None:
                rows.put(Label.MOVE, move.id, move_row(move))

        await self._nodes.write(write)

    async def moves(
        self, project_id: str, *, session_id: str | None = None, limit: int | None = 100
    ) -> list[CheckoutLog]:
        """Return the project's moves, or those of a session, newest first by (time, id)."""
        if not valid_ids([project_id, session_id or ""]):
            return []
        found = await self._ask(
            MOVES,
            lambda here: here.moves(project_id, session_id=session_id, limit=limit),
            move_of,
            project=project_id,
            session=session_id,
            limit=MOVES_MAX if limit is None else max(0, limit),
        )
        return sorted(found, key=_when, reverse=True)

    async def all_ids(self, project_id: str | None = None) -> list[str]:
        """Return the ids of all versions, oldest first. Raises StoreUnavailable if the server is unreachable.

        Contents of versions that are missing from a clean-up's list would be lost.
        """
        if project_id is not None and not valid_ids([project_id]):
            return []
        return [each["id"] for each in await self._nodes.insist(ALL_IDS, project=project_id)]

    async def _ask(
        self,
        query: str,
        here: "Callable[[ReplicaVersions], Awaitable[list[T]]]",
        read: Callable[[Mapping[str, Any]], T],
        /,
        **parameters: Any,
    ) -> list[T]:
        """Return the graph's answer once all has arrived; without the server, what is here."""
        await self._nodes.settle()
        try:
            found = await self._nodes.ask(query, deadline_s=timeouts.NEO4J_READ_S_MAX, **parameters)
        except StoreUnavailable as error:
            try:
                return await here(self._nodes.here.versions)
            except StoreUnavailable as missing:
                raise StoreUnavailable(f"{missing} {error}") from error
        return [read(each["n"]) for each in found]

    async def _need_all(self, version: Version) -> None:
        """Read what it names into the outbox. Raises Conflict if that does not exist."""
        await self._nodes.need(Label.PROJECT, version.project_id)
        for parent in version.parents:
            await self._nodes.need(Label.VERSION, parent)
        await self._nodes.need(Label.SESSION, version.session_id or None)
        await self._nodes.need(Label.TURN, version.turn_id or None)

    async def _as_merged(self, version: Version) -> Version:
        """Return the version in the project that its own was merged into, if its parents have moved there."""
        rows = await self._nodes.outbox.read(
            lambda rows: [rows.get(Label.VERSION, parent) for parent in version.parents]
        )
        if all(row is None or row.props["projectId"] == version.project_id for row in rows):
            return version
        found = await self._nodes.ask(MERGED_INTO, id=version.project_id)
        return replace(version, project_id=found[0]["into"]) if found else version

    async def _keep(self, versions: Sequence[Version]) -> None:
        """Store them here, because the next version may come without the server."""
        known = await self._nodes.outbox.read(
            lambda rows: {each.id for each in versions if rows.get(Label.VERSION, each.id)}
        )
        if new := [version_row(each) for each in versions if each.id not in known]:
            await self._nodes.outbox.write(lambda rows: rows.keep(Label.VERSION, new))


def after_parents(version: Version, parents: Sequence[Mapping[str, Any]]) -> Version:
    """Return the version with a time after its parents', whatever the clocks say."""
    times = [(_ms(parent["timestamp"]), parent["id"]) for parent in parents]
    at_ms = moment_after(_ms(version.at), version.id, times)
    return replace(version, at=_EPOCH + timedelta(milliseconds=at_ms))


_EPOCH = datetime.fromtimestamp(0, UTC)


def _ms(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _when(one: Version | CheckoutLog) -> tuple[datetime, str]:
    return one.at, one.id


def _parent(rows: Rows, version: Version, parent: str) -> Props:
    row = rows.get(Label.VERSION, parent)
    if row is None:
        raise Conflict(f"Version {version.id} is a child of {parent}, which is not in the store.")
    if row.props["projectId"] != version.project_id:
        raise Conflict(f"Version {version.id} is a child of {parent}, which belongs to another project.")
    return row.props


def _put_branch(rows: Rows, props: Props) -> None:
    rows.put(Label.BRANCH, props["id"], props | {MACHINE: rows.fact("machine")}, surely=True)


def _in_line(version_id: str, found: Sequence[Version]) -> list[Version]:
    """Return the versions in line, each followed by its first parent."""
    by_id = {version.id: version for version in found}
    line: list[Version] = []
    wanted: str | None = version_id
    while wanted is not None and (version := by_id.pop(wanted, None)) is not None:
        line.append(version)
        wanted = next(iter(version.parents), None)
    return line
