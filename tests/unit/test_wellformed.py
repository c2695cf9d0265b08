"""Text and JSON made well-formed."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragforge.domain.json import (
    DEPTH_MAX,
    NestedTooDeep,
    WellFormedStream,
    read_json,
    well_formed,
    well_formed_json,
)

HALVES = st.text(st.sampled_from("aé\ud83d\ude00\udcff\0🎉"), max_size=12)


@given(HALVES)
def test_every_text_can_be_encoded_and_stays_as_it_was_from_then_on(text: str) -> None:
    made = well_formed(text)
    assert made.encode().decode() == made
    assert well_formed(made) == made


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_what_can_be_encoded_is_unchanged(text: str) -> None:
    assert well_formed(text) == text


@given(st.lists(HALVES, max_size=5))
def test_however_a_text_arrives_it_is_the_same(pieces: list[str]) -> None:
    stream = WellFormedStream()
    shown = "".join([*[stream.feed(piece) for piece in pieces], stream.flush()])
    assert shown == well_formed("".join(pieces))


def test_a_pair_is_joined_and_a_half_replaced() -> None:
    assert well_formed("\ud83d\ude00 \ud83d \ude00") == "😀 \ufffd \ufffd"


def test_json_loses_what_no_other_reader_takes() -> None:
    assert well_formed_json({"a\ud800": [float("nan"), float("-inf"), 1.5, 10**30, "\udcff"]}) == {
        "a\ufffd": [None, None, 1.5, 10**30, "\ufffd"]
    }


@pytest.mark.parametrize("depth", [DEPTH_MAX + 1, 2_000])
def test_nesting_has_an_end(depth: int) -> None:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    with pytest.raises(NestedTooDeep):
        well_formed_json(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "\\ud800"}', {"a": "\ufffd"}),
        ('"\\uD83D\\uDE00"', "😀"),
        ('"\\udc00\\ud800 x"', "\ufffd\ufffd x"),
        ('["\\u0000"]', ["\0"]),
        ('{"a": 1, "a": 2}', {"a": 2}),
    ],
)
def test_json_is_read_whatever_its_escapes(text: str, value: object) -> None:
    assert read_json(text) == value


@pytest.mark.parametrize("text", ["", "{", '"\\ud800', '"\\u12"', "nul", "[1,]", "\ufeff{}", "[" * 5_000])
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        read_json(text)


def test_nothing_else_is_read_as_json_of_ours() -> None:
    assert json.loads(json.dumps(read_json('{"x": ["\\ud800", 1]}'))) == {"x": ["\ufffd", 1]}


THREADS = """
import sys, threading, msgspec
sys.setswitchinterval(1e-7)
from ragforge.domain.json import read_in_threads
wrap = read_in_threads if sys.argv[1] == "made safe" else lambda kind: kind
def read(kind, gate):
    gate.wait()
    msgspec.convert({"a": [{"b": 1}], "c": {"b": 2}}, kind)
for number in range(200):
    inner = msgspec.defstruct(f"Inner{number}", [("b", int)])
    outer = msgspec.defstruct(f"Outer{number}", [("a", list[inner]), ("c", inner)])
    kind, gate = wrap(outer), threading.Barrier(4)
    threads = [threading.Thread(target=read, args=(kind, gate)) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
print("read")
"""


def test_a_type_that_several_threads_read_first_at_the_same_moment_does_not_crash() -> None:
    command = [sys.executable, "-c", THREADS, "made safe"]
    made = subprocess.run(command, check=False, capture_output=True, text=True)
    assert made.stdout == "read\n", (made.returncode, made.stderr)
