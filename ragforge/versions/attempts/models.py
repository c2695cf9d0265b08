"""The models of a merge: the session's for results, and a second one, if set, for a verdict."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from msgspec.structs import replace

from ragforge.domain.commands import typed
from ragforge.domain.errors import ModelError, UsageError
from ragforge.domain.moves import MergeMode
from ragforge.domain.usage import Purpose, Usage
from ragforge.domain.words import cost_words
from ragforge.providers.registry import ModelName, parse_model
from ragforge.session.background.model import spent_on
from ragforge.session.model import NO_MODEL, connect, model_of, provider_of
from ragforge.session.state import Session
from ragforge.versions.attempts.candidates import Candidate
from ragforge.versions.attempts.model_merge import Proposal, Strategy, propose, questions_of
from ragforge.versions.attempts.question import Ask, asking
from ragforge.versions.attempts.trials import Tell
from ragforge.versions.attempts.verdict import Validation, validate
from ragforge.versions.merge.three_way import MergeConflict


async def resolve(
    session: Session, conflicts: Sequence[MergeConflict], wanted: MergeMode, *, purposes: str, tell: Tell
) -> tuple[list[Candidate], list[str]]:
    """Return the candidates that the session's model makes of the conflicts, and what to tell the user.

    Complete results without duplicates; if there is none, the one that resolves most. Changes nothing.
    purposes: what each side was for. Raises UsageError if there is no model, ModelError if it cannot be
    reached at all, StoreError.
    """
    name = model_of(session)
    if name.provider == NO_MODEL:
        choose = typed("model", shell="-m PROVIDER:NAME ...")
        raise UsageError(f"A strategy needs a model, and none is chosen. `{choose}` chooses one.")
    workspace = session.workspace
    questions, left = await questions_of(conflicts, workspace.blobs, workspace.redactor)
    notes = [f"Not given to the model: {path} ({why})." for path, why in left.items()]
    if not questions:
        return [], notes
    strategies = tuple(Strategy) if wanted is MergeMode.BEST else (Strategy(wanted),)
    ask = asking(await provider_of(session))
    proposals = await propose(
        questions, ask, purposes=workspace.redactor.text(purposes), strategies=strategies
    )
    cost = await _count(session, name, sum((each.usage for each in proposals), Usage()))
    tell(f"{name} was asked about the conflicts ({', '.join(strategies)}): {cost_words(cost)}")
    chosen = _usable(proposals)
    notes += [
        f"The model could not merge {each.question.conflict.target}: {each.problem} ({proposal.strategy})."
        for proposal in proposals
        for each in proposal.resolutions
        if each.content is None
    ]
    return [Candidate(each) for each in chosen], notes


def _usable(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Return the complete ones without duplicates; else the one that resolves most, if any."""
    whole: dict[tuple[bytes | None, ...], Proposal] = {}
    for each in proposals:
        if each.is_complete:
            whole.setdefault(tuple(one.content for one in each.resolutions), each)
    if whole:
        return list(whole.values())
    most = max(proposals, key=_answered)
    return [most] if _answered(most) else []


def _answered(proposal: Proposal) -> int:
    return sum(one.content is not None for one in proposal.resolutions)


async def validated(
    session: Session, candidates: Sequence[Candidate], *, purposes: str, tell: Tell
) -> list[Candidate]:
    """Return the candidates with the second model's verdicts, if one is set; its failure stops nothing.

    Its cost is counted and reported. Raises StoreError.
    """
    text = session.workspace.settings.history.validation_model
    if not text:
        return list(candidates)
    found: list[Candidate] = []
    try:
        async with _second(session, text) as (name, ask):
            for candidate in candidates:
                said = await validate(
                    candidate.resolved, ask, purposes=session.workspace.redactor.text(purposes)
                )
                cost = await _count(session, name, said.usage)
                tell(f"{candidate.name}: {name} {_verdict_words(said)} ({cost_words(cost)})")
                found.append(replace(candidate, validation=said))
    except (ModelError, UsageError) as error:
        tell(f"{text} could not validate the merge: {error}")
    return [*found, *candidates[len(found) :]]


@asynccontextmanager
async def _second(session: Session, text: str) -> AsyncGenerator[tuple[ModelName, Ask]]:
    """Connect the second model for the duration. Raises ModelError, UsageError."""
    workspace = session.workspace
    name = parse_model(text, endpoints=workspace.settings.endpoints)
    provider = await connect(workspace, name)
    try:
        yield name, asking(provider)
    finally:
        await provider.close()


def _verdict_words(said: Validation) -> str:
    if said.objections:
        return f"objects: {' '.join(said.objections)}"
    if said.problems:
        return f"could not tell: {' '.join(said.problems)}"
    return "has no objection"


async def _count(session: Session, name: ModelName, usage: Usage) -> float | None:
    """Store the cost of the calls, with the session if there is one. USD; None if unknown."""
    live, workspace = session.live, session.workspace
    session_id = session.id if live.stored else ""
    spent = spent_on(workspace, name, usage, Purpose.CHAT, session_id=session_id)
    live.spending.add(usage, spent.cost_usd)
    await workspace.store.usage.add(spent)
    return spent.cost_usd
