"""Asking for consent, without ever taking a key that was meant for the draft.

How keys reach the panel: it never has the focus, which stays with the prompt. The app (`KeyWatch`) shows it
every key first. While somebody types, it takes none: each key, of any kind and wherever, makes it wait until
`APPROVAL_QUIET_S` have passed without one. Then it is armed, and says so. Armed, it takes the keys of its
answers; any other key, Enter and Space too, goes where it always goes, and the wait begins anew. A key that
was pressed before the panel was armed is not taken either, however late its turn comes. PgUp and PgDn scroll
what is asked about where it does not fit. Only the reason of a no is typed into the panel, once that
answer has been chosen.
"""

import asyncio
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, ClassVar, assert_never

from msgspec import Struct
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input

from ragforge.domain import timeouts
from ragforge.domain.approvals import Answer, ApprovalAnswer, ApprovalRequest, GoOnApproval, ToolApproval
from ragforge.domain.printable import cut_line, one_line
from ragforge.domain.words import counted
from ragforge.tui import keys
from ragforge.tui.key_watch import KeyWatch
from ragforge.tui.typed import app_of
from ragforge.tui.widgets.diff_view import DiffView
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.text_rows import TextRows

_DETAIL_LINES_FIT = 8
_DETAIL_ROWS_MIN = 3
_TITLE_CHARS_MAX = 120
"""Longer ones would push the answers off the screen; the detail has the whole."""
_ROWS_FOR_THE_REST = 10
"""Border and margins of the panel, the prompt, the status line, and the end of the conversation."""
_SCROLLS = {"pageup": -1, "pagedown": 1}


class Choice(Struct, frozen=True):
    """One of the answers. `wants_reason`: asks for words before it is given."""

    number: int
    words: str
    answer: Answer
    wants_reason: bool = False


class ChoiceLine(PlainText):
    """A line that is an answer: pressed by its number, or clicked."""

    ALLOW_SELECT = False

    def __init__(self, choice: Choice) -> None:
        super().__init__()
        self.choice = choice
        self.set_text(f"{choice.number}  {choice.words}")


class ApprovalPanel(Widget):
    """One question. Posts `Answered`, and nothing on Enter or Space.

    bound: the keys, as `keys.bindings` returns them. clock: as the times of Textual's events.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave_reason", "Back", show=False)]

    class Answered(Message):
        """The person has decided."""

        def __init__(self, answer: ApprovalAnswer) -> None:
            super().__init__()
            self.answer = answer

    def __init__(
        self,
        request: ApprovalRequest,
        *,
        bound: Mapping[str, tuple[str, ...]] | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        super().__init__()
        self.request = request
        self._actions = keys.in_place(keys.Where.APPROVAL, bound or keys.bindings())
        self._clock = clock
        self._choices = choices(request)
        self._armed_at_s: float | None = None
        self._wait: Timer | None = None
        self._before: Widget | None = None
        """What had the focus before the reason was typed, and gets it back."""
        self._hint = PlainText(classes="approval-hint")
        self._input: Input | None = None

    @property
    def armed(self) -> bool:
        """Does it take keys?"""
        return self._armed_at_s is not None

    @property
    def reason(self) -> str:
        """What has been typed as a reason so far."""
        return self._input.value if self._input is not None else ""

    def compose(self) -> ComposeResult:
        """What is asked and why, the whole of it, the answers, a hint."""
        match self.request:
            case ToolApproval(tool=tool, summary=summary, detail=detail, reason=reason):
                title = cut_line(one_line(summary), _TITLE_CHARS_MAX)
                has_detail = detail.strip() not in {"", title}
                what = "approval-what -one-row" if has_detail else "approval-what"
                yield PlainText(f"{tool}  {title}", classes=what)
                yield PlainText(f"asks because: {reason}", classes="approval-why")
                if has_detail:
                    yield VerticalScroll(_detail(detail), classes="approval-detail", can_focus=False)
                    lines = detail.rstrip("\n").count("\n") + 1
                    if lines > _DETAIL_LINES_FIT:
                        yield PlainText(f"{counted(lines, 'line')}: PgUp PgDn scroll", classes="approval-why")
            case GoOnApproval(steps=steps):
                yield PlainText(f"{steps} steps used. Go on?", classes="approval-what")
            case _:
                assert_never(self.request)
        for choice in self._choices:
            yield ChoiceLine(choice)
        yield self._hint

    def on_mount(self) -> None:
        """Wait for a pause."""
        self._watch.key_taker = self.take
        self._disarm()
        self.call_after_refresh(self._fit)

    def on_resize(self) -> None:
        """Keep the answers on the screen."""
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """Give the detail the rows that are left: it scrolls, the answers do not."""
        for detail in self.query(".approval-detail"):
            others = sum(child.outer_size.height for child in self.children if child is not detail)
            spare = self.screen.size.height - others - _ROWS_FOR_THE_REST
            detail.styles.max_height = max(_DETAIL_ROWS_MIN, spare)

    def on_unmount(self) -> None:
        """Leave the keys alone."""
        if self._watch.key_taker == self.take:
            self._watch.key_taker = None

    @property
    def _watch(self) -> KeyWatch[Any]:
        app = app_of(self)
        if not isinstance(app, KeyWatch):
            raise TypeError("An ApprovalPanel needs an app that is a KeyWatch.")
        return app

    def _disarm(self) -> None:
        self._armed_at_s = None
        self.remove_class("-armed")
        self._hint.set_text("answers once you pause typing")
        self._wait_for_quiet()

    def _wait_for_quiet(self) -> None:
        if self._wait is not None:
            self._wait.stop()
        left_s = timeouts.APPROVAL_QUIET_S - (self._clock() - self._watch.last_key_s)
        if left_s > 0:
            self._wait = self.set_timer(min(left_s, timeouts.APPROVAL_QUIET_S), self._wait_for_quiet)
            return
        self._wait = None
        self._armed_at_s = self._clock()
        self.add_class("-armed")
        self._tell_numbers()

    def _tell_numbers(self) -> None:
        self._hint.set_text("press " + ", ".join(str(choice.number) for choice in self._choices))

    def take(self, event: events.Key | events.Paste) -> bool:
        """Is this key an answer? Then it is given. Else it was meant for something else."""
        if self._input is not None or not self.is_attached or not self.screen.is_current:
            return False
        if isinstance(event, events.Key):
            if self._scroll(event.key):
                return True
            is_late = self._armed_at_s is not None and event.time > self._armed_at_s
            choice = self._choice_of(self._actions.get(event.key, ""))
            if is_late and choice is not None:
                self._choose(choice)
                return True
        self._disarm()
        return False

    def _scroll(self, key: str) -> bool:
        boxes = [box for box in self.query(VerticalScroll) if box.max_scroll_y > 0]
        if key not in _SCROLLS or not boxes:
            return False
        rows = _SCROLLS[key] * max(1, boxes[0].size.height - 1)
        boxes[0].scroll_to(y=boxes[0].scroll_y + rows, animate=False, immediate=True)
        return True

    def _choice_of(self, action: str) -> Choice | None:
        return next((choice for choice in self._choices if action == f"answer_{choice.number}"), None)

    def give_focus_back(self) -> None:
        """The focus to what had it before, where a reason was typed."""
        if self._input is not None and self._before is not None and self._before.is_attached:
            self.screen.set_focus(self._before, scroll_visible=False)

    def on_click(self, event: events.Click) -> None:
        """An answer, once the panel is armed: it may have come up under the mouse."""
        if isinstance(event.widget, ChoiceLine) and self.armed and self._input is None:
            event.stop()
            self._choose(event.widget.choice)

    def _choose(self, choice: Choice) -> None:
        if not choice.wants_reason:
            self._finish(ApprovalAnswer(choice.answer))
            return
        self._input = Input(placeholder="what the model should do instead", classes="approval-reason")
        self._hint.set_text("Enter says no with this reason, Esc goes back")
        self._before = self.screen.focused
        self.mount(self._input, before=self._hint)
        self.screen.set_focus(self._input, scroll_visible=False)

    def action_leave_reason(self) -> None:
        """From the reason back to the answers."""
        self.give_focus_back()
        if self._input is not None:
            self._input.remove()
            self._input = None
        self._tell_numbers()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """No, and why."""
        event.stop()
        self._finish(ApprovalAnswer(Answer.NO, event.value.strip()))

    def _finish(self, answer: ApprovalAnswer) -> None:
        self.give_focus_back()
        self.post_message(self.Answered(answer))


class ApprovalDock(Widget):
    """Where questions come up, one at a time. `ask` is the session layer's `approve`.

    on_reason_left: gets a reason that was being typed when the turn was cancelled: typed text is not lost.
    """

    def __init__(
        self,
        *,
        bound: Mapping[str, tuple[str, ...]] | None = None,
        on_reason_left: Callable[[str], None] = lambda reason: None,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._bound = bound
        self._on_reason_left = on_reason_left
        self._turn = asyncio.Lock()
        self._answer: asyncio.Future[ApprovalAnswer] | None = None

    def use_keys(self, bound: Mapping[str, tuple[str, ...]]) -> None:
        """Let these keys hold from the next question on, as `keys.bindings` returns them."""
        self._bound = bound

    @property
    def panel(self) -> ApprovalPanel | None:
        """The question that is shown."""
        return next(iter(self.query(ApprovalPanel)), None)

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """The person's answer. The question goes when it is answered, and when the caller is cancelled."""
        async with self._turn:
            panel = ApprovalPanel(request, bound=self._bound)
            self._answer = asyncio.get_running_loop().create_future()
            await self.mount(panel)
            try:
                return await self._answer
            except asyncio.CancelledError:
                if panel.reason:
                    self._on_reason_left(panel.reason)
                raise
            finally:
                if panel.is_attached:
                    panel.give_focus_back()
                    panel.remove()

    def on_approval_panel_answered(self, event: ApprovalPanel.Answered) -> None:
        """Hand the answer to whoever asked."""
        event.stop()
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(event.answer)


def choices(request: ApprovalRequest) -> list[Choice]:
    """The answers to this question. A number means the same in all of them, so that hands can learn it."""
    match request:
        case ToolApproval(rules=rules):
            found = [Choice(1, "yes, once", Answer.ONCE)]
            if rules:
                added = ", ".join(str(rule) for rule in rules)
                found.append(Choice(2, f"yes, always in this project: adds {added}", Answer.ALWAYS))
            found.append(Choice(3, "no", Answer.NO))
            found.append(Choice(4, "no, and tell the model why", Answer.NO, wants_reason=True))
            return found
        case GoOnApproval():
            return [Choice(1, "yes, go on", Answer.ONCE), Choice(3, "no, stop here", Answer.NO)]
        case _:
            assert_never(request)


def _detail(detail: str) -> Widget:
    """Whole: consent to a part that one has not seen would be none."""
    is_diff = detail.startswith("--- ") or detail.startswith("@@ ")
    return DiffView(detail, lines_shown=None, line_chars_max=None) if is_diff else TextRows(detail)
