"""The version tree while the server is away: what is here, and never less than was asked for.

A state of the files is the sum of a line of versions, and a clean-up removes what no version names. So
where a version is asked for by its id and is not here, that is no answer, and StoreUnavailable is raised.
"""

from collections.abc import Callable, Sequence

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.turns import TurnStatus
from ragforge.domain.versions import Branch, CheckoutLog, Version
from ragforge.store.base_versions import VersionRow
from ragforge.store.neo4j.carry_versions import GONE
from ragforge.store.neo4j.outbox import Rows
from ragforge.store.neo4j.rows import Label, Props
from ragforge.store.neo4j.version_rows import branch_of, move_of, version_of

BRIEF = frozenset({"changes", "words"})
"""What a list of versions goes without."""
RUNNING = (TurnStatus.RUNNING, TurnStatus.WAITING)


def get_here(rows: Rows, ids: Sequence[str]) -> list[Version]:
    """These versions, in the order of the ids."""
    return [version_of(_need(rows, each)) for each in dict.fromkeys(ids)]


def of_turns_here(rows: Rows, turn_ids: Sequence[str]) -> list[Version]:
    """The versions of these turns, oldest first."""
    wanted = {*turn_ids}
    found = [props for props in _all(rows, Label.VERSION) if props.get("turnId") in wanted]
    silent = wanted - {props["turnId"] for props in found}
    if lost := [turn for turn in silent if not _is_written_here(rows, turn)]:
        raise StoreUnavailable(f"The versions of the turn {lost[0]} are not on this machine.")
    return [version_of(props) for props in sorted(found, key=_when)]


def unversioned_here(rows: Rows, session_id: str, limit: int) -> list[str]:
    """Turns that ended on this machine and have no version. Of others it cannot be known."""
    versioned = {props.get("turnId") for props in _all(rows, Label.VERSION)}
    found = [
        row.props
        for row in rows.of_session(Label.TURN, session_id)
        if row.props.get("versionDue")
        and row.props["status"] not in RUNNING
        and row.id not in versioned
        and _is_written_here(rows, row.id)
    ]
    return [props["id"] for props in sorted(found, key=_when)][: max(0, limit)]


def rows_here(rows: Rows, project_id: str, *, limit: int, before: str | None) -> list[VersionRow]:
    """The project's versions that are here, newest first."""
    found = _of_project(rows, Label.VERSION, project_id)
    if before is not None:
        end = _need(rows, before)
        found = [props for props in found if _when(props) < _when(end)]
    return [VersionRow(_brief(props), props["files"]) for props in found[: max(0, limit)]]


def when_here(rows: Rows, version_id: str) -> list[Props]:
    """When the version was made."""
    return [_need(rows, version_id)]


def with_id_part_here(rows: Rows, project_id: str, is_meant: Callable[[Props], bool]) -> list[Version]:
    """Those that are here and meant, newest first."""
    return [_brief(props) for props in _of_project(rows, Label.VERSION, project_id) if is_meant(props)]


def line_here(rows: Rows, version_id: str, limit: int | None) -> list[Version]:
    """The version and its first parents, newest first."""
    found: dict[str, Version] = {}
    wanted: str | None = version_id
    while wanted is not None and wanted not in found and (limit is None or len(found) < limit):
        found[wanted] = version_of(_need(rows, wanted))
        wanted = next(iter(found[wanted].parents), None)
    return [*found.values()]


def children_here(rows: Rows, version_id: str) -> list[Version]:
    """Versions that are here and of which it is a parent, oldest first."""
    found = [props for props in _all(rows, Label.VERSION) if version_id in props["parents"]]
    return [version_of(props) for props in sorted(found, key=_when)]


def branches_here(rows: Rows, project_id: str) -> list[Branch]:
    """The project's branches that were set here, by name."""
    found = [branch_of(row) for row in _of_project(rows, Label.BRANCH, project_id) if not row.get(GONE)]
    return sorted(found, key=lambda branch: branch.name)


def moves_here(rows: Rows, project_id: str, session_id: str | None, limit: int) -> list[CheckoutLog]:
    """The moves that were made here, newest first."""
    found = [move_of(props) for props in _of_project(rows, Label.MOVE, project_id)]
    return [move for move in found if session_id in (None, move.session_id)][: max(0, limit)]


def _need(rows: Rows, version_id: str) -> Props:
    row = rows.get(Label.VERSION, version_id)
    if row is None:
        raise StoreUnavailable(f"The version {version_id} is not on this machine.")
    return row.props


def _is_written_here(rows: Rows, turn_id: str) -> bool:
    """Whether this machine wrote the turn, so that it knows of its versions."""
    row = rows.get(Label.TURN, turn_id)
    return row is not None and (row.waits or row.epoch > 0)


def _all(rows: Rows, label: Label) -> list[Props]:
    return [row.props for row in rows.of_label(label)]


def _of_project(rows: Rows, label: Label, project_id: str) -> list[Props]:
    """Newest first."""
    found = [props for props in _all(rows, label) if props["projectId"] == project_id]
    return sorted(found, key=_when, reverse=True)


def _when(props: Props) -> tuple[object, ...]:
    return props["timestamp"], props["id"]


def _brief(props: Props) -> Version:
    return version_of({name: value for name, value in props.items() if name not in BRIEF})
