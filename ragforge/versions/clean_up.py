"""How much space contents take, and removing those that are no longer needed.

Contents of files, conversations and complete tool results are stored together, for every store that was used
on this machine. So all these stores are asked, and everything uncertain is kept.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct, field

from ragforge.config.store_address import bare_url, parse_store_url
from ragforge.domain import timeouts
from ragforge.domain.derivations import DerivedFilter
from ragforge.domain.errors import StoreUnavailable, UsageError
from ragforge.domain.ids import now
from ragforge.domain.messages import blobs_in
from ragforge.domain.turns import ConversationSession, Project, Step, ToolCall, Turn
from ragforge.domain.versions import Version
from ragforge.store.archive_items import blobs_of
from ragforge.store.base import Blobs, Link, Store
from ragforge.store.local.state import LocalState
from ragforge.versions.needs import all_contents, needed_contents
from ragforge.versions.scan.manifest import Manifest
from ragforge.versions.state import HistoryState

UNUSED_MIN = timedelta(days=1)
"""A content that was requested since then is not removed: what needs it may be about to be written."""
VERSIONS_AT_ONCE = 200

_HASH = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")

PROGRAM_RUN = "ProgramRun"
RUNS_READ_MAX = 10_000


class HistorySize(Struct, frozen=True):
    """The space that contents on this machine take. A content with several users counts for the first one.

    free_bytes: not needed; a clean-up removes them once they are a day old.
    unknown_bytes: not needed as far as is known, but stored before ragforge recorded for which store, so they
    are kept.
    """

    contents: int
    bytes: int
    versions_bytes: int
    conversations_bytes: int
    local_bytes: int
    """What was in the folders at their last scan, and restores in progress."""
    free_bytes: int
    unknown_bytes: int = 0


class Collected(Struct, frozen=True):
    """What a clean-up removed, or would remove.

    versions: old versions that can no longer be restored completely; they themselves are kept.
    sealed: statements that were forgotten everywhere.
    """

    contents: int
    bytes: int
    versions: int
    sealed: int = 0


class _Needs(Struct):
    """The hashes of needed contents, by what needs them. `given_up`: versions that may lose contents."""

    versions: set[str] = field(default_factory=set[str])
    conversations: set[str] = field(default_factory=set[str])
    local: set[str] = field(default_factory=set[str])
    given_up: list[Version] = field(default_factory=list[Version])

    def __contains__(self, digest: str) -> bool:
        return digest in self.versions or digest in self.conversations or digest in self.local


async def size(stores: Sequence[Store], blobs: Blobs, state: HistoryState, local: LocalState) -> HistorySize:
    """Return how much space the contents take, and for what. stores, and errors: as for `collect`."""
    sizes = await blobs.sizes()
    needs = await _find_needs(stores, blobs, state, local, keep_days=0)
    left = dict(sizes)
    versions, conversations, others = (
        sum(left.pop(digest, 0) for digest in group)
        for group in (needs.versions, needs.conversations, needs.local)
    )
    known = await blobs.removable(now() + UNUSED_MIN)
    free = sum(taken for digest, taken in left.items() if digest in known)
    return HistorySize(
        contents=len(sizes),
        bytes=sum(sizes.values()),
        versions_bytes=versions,
        conversations_bytes=conversations,
        local_bytes=others,
        free_bytes=free,
        unknown_bytes=sum(left.values()) - free,
    )


async def collect(
    stores: Sequence[Store],
    blobs: Blobs,
    state: HistoryState,
    local: LocalState,
    *,
    keep_days: int,
    dry_run: bool = False,
) -> Collected:
    """Remove contents that no version, turn or tool call of any store, and nothing local, needs.

    keep_days: also remove older contents of versions that no branch, label, head or younger version needs; 0
    keeps them forever. dry_run: only report.
    stores: all that `blobs.used_by` names. Raises UsageError if one is missing, StoreUnavailable if one
    cannot be read or has not received all rows; nothing was removed then.
    """
    unused_since = now() - UNUSED_MIN
    # Asked first: what becomes needed later is found below, or was requested and is spared at the end.
    removable = await blobs.removable(unused_since)
    needs = await _find_needs(stores, blobs, state, local, keep_days=keep_days)
    garbage = {digest: taken for digest, taken in removable.items() if digest not in needs}
    versions = sum(not all_contents([version]).isdisjoint(garbage) for version in needs.given_up)
    if dry_run:
        return Collected(len(garbage), sum(garbage.values()), versions)
    freed = await blobs.delete(list(garbage), unused_since=unused_since) if garbage else 0
    await blobs.tidy(unused_since)
    return Collected(len(garbage), freed, versions)


class Lacking(Struct, frozen=True):
    """The hashes of missing contents.

    needed: by folders, branches, labels, heads, conversations and new versions. older: only by older
    versions, whose contents a clean-up may have removed.
    """

    needed: frozenset[str] = frozenset()
    older: frozenset[str] = frozenset()


async def lacking(
    store: Store, blobs: Blobs, state: HistoryState | None, local: LocalState | None
) -> Lacking:
    """Return the contents that the store and this machine's folders need and that are not here. Raises like
    `collect`.

    state, local: None if there is none.
    """
    needs = _Needs()
    roots = await state.roots() if state else []
    heads = {(await state.head(root)).version for root in roots} if state else set[str]()
    if parse_store_url(store.url) is None:  # contents that a server needs may be on other machines
        await _add_store(needs, store, heads, keep_days=1)
    if state:
        await _add_folders(needs, roots, state)
    if local:
        await _add_queues(needs, local)
    needed = needs.versions | needs.conversations | needs.local
    older = all_contents(needs.given_up) - needed
    missing = set(await blobs.missing(sorted((needed | older) - {""})))
    return Lacking(frozenset(missing & needed), frozenset(missing & older))


async def paths_of(store: Store, digests: Collection[str]) -> list[str]:
    """Return the paths at which versions of the store have one of these contents, by name."""
    found: set[str] = set()
    for versions in (await _versions_of(store)).values() if digests else ():
        for version in versions:
            found.update(
                change.path
                for change in version.changes
                if any(node and node.digest in digests for node in (change.before, change.after))
            )
    return sorted(found)


async def _find_needs(
    stores: Sequence[Store], blobs: Blobs, state: HistoryState, local: LocalState, *, keep_days: int
) -> _Needs:
    unseen = sorted(set(await blobs.used_by()) - {bare_url(store.url) for store in stores})
    if unseen:
        raise UsageError(
            f"Contents here are also needed by {' and '.join(unseen)}, which cannot be reached. Try again "
            "when it can. If it no longer exists, run: "
            f"ragforge history gc --gone {unseen[0]}"
        )
    needs = _Needs()
    roots = await state.roots()
    heads = {(await state.head(root)).version for root in roots}
    for store in stores:
        _check_all_is_there(store, await store.drain(timeout_s=timeouts.NEO4J_DRAIN_S_MAX))
        await _add_store(needs, store, heads, keep_days=keep_days)
        # If the server went away meanwhile, branches come from local data and may be incomplete.
        _check_all_is_there(store, store.link)
    await _add_folders(needs, roots, state)
    await _add_queues(needs, local)
    return needs


async def _add_folders(needs: _Needs, roots: Sequence[Path], state: HistoryState) -> None:
    for root in roots:
        if content := await state.manifest(root):
            needs.local.update(seen.sha256.hex() for seen in Manifest.from_bytes(content).entries.values())
        needs.local.update(each.decode() for each in _HASH.findall(await state.journal(root) or b""))
        for turn in await state.open_turns(root):
            changes = await state.noted(root, turn.turn_id)
            nodes = (node for change in changes for node in (change.before, change.after))
            needs.local.update(node.digest for node in nodes if node)


async def _add_queues(needs: _Needs, local: LocalState) -> None:
    for parts in await local.prompts.queues():
        needs.local.update(blobs_in(parts))


def _check_all_is_there(store: Store, link: Link) -> None:
    """Raise StoreUnavailable if it cannot be known what the store needs."""
    if link.waiting or link.away:
        raise StoreUnavailable(
            f"{bare_url(store.url)} has not received everything yet, so it is unknown what it needs. Try "
            "again when it can be reached."
        )


async def _add_store(needs: _Needs, store: Store, heads: set[str], *, keep_days: int) -> None:
    turns: list[str] = []
    projects: list[str] = []
    async with aclosing(store.archive.dump()) as records:
        async for record in records:
            match record:
                case Project():
                    projects.append(record.id)
                case ConversationSession():
                    turns += [record.head] if record.head else []
                case Turn() | ToolCall():
                    needs.conversations.update(blobs_of(record))
                case Step():
                    pass
                case _:
                    break  # records after tool calls refer to no contents, except versions
    # The record of a program run names the contents it needs to resume.
    for run in await store.derivations.find(DerivedFilter(PROGRAM_RUN, limit=RUNS_READ_MAX)):
        blobs = run.data.get("blobs")
        needs.conversations.update(map(str, blobs.values()) if isinstance(blobs, dict) else ())
    limit = now() - timedelta(days=keep_days) if keep_days else None
    by_project = await _versions_of(store)
    by_turn = {version.id for version in await store.versions.of_turns(turns)} if limit else set[str]()
    for project_id, versions in by_project.items():
        if limit is None:
            needs.versions |= all_contents(versions)
            continue
        tips = {branch.version_id for branch in await store.versions.branches(project_id)}
        kept = _kept(versions, tips | heads | by_turn, limit)
        needs.versions |= needed_contents(versions, kept)
        needs.given_up += [version for version in versions if version.id not in kept]


def _kept(versions: Iterable[Version], named: set[str], limit: datetime) -> set[str]:
    return {version.id for version in versions if version.id in named or version.label or version.at >= limit}


async def _versions_of(store: Store) -> Mapping[str, list[Version]]:
    """Return all versions of the store, by project."""
    found: dict[str, list[Version]] = {}
    ids = await store.versions.all_ids()
    for start in range(0, len(ids), VERSIONS_AT_ONCE):
        for version in await store.versions.get(ids[start : start + VERSIONS_AT_ONCE]):
            found.setdefault(version.project_id, []).append(version)
    return found
