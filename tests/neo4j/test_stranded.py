"""Rows for a database that is gone: which are found for an address, and what of them is taken over."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ragforge.store.neo4j.orphans import discard, find_stranded, note_address, take_over
from ragforge.store.neo4j.outbox import Outbox, OutboxRow, Rows, open_outbox
from ragforge.store.neo4j.rows import Label

ADDRESS = "bolt://graph.example:7687"


@asynccontextmanager
async def outbox(folder: Path, name: str, *addresses: str) -> AsyncGenerator[Outbox]:
    """The outbox of a database that has answered at these addresses."""
    found = open_outbox(folder / f"{name}.db", lock_dir=folder)
    try:
        for address in addresses:
            await found.write(lambda rows, address=address: note_address(rows, address))
        yield found
    finally:
        await found.close()


def say(rows: Rows, turn: str, parent: str | None, session: str = "s") -> OutboxRow:
    rows.put(Label.PROJECT, "p", {"id": "p"})
    rows.put(Label.SESSION, session, {"sessionId": session, "projectId": "p", "title": "of yore"})
    depth = int(turn.removeprefix("t"))
    props = {"id": turn, "sessionId": session, "projectId": "p", "parentId": parent, "turnIndex": depth}
    rows.put(Label.STEP, f"{turn}/0", {"id": f"{turn}/0", "turnId": turn, "sessionId": session})
    return rows.put(Label.TURN, turn, props, complete=True)


async def test_only_what_waited_at_the_address_is_found(tmp_path: Path) -> None:
    for name, addresses in (("there", [ADDRESS]), ("gone", [ADDRESS]), ("other", ["bolt://other:7687"])):
        async with outbox(tmp_path, name, *addresses) as box:
            await box.write(lambda rows: say(rows, "t0", None))
    async with outbox(tmp_path, "arrived", ADDRESS):
        pass
    # Of before addresses were noted: one that stands behind some address is no stranded one.
    for name in ("nameless", "known"):
        async with outbox(tmp_path, name) as box:
            await box.write(lambda rows: say(rows, "t0", None))
    (tmp_path / "scrap.db").write_text("no database at all" * 100)
    found = find_stranded(tmp_path, ADDRESS, here="there", known={"there", "known"})
    assert [each.database_id for each in found] == ["gone", "nameless"]
    assert found[0].rows == 4
    assert found[0].counts == {Label.PROJECT: 1, Label.SESSION: 1, Label.STEP: 1, Label.TURN: 1}
    assert found[0].titles == ("of yore",)


async def test_a_row_that_waits_brings_along_what_it_rests_on_and_nothing_else(tmp_path: Path) -> None:
    async with outbox(tmp_path, "gone", ADDRESS) as box:
        # A session, a fork of it that goes on from its first turn, and one that has nothing to do with them.
        await box.write(lambda rows: (say(rows, "t0", None), say(rows, "t9", None, "elsewhere")))
        carried = await box.read(Rows.all_waiting)
        await box.write(lambda rows: rows.mark_carried(carried))
        await box.write(lambda rows: say(rows, "t1", "t0", "fork"))
    (stranded,) = find_stranded(tmp_path, ADDRESS, here="there", known=())
    assert stranded.rows == 3
    async with outbox(tmp_path, "there", ADDRESS) as there:
        assert await take_over(stranded, there, lock_dir=tmp_path) == 7
        waiting = await there.read(Rows.all_waiting)
        assert [row.id for row in waiting] == ["p", "fork", "s", "t0", "t1", "t0/0", "t1/0"]
        assert all(row.fresh and row.epoch == 0 for row in waiting)
        assert await there.count() == 7
    assert find_stranded(tmp_path, ADDRESS, here="there", known=()) == []


@settings(max_examples=25, deadline=None)
@given(parents=st.lists(st.integers(0, 30), min_size=1, max_size=12), arrived=st.integers(0, 12))
def test_no_row_that_waited_is_lost_and_none_comes_before_what_it_hangs_on(
    parents: list[int], arrived: int
) -> None:
    """Whatever the tree, and however much of it had arrived; being broken off in between changes nothing."""

    async def scenario(folder: Path) -> None:
        async with outbox(folder, "gone", ADDRESS) as box:
            for depth, before in enumerate(parents):
                parent = f"t{before % depth}" if depth else None
                await box.write(lambda rows, d=depth, p=parent: say(rows, f"t{d}", p))
                if depth < arrived:
                    carried = await box.read(Rows.all_waiting)
                    await box.write(lambda rows, those=carried: rows.mark_carried(those))
            waited = {(row.label, row.id) for row in await box.read(Rows.all_waiting)}
        found = find_stranded(folder, ADDRESS, here="there", known=())
        async with outbox(folder, "there", ADDRESS) as there:
            for stranded in found * 2:
                await take_over(stranded, there, lock_dir=folder)
            rows = await there.read(Rows.all_waiting)
        places = {(row.label, row.id): place for place, row in enumerate(rows)}
        assert waited <= places.keys()
        assert len(places) == len(rows)
        for row in rows:
            for label, needed in (
                (Label.TURN, "parentId"),
                (Label.TURN, "turnId"),
                (Label.PROJECT, "projectId"),
            ):
                if identifier := row.props.get(needed):
                    assert places[label, identifier] < places[row.label, row.id]

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(scenario(Path(folder)))


async def test_what_is_discarded_is_gone_for_good(tmp_path: Path) -> None:
    async with outbox(tmp_path, "gone", ADDRESS) as box:
        await box.write(lambda rows: say(rows, "t0", None))
    (stranded,) = find_stranded(tmp_path, ADDRESS, here="there", known=())
    await discard(stranded, lock_dir=tmp_path)
    assert find_stranded(tmp_path, ADDRESS, here="there", known=()) == []
    async with outbox(tmp_path, "gone") as box:
        assert await box.read(lambda rows: rows.of_label(Label.TURN)) == []
