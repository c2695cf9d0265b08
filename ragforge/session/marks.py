"""The marks on sessions that came from somebody else."""

from ragforge.domain.derivations import DerivedFilter, DerivedOwner
from ragforge.domain.shares import SHARED, SharedSession
from ragforge.store.base import Store

MARKS_MAX = 10_000


async def read_mark(store: Store, session_id: str) -> SharedSession | None:
    """Return whose session it is where it came from somebody else. Raises StoreError."""
    found = await store.derivations.find(DerivedFilter(SHARED.label, owners=(session_id,), abandoned=True))
    return SHARED.read(found[0]) if found else None


async def shared_here(store: Store, project_id: str) -> dict[str, SharedSession]:
    """The sessions that were imported for the project, by their ids. Raises StoreError."""
    found = await store.derivations.find(DerivedFilter(SHARED.label, limit=MARKS_MAX))
    marks = {each.owner: SHARED.read(each) for each in found if each.owner_kind is DerivedOwner.SESSION}
    return {session: mark for session, mark in marks.items() if mark and mark.into == project_id}
