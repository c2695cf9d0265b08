"""A session that is exported, imported and exported again is the same, and kept apart."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.domain.derivations import DerivedFilter
from ragforge.domain.errors import StoreDamaged, StoreNewer, UsageError
from ragforge.domain.memories import MemoryFilter, MemoryType
from ragforge.domain.redact import Redactor
from ragforge.domain.shares import PROPOSAL, SHARED
from ragforge.domain.turns import ConversationSession
from ragforge.session.bundle import WHAT, Bundle, read_bundle, write_bundle
from ragforge.session.marks import here_and_shared, read_mark, shared_here
from ragforge.session.session_import import Importer, import_session, read_received
from ragforge.store import archive_file
from ragforge.store.archive_file import BackupWriter, header
from ragforge.store.archive_items import Blob, Item
from ragforge.store.archive_lines import fingerprint
from ragforge.store.base import Record, Store
from ragforge.store.blobs import SqliteBlobs
from tests.contract.builders import (
    a_call,
    a_memory,
    a_project,
    a_request,
    a_step,
    a_summary,
    an_embedding,
    conversation,
    new_session,
)
from tests.contract.builders_versions import a_change, a_node, a_version

SECRET = "hunter2-correct-horse"
CLEAN = b"x = 1\n"


def prints(bundle: Bundle) -> set[bytes]:
    """Of all that is not the mark."""
    return {fingerprint(each) for each in bundle.records if getattr(each, "kind", "") != SHARED.label}


async def a_history(store: Store, blobs: SqliteBlobs) -> ConversationSession:
    """A session in which a secret was said, with what is made of it and a version of two files."""
    session = await new_session(store, title=f"The key {SECRET}")
    turns = await conversation(store, session, 2, answer=f"It is {SECRET}.")
    step = a_step(turns[0], 7, "Let me look.", a_request())
    digest = await blobs.put(f"All of it: {SECRET}".encode())
    await store.calls.add(a_call(step, result=SECRET, result_blob=digest), step)
    await store.summaries.save(summary := a_summary(session, f"Said {SECRET}", turns[0]))
    await store.memories.save(a_memory(session, "Use yarn.", turns[1], type=MemoryType.PREFERENCE))
    await store.memories.save(a_memory(session, "I am the owner.", turns[1], type=MemoryType.IDENTITY))
    await store.vectors.save([an_embedding(turns[1], 1.0), an_embedding(summary, 1.0)])
    clean, held = [await blobs.put(each) for each in (CLEAN, SECRET.encode())]
    changes = [
        replace(a_change(path), before=None, after=replace(a_node(), digest=digest))
        for path, digest in (("src/a.py", clean), (".env", held))
    ]
    await store.versions.add(a_version(session, turn_id=turns[1].id, changes=tuple(changes)))
    found = await store.sessions.get(session.id)
    assert found is not None
    return found


async def test_a_shared_session_is_the_same_in_every_store_and_nothing_of_it_is_recalled(
    store: Store, source: Store, tmp_path: Path
) -> None:
    ours, theirs = (SqliteBlobs(tmp_path / f"{name}.db", store_url=name) for name in ("ours", "theirs"))
    session = await a_history(source, ours)
    bundle = await read_bundle(source, ours, Redactor([SECRET]), session, files=True, by="ann@x.org")
    assert (bundle.left_out, bundle.missing) == ((".env",), ())
    assert bundle.masked >= 6
    file = tmp_path / "shared.ragforge"
    await write_bundle(bundle, file)
    found = await read_received(file)
    assert SECRET.encode() not in b"".join(map(repr_of, (*found.records, *found.blobs)))
    assert [each.content for each in found.memories] == ["Use yarn."]

    mine = a_project()
    await store.projects.add(mine)
    to = Importer(store, theirs, tmp_path, mine.id, "bob@x.org")
    assert await import_session(to, found)
    assert not await import_session(to, found), "twice doubles nothing"
    mark = await read_mark(store, session.id)
    assert mark is not None
    assert (mark.by, mark.imported_by, mark.into) == ("ann@x.org", "bob@x.org", mine.id)
    assert set(await shared_here(store, mine.id)) == {session.id}
    kept = await store.sessions.get(session.id)
    assert kept is not None
    assert kept.project_id not in (mine.id, session.project_id)
    assert await store.memories.find(MemoryFilter(kept.project_id)) == []
    assert len(await store.derivations.find(DerivedFilter(PROPOSAL.label, owners=(session.id,)))) == 1
    assert await theirs.get((await ours.put_many([CLEAN]))[0]) == CLEAN

    again = await read_bundle(store, theirs, Redactor(), kept, files=True, by="bob@x.org")
    assert prints(again) == prints(bundle)
    assert next(SHARED.read(each).by for each in again.records if getattr(each, "kind", "") == SHARED.label)
    await ours.close()
    await theirs.close()


async def test_what_came_from_several_projects_is_found_by_one_more_search(
    store: Store, source: Store, tmp_path: Path
) -> None:
    ours, theirs = (SqliteBlobs(tmp_path / f"{name}.db", store_url=name) for name in ("ours", "theirs"))
    mine, another = a_project(), a_project()
    for each in (mine, another):
        await store.projects.add(each)
    kept_in: set[str] = set()
    bundles: list[Bundle] = []
    for place, into in enumerate((mine, mine, another)):
        session = await a_history(source, ours)
        bundles.append(await read_bundle(source, ours, Redactor(), session, files=True, by="ann"))
        await write_bundle(bundles[-1], file := tmp_path / f"{place}.ragforge")
        to = Importer(store, theirs, tmp_path, into.id, "bob")
        assert await import_session(to, await read_received(file))
        kept = await store.sessions.get(session.id)
        assert kept is not None
        kept_in.add(kept.project_id)
        again = await read_bundle(store, theirs, Redactor(), kept, files=True, by="bob")
        assert prints(again) == prints(bundles[-1]), "it is still known which project it came from"
    assert len({each.records[0].id for each in bundles}) == 3  # pyright: ignore
    assert len(kept_in) == 2, "a project for each that was imported for"

    asked: list[str] = []

    async def look(project_id: str) -> int:
        asked.append(project_id)
        return len(await store.sessions.recent(project_id=project_id, limit=9))

    here, others, marks = await here_and_shared(store, mine.id, look)
    assert (here, others, len(marks)) == (0, [2], 2)
    assert len(asked) == 2
    await store.projects.add(replace(mine, merged_into=another.id))
    assert len(await shared_here(store, another.id)) == 3, "what was imported goes with its project"
    assert await shared_here(store, mine.id) == {}
    await ours.close()
    await theirs.close()


def repr_of(record: Item) -> bytes:
    return record.data if isinstance(record, Blob) else repr(record).encode()


async def test_a_file_that_is_cut_altered_newer_or_leads_out_is_refused_and_changes_nothing(
    source: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = SqliteBlobs(tmp_path / "blobs.db", store_url="x")
    session = await a_history(source, blobs)
    bundle = await read_bundle(source, blobs, Redactor(), session, files=True, by="ann")
    file = tmp_path / "whole"
    await write_bundle(bundle, file)
    data = file.read_bytes()
    for bad in (data[:-9], data[: len(data) // 2], data[:40] + b"x" + data[41:], b"", b"{}\n"):
        (cut := tmp_path / "cut").write_bytes(bad)
        with pytest.raises((StoreDamaged, UsageError)):
            await read_received(cut)

    def written(*records: Record, what: str = WHAT) -> Path:
        place = tmp_path / "other"
        with BackupWriter(place, header(origin="x", schema=0, what=what), force=True) as out:
            out.write(records)
            out.finish()
        return place

    with pytest.raises(UsageError, match="is not a session that ragforge made"):
        await read_received(written(*bundle.records, what="backup"))
    for path in ("../.ssh/id", "/etc/passwd", "a/../../b", ""):
        *others, version = bundle.records
        leading = replace(version, changes=(a_change(path),))  # pyright: ignore
        with pytest.raises(StoreDamaged, match="leads out of the project"):
            await read_received(written(*others, leading))
    foreign = a_project()
    with pytest.raises(StoreDamaged, match="not contain exactly one session"):
        await read_received(written(foreign, *bundle.records))
    *others, last = (each for each in bundle.records if not isinstance(each, ConversationSession))
    with pytest.raises(StoreDamaged):
        await read_received(written(*others, last))
    monkeypatch.setattr(archive_file, "FORMAT", archive_file.FORMAT + 1)
    newer = written(*bundle.records)
    monkeypatch.undo()
    with pytest.raises(StoreNewer):
        await read_received(newer)

    found = await read_received(file)
    await source.sessions.delete(session.id)
    other = await new_session(source)
    turn = next(each for each in found.records if type(each).__name__ == "Turn")
    await source.turns.start(replace(turn, session_id=other.id, user=(), parent=None))  # pyright: ignore
    to = Importer(source, blobs, tmp_path, other.project_id, "bob")
    with pytest.raises(UsageError, match="says something else"):
        await import_session(to, found)
    assert await source.sessions.get(session.id) is None
    await blobs.close()
