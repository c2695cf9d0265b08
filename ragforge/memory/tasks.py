"""Read tasks from the store: which turns belong together, and their outcome."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from ragforge.domain.checks import check_output
from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.messages import text_of
from ragforge.domain.search import Candidate, HitKind
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.tasks import PastTask, TaskOutcome
from ragforge.domain.turns import CallStatus, ToolCall, Turn
from ragforge.domain.versions import Version
from ragforge.memory.corrections import is_correction
from ragforge.memory.foresight_mark import failing_after
from ragforge.memory.forgotten import NOTHING, Forgotten
from ragforge.memory.material import answer_of
from ragforge.memory.sentences import cut_words
from ragforge.store.base import Store

CORRECTIONS_MAX = 3
"""The maximum number of corrections that belong to a task."""
CHILDREN_MAX = 1_000
DONE_CHARS_MAX = 400
ALTERNATIVE = "alternative "
"""The prefix of the label of a version that was tried beside others."""
_CHANGING = frozenset({"edit", "write", "shell"})


async def read_tasks(store: Store, turn_ids: Sequence[str], forgotten: Forgotten = NOTHING) -> list[PastTask]:
    """Return the tasks that the turns belong to, without duplicates, in the order of the turns.

    There is none if nothing was done or answered. forgotten: what is cut out of them. Raises StoreError.

    """
    roots = await _roots(store, await store.turns.read(turn_ids))
    chains = await _with_corrections(store, roots)
    ids = [turn.id for chain in chains for turn in chain]
    calls, versions, covering, abandoned = await asyncio.gather(
        store.calls.of_turns(ids),
        store.versions.of_turns(ids),
        _covering(store, ids),
        store.turns.abandoned(ids),
    )
    by_turn = {key: list(each) for key, each in groupby(calls, key=lambda call: call.turn_id)}
    found: list[PastTask] = []
    for chain in chains:
        mine = [call for turn in chain for call in by_turn.get(turn.id, ())]
        if not mine and not any(map(answer_of, chain)):  # it failed before anything was done
            continue
        own = [each for each in versions if each.turn_id in {turn.id for turn in chain}]
        clean = tuple(map(forgotten.turn, chain))
        told = [_done(turn, covering.get(turn.id, ()), forgotten) for turn in clean]
        outcome = outcome_of(mine, own, is_abandoned=chain[-1].id in abandoned)
        found.append(
            PastTask(
                clean,
                outcome,
                cut_words(" ".join(filter(None, told)), DONE_CHARS_MAX),
                forgotten.cut(reason_of(outcome, mine)),
                tuple(dict.fromkeys(change.path for each in own for change in each.changes if change.is_own)),
            )
        )
    return found


async def _covering(store: Store, turn_ids: Sequence[str]) -> Mapping[str, Sequence[Summary]]:
    """Return the summaries of the turns; none while a server is unreachable; answers replace them then."""
    try:
        return await store.summaries.covering(turn_ids)
    except StoreUnavailable:
        return {}


def _done(turn: Turn, covering: Sequence[Summary], forgotten: Forgotten) -> str:
    """Return what a model's summary says of the turn, else the answer: an extract repeats the request."""
    own = [each for each in covering if each.level == 1 and each.method is SummaryMethod.MODEL]
    return (forgotten.summary(own[0]).text if own else "") or answer_of(turn)


def outcome_of(calls: Sequence[ToolCall], versions: Iterable[Version], *, is_abandoned: bool) -> TaskOutcome:
    """Return the outcome of a task. calls: all of its turns, in their order."""
    if is_abandoned:
        beside = any(each.label.startswith(ALTERNATIVE) for each in versions)
        return TaskOutcome.DISCARDED if beside else TaskOutcome.UNDONE
    if failing_after(calls):
        return TaskOutcome.CHECK_FAILED
    return TaskOutcome.DENIED if _denied(calls) else TaskOutcome.KEPT


def reason_of(outcome: TaskOutcome, calls: Sequence[ToolCall]) -> str:
    """Return why it failed as the denial or the check's output says it, word for word; empty for neither."""
    match outcome:
        case TaskOutcome.DENIED:
            return next((call.refusal for call in reversed(calls) if call.refusal), "")
        case TaskOutcome.CHECK_FAILED:
            shell = [call for call in reversed(calls) if call.name == "shell" and failing_after([call])]
            return check_output(shell[0].result) if shell else ""
        case _:
            return ""


def _denied(calls: Sequence[ToolCall]) -> bool:
    """Whether a call was declined and nothing was changed after it."""
    last = max((at for at, call in enumerate(calls) if call.status is CallStatus.DENIED), default=None)
    if last is None:
        return False
    return not any(call.name in _CHANGING and call.status is CallStatus.OK for call in calls[last + 1 :])


async def _roots(store: Store, turns: Sequence[Turn]) -> list[Turn]:
    """Return the first turns of the tasks that these belong to, without duplicates."""
    roots: list[Turn] = list(turns)
    parents: dict[str, Turn] = {}
    for _ in range(CORRECTIONS_MAX):
        wanted = [turn.parent for turn in roots if turn.parent and is_correction(text_of(turn.user))]
        wanted = [each for each in dict.fromkeys(wanted) if each not in parents]
        if not wanted:
            break
        parents |= {turn.id: turn for turn in await store.turns.read(wanted)}
        children = await _children(store, [parents[each] for each in wanted if each in parents])
        first = {parent: each[0].id for parent, each in children.items()}
        # After an undo it corrects what was undone: then it is another attempt, and a separate task.
        roots = [
            parents[turn.parent] if turn.parent in parents and first.get(turn.parent) == turn.id else turn
            for turn in roots
        ]
    return list({turn.id: turn for turn in roots}.values())


async def _with_corrections(store: Store, roots: Sequence[Turn]) -> list[list[Turn]]:
    """Return each with the corrections that directly follow it and share its outcome."""
    chains = [[root] for root in roots]
    open_chains = chains
    for _ in range(CORRECTIONS_MAX):
        children = await _children(store, [chain[-1] for chain in open_chains])
        going = [(chain, children[chain[-1].id][0]) for chain in open_chains if children.get(chain[-1].id)]
        going = [(chain, child) for chain, child in going if is_correction(text_of(child.user))]
        ids = [turn.id for chain, child in going for turn in (chain[-1], child)]
        abandoned = await store.turns.abandoned(ids) if ids else set[str]()
        going = [pair for pair in going if (pair[0][-1].id in abandoned) == (pair[1].id in abandoned)]
        for chain, child in going:
            chain.append(child)
        open_chains = [chain for chain, _ in going]
        if not open_chains:
            break
    return chains


async def _children(store: Store, turns: Sequence[Turn]) -> Mapping[str, list[Turn]]:
    """Return the turns that directly follow each, the oldest first."""
    if not turns:
        return {}
    asked = [
        Candidate(HitKind.TURN, turn.id, turn.session_id, turn.id, turn.started_at)
        for turn in {turn.id: turn for turn in turns}.values()
    ]
    beside = await store.search.related(asked, limit=CHILDREN_MAX)
    read = await store.turns.read(list(dict.fromkeys(each.turn.turn_id for each in beside)))
    found: dict[str, list[Turn]] = {}
    for turn in sorted(read, key=lambda each: each.started_at):
        if turn.parent:
            found.setdefault(turn.parent, []).append(turn)
    return found
