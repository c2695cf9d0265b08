"""A file and a graph that are asked the same, what they are given, and what of their answers is compared."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine
from msgspec.structs import replace

from ragforge.domain.errors import RagforgeError
from ragforge.domain.ids import now
from ragforge.domain.search import Candidate, Hit
from ragforge.domain.turns import Turn, TurnStatus
from ragforge.domain.vectors import Near
from ragforge.store.base import Record, Store
from ragforge.store.base_conversations import UsageRow
from ragforge.store.open import open_store
from tests.contract.builders import DIMENSIONS, NOON
from tests.servers import neo4j
from tests.servers.neo4j import Neo4jServer

T = TypeVar("T")
Ask = Callable[[Store], Awaitable[T]]

SCORES_ALIKE = 1e-3
ATTEMPTS_MAX = 30

HOSTILE = (
    *("", " ", "\0", "\ud800", "half \udfff zebra", "zebra\0okapi", "🦜" * 150, "zebra " + "é🦓" * 120),
    *(
        "a" * 300,
        "数" * 120 + " 数",
        "日本語のzebra",
        "e\u0301 é É",
        "Straße STRASSE ﬁne ǅ",
        "\u2028zebra\x1f\x85gnu",
    ),
    *(
        'zebra AND NOT "okapi"~2 (gnu OR *:*) +a -b ^9 \\',
        "'}) DETACH DELETE (n) //",
        "$id `x` ${a} {b} %s ?",
    ),
    *(
        "C:\\zebra\\okapi.py",
        'zebra\'s "gnu"; DROP TABLE words; --',
        "\r\n\t zebra\r",
        "zebra-okapi_gnu.py/π",
    ),
)
VOCABULARY = (
    "zebra",
    "zebras",
    "okapi",
    "gnu",
    "running",
    "runs",
    "the",
    "2026",
    "march",
    "read",
    "Ünïcode",
    "数",
    "parser",
)
TEXTS = st.one_of(
    st.sampled_from(HOSTILE),
    st.lists(st.sampled_from(VOCABULARY), max_size=6).map(" ".join),
    st.text(st.characters(exclude_categories=[]), max_size=30),
)
# One of another length: using it makes a server build its indexes anew, which takes long, so it is rare.
MODELS = st.sampled_from(
    [*[("static:2", DIMENSIONS)] * 6, ('hostile "\ud800\0', DIMENSIONS), ("gemini:b", 3)],
)
NUMBERS = st.sampled_from([-1.0, 0.0, 1.0, 0.5, 1e-20, 1e20, 0.1])
MINUTES = st.integers(0, 4)
ENDS = st.sampled_from([each for each in TurnStatus if each not in (TurnStatus.RUNNING, TurnStatus.WAITING)])
STRANGE_IDS = st.sampled_from(["", "nowhere", "\0", "a'b\"c\\`", "🦜"])


@dataclass(frozen=True, slots=True)
class Refused:
    """What a store raised, as far as it must be the same in both."""

    error: type[RagforgeError]


class BothStores(RuleBasedStateMachine):
    """Both stores, empty at first; each call goes to both."""

    def __init__(self, server: Neo4jServer) -> None:
        super().__init__()
        neo4j.empty(server)
        self.loop = asyncio.new_event_loop()
        self.folder = TemporaryDirectory()
        self.urls = f"sqlite://{self.folder.name}/store/ragforge.db", server.url
        self.password = server.password
        self.stores = self.opened()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def opened(self) -> list[Store]:
        folder = Path(self.folder.name)
        return [
            self.run(open_store(url, machine_dir=folder / part, password=self.password))
            for part, url in zip(("file", "graph"), self.urls, strict=True)
        ]

    def both(self, ask: Ask[T]) -> tuple[T | Refused, T | Refused]:
        async def answer(store: Store) -> T | Refused:
            for _ in range(ATTEMPTS_MAX):
                try:
                    found = await ask(store)
                except RagforgeError as error:
                    found = Refused(type(error))
                if not store.link.away:
                    return found
                # A busy machine's server may be silent for a while: what is answered without it is another
                # matter, so it is asked again once it is back.
                await store.drain(timeout_s=30)
            raise AssertionError(f"the server was away: {store.link.away}")

        async def answers() -> list[T | Refused]:
            return await asyncio.gather(*map(answer, self.stores))

        file, graph = self.run(answers())
        return file, graph

    def alike(self, ask: Ask[T], seen: Callable[[T], object] = lambda answer: answer) -> T | Refused:
        """What both answered; seen: what of the answer must be the same."""
        file, graph = self.both(ask)
        shown = [each if isinstance(each, Refused) else seen(each) for each in (file, graph)]
        assert shown[0] == shown[1]
        return file

    def alike_in(self, ask: Ask[T], compare: Callable[[T, T], None]) -> T | Refused:
        """What both answered, after a comparison that raises AssertionError."""
        file, graph = self.both(ask)
        if isinstance(file, Refused) or isinstance(graph, Refused):
            assert file == graph
        else:
            compare(file, graph)
        return file

    # Choosing

    def one_of(self, data: st.DataObject, known: Any) -> str:
        """An id that was ever used, rarely one that never was."""
        ids = [*known]
        if not ids or data.draw(st.integers(0, 15)) == 7:
            return data.draw(STRANGE_IDS)
        return data.draw(st.sampled_from(ids))

    def maybe(self, data: st.DataObject, known: Any) -> str | None:
        return self.one_of(data, known) if data.draw(st.booleans()) else None

    def since(self, data: st.DataObject) -> datetime | None:
        minutes = data.draw(st.one_of(st.none(), MINUTES))
        return None if minutes is None else NOON + timedelta(minutes=minutes, microseconds=500)

    def close(self) -> None:
        for store in self.stores:
            self.run(store.close())

    def finish(self) -> None:
        """Release all."""
        self.close()
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        self.folder.cleanup()


async def dump_of(store: Store) -> list[Record]:
    """All that the store holds, in the order that the contract demands."""
    async with aclosing(store.archive.dump()) as records:
        return [record async for record in records]


async def load_own_dump(store: Store) -> int:
    """How many records are new to the store that they come from."""
    return await store.archive.load(await dump_of(store))


def without_clock(record: Any) -> Any:
    """The record without the moment at which a claim ended its turn."""
    if isinstance(record, Turn) and record.status is TurnStatus.INTERRUPTED and record.ended_at:
        ended_now = abs(now() - record.ended_at) < timedelta(hours=1)
        return replace(record, ended_at=None) if ended_now else record
    return record


def without_clocks(records: list[Any]) -> list[Any]:
    return [without_clock(record) for record in records]


def whatever_order(hits: list[Hit]) -> dict[tuple[str, str], Hit]:
    """The hits without their order and scores."""
    assert all(0 <= start < end <= len(hit.text) for hit in hits for start, end in hit.marks)
    return {(hit.kind, hit.id): replace(hit, score=0) for hit in hits}


def as_sums(rows: list[UsageRow]) -> list[UsageRow]:
    """The sums, but for the last bits, which depend on the order of adding."""
    return [replace(row, cost_usd=None if row.cost_usd is None else round(row.cost_usd, 9)) for row in rows]


def assert_same_candidates(file: list[Candidate], graph: list[Candidate]) -> None:
    """The same things, found by words or not, and as near."""
    known = {(each.kind, each.id): each for each in graph}
    assert len(known) == len(graph)
    assert known.keys() == {(each.kind, each.id) for each in file}
    for one in file:
        other = known[one.kind, one.id]
        assert replace(one, words=None, meaning=None) == replace(other, words=None, meaning=None)
        assert (one.words is None) == (other.words is None)
        assert one.meaning == (other.meaning and pytest.approx(other.meaning, abs=SCORES_ALIKE))


def assert_equally_near(file: list[Near], graph: list[Near]) -> None:
    """The same scores at each place; the same owners but where scores are as good as equal."""
    assert [each.score for each in graph] == pytest.approx([each.score for each in file], abs=SCORES_ALIKE)
    last = file[-1].score if file else 0.0
    for found, others in ((file, graph), (graph, file)):
        scores = {each.owner: each.score for each in others}
        assert len(scores) == len(others)
        for each in found:
            # What is equal to the last may be on either side of the limit.
            assert each.score == pytest.approx(scores.get(each.owner, last), abs=SCORES_ALIKE)
        for one, next_one in pairwise(found):
            assert (-one.score, one.owner.id) < (-next_one.score, next_one.owner.id)
