"""What was recalled for a message: one line that opens to all items, with the reasons for each."""

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.widget import Widget

from ragforge.domain.context import ContextBlock, Recalled
from ragforge.domain.ids import short_id
from ragforge.domain.printable import one_line, printable
from ragforge.domain.search import HitKind
from ragforge.domain.words import counted, day_words
from ragforge.tui.keys import Where, declared
from ragforge.tui.widgets.fold import BodyFold, FoldHead
from ragforge.tui.widgets.key_hint import KeyHint
from ragforge.tui.widgets.plain import PlainText

KEYS = (
    "F6 and the arrows, or a click, choose an item · Right shows it in full with its scores · Left folds "
    "it · Enter opens its turn · Delete forgets a memory (asks first) · Esc returns"
)
KEYS_NAMED = ("walk", "show_figures", "hide_figures", "open_recalled", "forget_recalled")
ITEM_CHARS_SHOWN = 600
"""The part of an item's text that is shown; the rest is in its turn."""


class RecalledHead(FoldHead):
    """`▸ recalled 7 (312 tokens)`."""


class RecalledItem(PlainText, can_focus=True):
    """One item on one line: why the model was given it, and its text. Its figures open below.

    A click or the walk with F6 focuses it. Letters do nothing here: they would be typed for the prompt.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*declared(Where.RECALLED)]

    class ForgetWanted(Message):
        """The memory should be forgotten."""

        def __init__(self, item: Recalled) -> None:
            super().__init__()
            self.item = item

    class TurnWanted(Message):
        """The item's turn should be opened."""

        def __init__(self, item: Recalled) -> None:
            super().__init__()
            self.item = item

    def __init__(self, item: Recalled) -> None:
        super().__init__(item_line(item), classes="recalled-item")
        self._item = item

    def on_click(self, event: events.Click) -> None:
        """Show it in full, or on one line again."""
        event.stop()
        self._open(whole=not self.has_class("-whole"))

    def action_show_figures(self) -> None:
        """Show its text, its origin and what each source said about it."""
        self._open(whole=True)

    def action_hide_figures(self) -> None:
        """Show one line again."""
        self._open(whole=False)

    def _open(self, *, whole: bool) -> None:
        self.set_class(whole, "-whole")
        self.set_text(item_words(self._item) if whole else item_line(self._item))

    def action_open_recalled(self) -> None:
        """Ask for the turn to be opened, if there is one."""
        if self._item.turn_id:
            self.post_message(self.TurnWanted(self._item))

    def action_forget_recalled(self) -> None:
        """Ask for it to be forgotten, if it is a memory."""
        if self._item.kind is HitKind.MEMORY:
            self.post_message(self.ForgetWanted(self._item))


class RecalledHint(KeyHint):
    """The keys of an item. A click on one presses it only if an item has the focus.

    Elsewhere the same keys send the draft, delete in it, interrupt, or answer an approval.
    """

    def on_click(self, event: events.Click) -> None:
        """Do nothing unless an item would handle the key."""
        if not isinstance(self.screen.focused, RecalledItem):
            event.stop()
            event.prevent_default()


class RecalledView(BodyFold):
    """The line that opens to the items."""

    class LookedAt(Message):
        """The user looks at what was recalled."""

        def __init__(self, view: "RecalledView") -> None:
            super().__init__()
            self.view = view

    HEAD = RecalledHead

    def __init__(self, block: ContextBlock) -> None:
        super().__init__()
        self.block = block

    def label(self) -> str:
        return label(self.block)

    def make_body(self) -> Widget:
        return RecalledBody(self.block)

    def opened(self) -> None:
        # Later: a message bubbles no higher than the widget that is active while it is created.
        self.call_next(self._tell_that_it_is_looked_at)

    def _tell_that_it_is_looked_at(self) -> None:
        self.post_message(self.LookedAt(self))


class RecalledBody(Widget):
    """The items below the headings under which the model was given them."""

    def __init__(self, block: ContextBlock) -> None:
        super().__init__(classes="recalled-body")
        self._block = block

    def compose(self) -> ComposeResult:
        """Yield headings, items, and what could not be searched or had no room."""
        heading = ""
        for item in self._block.items:
            if item.section != heading:
                heading = item.section
                yield PlainText(heading, classes="recalled-section")
            yield RecalledItem(item)
        if self._block.left_out:
            yield PlainText(f"{counted(self._block.left_out, 'more item')} did not fit.")
        for item in self._block.unshown:
            yield RecalledItem(item)
        if self._block.limited:
            yield PlainText(self._block.limited, classes="recalled-limited")
        yield RecalledHint(KEYS, actions=KEYS_NAMED, classes="recalled-hint")


def label(block: ContextBlock) -> str:
    """Return `recalled 7 (312 tokens)` or `recalled nothing`, and whether the search was incomplete."""
    count = len(block.items)
    words = f"recalled {count} ({counted(block.tokens, 'token')})" if count else "recalled nothing"
    return f"{words} · search incomplete" if block.limited else words


def item_line(item: Recalled) -> str:
    """Return `3 Nov · speaks of parser, bug · The parser fails on empty files.`"""
    day, reason = day_words(item.at), one_line(item.reason)
    text = " ".join(printable(item.text).split())
    return " · ".join(filter(None, ("" if day in reason else day, reason, text[:ITEM_CHARS_SHOWN])))


def item_words(item: Recalled) -> str:
    """Return an item in three lines: its kind and why, its text, what each source said about it."""
    what = [
        item.kind.replace("_", " "),
        f"{item.at.astimezone():%Y-%m-%d}",
        one_line(item.reason),
        counted(item.tokens, "token"),
    ]
    if item.kind is HitKind.MEMORY:
        what.insert(1, item.id[:8])
    elif item.session_id:
        what.insert(1, f"session …{short_id(item.session_id)}")
    text = " ".join(printable(item.text).split())
    shown = text if len(text) <= ITEM_CHARS_SHOWN else text[:ITEM_CHARS_SHOWN].rstrip() + " …"
    lines = [" · ".join(filter(None, what)), shown]
    if item.scores:
        lines.append(" · ".join(f"{name} {value:.2f}" for name, value in item.scores.items()))
    return "\n".join(lines)
