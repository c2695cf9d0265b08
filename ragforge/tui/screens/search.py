"""Search in every session of the project, while typing."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from rich.cells import cell_len
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from ragforge.commands.search import split_by, who_of
from ragforge.domain.errors import RagforgeError
from ragforge.domain.ids import now
from ragforge.domain.printable import one_line
from ragforge.domain.search import Hit, HitKind, what
from ragforge.domain.words import age_words
from ragforge.memory.recall.explain import reason
from ragforge.memory.recall.search import RankedHit
from ragforge.tui.cells import cut
from ragforge.tui.screens.base import Chat, NamedScreen
from ragforge.tui.screens.list_dialog import FilterDialog, in_order, list_keys
from ragforge.tui.widgets.plain import PlainText

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.session.conversation import Conversation

LINES_A_HIT = 4
INDENT = "    "
NARROW = 60
"""In fewer columns a title keeps half of its line."""


class Chosen(Struct, frozen=True):
    """Where a hit is: the session and its turn, counted from 1; of an undone one, only its session."""

    session_id: str
    turn: int | None


class SearchScreen(FilterDialog[Chosen | None]):
    """Returns the hit to go to, or None."""

    BINDINGS: ClassVar[list[BindingType]] = in_order(list_keys())
    HEADING = "Search this project"
    PLACEHOLDER = "topics, words, file names, commands"
    PAGE = 5

    def __init__(self, conversation: Conversation, words: str = "") -> None:
        super().__init__(conversation, words)
        self._found: tuple[RankedHit, ...] = ()
        self._writers: dict[str, str] = {}
        self._index = 0
        self._searched: str | None = None
        self._is_searching = False
        self._takes = False
        """Enter was pressed before the hits were there: the first one is taken when they are."""

    def _compose_list(self) -> ComposeResult:
        yield PlainText(id="limit", classes="hidden")
        with VerticalScroll(can_focus=False, classes="hits"):
            yield Static(id="hits", markup=False)

    async def _fill(self) -> None:
        self._tell("Enter opens this turn · Esc closes")
        self.read_line()

    def _show_limit(self, limited: str = "") -> None:
        """A notice that the server is away, or that only words were compared: updated with each search."""
        words = self._conversation.search_limit or limited
        line = self.query_one("#limit", PlainText)
        line.set_class(not words, "hidden")
        if words != line.text:
            line.set_text(words)

    def read_line(self) -> None:
        """Search for what was typed, instead of the running search."""
        words = self._line.value
        if words != self._searched:
            self._searched, self._is_searching, self._takes = words, True, False
            self._search(words)

    @work(exclusive=True)
    async def _search(self, text: str) -> None:
        try:
            by, words = split_by(text)
            answer = await self._conversation.search(words, by=by)
            self._writers = await self._conversation.writers_shown(answer)
        except RagforgeError as error:
            self._is_searching = self._takes = False
            self.notify(str(error), severity="error", markup=False)
            return
        self._is_searching = False
        self._found = answer.found
        self._show_limit(answer.limited)
        self._index = 0
        self._draw(nothing=f"Nothing found for “{text.strip()}”." if words.strip() else "")
        if self._takes:
            self._takes = False
            self.action_take()

    def _draw(self, *, nothing: str = "") -> None:
        lines = [line for at, each in enumerate(self._found) for line in self._lines(each, at == self._index)]
        self.query_one("#hits", Static).update(Content("\n").join(lines[:-1]) if lines else Content(nothing))
        self.query_one(VerticalScroll).scroll_to(y=max(0, (self._index - 1) * LINES_A_HIT), animate=False)

    def _lines(self, found: RankedHit, chosen: bool) -> list[Content]:
        hit = found.hit
        width = max(20, self.query_one("#hits").content_size.width)
        mark = "› " if chosen else "  "
        who = who_of(hit, self._writers)
        facts = "  " + " · ".join(filter(None, (one_line(what(hit)), age_words(hit.at, now()), who)))
        facts = cut(facts, min(cell_len(facts), width // 2)) if width < NARROW else facts
        title = one_line(hit.session_title or hit.session_id)
        head = Content.assemble(
            (mark, "bold"),
            (cut(title, width - len(mark) - len(facts)).rstrip(), "bold" if chosen else ""),
            (facts, "$foreground-muted"),
        )
        excerpt = Content.assemble(INDENT, _marked(hit, width - len(INDENT)))
        why = f"{hit.score:.2f} · {one_line(reason(found))}"
        shown = cut(why, width - len(INDENT)).rstrip()
        return [head, excerpt, Content.assemble(INDENT, (shown, "dim")), Content("")]

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_take()

    def action_take(self) -> None:
        """Go to the chosen hit."""
        if self._is_searching:
            self._takes = True
            return
        if not self._found:
            return
        hit = self._found[self._index].hit
        if not hit.session_id:
            shown = " /log shows it." if hit.version_id else " /memory shows it."
            shown = "" if hit.kind is HitKind.PROGRAM else shown
            self.notify(f"This is not part of a session.{shown}", markup=False)
        else:
            # Undone turns, and memories without a turn, have no position on the path.
            in_path = hit.turn_id and not hit.abandoned
            self.dismiss(Chosen(hit.session_id, hit.turn_index + 1 if in_path else None))

    async def _step(self, by: int) -> None:
        if self._found:
            self._index = max(0, min(self._index + by, len(self._found) - 1))
            self._draw()

    def on_resize(self) -> None:
        """Adapt to the new width."""
        if self._found:
            self.call_after_refresh(self._draw)

    def on_click(self, event: events.Click) -> None:
        """Go to the hit under the mouse."""
        if isinstance(event.widget, Static) and event.widget.id == "hits":
            at = event.y // LINES_A_HIT
            if at < len(self._found):
                self._index = at
                self.action_take()


def _marked(hit: Hit, width: int) -> Content:
    """Return the excerpt on one line, its matched words bold and underlined: visible without colour too.

    If the first of them would be cut off, the excerpt starts shortly before it.
    """
    text = "".join(char if char.isprintable() else " " for char in hit.text)
    content = Content(text)
    for start, end in hit.marks:
        content = content.stylize("bold underline $text-warning", start, end)
    first_start, first_end = hit.marks[0] if hit.marks else (0, 0)
    if first_end <= width:
        return content
    return Content.assemble("…", content[max(0, first_start - width // 3) :])


async def _open(chat: Chat, words: str) -> None:
    if hit := await chat.ask(SearchScreen(chat.ready(), words)):
        await chat.go_to(hit.session_id, hit.turn)


SCREEN = NamedScreen("search", _open)
