from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.terminal.emulator import Emulator

OLD, NEW = "old one | old two", "new one | new two"


def _picture(words: str) -> bytes:
    first, second = words.split(" | ")
    return f"\x1b[?2026h\x1b[1;1H{first}\x1b[2;1H{second}\x1b[?2026l".encode()


STREAM = b"\x1b[?2026$p\x1b[>1u" + _picture(OLD) + _picture(NEW)


@given(st.sets(st.integers(1, len(STREAM) - 1)))
def test_wherever_the_bytes_are_cut_only_whole_pictures_are_seen(cuts: set[int]):
    emulator = Emulator(rows=2, columns=10)
    edges = [0, *sorted(cuts), len(STREAM)]
    answers, seen = b"", []
    for begin, end in pairwise(edges):
        answers += emulator.feed(STREAM[begin:end])
        seen.append(emulator.text.replace("\n", " | "))
    assert answers == b"\x1b[?2026;2$y"
    assert set(seen) <= {" | ", OLD, NEW}
    assert seen[-1] == NEW


def test_a_program_that_dies_while_drawing_leaves_what_it_drew():
    emulator = Emulator(rows=2, columns=10)
    emulator.feed(_picture(OLD)[:-15])
    assert "old" not in emulator.text
    emulator.ended()
    assert "old one" in emulator.text
