"""Which instruction files of a project are read: those whose exact text the user trusts."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from ragforge.agent.instructions import Instructions, digest_of
from ragforge.domain.errors import StoreError
from ragforge.domain.printable import escaped
from ragforge.files.diffs import unified
from ragforge.store.local.state import LocalState

log = logging.getLogger(__name__)


class FileTrust(Struct, frozen=True):
    """An instruction file, and whether the user trusts its text; None if the user was not asked.

    path: relative to the project. before: the text that was trusted last.
    """

    path: Path
    text: str
    before: str | None = None
    trusted: bool | None = None

    @property
    def digest(self) -> str:
        """The hash of the text."""
        return digest_of(self.text)

    def diff(self, shown: Callable[[str], str] = str) -> str:
        """What changed, as a unified diff of the texts as `shown`; empty if no line did."""
        if self.before is None:
            return ""
        return unified(shown(self.before), shown(self.text), escaped(str(self.path)))


Ask: TypeAlias = Callable[[Sequence[FileTrust]], Awaitable[bool]]
"""Asks the user about the files, which nobody was asked about before: whether they are trusted."""


class TrustPlace(Struct, frozen=True):
    """A project, and the folder that contains it or a copy of it."""

    project_id: str
    root: Path


class Trust:
    """The user's answers about instruction files, on this machine and in this run.

    reads_all: files that the user was not asked about are read in this run. ask, tell: set by the interface;
    without `ask`, nobody can be asked. tell is called once for each file that is skipped.
    """

    def __init__(self, local: LocalState, *, reads_all: bool = False) -> None:
        self.reads_all = reads_all
        self.ask: Ask | None = None
        self.tell: Callable[[str], None] | None = None
        self._local = local
        self._here: dict[tuple[str, Path, str], bool] = {}
        """Answers of this run, which also apply if they could not be stored."""
        self._told: set[tuple[str, Path, str]] = set()
        self._asking = asyncio.Lock()

    def unattended(self) -> "Trust":
        """Return the same answers for a run that cannot ask, where nothing new is trusted permanently."""
        other = Trust(self._local, reads_all=self.reads_all)
        other.tell, other._here, other._told = self.tell, self._here, self._told
        return other

    async def admitted(self, place: TrustPlace, found: Sequence[Instructions]) -> list[Instructions]:
        """Return the files that may be read, after asking about new ones."""
        async with self._asking:  # two tools may reach the same file at the same time
            untrusted = await self.untrusted(place, found)
            unknown = [each for each in untrusted if each.trusted is None]
            if unknown and self.ask:
                trusted = await self.ask(unknown)
                await self.answer(place, unknown, trusted=trusted)
                untrusted = [each for each in untrusted if each not in unknown or not trusted]
            self._tell_of(place, untrusted)
        left_out = {place.root / each.path for each in untrusted}
        return [each for each in found if each.path not in left_out]

    async def untrusted(self, place: TrustPlace, found: Iterable[Instructions]) -> list[FileTrust]:
        """Return the files that are not trusted."""
        files = [await self.file(place, item) for item in found if not (item.is_note or self.reads_all)]
        return [file for file in files if not file.trusted]

    async def file(self, place: TrustPlace, item: Instructions) -> FileTrust:
        """Return the file with the user's answer."""
        path = item.path.relative_to(place.root)
        trusted = await self.is_trusted(place, item)
        before = None if trusted else await self._local.trust.trusted_text(place.project_id, path)
        return FileTrust(path, item.text, before, trusted)

    async def is_trusted(self, place: TrustPlace, item: Instructions) -> bool | None:
        """Whether the user trusts the text; None if the user was not asked."""
        path, digest = item.path.relative_to(place.root), item.digest
        here = self._here.get((place.project_id, path, digest))
        return await self._local.trust.is_trusted(place.project_id, path, digest) if here is None else here

    async def answer(self, place: TrustPlace, files: Iterable[FileTrust], *, trusted: bool) -> None:
        """Store the user's answer about these texts, or keep it for this run if it cannot be stored."""
        for file in files:
            self._here[place.project_id, file.path, file.digest] = trusted
            try:
                await self._local.trust.set_trust(
                    place.project_id, file.path, file.digest, file.text, trusted=trusted
                )
            except StoreError as error:
                log.warning("The answer about %s is not kept: %s", file.path, error)

    def _tell_of(self, place: TrustPlace, files: Sequence[FileTrust]) -> None:
        keys = {(place.project_id, file.path, file.digest): file for file in files}
        new = [file for key, file in keys.items() if key not in self._told]
        if not new or not self.tell:
            return
        self._told |= keys.keys()
        self.tell(left_out_words(new, can_ask=self.ask is not None))


def left_out_words(files: Sequence[FileTrust], *, can_ask: bool) -> str:
    """Return which files are not read and what to do about it."""
    names = ", ".join(escaped(str(file.path)) for file in files)
    if can_ask:
        return f"Not read: {names}. You chose to skip them; /trust asks again."
    changed = any(file.before is not None for file in files)
    why = "changed since you trusted it" if changed and len(files) == 1 else "not trusted"
    return (
        f"Instructions not read: {names} ({why}). Run `ragforge` here to review and trust them, or add "
        "--trust-project to read them in this run."
    )
