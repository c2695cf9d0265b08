"""Project instructions in a session: trusted ones are read, and those written here become trusted."""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

from ragforge.agent.instructions import (
    NAMES,
    Instructions,
    as_text,
    find_instructions,
    folders_between,
    instructions_text,
    read_instructions,
)
from ragforge.agent.parts import Guard, GuardedCall
from ragforge.config.paths import config_dir
from ragforge.domain.errors import StoreError
from ragforge.session.model import NO_MODEL
from ragforge.session.skills import found_skills, skills_place
from ragforge.session.state import Session
from ragforge.session.trust import FileTrust, TrustPlace

log = logging.getLogger(__name__)

FETCHES = re.compile(
    r"\b(git|gh|glab|hg|svn|jj|curl|wget|aria2c|rsync|scp|sftp|ftp|tar|bsdtar|unzip|7z|patch|npx|degit)\b"
)
"""Programs that download files: what they write comes from elsewhere, whoever starts them."""


async def project_instructions(session: Session) -> str:
    """Return the trusted instructions from the project's root down to the session's folder, read again.

    The user is asked about new ones, if there is a user to ask.
    """
    if not _is_read(session):
        return ""
    found = await _found_above(session)
    admitted = await session.workspace.trust.admitted(_place(session), found)
    session.live.view.instructions.update(item.path for item in admitted)
    return _joined(await user_instructions(session), as_text(admitted, _root(session)))


async def user_instructions(session: Session) -> str:
    """Return the user's own instructions for all projects: AGENTS.md in the settings folder."""
    path = config_dir(session.workspace.environ) / NAMES[0]
    clean = session.workspace.redactor.text
    # The user's own folder: its links are followed.
    found = await asyncio.to_thread(read_instructions, path, root=Path(path.anchor), clean=clean)
    return f"The user's instructions for all projects:\n\n{found.text.strip()}" if found else ""


def _joined(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))


async def instructions_for(session: Session, paths: Sequence[Path]) -> str:
    """Return the trusted instructions that apply to these paths and were not given yet; asks as above."""
    root, given = session.workspace.place.root, session.live.view.instructions
    place = TrustPlace(session.workspace.project.id, root)
    folders = [folder for path in paths for folder in folders_between(root, path.parent)]
    found = await _find(session, folders, root, given)
    if not found:
        return ""
    admitted = await session.workspace.trust.admitted(place, found)
    # Another tool of the same answer may have come first, while the user was asked.
    fresh = [item for item in admitted if item.path not in given]
    given.update(item.path for item in fresh)
    return as_text(fresh, root)


async def trusted_instructions(session: Session) -> str:
    """Return what `project_instructions` would, without asking."""
    found = await _found_above(session)
    trust, place = session.workspace.trust, _place(session)
    left_out = {place.root / each.path for each in await trust.untrusted(place, found)}
    trusted = as_text([item for item in found if item.path not in left_out], _root(session))
    return _joined(await user_instructions(session), trusted)


async def new_instructions(session: Session) -> list[FileTrust]:
    """Return the untrusted ones that the user was not asked about; none without a model to read them."""
    if not _is_read(session):
        return []
    return [file for file in await untrusted_instructions(session) if file.trusted is None]


async def untrusted_instructions(session: Session) -> list[FileTrust]:
    """Return the instruction files that are read here, and the project's skills, that are not trusted."""
    trust = session.workspace.trust
    files = await trust.untrusted(_place(session), await _found_above(session))
    skills = [skill.file for skill in await found_skills(session) if skill.in_project]
    return [*files, *await trust.untrusted(skills_place(session), skills)]


async def all_instructions(session: Session) -> list[FileTrust]:
    """Return every instruction file that is read here, or that the user was asked about, trusted or not."""
    trust, place, clean = session.workspace.trust, _place(session), session.workspace.redactor.text
    paths = sorted(await _watched(session, ()))
    read = [await asyncio.to_thread(read_instructions, path, root=place.root, clean=clean) for path in paths]
    return [await trust.file(place, item) for item in read if item and not item.is_note]


async def answer_instructions(session: Session, files: Sequence[FileTrust], *, trusted: bool) -> None:
    """Save the user's answer about exactly these texts."""
    await session.workspace.trust.answer(_place(session), files, trusted=trusted)


def trusts_writes(session: Session, guard: Guard) -> Guard:
    """Return the guard that trusts instructions written by a tool, like `written_here`."""

    @asynccontextmanager
    async def guarded(call: GuardedCall) -> AsyncGenerator[None]:
        async with guard(call):
            if not call.may_write or session.live.consent.unattended:
                yield
                return
            async with written_here(session, call.paths, content=call.after, command=call.command):
                yield

    return guarded


@asynccontextmanager
async def written_here(
    session: Session, paths: Iterable[Path] = (), *, content: bytes | None = None, command: str = ""
) -> AsyncGenerator[None]:
    """Trust the instructions that are written meanwhile with the user's consent.

    content: what the one file at `paths` will contain; any other text found then is from elsewhere.
    command: what a shell runs otherwise; the files that it names are written by it, unless it downloads.
    A text that was not trusted before does not become so by a change, and none that the user declined.
    """
    named = NAMES if content is not None else names_in(command)
    if not named:
        yield
        return
    before = await _now(session, paths, named)
    yield
    after = await _now(session, paths, named)
    try:
        await _trust_changes(session, before, after, content)
    except StoreError as error:
        log.warning("What was written here is asked about: %s", error)


def names_in(command: str) -> list[str]:
    """Return the names of instruction files that the shell command says it writes, if any.

    Other programs may change other files while it runs, so those that it does not name do not count.
    """
    return [] if FETCHES.search(command) else [name for name in NAMES if name in command]


_Texts: TypeAlias = dict[Path, Instructions | None]


async def _now(session: Session, paths: Iterable[Path], names: Sequence[str]) -> _Texts:
    """Return the current text of the instruction files with these names."""
    root, clean = _root(session), session.workspace.redactor.text
    try:
        watched = [path for path in await _watched(session, paths) if path.name in names]
    except StoreError as error:
        log.warning("What is written here is asked about: %s", error)
        return {}
    return await asyncio.to_thread(
        lambda: {path: read_instructions(path, root=root, clean=clean) for path in watched}
    )


async def _trust_changes(session: Session, before: _Texts, after: _Texts, content: bytes | None) -> None:
    place, trust, clean = _place(session), session.workspace.trust, session.workspace.redactor.text
    written = None if content is None else instructions_text(content, clean=clean)
    for path, item in after.items():
        was = before.get(path)
        if path not in before or item is None or item.is_note or (was and was.digest == item.digest):
            continue
        if written is not None and item.text != written:
            continue
        was_trusted = was is None or (not was.is_note and await trust.is_trusted(place, was))
        if was_trusted and await trust.is_trusted(place, item) is None:
            file = FileTrust(path.relative_to(place.root), item.text)
            await trust.answer(place, [file], trusted=True)


async def _watched(session: Session, paths: Iterable[Path]) -> set[Path]:
    """Return every known instruction file: those read at the start, those asked about, and these."""
    place = _place(session)
    known = await session.workspace.local.trust.instruction_paths(place.project_id)
    named = [path for path in paths if path.name in NAMES and path.is_relative_to(place.root)]
    above = [folder / name for folder in _folders_above(session) for name in NAMES]
    return {*above, *(place.root / path for path in known), *named}


async def _found_above(session: Session) -> list[Instructions]:
    return await _find(session, _folders_above(session), _root(session))


async def _find(
    session: Session, folders: Iterable[Path], root: Path, given: Iterable[Path] = ()
) -> list[Instructions]:
    clean, chosen, left_out = session.workspace.redactor.text, list(folders), frozenset(given)
    return await asyncio.to_thread(lambda: find_instructions(chosen, root=root, given=left_out, clean=clean))


def _is_read(session: Session) -> bool:
    """Whether there is a model to read them."""
    return (session.live.record.model or NO_MODEL) != NO_MODEL


def _folders_above(session: Session) -> list[Path]:
    return folders_between(session.workspace.place.root, session.cwd) or [session.cwd]


def _root(session: Session) -> Path:
    """The folder that instruction paths are relative to: the project's, or the session's outside it."""
    return _folders_above(session)[0]


def _place(session: Session) -> TrustPlace:
    return TrustPlace(session.workspace.project.id, _root(session))
