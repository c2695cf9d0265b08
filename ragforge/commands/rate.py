"""`rate`: how satisfied you are with the newest turn."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from ragforge.commands.base import Opens, Outcome, Report, Verb
from ragforge.domain.arguments import word
from ragforge.domain.errors import UsageError
from ragforge.domain.ratings import STARS_MAX

if TYPE_CHECKING:
    from ragforge.session.state import Session


class RateArguments(Struct, frozen=True):
    """How well it went."""

    stars: Annotated[int, Meta(ge=1, le=STARS_MAX), word("N", "From 1 (not at all) to 5 (completely).")]


async def _run(session: "Session", args: RateArguments) -> Outcome:
    from ragforge.domain.derivations import Underived
    from ragforge.domain.ids import now
    from ragforge.domain.ratings import KIND, Rating

    store, record = session.workspace.store, session.live.record
    turns = await store.turns.read([record.head]) if record.head else []
    if not turns:
        raise UsageError("There is no turn to rate yet.")
    turn = turns[0]
    source = Underived(turn.id, record.project_id, turn.ended_at or now())
    await store.derivations.save(KIND.record(source, Rating(args.stars)))
    return Report(
        notes=(f"Turn {turn.index + 1} is rated {args.stars} of {STARS_MAX}; /stats has the mean.",)
    )


VERB = Verb(
    "rate",
    "Rate the newest turn from 1 to 5; a later rating replaces an earlier one.",
    RateArguments,
    _run,
    opens=Opens.NEWEST,
    while_running=False,
)
