"""Merges and splits of projects in a copy or a backup: done in the target store before it is filled.

A record that exists already stays where it is when it comes again, so what was moved elsewhere since must
be moved here as well. Of two states of a project, the newer one is valid.
"""

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime

from ragforge.domain.errors import UsageError
from ragforge.domain.turns import ConversationSession, Project
from ragforge.session.project_union import (
    ALL,
    MovedIds,
    bring_late,
    check_free,
    plan_split,
    read_contents,
    read_moved,
    split,
)
from ragforge.store.archive_items import Item
from ragforge.store.base import Store

_NEVER = datetime.min.replace(tzinfo=UTC)


async def follow_unions(items: AsyncGenerator[Item, None], store: Store) -> None:
    """Merge and split projects in the store like the incoming records, if that was done later.

    items: of a dump or a backup; read as far as its projects and sessions. What was interrupted is
    completed by the next call, or the next start in the project. Raises UsageError while a session that
    would move is open, and if the store has the later merge or split; StoreError.
    """
    before = {each.id: each for each in await store.projects.every()}
    if not before:
        return  # everything is new
    coming, arriving = await _read(items, before)
    sessions = {each.id: each.project_id for each in arriving if _is_split_off_in(coming, before, each)}
    for each in coming.values():
        _check_not_earlier(each, before.get(each.id))
    for each in before.values():
        if _is_split_off_here(each, coming):
            await _check_not_continued(store, each, arriving, coming)
    changed = [each for each in coming.values() if _is_later(each, before.get(each.id))]
    for each in coming.values():
        if each.id not in before and each not in changed:
            await store.projects.add(each)
    merged = _without_circles([each for each in changed if each.merged_into], before)
    for each in merged:
        await check_free(store, (await read_contents(store, each.id)).sessions)
    for each in merged:
        await store.projects.add(each)
    every = await store.projects.every()
    if any(each.merged_into for each in every):
        for each in every:
            if not each.merged_into:
                await bring_late(store, each)
    for each in changed:
        if not each.merged_into:
            await _split_off(store, each, {id for id, project in sessions.items() if project == each.id})


async def _read(
    items: AsyncGenerator[Item, None], before: Mapping[str, Project]
) -> tuple[dict[str, Project], list[ConversationSession]]:
    """Return the incoming projects, and their sessions if any project was split off in one of the stores."""
    projects, sessions = dict[str, Project](), list[ConversationSession]()
    is_any_split: bool | None = None
    async with aclosing(items):
        async for item in items:
            if isinstance(item, Project):
                projects[item.id] = item
                continue
            if not isinstance(item, ConversationSession):
                break
            if is_any_split is None:
                is_any_split = any(_is_split_off(each, before.get(id)) for id, each in projects.items())
                is_any_split |= any(_is_split_off_here(each, projects) for each in before.values())
            if not is_any_split:
                break
            sessions.append(item)
    return projects, sessions


def _is_later(coming: Project, here: Project | None) -> bool:
    """Whether it was merged or split off later than here. Before there were times, a merge came later."""
    since = (coming.changed_at or _NEVER, bool(coming.merged_into))
    return since > ((here.changed_at or _NEVER, bool(here.merged_into)) if here else (_NEVER, False))


def _check_not_earlier(coming: Project, here: Project | None) -> None:
    """Raise UsageError if the project was merged or split off here since: then records have no place."""
    if here is None or here.merged_into == coming.merged_into or _is_later(coming, here):
        return
    split = f"`ragforge project split --merged {coming.id}`"
    if here.merged_into:
        raise UsageError(
            f"{coming.name} was merged into another project in the target store, but is separate in the "
            f"source store. Merge it in the source too with `ragforge project merge {coming.id} --into "
            f"{here.merged_into}`, or undo the merge in the target first with {split}."
        )
    raise UsageError(
        f"{coming.name} was split off in the target store, but is still merged in the source store. "
        f"Split it in the source too with {split}."
    )


def _is_split_off(coming: Project, here: Project | None) -> bool:
    return not coming.merged_into and _is_later(coming, here)


def _is_split_off_in(
    coming: Mapping[str, Project], before: Mapping[str, Project], session: ConversationSession
) -> bool:
    project = coming.get(session.project_id)
    return project is not None and _is_split_off(project, before.get(project.id))


def _is_split_off_here(here: Project, coming: Mapping[str, Project]) -> bool:
    """Whether the project was split off in this store, and the other one does not know it."""
    return here.id not in coming and here.changed_at is not None and not here.merged_into


async def _check_not_continued(
    store: Store, apart: Project, arriving: Sequence[ConversationSession], coming: Mapping[str, Project]
) -> None:
    """Raise UsageError if more was done in the folders of what was split off only here.

    Its versions follow those that are in the other project now, so they would have no place.
    """
    rows = await store.sessions.recent(project_id=apart.id, limit=ALL)
    here = {row.session.id: row.session for row in rows}
    folders = {(each.host, each.project_path) for each in here.values() if each.project_path}
    for each in arriving:
        known = here.get(each.id)
        is_later = known is not None and each.last_activity_at > known.last_activity_at
        if is_later or (known is None and (each.host, each.project_path) in folders):
            project = coming[each.project_id]
            raise UsageError(
                f"{apart.name} was split off from {project.name} in the target store only, and the source "
                f"store has more of it. Nothing was copied. Undo the split in the target with "
                f"`ragforge project merge {apart.id} --into {project.id}`, copy, and split it again."
            )


def _without_circles(merged: list[Project], before: Mapping[str, Project]) -> list[Project]:
    """Return those that lead to a project that stays; of two merged into each other, only the first."""
    into, kept = {each.id: each.merged_into for each in before.values()}, list[Project]()
    for each in merged:
        at, passed = each.merged_into, {each.id}
        while at and at not in passed:
            passed.add(at)
            at = into.get(at, "")
        if not at:
            into[each.id] = each.merged_into
            kept.append(each)
    return kept


async def _split_off(store: Store, target: Project, sessions: Collection[str]) -> None:
    """Move the sessions that are the project's there to it, with everything that a split takes along."""
    moved = await read_moved(store, target.id)
    found = await asyncio.gather(*(store.sessions.get(each) for each in (*sessions, *moved.sessions)))
    elsewhere: dict[str, set[str]] = {}
    for each in found:
        if each is not None and each.project_id != target.id:
            elsewhere.setdefault(each.project_id, set()).add(each.id)
    for id, wanted in elsewhere.items():
        project = await store.projects.get(id)
        assert project is not None
        try:
            plan = await plan_split(store, project, wanted, moved if moved != MovedIds() else _all_of(wanted))
        except UsageError:
            continue  # all of it went already
        await split(store, project, target, plan, moved, at=target.changed_at)
    await store.projects.add(target)


def _all_of(sessions: Collection[str]) -> MovedIds:
    """Whether a split may leave nothing: their origin has more than there is here."""
    return MovedIds(sessions=tuple(sessions))
