"""One turn on the screen: the user's message and all that followed."""

from typing import TypeAlias, assert_never

from textual.app import ComposeResult
from textual.widget import Widget

from ragforge.domain.messages import ImagePart, Parts, TextPart, images_in
from ragforge.domain.web_search import as_markdown
from ragforge.files.images import image_words
from ragforge.tui.widgets.answer import AnswerView
from ragforge.tui.widgets.constraint_line import ConstraintView
from ragforge.tui.widgets.fold import Fold
from ragforge.tui.widgets.foresight_line import ForeseenView
from ragforge.tui.widgets.notices import GreetingLine, NoticeLine, TurnEndLine, end_words
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.recall_line import RecalledView
from ragforge.tui.widgets.thoughts import ThoughtsView
from ragforge.tui.widgets.tool_line import LoadOutput, ToolCallView
from ragforge.tui.widgets.tool_words import changed_words
from ragforge.tui.widgets.turn_record import (
    Against,
    Called,
    Changed,
    Entry,
    Greeted,
    Noted,
    Otherwise,
    Remembered,
    Said,
    Searched,
    Thought,
    Told,
    TurnRecord,
)

EntryView: TypeAlias = (
    AnswerView
    | ThoughtsView
    | ToolCallView
    | NoticeLine
    | GreetingLine
    | RecalledView
    | ConstraintView
    | ForeseenView
)

USER_CHARS_SHOWN = 20_000
"""How much of the user's message is shown; the rest is stored and was sent, but would slow the screen."""


class UserWords(PlainText):
    """The user's message."""


class TurnView(Widget):
    """Draws a `TurnRecord`; call `sync` after the record has changed."""

    def __init__(self, record: TurnRecord, *, load_output: LoadOutput | None) -> None:
        super().__init__()
        self.record = record
        self._load_output = load_output
        self._views: list[EntryView] = []
        self._end: TurnEndLine | None = None
        self._said: Parts = ()
        """The user's message as it is drawn."""
        self._ready = False
        """Until its own children are mounted, nothing else may be: it would be placed before them."""

    def compose(self) -> ComposeResult:
        """Yield the user's message; what follows is mounted by `sync`."""
        for call in self.record.before:
            yield ToolCallView(call, load_output=self._load_output)
        if self.record.turn is not None:
            self._said = self.record.turn.user
            yield UserWords(_said_words(self._said))

    def on_mount(self) -> None:
        """Draw the current contents."""
        self._ready = True
        self.sync(now_s=None)

    def sync(self, *, now_s: float | None, changed: frozenset[int] | None = None) -> None:
        """Draw the changes: the entries with these indexes, or all.

        now_s: the time to count to; None draws no running times.
        """
        if not self._ready:
            return
        self._sync_words()
        new = self.record.entries[len(self._views) :]
        for index, view in enumerate(self._views):
            if changed is None or index in changed:
                self._sync_entry(view, self.record.entries[index], now_s=now_s)
        for entry in new:
            view = self._view_of(entry)
            self._views.append(view)
            self.mount(view)
        self._sync_end()

    @property
    def folds(self) -> list[Fold]:
        """What can be opened in it, in order."""
        return [child for child in self.children if isinstance(child, Fold)]

    def tick(self, *, now_s: float) -> None:
        """Update the times of what is running."""
        running = {
            index
            for index, entry in enumerate(self.record.entries)
            if (isinstance(entry, Called) and entry.call is None)
            or (isinstance(entry, Thought) and entry.seconds is None)
        }
        self.sync(now_s=now_s, changed=frozenset(running))

    def _view_of(self, entry: Entry) -> EntryView:
        match entry:
            case Said():
                return AnswerView(entry.text, more_chars=entry.more_chars)
            case Told():
                return AnswerView(entry.text)
            case Searched():
                return AnswerView(as_markdown(entry.search))
            case Thought():
                return ThoughtsView(entry)
            case Called():
                return ToolCallView(entry, load_output=self._load_output)
            case Noted():
                return NoticeLine(entry.text)
            case Greeted():
                return GreetingLine(entry.title, entry.lines)
            case Changed():
                return NoticeLine(changed_words(entry.version))
            case Remembered():
                return RecalledView(entry.block)
            case Against():
                return ConstraintView(entry.hit)
            case Otherwise():
                return ForeseenView(entry.turn_id, entry.words)
            case _:
                assert_never(entry)

    def _sync_words(self) -> None:
        """Draw the user's message again, if another one was added to it."""
        turn = self.record.turn
        if turn is not None and turn.user != self._said:
            self._said = turn.user
            self.query_one(UserWords).set_text(_said_words(turn.user))

    def _sync_entry(self, view: EntryView, entry: Entry, *, now_s: float | None) -> None:
        match view:
            case AnswerView():
                if isinstance(entry, Said):
                    view.show_text(entry.text, more_chars=entry.more_chars)
            case ThoughtsView():
                view.sync(now_s=now_s)
            case ToolCallView():
                view.sync(now_s=now_s)
            case GreetingLine():
                if isinstance(entry, Greeted):
                    view.show(entry.title, entry.lines)
            case NoticeLine() | RecalledView() | ConstraintView() | ForeseenView():
                pass
            case _:
                assert_never(view)

    def _sync_end(self) -> None:
        turn = self.record.turn
        if turn is not None and self._end is None and (words := end_words(turn)):
            self._end = TurnEndLine(words, classes=f"-{turn.status}")
            self.mount(self._end)


def _said_words(user: Parts) -> str:
    text = "\n".join(part.text for part in user if isinstance(part, TextPart))
    shown = text[:USER_CHARS_SHOWN]
    if len(text) > len(shown):
        shown += f"\n… {len(text) - len(shown):,} more characters"
    return "\n".join((shown, *map(_image_line, images_in(user))))


def _image_line(image: ImagePart) -> str:
    return f"▣ {image_words(image.name or image.blob[:12], image.size, image.width, image.height)}"
