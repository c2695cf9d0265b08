"""What a folder's files stand for, while its lock is held: looked at, accounted for, made into versions.

Everything that lies in the folder is accounted for by the files' head, or by the notes of a turn that runs.
Whatever a scan finds beyond that is put where it belongs before anything else happens.
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
from ragforge.versions.scan.changes import Scan, renames
from ragforge.versions.scan.manifest import Manifest, part_of, with_notes
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
    """What is remembered of a folder from one time to the next, so that not all is read again.

    content: the stored manifest that `manifest` was made from, with so many notes of each open turn.
    unsaved: whether `manifest` says more than the stored one. head: project and id of a version that is
    known to be stored. unkept: the manifest names contents that could not be kept.
    """

    content: bytes | None = None
    ahead: Manifest | None = None
    """What lay there before the first look, as somebody saw it who looked ahead; its contents are kept."""
    manifest: Manifest | None = None
    unsaved: bool = False
    unkept: bool = False
    notes: dict[str, int] = field(default_factory=dict[str, int])
    head: tuple[str, str] = ("", "")
    trouble: str = ""
    """What the user should hear, once."""
    sampling: Sampling = field(default_factory=Sampling)


class Owner(Struct, frozen=True):
    """Whose the differences are that a scan finds.

    since: when what made them began; another session that was active after that may have made them too.
    idle: when nothing of it ran; what was last changed then is nobody's turn's.
    """

    session_id: str
    turn_id: str
    provenance: Provenance
    since: datetime
    idle: Idle = field(default_factory=Idle)


class Ledger:
    """A folder's head, manifest and open turns, as they are and as they become. Made by `Recorder.ledger`."""

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
        """What lies in the folder as far as it is accounted for; None before the first scan."""
        return self._known.manifest

    async def open(self) -> None:
        """Read where things stand. Raises StoreError."""
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
                # It is local and can be made again: what lies there now is where it goes on from.
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
        """Look at the disk and put what differs where it belongs; what of it has no content kept.

        owner: whose it is. Without one it is a command's that another session runs just now, else nobody's
        turn: then it becomes a version of its own. paths: look only at these. by_job: a background job of
        ours ran between turns, so that it may be the job's as well as the user's. by_nobody: no command's,
        as is known.
        Raises StoreError, and OSError where the folder cannot be looked at.
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
            await self.save()  # it may be much, and is read sooner than the notes
        return untracked

    async def _begin(self) -> None:
        """Look at the folder for the first time: what is there is no change, whatever paths are asked about.

        Its contents are kept before anything is known of it, so all that is known can be restored.
        """
        found, _ = await self._look_and_keep(None)
        self._put(found.manifest)
        self._known.ahead = None
        await self.save()

    def _changed_while_idle(self, found: Scan, idle: Idle) -> list[str]:
        """The files that were last touched while nothing of their command ran.

        By the time of the last change to the inode, which nobody can set back. What is gone has none.
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
        """Keep that the changes are the turn's; `seen`: what lies in the folder with them."""
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
        """Make a version of what was done by nobody's turn."""
        await self._make_room(changes)
        parent = self.head.version
        version = await outside_version(
            self.files, renames(changes), parent=parent, note=note, untracked=untracked
        )
        # A crash may have come between this version and the head that it is.
        made = [each for each in await self._after(parent) if each.by == version.by and not each.turn_id]
        same = next((each for each in made if each.changes == version.changes), version)
        await self._add(same, seen=seen)

    async def add_turn(self, facts: TurnFacts, *, after_crash: bool = False) -> Version:
        """Make the version of a turn that ended, of all that was noted of it."""
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
        """Make a version of what was noted so far of a turn that goes on, here or elsewhere.

        end: it does not run any more for the time being, because it waits for consent.
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
        """Make a version of what was noted of a turn that is not in this store, as nobody's."""
        changes = merged(self._notes.get(turn_id, ()))
        self._forget(turn_id)
        if changes and self.manifest is not None:
            await self.add_outside(changes, seen=self.manifest, note=UNKNOWN_TURN)
        await self._state.end_turn(self.root, turn_id)

    async def carry_all(self) -> None:
        """Make versions of everything that is only noted, so that the head says what lies in the folder."""
        for turn in self.turns:
            await self.carry(turn.turn_id)

    async def keep_before(self, paths: Iterable[str]) -> tuple[Untracked, ...]:
        """Keep the contents that lie at the paths now; those that cannot be read. Raises StoreError."""
        if self.manifest is None:
            return ()
        there = part_of(self.manifest, paths)
        if not there.entries:
            return ()
        unread = await keep_contents(self.files.blobs, self.root, there)
        self._prove(await prove_contents(self.files.blobs, self.root, there))
        return tuple(unread)

    async def prove_kept(self) -> None:
        """Make sure that the contents of all that is in the folder can be restored; see `kept_again`.

        Raises StoreError where some cannot be, which are named.
        """
        if self.manifest is not None:
            sampling = self._known.sampling
            proof = await prove_contents(self.files.blobs, self.root, self.manifest, sampling=sampling)
            self._prove(proof)

    def kept_again(self) -> str:
        """What the user should hear, once, of contents that were lost or damaged and were kept again."""
        again, self._again = self._again, []
        if not again:
            return ""
        return KEPT_AGAIN.format(counted(len(again), "file"), _few(again))

    def _prove(self, proof: Proof) -> None:
        self._again += proof.again
        if proof.lost:
            raise StoreDamaged(UNREADABLE.format(_few([each.path for each in proof.lost])))

    async def keep_again(self) -> None:
        """Keep what could not be kept before, if anything. Raises StoreError where it still cannot be."""
        if self._known.unkept and self.manifest is not None:
            await keep_contents(self.files.blobs, self.root, self.manifest)
            self._known.unkept = False

    def check_kept(self) -> None:
        """Raise StoreError where contents that were found could not be kept."""
        if self._trouble:
            raise self._trouble

    async def save(self) -> None:
        """Store the manifest where it says more than the stored one."""
        if (content := await self._content()) is not None:
            await self._state.set_manifest(self.root, content)
            self._saved(content)

    async def _look_and_keep(self, paths: Collection[str] | None) -> tuple[Scan, tuple[Untracked, ...]]:
        """What differs, its contents kept; and that of which they could not be kept."""
        assert self.track_rules is not None
        last = self.manifest or self._known.ahead or Manifest()
        found, trouble = await scan_and_keep(self.files.blobs, self.track_rules, last, paths=paths)
        if trouble is None:
            return found, ()
        self._trouble, self._known.unkept = trouble, True
        with suppress(StoreError):  # for this process it is remembered anyway
            await self._state.unprepare(self.root)
        return found, self.unkept(found.read, trouble)

    def unkept(self, paths: Iterable[str], error: StoreError) -> tuple[Untracked, ...]:
        """The paths as such whose content could not be kept."""
        log.warning("Contents of %s could not be kept: %s", self.root, error)
        return tuple(Untracked(path, f"{NOT_KEPT}: {error}") for path in paths)

    def _commanding(self) -> Owner | None:
        """The turn of another session that runs a command just now, where there is one."""
        for turn in self.turns:
            if turn.in_command and turn.pid_alive:
                return Owner(turn.session_id, turn.turn_id, Provenance.SHELL, turn.since)
        return None

    async def _make_room(self, changes: Sequence[Change], *, but: str = "") -> None:
        """Let notes of other turns on the same paths come before these changes in the line of versions."""
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
        """Keep the version, then the tip of the branch, then that the files' head is there now.

        In this order, because a crash after the first or second is made good by doing it again.
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

        After an undo it does not: the branch keeps naming what was undone, or nothing would any more.
        """
        if not self.head.branch:
            return False
        try:
            branches = await self.files.store.versions.branches(self.files.project.id)
        except StoreUnavailable:
            return True  # where the tip is cannot be known now, and nothing waits for a server
        tips = {branch.name: branch.version_id for branch in branches}
        return tips.get(self.head.branch, version.id) in (*version.parents, version.id)

    async def _made_before_crash(self, version: Version) -> Version | None:
        """The turn's version, where it was stored and only the head does not say so yet."""
        for each in await self.files.store.versions.of_turns([version.turn_id]):
            is_here = each.id == self.head.version or each.parents == version.parents
            if is_here and each.changes == version.changes:
                return each
        return None

    async def _after(self, version_id: str) -> list[Version]:
        try:
            return await self.files.store.versions.children(version_id) if version_id else []
        except StoreUnavailable:
            return []  # a server that is away: what is written now goes there later

    async def _stored_head(self, head: Head) -> Head:
        """The head, where its version is in this store and of this project; else none.

        Who changes the store, or takes the folder for another project's, begins a new line.
        """
        project_id = self.files.project.id
        if not head.version or (project_id, head.version) == self._known.head:
            return head
        try:
            found = await self.files.store.versions.get([head.version])
        except StoreUnavailable:
            return head  # a server that is away is no other store
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
        """The manifest to store; None where the stored one holds."""
        manifest = seen or (self.manifest if self._known.unsaved else None)
        return None if manifest is None else await in_thread(lambda _: manifest.to_bytes())

    def _saved(self, content: bytes | None) -> None:
        if content is not None:
            self._known.content, self._known.unsaved = content, False

    @property
    def _state(self) -> HistoryState:
        return self.files.state


def _few(paths: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    named = ", ".join(paths[:NAMED_MAX])
    return f"{named} and {len(paths) - NAMED_MAX:,} more" if len(paths) > NAMED_MAX else named
