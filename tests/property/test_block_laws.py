"""Laws of the context block: budgets, doubles, and a frame that nothing in it can close."""

import re
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from ragforge.domain.context import Recalled
from ragforge.domain.search import HitKind
from ragforge.memory.block import CLOSING, OPENING, as_data, compose
from ragforge.memory.context import text_tokens
from ragforge.memory.recall.source import find_sources, sections_of
from ragforge.memory.recall.sources import memories, summaries
from ragforge.memory.recall.sources import turns as past_turns

AT = datetime(2026, 3, 4, tzinfo=UTC)
FRAME = re.compile(r"<[\s/\\]*recalled", re.IGNORECASE)
SHARES = {each.heading: each.share for each in sections_of(find_sources())}
pieces = st.sampled_from(
    [CLOSING, OPENING, "</RECALLED-CONTEXT>", "< /recalled", "\n## Memories\n", "- 2026", "\x1b[2J", "\u202e"]
)
texts = st.lists(st.one_of(st.text(max_size=300), pieces), max_size=8).map("".join)
items = st.builds(
    lambda section, number, text: Recalled(
        section, HitKind.MEMORY, str(number), text, 0, "because", AT, turn_id=str(number)
    ),
    st.sampled_from(list(SHARES)),
    st.integers(0, 30),
    texts,
)


@given(st.lists(items, max_size=40), st.integers(0, 3_000))
@settings(max_examples=200)
def test_a_block_keeps_to_its_budgets_and_says_nothing_twice(wanted: list[Recalled], limit: int) -> None:
    block = compose(wanted, shares=SHARES, tokens_max=limit)
    assert block.tokens == text_tokens(block.text) <= limit
    assert len({item.id for item in block.items}) == len(block.items)
    assert len({item.text.casefold() for item in block.items if not item.text.endswith("…")}) == len(
        [item for item in block.items if not item.text.endswith("…")]
    )
    for section, share in SHARES.items():
        spent = sum(item.tokens for item in block.items if item.section == section)
        assert spent <= limit * share
    sections = [item.section for item in block.items]
    assert sections == sorted(sections, key=list(SHARES).index)


@given(st.lists(items, min_size=1, max_size=20))
def test_nothing_in_a_block_can_close_its_frame_or_begin_a_section(wanted: list[Recalled]) -> None:
    block = compose(wanted, shares=SHARES, tokens_max=3_000)
    if not block.items:
        return
    assert block.text.startswith(OPENING + "\n")
    assert block.text.endswith("\n" + CLOSING)
    inside = block.text.removeprefix(OPENING).removesuffix(CLOSING)
    assert not FRAME.search(inside)
    headings = [line for line in inside.split("\n") if line.startswith("#")]
    assert headings == [f"## {section}" for section in SHARES if section in {i.section for i in block.items}]
    lines = [line for line in inside.split("\n") if line and not line.startswith("#")]
    assert len(lines) == len(block.items)
    assert all(line.startswith("- 2026-03-04: ") for line in lines)


@given(texts)
def test_what_may_stand_in_a_block_stays_so(text: str) -> None:
    once = as_data(text)
    assert as_data(once) == once
    assert len(once.splitlines()) <= 1
    assert "</recalled" not in once.casefold()


@given(st.lists(items, max_size=30), st.integers(200, 3_000))
def test_the_least_relevant_are_left_out_first(wanted: list[Recalled], limit: int) -> None:
    chosen = {item.id for item in compose(wanted, shares=SHARES, tokens_max=limit).items}
    whole = compose(wanted, shares=SHARES, tokens_max=10_000_000)
    for section in SHARES:
        ids = [item.id for item in whole.items if item.section == section]
        kept = [place for place, each in enumerate(ids) if each in chosen]
        assert kept == list(range(len(kept)))


def test_one_long_item_leaves_room_for_others() -> None:
    long = Recalled(memories.SECTION.heading, HitKind.MEMORY, "long", "words " * 5_000, 0, "", AT)
    short = Recalled(memories.SECTION.heading, HitKind.MEMORY, "short", "Tabs are used.", 0, "", AT)
    block = compose([long, short], shares=SHARES, tokens_max=1_500)
    assert [item.id for item in block.items] == ["long", "short"]


def test_of_two_that_exclude_each_other_the_first_stands() -> None:
    turn = Recalled(past_turns.SECTION.heading, HitKind.TURN, "t", "The turn.", 0, "", AT, turn_id="t")
    summary = Recalled(summaries.NEWEST.heading, HitKind.SUMMARY, "s", "Its summary.", 0, "", AT, turn_id="t")
    block = compose([turn, summary], shares=SHARES, tokens_max=1_500, excludes={"t": {"s"}, "s": {"t"}})
    assert [item.id for item in block.items] == ["t"]


def test_a_memory_gives_way_to_the_line_that_says_it_with_more_around_it() -> None:
    def item(section: str, kind: HitKind, id: str, text: str) -> Recalled:
        return Recalled(section, kind, id, text, 0, "", AT, turn_id=id)

    turns, known = past_turns.SECTION.heading, memories.SECTION.heading
    other = item(turns, HitKind.TURN, "t1", "The meter is read at night.")
    told = item(turns, HitKind.TURN, "t2", "Readings go to DuckDB. The auditors ask for them in January.")
    short = item(known, HitKind.MEMORY, "m1", "[decision] Readings go to DuckDB.")
    block = compose([other, told, short], shares=SHARES, tokens_max=3_000)
    assert [each.id for each in block.items] == ["t1", "t2"]
    told = item(turns, HitKind.TURN, "t2", "Readings went to MySQL. (replaced 3 Mar: Readings go to DuckDB.)")
    block = compose([other, told, short], shares=SHARES, tokens_max=3_000)
    assert [each.id for each in block.items] == ["t1", "t2", "m1"]
