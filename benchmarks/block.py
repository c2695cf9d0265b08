"""What a model is given before a message: how much of it is relevant, current and not repeated.

    python benchmarks/block.py DATA.jsonl... [--lines] [--limit N]

Each file is processed by the product: a workspace and sessions of its own, turns as they are stored, memories
and summaries by rules, vectors by the included embedder, and the block within its default budget. No model
is called. A file has one of two forms. A dialogue with questions has the lines of `recall.py`. A scripted
project has turns and, after them, probes:

    {"turn": n, "day": ISO 8601, "session": k, "user", "assistant", "files": [...]}
    {"probe": id, "group", "user", "relevant": [n...], "main": [n...], "always": [n...],
     "outdated": [{"turn": n, "text"}]}

A probe is asked in a new session after the last turn. A line contains one statement and comes from the turns
that it is based on. It is relevant if one of these is relevant, or if the line is among the standing
instructions and one of its turns gave one (`always`). It repeats another line if six tenths of its content
words are in an earlier one. It is outdated if it comes from the turn of an outdated statement, contains its
words and does not say that it was replaced: a statement of the probe's own (`outdated`), or of any probe of
the file (`anywhere`).
"""

import argparse
import asyncio
import json
import re
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.context import ContextBlock, Recalled
from ragforge.domain.ids import new_id
from ragforge.domain.language.base import stop_words
from ragforge.domain.messages import CallRequest, ModelMessage, TextPart
from ragforge.domain.schedule import Timing
from ragforge.domain.search import HitKind
from ragforge.domain.turns import CallStatus, Step, ToolCall, Turn, TurnEnd, TurnStatus
from ragforge.memory.context import text_tokens
from ragforge.memory.window import Window
from ragforge.session.background import Background
from ragforge.session.context import build_block
from ragforge.session.open import close_session, close_workspace, new_session, open_workspace, store_session
from ragforge.session.state import Session, Workspace
from ragforge.store.base import Store

SAID_SHARE = 0.6
"""The share of the content words of a statement: a line with so many of them says it."""
SENTENCE_WORDS_MIN = 4
PATIENT_S = 60.0
GREETING = "hello"
QUICK = Timing(start_s=0.0, gather_s=0.0)
"""How long the background work waits before it starts: not at all."""
DONE_S_MAX = 120.0
_WORD = re.compile(r"[^\W_]+(?:[.,:][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Said:
    """A turn of the data."""

    key: str
    session: str
    at: datetime
    user: str
    assistant: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outdated:
    """An outdated statement, and the turn that made it."""

    turn: str
    text: str


@dataclass(frozen=True, slots=True)
class Probe:
    """A message, and what the block before it should contain."""

    name: str
    group: str
    text: str
    relevant: frozenset[str]
    main: frozenset[str]
    always: frozenset[str] = frozenset()
    outdated: tuple[Outdated, ...] = ()


@dataclass(slots=True)
class Conversation:
    """A project: what was said in it, and the messages after it."""

    said: list[Said] = field(default_factory=list[Said])
    probes: list[Probe] = field(default_factory=list[Probe])


@dataclass(frozen=True, slots=True)
class Judged:
    """A line and its verdict."""

    text: str
    tokens: int
    turns: frozenset[str]
    relevant: bool
    repeats: bool
    outdated: bool
    outdated_anywhere: bool


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a probe."""

    probe: Probe
    lines: tuple[Judged, ...]
    tokens: int
    ms: float

    @property
    def found(self) -> frozenset[str]:
        """Return the turns that any line comes from."""
        return frozenset[str]().union(*(line.turns for line in self.lines))


def read(path: Path) -> dict[str, Conversation]:
    """Return the conversations of a file of either form. Exits if a line cannot be used."""
    conversations: dict[str, Conversation] = defaultdict(Conversation)
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
            into = conversations[str(item.get("conversation", path.stem))]
            if item.get("type") == "turn" or "turn" in item:
                into.said.append(_said(item))
            else:
                into.probes.append(_probe(item))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SystemExit(f"{path}, line {number}: {error!r}. See the top of {__file__}.") from error
    for name, conversation in conversations.items():
        known = {each.key for each in conversation.said}
        if any(not probe.relevant | probe.always <= known for probe in conversation.probes):
            raise SystemExit(f"{path}: a question of {name} names turns that are not there.")
    return conversations


def _said(item: Mapping[str, Any]) -> Said:
    at = datetime.fromisoformat(str(item["at"] if "at" in item else item["day"]))
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    key = str(item["id"] if "id" in item else item["turn"])
    return Said(key, str(item["session"]), at, item["user"], item["assistant"], tuple(item.get("files", [])))


def _probe(item: Mapping[str, Any]) -> Probe:
    def keys(name: str) -> frozenset[str]:
        return frozenset(map(str, item.get(name, [])))

    if "text" in item:
        gold = keys("gold")
        return Probe(item["text"][:40], item.get("category", "-"), item["text"], gold, gold)
    gone = tuple(Outdated(str(each["turn"]), each["text"]) for each in item.get("outdated", []))
    wanted = keys("relevant"), keys("main"), keys("always")
    return Probe(item["probe"], item.get("group", "-"), item["user"], *wanted, gone)


@asynccontextmanager
async def workspace_at(folder: Path) -> AsyncIterator[Workspace]:
    """Yield an empty project whose memory calls no model and does not wait long for anything."""
    project = folder / "project"
    project.mkdir()
    environ = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "RAGFORGE_DATA_DIR": str(folder / "data"),
        "RAGFORGE_CONFIG_DIR": str(folder / "config"),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        "RAGFORGE_BACKUP_DAILY": "false",
        "RAGFORGE_MEMORY_MODEL": "local",
    }
    opened = await open_workspace(cwd=project, flags={}, environ=environ)
    workspace = replace(opened, background=Background(QUICK))
    try:
        yield workspace
    finally:
        await close_workspace(workspace)


async def fill(workspace: Workspace, said: Sequence[Said]) -> dict[str, str]:
    """Store all turns as if said at their times; return the data's key of each, by the store's id."""
    sessions: dict[str, Session] = {}
    keys: dict[str, str] = {}
    for each in said:
        if each.session not in sessions:
            sessions[each.session] = await new_session(workspace)
            sessions[each.session].change(started_at=each.at, last_activity_at=each.at)
            await store_session(sessions[each.session], said=(TextPart(each.user),))
        turn_id = await _store_turn(sessions[each.session], each)
        keys[turn_id] = each.key
        workspace.background.turn_ended(sessions[each.session], turn_id)
        await workspace.background.finish(timeout_s=DONE_S_MAX)
    await _all_derived(workspace)
    for session in sessions.values():
        await close_session(session)
    return keys


async def _store_turn(session: Session, said: Said) -> str:
    store, head = session.workspace.store, session.live.record.head
    before = await store.turns.get(head) if head else None
    turn = Turn(
        id=new_id(),
        session_id=session.id,
        parent=head,
        index=before.index + 1 if before else 0,
        user=(TextPart(said.user),),
        started_at=said.at,
        model="scripted",
    )
    await store.turns.start(turn)
    requests = tuple(CallRequest(new_id(), "edit", {"path": path}) for path in said.files)
    asked = Step(turn.id, 0, ModelMessage("scripted", "scripted", "", calls=requests))
    for place, request in enumerate(requests):
        result = f"Edited {said.files[place]}."
        ended = (CallStatus.OK, result, said.at, 0)
        await store.calls.add(ToolCall(request.id, turn.id, 0, place, "edit", request.args, *ended), asked)
    step = Step(turn.id, 1 if requests else 0, ModelMessage("scripted", "scripted", said.assistant))
    await store.turns.end(TurnEnd(turn.id, TurnStatus.FINISHED, said.assistant, said.at, last_step=step))
    session.change(head=turn.id)
    return turn.id


async def _all_derived(workspace: Workspace) -> None:
    embedder, store = workspace.recall.embedder, workspace.store
    assert embedder is not None
    workspace.background.wake()
    async with asyncio.timeout(DONE_S_MAX):
        quiet = 0
        while quiet < 5:
            lacking = await store.vectors.lacking(embedder.name)
            quiet = 0 if lacking or workspace.background.progress.turns else quiet + 1
            await asyncio.sleep(0.1)


async def ask(workspace: Workspace, conversation: Conversation, keys: dict[str, str], probe: Probe) -> Result:
    """Return the block before the probe, judged line by line."""
    session = await new_session(workspace)
    began = time.perf_counter()
    block = await build_block(session, (TextPart(probe.text),), Window())
    ms = (time.perf_counter() - began) * 1000
    await close_session(session)
    gone = {statement for each in conversation.probes for statement in each.outdated}
    lines: list[Judged] = []
    for item in block.items:
        turns = frozenset(await turns_of(workspace.store, item, keys, conversation.said))
        lines.append(_judged(item, turns, probe, gone, lines))
    return Result(probe, tuple(lines), _tokens(block), ms)


def _judged(
    item: Recalled, turns: frozenset[str], probe: Probe, gone: set[Outdated], before: Sequence[Judged]
) -> Judged:
    standing = is_standing_line(item) and bool(turns & probe.always)
    marked = re.search(r"\((?:perhaps )?replaced ", item.text) is not None
    return Judged(
        item.text,
        item.tokens,
        turns,
        bool(turns & probe.relevant) or standing,
        any(says(line.text, item.text) for line in before),
        not marked and any(gives(item.text, turns, each) for each in probe.outdated),
        not marked and any(gives(item.text, turns, each) for each in gone),
    )


def is_standing_line(item: Recalled) -> bool:
    """Return whether the line is among the standing instructions."""
    return "Standing" in item.section or item.text.startswith("[preference]")


async def turns_of(store: Store, item: Recalled, keys: dict[str, str], said: Sequence[Said]) -> set[str]:
    """Return the data's keys of the turns that the line comes from."""
    found = {keys[item.turn_id]} if item.turn_id in keys else set[str]()
    if item.kind is HitKind.MEMORY:
        for memory in await store.memories.get([item.id]):
            found |= {keys[turn] for turn in memory.turns if turn in keys}
    if item.kind is HitKind.SUMMARY:
        for summary in await store.summaries.get([item.id]):
            if summary.level > 1:
                found = _holding(item.text, said)
            else:
                found |= {keys[turn] for turn in summary.covers if turn in keys}
    return found


def _holding(line: str, said: Sequence[Said]) -> set[str]:
    """Return the turns of which the line has a sentence: a summary of many covers those that it mentions."""
    return {
        each.key
        for each in said
        for sentence in re.split(r"(?<=[.!?])\s+|\n+", f"{each.user}\n{each.assistant}")
        if len(content_words(sentence)) >= SENTENCE_WORDS_MIN and says(line, sentence)
    }


def content_words(text: str) -> set[str]:
    """Return its words and numbers without stop words."""
    words = {found[0].lower() for found in _WORD.finditer(text)}
    return {word for word in words if word not in stop_words() and (len(word) > 1 or word.isdigit())}


def says(line: str, statement: str) -> bool:
    """Return whether the line contains enough of the statement's content words."""
    words = content_words(statement)
    return bool(words) and len(words & content_words(line)) >= SAID_SHARE * len(words)


def gives(line: str, turns: frozenset[str], outdated: Outdated) -> bool:
    """Return whether the line, from these turns, gives the outdated statement: its words and numbers."""
    numbers = {word for word in content_words(outdated.text) if any(map(str.isdigit, word))}
    return outdated.turn in turns and numbers <= content_words(line) and says(line, outdated.text)


def _tokens(block: ContextBlock) -> int:
    return text_tokens(block.text) if block.text else 0


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return statistics.fmean(found) if found else 0.0


def print_table(results: Sequence[Result]) -> None:
    """Print a row per group and one of all: recall first, then the other figures."""
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[result.probe.group].append(result)
    print(
        f"{'group':<26}{'n':>4}{'recall':>8}{'main':>7}{'lines':>7}{'prec':>7}{'prec.t':>8}{'repeat':>8}"
        f"{'outdated':>9}{'anywhere':>9}{'tokens':>8}{'p50 ms':>8}{'p95 ms':>8}"
    )
    for name, group in [*sorted(groups.items()), ("all", list(results))]:
        print(_row(name, group))


def _row(name: str, group: Sequence[Result]) -> str:
    lines = [line for each in group for line in each.lines]
    asked = [each for each in group if each.probe.relevant]
    recall = _mean(len(each.found & each.probe.relevant) / len(each.probe.relevant) for each in asked)
    main = _mean(bool(each.found & each.probe.main) for each in asked if each.probe.main)
    tokens = sum(line.tokens for line in lines)
    times = sorted(each.ms for each in group)

    def share(fits: Callable[[Judged], bool]) -> float:
        return _mean(map(fits, lines))

    def blocks(fits: Callable[[Judged], bool]) -> int:
        return sum(any(map(fits, each.lines)) for each in group)

    of_tokens = sum(line.tokens for line in lines if line.relevant) / max(1, tokens)
    return (
        f"{name:<26}{len(group):4}{recall:8.3f}{main:7.2f}{len(lines) / len(group):7.1f}"
        f"{share(lambda line: line.relevant):7.2f}{of_tokens:8.2f}{share(lambda line: line.repeats):8.3f}"
        f"{blocks(lambda line: line.outdated):9}{blocks(lambda line: line.outdated_anywhere):9}"
        f"{_mean(each.tokens for each in group):8.0f}"
        f"{times[len(times) // 2]:8.1f}{times[len(times) * 95 // 100]:8.1f}"
    )


def print_lines(result: Result) -> None:
    """Print each line with its verdict: + relevant, r a repeat, O outdated on the matter, o anywhere."""
    probe = result.probe
    missing = ",".join(sorted(probe.relevant - result.found))
    print(f"\n=== {probe.name} [{probe.group}] {probe.text}")
    print(f"=   {result.tokens} tokens; missing: {missing or '-'}")
    for line in result.lines:
        outdated = "O" if line.outdated else "o" if line.outdated_anywhere else " "
        flags = ("+" if line.relevant else "-") + ("r" if line.repeats else " ") + outdated
        print(f"{flags} {','.join(sorted(line.turns)) or '?':<8} {line.text}")


async def measure(path: Path, *, lines: bool, limit: int) -> None:
    """Print the table of one file. Nothing is left out for being late: what is measured is what is found."""
    timeouts.GATHER_S_MAX = PATIENT_S
    results: list[Result] = []
    greetings: list[Result] = []
    began = time.perf_counter()
    conversations = read(path)
    for conversation in conversations.values():
        with tempfile.TemporaryDirectory() as folder:
            async with workspace_at(Path(folder)) as workspace:
                keys = await fill(workspace, conversation.said)
                for probe in conversation.probes[: limit or None]:
                    results.append(await ask(workspace, conversation, keys, probe))
                    if lines:
                        print_lines(results[-1])
                greeting = Probe(GREETING, GREETING, GREETING, frozenset(), frozenset())
                greetings.append(await ask(workspace, conversation, keys, greeting))
    if not results:
        raise SystemExit(f"{path} asks nothing.")
    turns = sum(len(each.said) for each in conversations.values())
    print(f"\n{path.name}: {turns} turns, {len(results)} messages, {time.perf_counter() - began:.0f} s")
    print_table(results)
    of_lines = _mean(len(each.lines) for each in greetings)
    print(f'"{GREETING}": {_mean(each.tokens for each in greetings):.0f} tokens, {of_lines:.1f} lines')


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, nargs="+", metavar="DATA.jsonl")
    parser.add_argument("--lines", action="store_true", help="print each block with its verdicts")
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="messages of each conversation")
    chosen = parser.parse_args()
    for path in chosen.data:
        await measure(path, lines=chosen.lines, limit=chosen.limit)


if __name__ == "__main__":
    # `make bench` runs every file here; without data there is nothing to measure.
    if len(sys.argv) > 1:
        asyncio.run(main())
