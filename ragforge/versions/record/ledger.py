"""The state of a folder's files, under its lock: scan it, attribute changes, make versions.

Everything in the folder belongs to the files' head, or to the recorded changes of a running turn. Whatever
else a scan finds is attributed before anything else happens.
"""

import logging
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from datetime import datetime

from msgspec import Struct, field

from ragforge.domain.cancellation import in_thread
from ragforge.domain.errors import StoreDamaged, StoreError, StoreUnavailable
from ragforge.domain.ids import now
from ragforge.domain.versions import Branch, Change, Provenance, Untracked, Version
from ragforge.domain.words import counted
from ragforge.shell.process_idle import Idle, has_own_clock
from ragforge.store.base import keep_project
from ragforge.store.files import CHECK, REPAIR
from ragforge.versions.assembly import TurnFacts, outside_version, turn_version
from ragforge.versions.project_files import ProjectFiles
from ragforge.versions.record.contents import Proof, Sampling, keep_contents, prove_contents, scan_and_keep
from ragforge.versions.scan.changes import Scan
from ragforge.versions.scan.manifest import Manifest, part_of, with_notes
from ragforge.versions.scan.renames import renames
from ragforge.versions.scan.track_rules import TrackRules
from ragforge.versions.state import Head, HistoryState, OpenTurn
from ragforge.versions.tree import changes_of, merged, touches

log = logging.getLogger(__name__)

NOT_KEPT = "its content could not be kept"
UNKNOWN_TURN = "Of a turn that is not in this store."
SCAN_LOST = (
    "The result of the last scan of this folder cannot be read. Edits since the last turn are not in a "
    "version; later edits will be."
)
KEPT_AGAIN = (
    "The stored contents of {} were missing or damaged. They were stored again from the files: {}. Older "
    f"versions may have lost contents too: `{CHECK}` says which."
)
UNREADABLE = (
    "The stored contents of these files are missing or damaged, and the files cannot be read to keep them "
    f"again: {{}}. Make them readable, or run `{REPAIR}`."
)
NAMED_MAX = 5
BY_JOB = "A background job was running, so this may be its work or the user's."


class Known(Struct):
    """What is cached about a folder between uses, so that not everything is read again.

    content: the stored manifest that `manifest` was made from, with so many notes of each open turn.
    unsaved: whether `manifest` is newer than the stored one. head: project and id of a version that is
    known to be stored. unkept: the manifest names contents that could not be stored.
    """

    content: bytes | None = None
    ahead: Manifest | None = None
    """The state before the first scan, if somebody scanned ahead; its contents are stored."""
    manifest: Manifest | None = None
    unsaved: bool = False
    unkept: bool = False
    notes: dict[str, int] = field(default_factory=dict[str, int])
    head: tuple[str, str] = ("", "")
    trouble: str = ""
    """What to tell the user, once."""
    sampling: Sampling = field(default_factory=Sampling)


class Owner(Struct, frozen=True):
    """To whom the differences of a scan belong.

    since: when their cause started; another session that was active after that may have made them too.
    idle: when nothing of it ran; files last changed then belong to no turn.
    """

    session_id: str
    turn_id: str
    provenance: Provenance
    since: datetime
    idle: Idle = field(default_factory=Idle)


class Ledger:
    """A folder's head, manifest and open turns, as they are and as they change. Made by `Recorder.ledger`."""

    def __init__(self, files: ProjectFiles, track_rules: TrackRules | None, known: Known) -> None:
        self.files = files
        self.root = files.root
        self.track_rules = track_rules
        self.head = Head()
        self.turns: list[OpenTurn] = []
        self._known = known
        self._trouble: StoreError | None = None
        self._notes: dict[str, list[Change]] = {}
        self._again: list[str] = []

    @property
    def manifest(self) -> Manifest | None:
        """The attributed contents of the folder; None before the first scan."""
        return self._known.manifest

    async def open(self) -> None:
        """Read the current state. Raises StoreError."""
        state, known = self._state, self._known
        self.head = await self._stored_head(await state.head(self.root))
        self.turns = await state.open_turns(self.root)
        self._notes = {turn.turn_id: await state.noted(self.root, turn.turn_id) for turn in self.turns}
        content = await state.manifest(self.root)
        counts = {turn_id: len(notes) for turn_id, notes in self._notes.items()}
        if content is None:
            known.manifest = None
        elif content != known.content or counts != known.notes or known.manifest is None:
            every = [note for notes in self._notes.values() for note in notes]
            try:
                known.manifest = await in_thread(lambda _: with_notes(Manifest.from_bytes(content), every))
            except StoreDamaged as error:
                # It is local and can be rebuilt: the current files are the new starting point.
                log.warning("The last scan of %s is lost: %s", self.root, error)
                known.manifest, known.trouble = None, SCAN_LOST
            known.unsaved = bool(every)
        known.content, known.notes = content, counts

    async def take_in(
        self,
        owner: Owner | None = None,
        *,
        paths: Collection[str] | None = None,
        by_job: bool = False,
        by_nobody: bool = False,
    ) -> tuple[Untracked, ...]:
        """Scan the disk and attribute the differences; return those whose content could not be stored.

        owner: to whom they belong. Without one: to a command that another session is running, or to no turn;
        the latter become a version. paths: scan only these. by_job: a background job of ours ran between
        turns, so they may be the job's as well as the user's. by_nobody: known to be no command's.
        Raises StoreError, and OSError if the folder cannot be scanned.
        """
        if self.track_rules is None:
            return ()
        if not (self.manifest and self.manifest.is_known):
            await self._begin()
            return ()
        found, unkept = await self._look_and_keep(paths)
        idle = owner.idle if owner else Idle()
        if theirs := await in_thread(lambda _: self._changed_while_idle(found, idle)):
            await self.take_in(paths=theirs, by_nobody=True)
            found, unkept = await self._look_and_keep(paths)
        untracked = (*found.untracked, *unkept)
        if not found.differences:
            self._put(found.manifest, unsaved=bool(found.read or found.untracked))
            return untracked
        if not by_nobody:
            owner = owner or self._commanding()
        if owner is None:
            provenance = Provenance.SHELL if by_job else Provenance.OUTSIDE
            changes = changes_of(found.differences, provenance, shared=by_job)
            note = BY_JOB if by_job else ""
            await self.add_outside(changes, seen=found.manifest, untracked=untracked, note=note)
            return untracked
        shared = owner.provenance is Provenance.SHELL and await self._state.active_since(
            self.root, owner.since, owner.session_id
        )
        await self.note(
            owner.turn_id, changes_of(found.differences, owner.provenance, shared=shared), seen=found.manifest
        )
        if owner.provenance is not Provenance.TOOL:
            await self.save()  # it may be large, and is read sooner than the notes
        return untracked

    async def _begin(self) -> None:
        """Scan the folder for the first time: existing files are no changes, whatever paths are asked for.

        Their contents are stored before anything is known of them, so all that is known can be restored.
        """
        found, _ = await self._look_and_keep(None)
        self._put(found.manifest)
        self._known.ahead = None
        await self.save()

    def _changed_while_idle(self, found: Scan, idle: Idle) -> list[str]:
        """Return the files that were last changed while nothing of their command ran.

        Uses the inode's change time, which nobody can set back. A removed file has none.
        """
        if not idle.begins or not found.differences or not has_own_clock(self.root):
            return []
        theirs: list[str] = []
        for path, (_, there) in found.differences.items():
            with suppress(OSError):
                if there and idle.covers((self.root / path).lstat().st_ctime_ns):
                    theirs.append(path)
        return theirs

    async def note(self, turn_id: str, changes: Sequence[Change], *, seen: Manifest) -> None:
        """Record that the changes are the turn's; `seen`: the folder's contents including them."""
        await self._make_room(changes, but=turn_id)
        await self._state.note(self.root, turn_id, changes)
        notes = self._notes.setdefault(turn_id, [])
        notes.extend(changes)
        self._known.notes[turn_id] = len(notes)
        self._put(seen)

    async def add_outside(
        self,
        changes: Sequence[Change],
        *,
        seen: Manifest,
        untracked: tuple[Untracked, ...] = (),
        note: str = "",
    ) -> None:
        """Make a version of changes that belong to no turn."""
        await self._make_room(changes)
        parent = self.head.version
        version = await outside_version(
            self.files, renames(changes), parent=parent, note=note, untracked=untracked
        )
        # A crash may have come between storing this version and setting the head to it.
        made = [each for each in await self._after(parent) if each.by == version.by and not each.turn_id]
        same = next((each for each in made if each.changes == version.changes), version)
        await self._add(same, seen=seen)

    async def add_turn(self, facts: TurnFacts, *, after_crash: bool = False) -> Version:
        """Make the version of an ended turn, from all its recorded changes."""
        turn_id = facts.turn.id
        changes = renames(merged(self._notes.get(turn_id, ())))
        version = await turn_version(self.files, facts, changes, parent=self.head.version)
        if after_crash:
            version = await self._made_before_crash(version) or version
        await self._add(version, ended_turn=turn_id)
        self._forget(turn_id)
        self.turns = [turn for turn in self.turns if turn.turn_id != turn_id]
        return version

    async def carry(self, turn_id: str, *, end: bool = False) -> None:
        """Make a version of the changes recorded so far of a turn that continues, here or elsewhere.

        end: it does not run for the time being, because it waits for consent.
        """
        turn = await self.files.store.turns.get(turn_id)
        changes = renames(merged(self._notes.get(turn_id, ())))
        if turn is not None and changes:
            version = await turn_version(self.files, TurnFacts(turn), changes, parent=self.head.version)
            await self._add(version, ended_turn=turn_id if end else "", carried_turn="" if end else turn_id)
            self._forget(turn_id)
        elif end:
            await self._state.end_turn(self.root, turn_id)
            self._forget(turn_id)

    async def end_unknown(self, turn_id: str) -> None:
        """Make a version, of no turn, of the changes of a turn that is not in this store."""
        changes = merged(self._notes.get(turn_id, ()))
        self._forget(turn_id)
        if changes and self.manifest is not None:
            await self.add_outside(changes, seen=self.manifest, note=UNKNOWN_TURN)
        await self._state.end_turn(self.root, turn_id)

    async def carry_all(self) -> None:
        """Make versions of all recorded changes, so that the head describes the folder exactly."""
        for turn in self.turns:
            await self.carry(turn.turn_id)

    async def keep_before(self, paths: Iterable[str]) -> tuple[Untracked, ...]:
        """Store the current contents at the paths; return those that cannot be read. Raises StoreError."""
        if self.manifest is None:
            return ()
        there = part_of(self.manifest, paths)
        if not there.entries:
            return ()
        unread = await keep_contents(self.files.blobs, self.root, there)
        self._prove(await prove_contents(self.files.blobs, self.root, there))
        return tuple(unread)

    async def prove_kept(self) -> None:
        """Ensure that all contents in the folder can be restored; see `kept_again`.

        Raises StoreError, naming them, if some cannot.
        """
        if self.manifest is not None:
            sampling = self._known.sampling
            proof = await prove_contents(self.files.blobs, self.root, self.manifest, sampling=sampling)
            self._prove(proof)

    def kept_again(self) -> str:
        """What to tell the user, once, about lost or damaged contents that were stored again."""
        again, self._again = self._again, []
        if not again:
            return ""
        return KEPT_AGAIN.format(counted(len(again), "file"), _few(again))

    def _prove(self, proof: Proof) -> None:
        self._again += proof.again
        if proof.lost:
            raise StoreDamaged(UNREADABLE.format(_few([each.path for each in proof.lost])))

    async def keep_again(self) -> None:
        """Store what could not be stored before, if anything. Raises StoreError if it still cannot be."""
        if self._known.unkept and self.manifest is not None:
            await keep_contents(self.files.blobs, self.root, self.manifest)
            self._known.unkept = False

    def check_kept(self) -> None:
        """Raise StoreError if contents that were found could not be stored."""
        if self._trouble:
            raise self._trouble

    async def save(self) -> None:
        """Store the manifest if it is newer than the stored one."""
        if (content := await self._content()) is not None:
            await self._state.set_manifest(self.root, content)
            self._saved(content)

    async def _look_and_keep(self, paths: Collection[str] | None) -> tuple[Scan, tuple[Untracked, ...]]:
        """Return the differences, their contents stored; and those whose contents could not be."""
        assert self.track_rules is not None
        last = self.manifest or self._known.ahead or Manifest()
        found, trouble = await scan_and_keep(self.files.blobs, self.track_rules, last, paths=paths)
        if trouble is None:
            return found, ()
        self._trouble, self._known.unkept = trouble, True
        with suppress(StoreError):  # this process remembers it anyway
            await self._state.unprepare(self.root)
        return found, self.unkept(found.read, trouble)

    def unkept(self, paths: Iterable[str], error: StoreError) -> tuple[Untracked, ...]:
        """Return the paths whose content could not be stored."""
        log.warning("Contents of %s could not be kept: %s", self.root, error)
        return tuple(Untracked(path, f"{NOT_KEPT}: {error}") for path in paths)

    def _commanding(self) -> Owner | None:
        """The turn of another session that is running a command, if any."""
        for turn in self.turns:
            if turn.in_command and turn.pid_alive:
                return Owner(turn.session_id, turn.turn_id, Provenance.SHELL, turn.since)
        return None

    async def _make_room(self, changes: Sequence[Change], *, but: str = "") -> None:
        """Make other turns' recorded changes of the same paths versions before these changes."""
        for turn in self.turns:
            if turn.turn_id != but and touches(self._notes.get(turn.turn_id, ()), changes):
                await self.carry(turn.turn_id)

    async def _add(
        self,
        version: Version,
        *,
        seen: Manifest | None = None,
        ended_turn: str = "",
        carried_turn: str = "",
    ) -> None:
        """Store the version, then the tip of the branch, then the files' head.

        In this order, because a crash after the first or second is repaired by repeating it.
        """
        versions = self.files.store.versions
        if not version.parents:
            await keep_project(self.files.store, self.files.project)
        await versions.add(version)
        branch = self.head.branch if await self._goes_on(version) else ""
        if branch:
            await versions.set_branch(Branch(self.files.project.id, branch, version.id, now()))
        head = Head(version.id, branch)
        content = await self._content(seen)
        await self._state.set_head(
            self.root, head, manifest=content, ended_turn=ended_turn, carried_turn=carried_turn
        )
        self.head = head
        self._known.head = (version.project_id, version.id)
        if seen is not None:
            self._put(seen)
        self._saved(content)

    async def _goes_on(self, version: Version) -> bool:
        """Whether the version follows the current branch's tip.

        After an undo it does not: the branch still names what was undone, or nothing would any more.
        """
        if not self.head.branch:
            return False
        try:
            branches = await self.files.store.versions.branches(self.files.project.id)
        except StoreUnavailable:
            return True  # if the tip is unknown now, and nothing waits for a server
        tips = {branch.name: branch.version_id for branch in branches}
        return tips.get(self.head.branch, version.id) in (*version.parents, version.id)

    async def _made_before_crash(self, version: Version) -> Version | None:
        """Return the turn's version, if it was stored and only the head is older."""
        for each in await self.files.store.versions.of_turns([version.turn_id]):
            is_here = each.id == self.head.version or each.parents == version.parents
            if is_here and each.changes == version.changes:
                return each
        return None

    async def _after(self, version_id: str) -> list[Version]:
        try:
            return await self.files.store.versions.children(version_id) if version_id else []
        except StoreUnavailable:
            return []  # a server that is away receives the changes later

    async def _stored_head(self, head: Head) -> Head:
        """Return the head, if its version is in this store and of this project; else none.

        Changing the store, or treating the folder as another project, starts a new line.
        """
        project_id = self.files.project.id
        if not head.version or (project_id, head.version) == self._known.head:
            return head
        try:
            found = await self.files.store.versions.get([head.version])
        except StoreUnavailable:
            return head  # a server that is away is not another store
        if not found or found[0].project_id != project_id:
            return Head()
        self._known.head = (project_id, head.version)
        return head

    def _put(self, manifest: Manifest, *, unsaved: bool = True) -> None:
        self._known.manifest = manifest
        self._known.unsaved = self._known.unsaved or unsaved

    def _forget(self, turn_id: str) -> None:
        self._notes.pop(turn_id, None)
        self._known.notes.pop(turn_id, None)

    async def _content(self, seen: Manifest | None = None) -> bytes | None:
        """Return the manifest to store; None if the stored one is current."""
        manifest = seen or (self.manifest if self._known.unsaved else None)
        return None if manifest is None else await in_thread(lambda _: manifest.to_bytes())

    def _saved(self, content: bytes | None) -> None:
        if content is not None:
            self._known.content, self._known.unsaved = content, False

    @property
    def _state(self) -> HistoryState:
        return self.files.state


def _few(paths: Sequence[str]) -> str:
    """Return the first of them, and how many more there are."""
    named = ", ".join(paths[:NAMED_MAX])
    return f"{named} and {len(paths) - NAMED_MAX:,} more" if len(paths) > NAMED_MAX else named
