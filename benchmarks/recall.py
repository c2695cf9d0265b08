"""Whether search finds the right turn: any data set of questions, in the project's own store and search.

    python benchmarks/recall.py DATA.jsonl [--store URL] [--fusion convex|rrf] [--embedder NAME]

No language model is called. Each line is a turn or a question:

    {"type": "turn", "conversation", "session", "id", "at": ISO 8601, "user", "assistant"}
    {"type": "question", "conversation", "text", "gold": [ids of turns], "category"}

Each conversation becomes a project of its own, and is searched alone. R@k is the share of a question's gold
turns among the first k turns found, MRR one divided by the rank of the first of them; both are means over
questions. A store at a URL is filled with these conversations in addition to its contents; without one,
SQLite in a temporary folder is used. `locomo.py` makes such lines from a public data set.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ragforge.config.schema import MemorySettings
from ragforge.config.settings import Settings
from ragforge.domain.ids import new_id
from ragforge.domain.messages import TextPart
from ragforge.domain.search import Query
from ragforge.domain.turns import ConversationSession, Project, Turn, TurnStatus
from ragforge.embedders.base import Embedder, learn_dimensions
from ragforge.memory.derive.vectors import embed_owners
from ragforge.memory.recall.search import Recall, search
from ragforge.session.recall_embedder import close_recall, open_recall
from ragforge.store.base import Record, Store
from ragforge.store.open import open_store

DEPTHS = (5, 10, 20)
LOADED = 1_000
"""Records that are written together."""


@dataclass(slots=True)
class Conversation:
    """A project's records, and the ids of its turns."""

    project: Project
    sessions: dict[str, list[Turn]] = field(default_factory=dict[str, list[Turn]])
    turns: dict[str, str] = field(default_factory=dict[str, str])
    """The store's id of each turn, by that in the data."""


@dataclass(frozen=True, slots=True)
class Question:
    conversation: str
    text: str
    gold: tuple[str, ...]
    category: str


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one question."""

    recall: Mapping[int, float]
    reciprocal: float
    ms: float


def read(path: Path) -> tuple[dict[str, Conversation], list[Question]]:
    """Return the conversations and the questions. Exits if a line cannot be used."""
    conversations: dict[str, Conversation] = {}
    questions: list[Question] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
            match item["type"]:
                case "turn":
                    _add_turn(conversations, item)
                case "question":
                    gold = tuple(map(str, item["gold"]))
                    category = str(item.get("category", ""))
                    questions.append(Question(str(item["conversation"]), item["text"], gold, category))
                case other:
                    raise ValueError(f"there is no type {other!r}")
        except (KeyError, TypeError, ValueError) as error:
            raise SystemExit(f"{path}, line {number}: {error!r}. See the top of {__file__}.") from error
    for question in questions:
        known = conversations.get(question.conversation)
        if known is None or not question.gold or not known.turns.keys() >= set(question.gold):
            raise SystemExit(f"{path}: {question.text!r} names no turn, or turns that are not there.")
    return conversations, questions


def _add_turn(conversations: dict[str, Conversation], item: Mapping[str, Any]) -> None:
    at = datetime.fromisoformat(item["at"])
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    name, key = str(item["conversation"]), str(item["id"])
    if name not in conversations:
        conversations[name] = Conversation(Project(new_id(), name, at))
    conversation = conversations[name]
    if key in conversation.turns:
        raise ValueError(f"the turn {key} is there twice")
    before = conversation.sessions.setdefault(str(item["session"]), [])
    turn = Turn(
        id=new_id(),
        session_id=before[0].session_id if before else new_id(),
        parent=before[-1].id if before else None,
        index=len(before),
        user=(TextPart(item["user"]),),
        started_at=at,
        status=TurnStatus.FINISHED,
        assistant=item["assistant"],
        ended_at=at,
    )
    before.append(turn)
    conversation.turns[key] = turn.id


def records(conversation: Conversation) -> Iterable[Record]:
    """Yield everything of it, in the order in which it can be stored."""
    yield conversation.project
    for name, turns in conversation.sessions.items():
        yield ConversationSession(
            id=turns[0].session_id,
            project_id=conversation.project.id,
            cwd="/",
            started_at=turns[0].started_at,
            last_activity_at=turns[-1].started_at,
            title=name,
            head=turns[-1].id,
        )
    for turns in conversation.sessions.values():
        yield from turns


async def fill(store: Store, embedder: Embedder | None, conversations: Iterable[Conversation]) -> None:
    """Store and embed all of it."""
    if embedder is not None:
        await store.vectors.use(embedder.name, await learn_dimensions(embedder))
    for conversation in conversations:
        all_of = list(records(conversation))
        for start in range(0, len(all_of), LOADED):
            await store.archive.load(all_of[start : start + LOADED])
        if embedder is not None:
            while lacking := await store.vectors.lacking(
                embedder.name, project_id=conversation.project.id, limit=LOADED
            ):
                await embed_owners(store, embedder, lacking)
    await store.drain(timeout_s=600)


async def ask(recall: Recall, conversations: Mapping[str, Conversation], question: Question) -> Result:
    """Return the ranks of the question's gold turns."""
    conversation = conversations[question.conversation]
    gold = {conversation.turns[turn] for turn in question.gold}
    began = time.perf_counter()
    answer = await search(recall, Query(question.text, project_id=conversation.project.id, limit=max(DEPTHS)))
    ms = (time.perf_counter() - began) * 1000
    # A call or a summary that is found leads to its turn.
    found = list(dict.fromkeys(hit.turn_id for hit in answer.hits))
    ranks = [rank for rank, turn in enumerate(found, 1) if turn in gold]
    return Result(
        {depth: sum(rank <= depth for rank in ranks) / len(gold) for depth in DEPTHS},
        1 / ranks[0] if ranks else 0.0,
        ms,
    )


def print_table(questions: Sequence[Question], results: Sequence[Result]) -> None:
    """Print a line per category, and one of all."""
    groups: dict[str, list[Result]] = defaultdict(list)
    for question, result in zip(questions, results, strict=True):
        groups[question.category or "-"].append(result)
    heads = "".join(f"{f'R@{depth}':>7}" for depth in DEPTHS)
    print(f"{'category':<24} {'questions':>9} {heads} {'MRR':>6} {'p50 ms':>8} {'p95 ms':>8}")
    for name, group in [*sorted(groups.items()), ("all", list(results))]:
        recalls = "".join(f"{statistics.fmean(r.recall[depth] for r in group):7.3f}" for depth in DEPTHS)
        times = sorted(each.ms for each in group)
        print(
            f"{name:<24} {len(group):9} {recalls} {statistics.fmean(r.reciprocal for r in group):6.3f} "
            f"{times[len(times) // 2]:8.1f} {times[len(times) * 95 // 100]:8.1f}"
        )


@asynccontextmanager
async def opened(url: str, settings: Settings) -> AsyncIterator[Recall]:
    """Yield what is searched: the store at the URL, or a temporary one."""
    with tempfile.TemporaryDirectory() as folder:
        store = await open_store(url or f"sqlite://{folder}/ragforge.db", machine_dir=Path(folder))
        try:
            recall = open_recall(store, settings, os.environ)
            yield recall
            await close_recall(recall)
        finally:
            await store.close()


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, metavar="DATA.jsonl")
    parser.add_argument("--store", default="", metavar="URL")
    parser.add_argument("--fusion", choices=("convex", "rrf"), default="convex")
    parser.add_argument("--embedder", default="static", metavar="NAME")
    chosen = parser.parse_args()
    conversations, questions = read(chosen.data)
    if not questions:
        raise SystemExit(f"{chosen.data} asks nothing.")
    memory = MemorySettings(fusion=chosen.fusion, embedder=chosen.embedder)
    async with opened(chosen.store, Settings(chosen.store or "sqlite:///", memory=memory)) as recall:
        began = time.perf_counter()
        await fill(recall.store, recall.embedder, conversations.values())
        turns = sum(len(each.turns) for each in conversations.values())
        print(
            f"{turns} turns of {len(conversations)} conversations, stored and embedded in "
            f"{time.perf_counter() - began:.1f} s: "
            f"{recall.embedder.name if recall.embedder else 'words alone'}, {recall.fusion}"
        )
        results = [await ask(recall, conversations, question) for question in questions]
    print_table(questions, results)


if __name__ == "__main__":
    # `make bench` runs every file here; without data there is nothing to measure.
    if len(sys.argv) > 1:
        asyncio.run(main())
