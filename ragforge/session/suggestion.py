"""What the user may say next: suggested after a turn, until nobody takes it."""

from ragforge.config.settings import SourceKind
from ragforge.domain.metrics import SUGGESTIONS, TALLY
from ragforge.domain.printable import one_line
from ragforge.memory.foresight_records import read_foresight
from ragforge.session.metrics import all_counts
from ragforge.session.state import Session, Workspace

SHOWN_MAX = 20
"""After so many that were shown and not taken, there are no more."""
ENDED = (
    f"You took none of {SHOWN_MAX} suggestions below the prompt, so they are now off. "
    'Set `foresight.suggest = "line"` in your settings file to turn them on again.'
)
SETTING = "foresight.suggest"
SHOWN, TAKEN, END = "shown", "taken", "ended"


def suggests(workspace: Workspace) -> bool:
    """Whether something may be suggested in this run."""
    return workspace.foresees and workspace.settings.foresight.suggest == "line"


async def next_message(session: Session, turn_id: str) -> str:
    """Return what a model expects after this turn, the newest; empty for nothing. Raises StoreError.

    Nothing without a model: what rules predict was said less often than a message drawn at random.
    """
    workspace = session.workspace
    if not suggests(workspace) or session.live.record.head != turn_id:
        return ""
    rows = await read_foresight(
        workspace.store, workspace.project.id, turn_id, person=workspace.person, limit=1
    )
    made = rows[-1].made if rows else None
    return one_line(made.next_messages[0]) if made and made.model_predicted and made.next_messages else ""


async def has_ended(workspace: Workspace) -> bool:
    """Whether none of the suggestions was taken, unless the settings ask for them. Raises StoreError."""
    if workspace.loaded.sources[SETTING].kind is not SourceKind.DEFAULT:
        return False
    return await _count(workspace, SHOWN) >= SHOWN_MAX and not await _count(workspace, TAKEN)


async def count_shown(workspace: Workspace) -> str:
    """Count one that is shown; return the notice if it was the last one. Raises StoreError."""
    TALLY.count(SUGGESTIONS, SHOWN)
    if not await has_ended(workspace) or await _count(workspace, END):
        return ""
    TALLY.count(SUGGESTIONS, END)
    return ENDED


def count_taken() -> None:
    """Count one that the user took."""
    TALLY.count(SUGGESTIONS, TAKEN)


async def _count(workspace: Workspace, what: str) -> float:
    return (await all_counts(workspace.local)).get((SUGGESTIONS.name, (what,), ""), 0.0)
