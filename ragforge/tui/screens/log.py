"""The tree of versions: browse it, show changes, compare, label, branch, check out."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Input

from ragforge.domain.errors import RagforgeError
from ragforge.domain.ids import now, short_id
from ragforge.domain.words import counted
from ragforge.tui.screens.base import Chat, NamedScreen
from ragforge.tui.screens.changes import ChangesScreen, Told, version_keys
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.version_list import VersionList
from ragforge.versions.book import VersionBook
from ragforge.versions.difference import Difference, lines_changed
from ragforge.versions.graph import Graph, GraphLine
from ragforge.versions.words import compared_words

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.domain.versions import Version
    from ragforge.session.conversation import Conversation
    from ragforge.store.base_versions import VersionRow
    from ragforge.versions.log import Log

NEAR_END = 20
"""More are read when so few versions are left to the end of the list."""
UNTRACKED_SHOWN = 3


class _Asks(Enum):
    """What the line at the bottom is for."""

    NOTHING = auto()
    LABEL = auto()
    BRANCH = auto()


class LogScreen(ChangesScreen):
    """The command that the user chose, such as `checkout 1a2b3c4d`, or None."""

    AUTO_FOCUS = ""  # keys are the list's until a name is requested
    HEADING = "Versions"
    HINT = (
        "Enter checks out · C chat · F files · B branch · L label · M compare\n"
        "Shift+Up and Shift+Down scroll the changes · Esc closes"
    )
    HINT_SHORT = "Enter checks out · B branch · L label · Esc closes"
    BINDINGS: ClassVar[list[BindingType]] = [*version_keys("branch_version", "label_version", "mark_version")]

    def __init__(self, conversation: Conversation) -> None:
        super().__init__()
        self._book = VersionBook(conversation.session.worktree)
        self._graph = Graph()
        self._lines: list[GraphLine] = []
        self._rows: list[VersionRow] = []
        self._more = False
        self._reading = False
        self._marked: VersionRow | None = None
        self._asks = _Asks.NOTHING

    @property
    def _list(self) -> VersionList:
        return self.query_one(VersionList)

    @property
    def _field(self) -> Input:
        return self.query_one("#version-name", Input)

    @property
    def _takes_keys(self) -> bool:
        return self._asks is _Asks.NOTHING

    def _make_list(self) -> VersionList:
        return VersionList()

    def _compose_line(self) -> ComposeResult:
        field = Input(id="version-name")
        field.display = False
        yield field

    # Reading

    async def _read(self) -> None:
        log = await self._book.page()
        if self.is_current:
            self._add(log)
            self._list.choose(log.head.version)

    async def _read_more(self) -> None:
        """Read the versions after those listed, one page at a time."""
        if self._reading:
            return
        self._reading = True
        try:
            log = await self._book.page(before=self._rows[-1].version.id)
        except RagforgeError as error:
            self._tell(str(error))
            return
        finally:
            self._reading = False
        if self.is_current:
            self._add(log)

    def _add(self, log: Log) -> None:
        self._rows += log.rows
        self._lines += self._graph.add(log.rows)
        self._more = log.more
        self._show(log)

    def _show(self, log: Log) -> None:
        """Return the listed versions, with the branches and the head of this log."""
        self._list.show(self._lines, log.branches, log.head, now=now())
        count = f"{len(self._rows):,} and more" if self._more else f"{len(self._rows):,}"
        on_branch = f" · on {log.head.branch}" if log.head.branch else ""
        self.query_one(".dialog-title", PlainText).set_text(f"{self.HEADING} · {count}{on_branch}")

    async def _step(self, by: int) -> None:
        await super()._step(by)
        if self._takes_keys and self._more and self._list.left < NEAR_END:
            await self._read_more()

    async def _told(self) -> Told | None:
        row, marked = self._list.row, self._marked
        if row is None:
            return None
        if marked and marked.version.id != row.version.id:
            compared = await self._book.compare(marked.version.id, row.version.id)
            return Told(compared_words(compared, *lines_changed(compared.files)), compared.files)
        compared = await self._book.changes(row.version)
        return Told(_words(row.version, compared.files), compared.files)

    # Doing something

    def _command(self, part: str) -> str:
        row = self._list.row
        return f"checkout {row.version.id}{part}" if row else ""

    def action_mark_version(self) -> None:
        """Compare all others with the chosen one; on itself: stop."""
        row = self._list.row
        if row is None or not self._takes_keys:
            return
        again = self._marked is not None and self._marked.version.id == row.version.id
        self._marked = None if again else row
        self._list.mark("" if again else row.version.id)
        self._tell(
            "" if again else "Marked ◆. The chosen version is compared with it. M again removes the mark."
        )
        self._explain()

    def action_label_version(self) -> None:
        """Enter a label for the chosen one."""
        if row := self._list.row:
            self._ask(_Asks.LABEL, row.version.label, "a label; empty removes it")

    def action_branch_version(self) -> None:
        """Enter the name of a branch that starts at the chosen one."""
        if self._list.row:
            self._ask(_Asks.BRANCH, "", "the name of the new branch")

    def _ask(self, what: _Asks, text: str, placeholder: str) -> None:
        if not self._takes_keys:
            return
        self._asks = what
        field = self._field
        field.value, field.placeholder, field.display = text, placeholder, True
        field.cursor_position = len(text)
        field.focus()
        self._tell("Enter saves · Esc cancels")

    @on(Input.Submitted)
    async def _typed(self, event: Input.Submitted) -> None:
        row = self._list.row
        if row is None:
            return
        name = event.value.strip()
        try:
            if self._asks is _Asks.LABEL:
                await self._label(row, name)
            elif name:
                await self._branch(row, name)
        except RagforgeError as error:
            self._tell(str(error))  # the input stays, to be corrected

    async def _branch(self, row: VersionRow, name: str) -> None:
        told = await self._book.branch(row.version, name)
        log = await self._book.page()
        if self.is_current:
            self._stop_asking()
            self._show(log)
            self._tell(told)

    async def _label(self, row: VersionRow, name: str) -> None:
        """Set the label in the row: pages that were read are not read again."""
        label = await self._book.label(row.version, name)
        if not self.is_current:
            return
        self._stop_asking()
        self._tell(f"Labelled: {label}" if label else "Label removed.")
        labelled = replace(row, version=replace(row.version, label=label))
        self._rows = [labelled if each is row else each for each in self._rows]
        self._lines = [replace(line, row=labelled) if line.row is row else line for line in self._lines]
        self._list.set_rows(self._lines)

    def action_leave(self) -> None:
        """Close, or cancel the input."""
        if self._takes_keys:
            self.dismiss(None)
        else:
            self._stop_asking()
            self._tell()

    def _stop_asking(self) -> None:
        self._asks = _Asks.NOTHING
        self._field.display = False
        self.set_focus(None)


def _words(version: Version, files: Sequence[Difference]) -> str:
    """Return the description of a version: who made it, its cost and changes, notes."""
    added, removed = lines_changed(files)
    changed = f"{counted(len(files), 'file')}, +{added} -{removed}" if files else "no files"
    facts = [short_id(version.id), f"by {version.by}", changed]
    if version.cost_usd:
        facts.append(f"${version.cost_usd:.4f}")
    notes = [version.note] if version.note else []
    if version.untracked:
        paths = ", ".join(each.path for each in version.untracked[:UNTRACKED_SHOWN])
        more = " …" if len(version.untracked) > UNTRACKED_SHOWN else ""
        notes.append(f"Without the content of {paths}{more}.")
    return "\n".join([" · ".join(facts), *notes])


async def _open(chat: Chat, _: str) -> None:
    if line := await chat.ask(LogScreen(chat.ready())):
        await chat.run_line(line)


SCREEN = NamedScreen("log", _open)
