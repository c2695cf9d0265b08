"""Which contents are read and compared before a command."""

from hypothesis import given
from hypothesis import strategies as st

from ragforge.versions.record.contents import SAMPLE_BYTES, SAMPLE_FILES, Sampling

SIZES = st.lists(st.integers(0, SAMPLE_BYTES), max_size=40).map(
    lambda sizes: {bytes([number]): size for number, size in enumerate(sizes)}
)


@given(SIZES)
def test_every_content_has_its_turn_and_the_limits_hold(sizes: dict[bytes, int]):
    sampling, seen = Sampling(), set[bytes]()
    for _ in sizes:
        chosen = sampling.choose(sizes)
        assert len(chosen) <= SAMPLE_FILES
        assert sum(sizes[digest] for digest in chosen) <= SAMPLE_BYTES
        seen.update(chosen)
    assert seen == set(sizes)


def test_few_contents_are_all_read_each_time():
    sampling, sizes = Sampling(), {bytes([number]): 1000 for number in range(SAMPLE_FILES)}
    for _ in range(3):
        assert set(sampling.choose(sizes)) == set(sizes)
    assert len(sampling.choose(sizes | {b"new": 1000})) == SAMPLE_FILES
