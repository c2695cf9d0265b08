"""The tree in a file of SQLite: what a page costs, what cannot be, what is checked and put right."""

from pathlib import Path

import apsw
import pytest

from ragforge.domain.search import HitKind, Query
from ragforge.domain.turns import ConversationSession
from ragforge.domain.versions import Version
from ragforge.store.base import Store
from ragforge.store.open import open_store
from ragforge.store.sqlite.connection import connect
from ragforge.store.sqlite.versions import (
    CHILDREN,
    LINE,
    NEWEST_FIRST,
    NEXT_PAGE,
    PAGE,
    SELECT_SHORT,
)
from tests.contract.builders import new_session, said
from tests.contract.builders_versions import a_branch, a_version, new_line, new_version, worked
from tests.contract.sqlite_steps import steps_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ragforge.db"


async def opened(path: Path) -> Store:
    return await open_store(f"sqlite://{path}", machine_dir=path.parent)


async def test_a_page_costs_the_same_however_many_versions_there_are(path: Path) -> None:
    store = await opened(path)
    session = await new_session(store)
    costs: list[dict[str, tuple[int, int]]] = []
    line: list[Version] = []
    for size in (100, 2_000):
        fresh: list[Version] = []
        while len(line) < size:
            fresh.append(a_version(session, *line[-1:]))
            line.append(fresh[-1])
        await store.archive.load(fresh)
        values = {"project": session.project_id, "before": line[size // 2].id, "limit": 40}
        costs.append(
            {
                "first": steps_of(path, _short(PAGE), values),
                "next": steps_of(path, _short(NEXT_PAGE), values),
                "line": steps_of(path, LINE, {"version": line[-1].id, "limit": 40}),
                "children": steps_of(path, CHILDREN, (line[0].id,)),
            }
        )
    few, many = costs
    assert {name: rows for name, (_, rows) in few.items()} == {
        "first": 40,
        "next": 40,
        "line": 40,
        "children": 1,
    }
    for name, (steps, rows) in many.items():
        assert rows == few[name][1]
        assert steps <= few[name][0] * 1.1, name
    await store.close()


def _short(page: str) -> str:
    return f"{SELECT_SHORT} WHERE version.key IN ({page}) {NEWEST_FIRST}"


async def test_no_circle_can_be_written_even_by_hand(path: Path) -> None:
    store = await opened(path)
    await new_line(store, await new_session(store), 2)
    connection = connect(path)
    for wrong in (
        "UPDATE descent SET parent = version",
        "INSERT INTO descent SELECT parent, 0, version FROM descent",
    ):
        with pytest.raises(apsw.ConstraintError):
            connection.execute(wrong)
    connection.close()
    await store.close()


async def _tree(store: Store) -> tuple[ConversationSession, list[Version]]:
    session = await new_session(store)
    turn, made = await worked(store, session, text="the zebra", label="okapi")
    _, child = await worked(store, session, made, text="the yak", below=turn)
    await store.versions.set_branch(a_branch(child, "try-it"))
    return session, [made, child]


async def test_check_names_what_is_wrong_with_versions(path: Path) -> None:
    store = await opened(path)
    _, (made, child) = await _tree(store)
    other = await new_version(store, await new_session(store))
    assert await store.check() == []
    connection = connect(path)
    connection.execute("DELETE FROM words WHERE rowid = (SELECT key FROM version WHERE id = ?)", (made.id,))
    connection.execute("UPDATE version SET at = 0 WHERE id = ?", (child.id,))
    connection.execute("UPDATE branch SET version = (SELECT key FROM version WHERE id = ?)", (other.id,))
    connection.execute("INSERT INTO unversioned SELECT key FROM turn UNION SELECT 999")
    connection.close()
    found = " ".join(await store.check())
    for sentence in (
        f"Version {made.id} cannot be found by search",
        f"Version {child.id} does not come after its parent",
        "Branch try-it points to a version of another project",
        f"Turn {made.turn_id} is listed as lacking a version",
        "Turn 999 is listed as lacking a version",
    ):
        assert sentence in found
    await store.close()


async def test_repair_makes_again_what_versions_are_found_by(path: Path) -> None:
    store = await opened(path)
    session, versions = await _tree(store)
    lacking = await said(store, session)
    connection = connect(path)
    connection.execute("DELETE FROM words WHERE rowid IN (SELECT key FROM version)")
    connection.execute("INSERT OR IGNORE INTO unversioned SELECT key FROM turn UNION SELECT 999")
    connection.close()
    assert await store.search.words(Query("zebra", kinds=(HitKind.VERSION,))) == []
    assert await store.check(repair=True)
    assert await store.check() == []
    assert [hit.id for hit in await store.search.words(Query("zebra", kinds=(HitKind.VERSION,)))] == [
        versions[0].id
    ]
    assert await store.versions.unversioned(session.id) == [lacking.id]
    assert await store.versions.line(versions[1].id) == versions[::-1]
    await store.close()
