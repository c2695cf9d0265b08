"""Start alternatives: check the requirements, make the copies, then start all at once."""

from collections.abc import Sequence

from msgspec import Struct

from ragforge.domain.approvals import Mode
from ragforge.domain.cancellation import in_thread, undisturbed
from ragforge.domain.commands import typed
from ragforge.domain.errors import UsageError
from ragforge.providers.registry import parse_model
from ragforge.session.link import notice_loss
from ragforge.session.model import NO_MODEL
from ragforge.session.moves import moving
from ragforge.session.open import store_session
from ragforge.session.state import Session
from ragforge.versions.attempts.alternatives import children_of
from ragforge.versions.attempts.approaches import Way, ways_of
from ragforge.versions.attempts.check_consent import check_command
from ragforge.versions.attempts.copy_sessions import session_in
from ragforge.versions.attempts.group import Group
from ragforge.versions.attempts.request import Request, request_of, start_of
from ragforge.versions.attempts.run import Run
from ragforge.versions.attempts.session_attempts import attempts_of
from ragforge.versions.copies.file_copies import make_room
from ragforge.versions.copies.project_copies import bring_to, make_places, remove_copies
from ragforge.versions.head_move import Ground

COPYING = "Making one copy of the project per alternative. The project itself is not changed."


class AttemptRequest(Struct, frozen=True):
    """What to try, and in how many ways. models: other ones than the session's.

    prompt: empty for the request of the newest turn, from the state before it.
    """

    count: int
    prompt: str
    models: tuple[str, ...] = ()


def ways_for(session: Session, wanted: AttemptRequest) -> list[Way]:
    """Return the ways. Raises UsageError if alternatives cannot be started now, or the request is invalid."""
    live = session.live
    if live.consent.mode is Mode.PLAN:
        raise UsageError("Plan mode is on, so nothing may be changed. /mode ask leaves it.")
    group = attempts_of(session).group
    if group and group.is_running:
        raise UsageError(
            "Alternatives are already running. Wait for them, or stop some: /alternatives stop K."
        )
    endpoints = session.workspace.settings.endpoints
    models = [str(parse_model(name, endpoints=endpoints)) for name in wanted.models]
    own = live.record.model or NO_MODEL
    if NO_MODEL in models or (not models and own == NO_MODEL):
        choose = typed("model", shell="-m PROVIDER:NAME ...")
        raise UsageError(f"Alternatives need a model. `{choose}` chooses one.")
    return ways_of(wanted.count, model=own, models=models)


async def question(session: Session, wanted: AttemptRequest) -> str:
    """Return what the user consents to, once for all. Raises as `ways_for` and `request_of`."""
    ways = ways_for(session, wanted)
    request = await request_of(session, wanted.prompt)
    names = ", ".join(way.name for way in ways)
    if session.live.consent.mode is Mode.ALL:
        commands = "every command runs without asking"
    else:
        commands = "only commands that read or that your rules allow run"
    return (
        f"Try {request.words} in {len(ways)} ways at once ({names})? Each writes files without asking, in "
        f"its own copy of the project; {commands}. Shell commands are not confined to the copies. The "
        "project does not change until you take a result."
    )


async def start_alternatives(session: Session, wanted: AttemptRequest) -> Group:
    """Start all, each turn stored beside the others. The session's heads do not move.

    Raises UsageError if that is impossible now, StoreError; nothing remains then.
    """
    ways = ways_for(session, wanted)
    request = await request_of(session, wanted.prompt)
    if lost := notice_loss(session):
        raise UsageError(lost)
    if not await session.worktree.is_tracked():
        raise UsageError(session.worktree.not_tracked)
    async with moving(session):
        await store_session(session, said=request.parts)
        checking = await check_command(session.workspace)
        async with session.worktree.ground() as ground:
            group, notes = await _prepared(session, ground, request, ways, checking.command)
        attempts_of(session).group = group
        await group.begin([*notes, *filter(None, [checking.note])])
    return group


async def _prepared(
    session: Session, ground: Ground, request: Request, ways: Sequence[Way], command: str
) -> tuple[Group, list[str]]:
    """Return the group, ready to start, and what to tell first; the folder's lock is held.

    command: the check for each, if any.
    """
    start = await start_of(session, ground, request)
    known = await children_of(ground.files.store.versions, start.version)
    first = max((each.number for each in known), default=0) + 1
    numbers = range(first, first + len(ways))
    room = await in_thread(lambda _: make_room(ground.files.data_dir))
    try:
        numbered = {number: way.name for number, way in zip(numbers, ways, strict=True)}
        places = await make_places(
            ground,
            room,
            head=start.version,
            numbered=numbered,
            session_id=session.id,
            turn=session.live.record.head,
        )
        runs: list[Run] = []
        for number, way, copy in zip(numbers, ways, places.copies, strict=True):
            if start.wanted:
                title = "going back in a copy"
                await bring_to(ground, places, copy.root, start.wanted, head=start.version, title=title)
            inside = await session_in(session, places.about, copy, model=way.model, turn=start.turn)
            runs.append(Run(number, way, inside, copy, request.parts_for(way), command=command))
    except BaseException:
        await undisturbed(remove_copies(session.workspace.history, room), cancel_after=True)
        raise
    return Group(session, room, runs), places.notes
