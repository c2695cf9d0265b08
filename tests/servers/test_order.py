"""The order of files: all are there, and no two processes see another one."""

from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.servers.order import mixed, rotated
from tests.servers.plugin import LATE_FILES, OWN_FILES, SCHEMA_FILE

ROOT = Path(__file__).parents[2]


def test_files_with_a_place_of_their_own_are_there() -> None:
    assert [each for each in (*LATE_FILES, *OWN_FILES, SCHEMA_FILE) if not (ROOT / each).is_file()] == []


@given(with_server=st.integers(0, 90), without=st.integers(0, 300))
def test_every_file_comes_once_and_each_kind_in_its_own_order(with_server: int, without: int) -> None:
    files = [f"s{number:03}" for number in range(with_server)] + [
        f"w{number:03}" for number in range(without)
    ]
    found = mixed(files, lambda file: file.startswith("s"))
    assert sorted(found) == files
    assert [file for file in found if file[0] == "s"] == files[:with_server]
    assert [file for file in found if file[0] == "w"] == files[with_server:]


def test_files_that_need_a_server_come_neither_first_nor_last_nor_side_by_side() -> None:
    files = [*(f"s{number:02}" for number in range(50)), *(f"w{number:03}" for number in range(200))]
    found = mixed(files, lambda file: file.startswith("s"))
    kinds = [file[0] for file in found]
    assert set(kinds[:40] + kinds[-20:]) == {"w"}
    assert ("s", "s") not in set(pairwise(kinds))


@given(entries=st.lists(st.integers(), unique=True), workers=st.integers(1, 8))
def test_each_worker_begins_elsewhere_and_reads_all(entries: list[int], workers: int) -> None:
    orders = [rotated(entries, worker=worker, workers=workers) for worker in range(workers)]
    assert all(sorted(order) == sorted(entries) for order in orders)
    assert len({order[0] for order in orders if order}) == min(workers, len(entries))
