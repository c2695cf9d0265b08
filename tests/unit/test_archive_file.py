"""The backup file: it is written whole, and what is not whole is refused."""

import gzip
import json
import stat
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragforge.domain.errors import RagforgeError, StoreDamaged, StoreNewer, StoreUnavailable, UsageError
from ragforge.domain.ids import new_id
from ragforge.domain.summaries import Summary
from ragforge.domain.vectors import Embedding, Owner, OwnerKind
from ragforge.domain.versions import Branch, CheckoutLog, Version
from ragforge.store.archive_file import BackupWriter, Closing, Header, header, read_backup
from ragforge.store.archive_items import Blob, Item, kind_of
from ragforge.store.archive_lines import sha256_hex
from tests.contract.builders import NOON, a_call, a_project, a_request, a_session, a_step, a_turn
from tests.contract.builders_versions import a_branch, a_change, a_move, a_version


def some_items() -> list[Item]:
    """One of each kind, in the order of a dump."""
    project = a_project(name="naïve ☃ \ud800")
    session = a_session(project.id)
    turn = a_turn(session)
    step = a_step(turn, 0, "Let me look.", a_request())
    summary = Summary(new_id(), project.id, session.id, 1, "It parses.", (turn.id,), NOON)
    embedding = Embedding(Owner(OwnerKind.TURN, turn.id), "static", "0" * 64, array("f", [0.5, -1e-30]))
    blob = Blob(sha256_hex(b"\0\xff"), b"\0\xff")
    version = a_version(session, turn_id=turn.id, changes=(a_change("bad\udce9.txt"),))
    tree = [version, a_branch(version), a_move(session)]
    return [project, session, turn, step, blob, a_call(step), summary, embedding, *tree]


def written(file: Path, items: list[Item], *, force: bool = False, **closing: Any) -> Closing:
    with BackupWriter(file, header(origin="SQLite 3.54.0", schema=2), force=force) as out:
        out.write(items)
        return out.finish(**closing)


def read_to_the_end(file: Path) -> None:
    for _ in read_backup(file):
        pass


def test_a_file_holds_what_was_written_and_is_private(tmp_path: Path):
    file, items = tmp_path / "all.jsonl.gz", some_items()
    closing = written(file, items, missing=["ab" * 32], waiting=3)
    first, *between, last = read_backup(file)
    assert isinstance(first, Header)
    assert (first.what, first.format, first.origin, first.schema) == ("backup", 4, "SQLite 3.54.0", 2)
    assert (between, last) == (items, closing)
    assert (closing.missing, closing.waiting) == (("ab" * 32,), 3)
    assert closing.counts == dict.fromkeys(map(kind_of, items), 1)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]

    plain = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    assert plain[0].keys() == {"ragforge", "format", "made_at", "from", "schema"}
    assert [line["kind"] for line in plain[1:]] == [*map(kind_of, items), "end"]


def test_the_sums_do_not_depend_on_the_order(tmp_path: Path):
    items = [*some_items(), *some_items()]
    one = written(tmp_path / "one", items)
    other = written(tmp_path / "other", items[::-1])
    less = written(tmp_path / "less", items[1:])
    assert (one.counts, one.digests) == (other.counts, other.digests)
    assert one.digests["project"] != less.digests["project"]


def test_a_file_that_exists_is_replaced_by_force_only(tmp_path: Path):
    file = tmp_path / "all.gz"
    file.write_text("mine")
    with pytest.raises(UsageError, match=r"exists already.*--force"):
        written(file, some_items())
    assert file.read_text() == "mine"
    written(file, some_items(), force=True)
    assert len([*read_backup(file)]) == len(some_items()) + 2

    # It came while the backup was written.
    late = tmp_path / "late.gz"
    with BackupWriter(late, header(origin="x", schema=1), force=False) as out:
        late.write_text("mine")
        with pytest.raises(UsageError, match="exists already"):
            out.finish()
    assert late.read_text() == "mine"
    assert sorted(tmp_path.iterdir()) == [file, late]


@pytest.mark.parametrize("force", [True, False])
def test_what_is_no_file_is_left_alone(tmp_path: Path, force: bool):
    with pytest.raises(UsageError, match="is not a file"):
        written(tmp_path, [], force=force)
    with pytest.raises(StoreUnavailable, match=r"Cannot write .*No such file"):
        written(tmp_path / "none" / "all.gz", [], force=force)
    with pytest.raises(UsageError, match="There is no file"):
        read_to_the_end(tmp_path / "none")
    with pytest.raises(UsageError, match="is not a file"):
        read_to_the_end(tmp_path)


def test_a_backup_that_breaks_off_leaves_nothing_behind(tmp_path: Path):
    file = tmp_path / "all.gz"
    written(file, some_items())
    before = file.read_bytes()
    with BackupWriter(file, header(origin="x", schema=1), force=True) as out:
        out.write(some_items())
    assert list(tmp_path.iterdir()) == [file]
    assert file.read_bytes() == before


def test_cut_anywhere_it_is_refused(tmp_path: Path):
    file = tmp_path / "all.gz"
    written(file, some_items())
    whole = file.read_bytes()
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        with pytest.raises((StoreDamaged, UsageError)):
            read_to_the_end(file)


def test_altered_anywhere_it_is_refused_or_reads_the_same(tmp_path: Path):
    file = tmp_path / "all.gz"
    items = some_items()
    written(file, items)
    whole = file.read_bytes()
    harmless = 0
    for place in range(len(whole)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        try:
            _, *between, _ = read_backup(file)
        except (StoreDamaged, StoreNewer, UsageError):
            continue
        assert between == items
        harmless += 1
    assert harmless <= 12  # gzip's own: the time, the system, the bits that fill the last byte


Lines = list[bytes]


def put_together_anew(file: Path, change: Callable[[Lines], Lines]) -> None:
    lines = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
    file.write_bytes(gzip.compress(b"".join(change(lines))))


WRONG: dict[str, tuple[Callable[[Lines], Lines], type[RagforgeError], str]] = {
    "a line is gone": (lambda lines: [*lines[:3], *lines[4:]], StoreDamaged, "turn"),
    "a line is there twice": (lambda lines: [*lines[:4], lines[3], *lines[4:]], StoreDamaged, "turn"),
    "a word is another": (
        lambda lines: [line.replace(b"Let me look.", b"Let me leak.") for line in lines],
        StoreDamaged,
        "altered",
    ),
    "a content is another": (
        lambda lines: [line.replace(b'"AP8="', b'"AP4="') for line in lines],
        StoreDamaged,
        "line 6.* hash",
    ),
    "no last line": (lambda lines: lines[:-1], StoreDamaged, "line 13 is truncated"),
    "more after the last line": (lambda lines: [*lines, lines[1]], StoreDamaged, "follows"),
    "no line's end": (lambda lines: [b"".join(lines)[:-1]], StoreDamaged, "line 13 is truncated"),
    "no JSON": (lambda lines: [*lines[:2], b"{kind}\n", *lines[2:]], StoreDamaged, "line 3 is not a record"),
    "no object": (lambda lines: [*lines[:2], b"[]\n", *lines[2:]], StoreDamaged, "line 3 is not a record"),
    "too deep": (lambda lines: [*lines[:2], b"[" * 10**6 + b"\n"], StoreDamaged, "line 3 is not a record"),
    "no text": (lambda lines: [*lines[:2], b"\xff\xfe\n"], StoreDamaged, "line 3 is not a record"),
    "an unknown kind": (
        lambda lines: [*lines[:2], b'{"kind":"dream","id":"1"}\n', *lines[2:]],
        StoreDamaged,
        "dream",
    ),
    "an unknown field": (
        lambda lines: [lines[0], lines[1].replace(b'"name"', b'"nom"'), *lines[2:]],
        StoreDamaged,
        "line 2 is not a record",
    ),
    "an unknown part": (
        lambda lines: [line.replace(b'"type":"text"', b'"type":"song"') for line in lines],
        StoreDamaged,
        "line 4 is not a record",
    ),
    "half a float": (
        lambda lines: [line.replace(b'"vector":"', b'"vector":"AAA=') for line in lines],
        StoreDamaged,
        "line 9 is not a record",
    ),
    "another format": (
        lambda lines: [lines[0].replace(b'"format":4', b'"format":5'), *lines[1:]],
        StoreNewer,
        "newer ragforge .format 5",
    ),
    "an impossible format": (
        lambda lines: [lines[0].replace(b'"format":4', b'"format":"3"'), *lines[1:]],
        StoreDamaged,
        "first line",
    ),
    "another program's": (
        lambda lines: [lines[0].replace(b"ragforge", b"ragforgf"), *lines[1:]],
        UsageError,
        "not a backup",
    ),
    "nothing": (lambda _: [], UsageError, "not a backup"),
}


@pytest.mark.parametrize("how", WRONG)
def test_a_file_that_is_wrong_says_how(tmp_path: Path, how: str):
    change, kind, words = WRONG[how]
    file = tmp_path / "all.gz"
    written(file, some_items())
    put_together_anew(file, change)
    with pytest.raises(kind, match=words) as raised:
        read_to_the_end(file)
    assert str(file) in str(raised.value)


def test_a_text_that_is_not_compressed_is_no_backup(tmp_path: Path):
    file = tmp_path / "all.jsonl"
    file.write_text('{"ragforge": "backup", "format": 1}\n')
    with pytest.raises(UsageError, match="not a backup"):
        read_to_the_end(file)


def test_reading_tells_how_far_it_is(tmp_path: Path):
    file, told = tmp_path / "all.gz", list[tuple[int, int]]()
    written(file, [a_project(name=new_id()) for _ in range(1000)])
    assert len([*read_backup(file, progress=lambda done, total: told.append((done, total)))]) == 1002
    size = file.stat().st_size
    assert told[-1] == (size, size)
    assert len(told) > 5
    assert told == sorted(told)


def test_a_backup_from_before_there_were_versions_is_read(tmp_path: Path):
    file = tmp_path / "all.gz"
    items = [item for item in some_items() if not isinstance(item, Version | Branch | CheckoutLog)]
    written(file, items)
    put_together_anew(file, lambda lines: [lines[0].replace(b'"format":4', b'"format":1'), *lines[1:]])
    first, *found, _ = read_backup(file)
    assert isinstance(first, Header)
    assert (first.format, found) == (1, items)
