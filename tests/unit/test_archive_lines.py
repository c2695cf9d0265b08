"""The lines of a backup: every value comes back as it was."""

import json
import math
from array import array
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ragforge.domain.messages import CallRequest, ImagePart, ModelMessage, TextPart
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.turns import CallStatus, ConversationSession, Project, Step, ToolCall, Turn, TurnStatus
from ragforge.domain.usage import Usage
from ragforge.domain.vectors import Embedding, Owner, OwnerKind
from ragforge.domain.versions import (
    Branch,
    Change,
    CheckoutLog,
    MoveAction,
    Node,
    NodeKind,
    Provenance,
    Uncovered,
    Version,
)
from ragforge.store.archive_items import Blob, Item, blobs_of, key_of
from ragforge.store.archive_lines import fingerprint, from_plain, sha256_hex, to_line
from tests.contract.builders import NOON, a_project, a_session, a_step, a_turn
from tests.contract.builders_versions import a_branch, a_change, a_node, a_version

TEXTS = st.text(st.characters(exclude_categories=[]), max_size=20)
MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000, fold=0)
)
SIZES = st.integers(0, 2**53)
COSTS = st.none() | st.floats(0, 1e6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXTS, JSON, max_size=3)
USAGES = st.builds(Usage, SIZES, SIZES, SIZES, SIZES)
IMAGES = st.builds(ImagePart, TEXTS, TEXTS, TEXTS)
MESSAGES = st.builds(
    ModelMessage,
    provider=TEXTS,
    model=TEXTS,
    text=TEXTS,
    calls=st.lists(st.builds(CallRequest, TEXTS, TEXTS, OBJECTS, TEXTS, TEXTS), max_size=2).map(tuple),
    native=st.none() | OBJECTS,
    thoughts=TEXTS,
)
TUPLES = st.lists(TEXTS, max_size=3).map(tuple)
VECTORS = st.lists(st.floats(width=32, allow_nan=False), max_size=5).map(lambda floats: array("f", floats))
NODES = st.builds(Node, st.sampled_from(NodeKind), TEXTS, SIZES, SIZES)
CHANGES = st.builds(
    Change,
    path=TEXTS,
    before=st.none() | NODES,
    after=st.none() | NODES,
    provenance=st.sampled_from(Provenance),
    renamed_from=TEXTS,
    shared=st.booleans(),
)
ITEMS: st.SearchStrategy[Item] = st.one_of(
    st.builds(Project, TEXTS, TEXTS, MOMENTS, TEXTS, TEXTS),
    st.builds(
        ConversationSession,
        **dict.fromkeys(("id", "project_id", "cwd", "title", "model", "mode", "user", "host"), TEXTS),
        started_at=MOMENTS,
        last_activity_at=MOMENTS,
        head=st.none() | TEXTS,
        forked_from=st.none() | TEXTS,
        project_path=TEXTS,
    ),
    st.builds(
        Turn,
        **dict.fromkeys(("id", "session_id", "assistant", "model", "error"), TEXTS),
        parent=st.none() | TEXTS,
        index=SIZES,
        user=st.lists(st.builds(TextPart, TEXTS) | IMAGES, max_size=3).map(tuple),
        started_at=MOMENTS,
        status=st.sampled_from(TurnStatus),
        ended_at=st.none() | MOMENTS,
        usage=USAGES,
        cost_usd=COSTS,
    ),
    st.builds(Step, TEXTS, SIZES, MESSAGES, USAGES, COSTS, st.booleans()),
    st.builds(
        ToolCall,
        **dict.fromkeys(("id", "turn_id", "name", "result", "diff", "provider_id"), TEXTS),
        **dict.fromkeys(("step_index", "position", "duration_ms", "result_chars"), SIZES),
        args=OBJECTS,
        status=st.sampled_from(CallStatus),
        started_at=MOMENTS,
        result_blob=st.none() | TEXTS,
        images=st.lists(IMAGES, max_size=2).map(tuple),
    ),
    st.builds(
        Summary,
        **dict.fromkeys(("id", "project_id", "session_id", "text", "model"), TEXTS),
        **dict.fromkeys(("covers", "files", "findings", "tools", "topics", "constraints"), TUPLES),
        level=SIZES,
        at=MOMENTS,
        turn_count=SIZES,
        method=st.sampled_from(SummaryMethod),
    ),
    st.builds(
        Version,
        **dict.fromkeys(("id", "project_id", "by", "session_id", "turn_id"), TEXTS),
        **dict.fromkeys(("title", "label", "note", "words"), TEXTS),
        **dict.fromkeys(("lines_added", "lines_removed", "duration_ms"), SIZES),
        parents=TUPLES,
        at=MOMENTS,
        changes=st.lists(CHANGES, max_size=3).map(tuple),
        uncovered=st.lists(st.builds(Uncovered, TEXTS, TEXTS), max_size=2).map(tuple),
        usage=USAGES,
        cost_usd=COSTS,
    ),
    st.builds(Branch, TEXTS, TEXTS, TEXTS, MOMENTS),
    st.builds(
        CheckoutLog,
        **dict.fromkeys(("id", "project_id", "session_id"), TEXTS),
        **dict.fromkeys(("from_version", "to_version", "from_turn", "to_turn"), TEXTS),
        **dict.fromkeys(("undoes", "command_id"), TEXTS),
        turns=st.lists(TEXTS, max_size=2).map(tuple),
        kept=st.none() | st.dictionaries(TEXTS, st.none() | NODES, max_size=2),
        aside=st.dictionaries(TEXTS, st.none() | NODES, max_size=2),
        action=st.sampled_from(MoveAction),
        at=MOMENTS,
    ),
    st.builds(Embedding, st.builds(Owner, st.sampled_from(OwnerKind), TEXTS), TEXTS, TEXTS, VECTORS),
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
