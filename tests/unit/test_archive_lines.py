"""The lines of a backup: every value comes back as it was."""

import json
import math
from array import array
from datetime import UTC, timedelta, timezone
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ragforge.domain.messages import CallRequest
from ragforge.domain.turns import Project, Step
from ragforge.domain.vectors import Embedding, Owner, OwnerKind
from ragforge.domain.versions import Node, NodeKind
from ragforge.store.archive_items import DESCRIPTIONS, Blob, Item, blobs_of, key_of
from ragforge.store.archive_lines import fingerprint, from_plain, sha256_hex, to_line
from tests.contract.builders import NOON, a_project, a_session, a_step, a_turn
from tests.contract.builders_versions import a_branch, a_change, a_node, a_version
from tests.records import records

ITEMS: st.SearchStrategy[Item] = st.one_of(
    *(records(each) for each in DESCRIPTIONS.values()),
    st.binary(max_size=50).map(lambda data: Blob(sha256_hex(data), data)),
)


@given(ITEMS)
def test_every_value_comes_back_as_it_was(item: Item):
    line = to_line(item)
    assert "\n" not in line
    again = from_plain(json.loads(line.encode().decode()))
    assert repr(again) == repr(item)  # tells 1 from 1.0 and True, and 0.0 from -0.0
    assert type(again) is type(item)
    assert fingerprint(again) == fingerprint(item)


def test_no_number_comes_back_as_null():
    args = {"ratio": math.nan, "far": -math.inf, "large": 10**30}
    step = a_step(a_turn(a_session("p")), 0, "", CallRequest("c", "f", args))
    again = from_plain(json.loads(to_line(step)))
    assert isinstance(again, Step)
    assert repr(again.message.calls[0].args) == repr(args)


def test_a_moment_elsewhere_is_the_same_moment_in_utc():
    project = a_project(created_at=NOON.astimezone(timezone(timedelta(hours=9))) + timedelta(microseconds=7))
    again = from_plain(json.loads(to_line(project)))
    assert isinstance(again, Project)
    assert (again.created_at, again.created_at.tzinfo) == (NOON, UTC)
    assert fingerprint(project) == fingerprint(replace(project, created_at=NOON))


def test_the_order_of_keys_is_kept_in_the_line_and_does_not_change_the_fingerprint():
    session = a_session("p")
    one, other = (
        a_step(a_turn(session, id="t"), 0, "", CallRequest("c", "f", args))
        for args in ({"b": 1, "a": 2}, {"a": 2, "b": 1})
    )
    assert to_line(one) != to_line(other)
    assert fingerprint(one) == fingerprint(other)


def test_the_id_of_a_record_is_the_one_that_a_store_fetches_by():
    turn = a_turn(a_session("p"))
    embedding = Embedding(Owner(OwnerKind.SUMMARY, "s"), "m", "h", array("f"))
    assert [key_of(turn), key_of(a_step(turn, 3)), key_of(embedding)] == [
        turn.id,
        f"{turn.id}/3",
        "summary/s",
    ]
    version = a_version(a_project(id="p"))
    assert [key_of(version), key_of(a_branch(version, "a/b"))] == [version.id, "p/a/b"]


def test_a_version_refers_to_what_lay_there_before_and_after():
    one, other = a_node("one"), a_node("other", kind=NodeKind.LINK)
    empty = Node(NodeKind.FOLDER, "", 0o755)
    changes = (a_change("a", before=one, after=other), a_change("b", before=empty, after=None))
    assert blobs_of(a_version(a_project(), changes=changes)) == (one.digest, other.digest)


def test_lines_of_before_are_read_and_written_as_they_were():
    """A field that a record, or a struct within one, gets later is left out of the line where it is empty."""
    lines = Path(__file__).with_name("lines_of_before.jsonl").read_text().splitlines()
    assert [to_line(from_plain(json.loads(line))) for line in lines] == lines
