"""Ask for approval, without ever taking a key that was meant for the draft.

How keys reach the panel: it never has the focus, which stays with the prompt. The app (`KeyWatch`) shows it
every key first. While somebody types, it takes none: each key, of any kind and anywhere, makes it wait until
`APPROVAL_QUIET_S` have passed without one. Then it is armed, and says so. Armed, it takes the keys of its
answers; any other key, Space too, goes where it always goes, and the wait starts again. A key that types a
character may start a message ("nah, use X"), so its answer is only pointed at, and given by Enter or
once `APPROVAL_ALONE_S` have passed; with another key before that, both go to the draft. A key that was
pressed before the panel was armed is not taken either, however late it is processed. Up and Down choose an
answer and Enter gives it, but only while the prompt is empty: at first no answer is chosen, and none is any
more once another key was pressed. PgUp and PgDn scroll the proposal if it does not fit. Only the
reason of a no is typed into the panel, once that answer has been chosen.
"""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any, ClassVar, assert_never, cast

from msgspec import Struct
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input

from ragforge.domain import timeouts
from ragforge.domain.approvals import (
    ApprovalAnswer,
    ApprovalRequest,
    ChangeFile,
    ConsentAnswer,
    GoOnApproval,
    Rule,
    RunCommand,
    ToolApproval,
)
from ragforge.domain.printable import cut_line
from ragforge.tui import editor, keys
from ragforge.tui.key_watch import KeyWatch, Pressed
from ragforge.tui.textual_types import app_of
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.proposal import SCROLLS, ProposalView, proposal_lines, revealed
from ragforge.tui.widgets.text_rows import TextLine

_ROWS_ROOMY = 6
"""If the proposal needs more rows and would have fewer, decoration gives way."""
_ROWS_PLEASANT = 4
"""The border, the lines around the proposal."""
_BORDER_ROWS = 2
_ROWS_FOR_THE_CONVERSATION = 1
_SAID_CHARS_MAX = 500
_REASON_CHARS_MAX = 200
"""Four rows at 50 columns; the proposal has the whole."""
_RULES_CHARS_MAX = 60
"""Longer ones would push the answers off the screen; they are listed below the proposal."""
_HITS_MAX = 3
PLEASANT = "approval-pleasant"
TIGHT = "-asked-tight"
"""The class of a screen on which a question leaves room only for the prompt and the status line."""


class Choice(Struct, frozen=True):
    """One of the answers. `wants_reason`: asks for words before it is given.

    brief: its name if it may take one row; empty if that is the same.
    """

    number: int
    words: str
    answer: ConsentAnswer
    wants_reason: bool = False
    brief: str = ""


class ChoiceLine(PlainText):
    """A line with an answer: given by its keys, by Enter when the cursor is on it, or clicked."""

    ALLOW_SELECT = False

    def __init__(self, choice: Choice, keys_shown: str) -> None:
        """keys_shown: its keys, padded to one width."""
        super().__init__()
        self.choice = choice
        self._keys_shown = keys_shown
        self._is_brief = False
        self.point(is_chosen=False)

    def point(self, *, is_chosen: bool) -> None:
        """Draw the cursor, or none."""
        self.set_class(is_chosen, "-chosen")
        self._draw()

    def set_brief(self, is_brief: bool) -> None:
        """Take one row, or as many as the words need."""
        self._is_brief = is_brief
        self._draw()

    def _draw(self) -> None:
        words = (self._is_brief and self.choice.brief) or self.choice.words
        cursor = "›" if self.has_class("-chosen") else " "
        self.set_text(f"{cursor} {self._keys_shown}  {words}")


class ApprovalPanel(Widget):
    """One question. Posts `Answered`, and nothing on Enter or Space.

    bound: the keys, as `keys.bindings` returns them. clock: as the times of Textual's events.
    prompt_is_empty: whether nothing is typed, so that arrows and Enter may be the panel's.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave_reason", "Back", show=False)]

    class Answered(Message):
        """The user has decided."""

        def __init__(self, answer: ApprovalAnswer) -> None:
            super().__init__()
            self.answer = answer

    class EditAsked(Message):
        """The user wants to edit the draft of the call."""

    class SaidAsked(Message):
        """The user wants to see the turn in which they said what the call violates."""

        def __init__(self, turn_id: str) -> None:
            super().__init__()
            self.turn_id = turn_id

    def __init__(
        self,
        request: ApprovalRequest,
        *,
        bound: Mapping[str, tuple[str, ...]] | None = None,
        clock: Callable[[], float] = monotonic,
        prompt_is_empty: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__()
        self.request = request
        self._bound = bound or keys.bindings()
        self._actions = keys.in_place(keys.Where.APPROVAL, self._bound)
        self._prompt_is_empty = prompt_is_empty
        self._cursor: int | None = None
        """The index of the chosen answer; none before an arrow was pressed."""
        self._clock = clock
        self._choices = choices(request)
        self._armed_at_s: float | None = None
        self._wait: Timer | None = None
        self._kept: events.Key | None = None
        """A key of an answer, until it is known that no other follows."""
        self._before: Widget | None = None
        """What had the focus before the reason was typed, and gets it back."""
        self._hint = PlainText(classes="approval-hint")
        self._hint_words = self._rest = ""
        self._fitted_for = Size()
        self._input: Input | None = None

    @property
    def armed(self) -> bool:
        """Whether it takes keys."""
        return self._armed_at_s is not None

    @property
    def reason(self) -> str:
        """What has been typed as a reason so far."""
        return self._input.value if self._input is not None else ""

    def compose(self) -> ComposeResult:
        """The question and why, the complete proposal, the answers, a hint."""
        match self.request:
            case ToolApproval():
                yield from _what_and_why(self.request)
            case GoOnApproval(steps=steps):
                yield PlainText(f"{steps} steps used. Continue?", classes="approval-what")
            case _:
                assert_never(self.request)
        shown = [" ".join(self._bound[f"answer_{choice.number}"]) for choice in self._choices]
        for choice, keys_shown in zip(self._choices, shown, strict=True):
            yield ChoiceLine(choice, keys_shown.ljust(max(map(len, shown))))
        yield self._hint

    def on_mount(self) -> None:
        """Wait for a pause."""
        self._watch.key_taker = self.take
        self._disarm()
        # Widgets above and below the panel may grow too. Textual leaves the signal's type open.
        cast("Any", self.screen).screen_layout_refresh_signal.subscribe(self, self._fit)

    def _fit(self, _: object = None) -> None:
        """Give the proposal the remaining rows: it scrolls, the answers and the status line stay."""
        if not self.is_attached:
            return  # answered before the screen had drawn what this waited for
        if self._fitted_for != self.screen.size:
            self._fitted_for = self.screen.size
            self._be_tight(is_tight=False)  # until it has been measured: what is tight has other rows
            self.call_after_refresh(self._fit)
            return
        view = next(iter(self.query(ProposalView)), None)
        fixed = [child for child in self.children if child is not view and not child.has_class(PLEASANT)]
        room = self.screen.size.height - self._rows_beside() - _ROWS_FOR_THE_CONVERSATION
        spare = room - sum(child.outer_size.height for child in fixed)
        reason = sum(child.outer_size.height for child in self.children if child.has_class(PLEASANT))
        pleasant = _BORDER_ROWS if view is None else _ROWS_PLEASANT + reason
        if not self.has_class("-tight") and spare - pleasant < min(view.rows if view else 0, _ROWS_ROOMY):
            self._be_tight(is_tight=True)
        self.screen.set_class(self.has_class("-tight"), TIGHT)  # the question before may have taken it away
        if view is not None:
            view.styles.max_height = max(1, spare - (0 if self.has_class("-tight") else pleasant))
        if isinstance(self.parent, Widget):  # where even this is too much, the status line stays
            self.parent.styles.max_height = max(1, room)

    def _be_tight(self, *, is_tight: bool) -> None:
        """Leave out decoration, here and around the panel."""
        self.set_class(is_tight, "-tight")
        self.screen.set_class(is_tight, TIGHT)
        for line in self.query(ChoiceLine):
            line.set_brief(is_tight)
        for view in self.query(ProposalView):
            if isinstance(self.request, ToolApproval):
                view.set_lines(_lines(self.request, is_tight=is_tight))

    def _rows_beside(self) -> int:
        """Return the rows of what is above and below the dock, except the conversation, which gives way."""
        dock = self.parent
        beside = dock.siblings if isinstance(dock, Widget) else ()
        return sum(
            each.outer_size.height
            for each in beside
            if each.display and not (each.styles.height and each.styles.height.is_fraction)
        )

    def on_proposal_view_moved(self, event: ProposalView.Moved) -> None:
        """Show how much is below."""
        event.stop()
        self._rest = self.query_one(ProposalView).rest
        self._show_hint()

    def _say(self, hint: str) -> None:
        self._hint_words = hint
        self._show_hint()

    def _show_hint(self) -> None:
        self._hint.set_text(" · ".join(filter(None, (self._rest, self._hint_words))))

    def on_unmount(self) -> None:
        """Ignore the keys, and give back the room."""
        self.screen.remove_class(TIGHT)
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
        self._move_cursor(None)
        self.remove_class("-armed")
        self._say("answers once you pause typing")
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
        self._tell_keys()

    def _tell_keys(self) -> None:
        first = [next(iter(self._bound[f"answer_{choice.number}"]), "") for choice in self._choices]
        numbers = _listed([key for key in first if key])
        opener = next((key for key, action in self._actions.items() if action == "open_said"), "")
        more = f"; {opener} shows where you said so" if opener and self._said_in else ""
        self._say(f"press {numbers} or use the arrows{more}")

    @property
    def _said_in(self) -> str:
        """The turn in which the user said the newest of what the call violates."""
        hits = self.request.hits if isinstance(self.request, ToolApproval) else ()
        return next((hit.constraint.turn for hit in hits if hit.constraint.turn), "")

    def take(self, event: Pressed) -> list[Pressed]:
        """Act on a key that is an answer. Any other was meant for something else, and is passed on."""
        kept, self._kept = self._kept, None
        # Not `is_current`, which is true below a dialog as well: input there is no answer.
        if self._input is not None or not self.is_attached or not self.screen.is_active:
            return [event]
        action = self._actions.get(event.key, "") if isinstance(event, events.Key) else ""
        if kept is not None:
            if event.time - kept.time > timeouts.APPROVAL_ALONE_S:
                self._act(self._actions[kept.key])
                return [event]
            if action == "answer_chosen" and self._act(action):
                return []
            self._disarm()
            return [kept, event]
        if isinstance(event, events.Key):
            if self._scroll(event.key):
                return []
            is_late = self._armed_at_s is not None and event.time > self._armed_at_s
            if is_late and (self._keep(event, action) or self._act(action)):
                return []
        self._disarm()
        return [event]

    def _keep(self, event: events.Key, action: str) -> bool:
        """Wait whether this key of an answer starts a message; only a reason is requested at once."""
        choice = self._choice_of(action)
        answers = choice is not None if action != "open_said" else bool(self._said_in)
        if not (event.is_printable and answers) or (choice and choice.wants_reason):
            return False
        self._kept = event
        self._move_cursor(self._choices.index(choice) if choice else None)

        def give() -> None:
            if self._kept is not event:
                return
            self._kept = None
            if self.is_attached and self.screen.is_active:  # no dialog has come up by itself meanwhile
                self._act(action)

        # By the app's queue, where keys are that came meanwhile.
        self.set_timer(timeouts.APPROVAL_ALONE_S, lambda: app_of(self).call_later(give))
        return True

    def _act(self, action: str) -> bool:
        """Do what an armed panel does at a key; return whether there was anything."""
        cursor = self._cursor
        match action:
            case "open_said" if self._said_in:
                self.post_message(self.SaidAsked(self._said_in))
            case "answer_up" if self._prompt_is_empty():
                self._move_cursor(len(self._choices) - 1 if cursor is None else max(0, cursor - 1))
            case "answer_down" if self._prompt_is_empty():
                self._move_cursor(0 if cursor is None else min(len(self._choices) - 1, cursor + 1))
            case "answer_chosen" if cursor is not None and self._prompt_is_empty():
                self._choose(self._choices[cursor])
            case _:
                choice = self._choice_of(action)
                if choice is None:
                    return False
                self._choose(choice)
        return True

    def _move_cursor(self, to: int | None) -> None:
        self._cursor = to
        for number, line in enumerate(self.query(ChoiceLine)):
            line.point(is_chosen=number == to)

    def _scroll(self, key: str) -> bool:
        views = [view for view in self.query(ProposalView) if view.max_scroll_y > 0]
        if key not in SCROLLS or not views:
            return False
        views[0].scroll_page(SCROLLS[key])
        return True

    def _choice_of(self, action: str) -> Choice | None:
        return next((choice for choice in self._choices if action == f"answer_{choice.number}"), None)

    def give_focus_back(self) -> None:
        """Return the focus after a reason was typed."""
        if self._input is not None and self._before is not None and self._before.is_attached:
            self.screen.set_focus(self._before, scroll_visible=False)

    def on_click(self, event: events.Click) -> None:
        """Answer, once the panel is armed: it may have appeared under the mouse."""
        if isinstance(event.widget, ChoiceLine) and self.armed and self._input is None:
            event.stop()
            self._choose(event.widget.choice)

    def _choose(self, choice: Choice) -> None:
        if choice.answer is ConsentAnswer.EDIT:
            self.post_message(self.EditAsked())
            return
        if not choice.wants_reason:
            self._finish(ApprovalAnswer(choice.answer))
            return
        self._input = Input(placeholder="what the model should do instead", classes="approval-reason")
        self._say("Enter says no with this reason, Esc goes back")
        self._before = self.screen.focused
        self.mount(self._input, before=self._hint)
        self.screen.set_focus(self._input, scroll_visible=False)

    def action_leave_reason(self) -> None:
        """Return from the reason to the answers."""
        self.give_focus_back()
        if self._input is not None:
            self._input.remove()
            self._input = None
        self._tell_keys()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """No, and why."""
        event.stop()
        self._finish(ApprovalAnswer(ConsentAnswer.NO, event.value.strip()))

    def _finish(self, answer: ApprovalAnswer) -> None:
        self._watch.key_taker = None  # input while the panel disappears is no second answer
        self.give_focus_back()
        self.post_message(self.Answered(answer))


class ApprovalDock(Widget):
    """Where questions appear, one at a time. `ask` is the session layer's `approve`.

    on_text_left: receives an unfinished reason or edit when the question disappears: it is not lost.
    on_said_asked: receives the id of a turn that the user wants to see. prompt_is_empty: whether it is.
    """

    def __init__(
        self,
        *,
        bound: Mapping[str, tuple[str, ...]] | None = None,
        on_text_left: Callable[[str], None] = lambda reason: None,
        on_said_asked: Callable[[str], object] = lambda turn_id: None,
        prompt_is_empty: Callable[[], bool] = lambda: True,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._bound = bound
        self._env: Mapping[str, str] = os.environ
        self._on_text_left = on_text_left
        self._on_said_asked = on_said_asked
        self._prompt_is_empty = prompt_is_empty
        self._turn = asyncio.Lock()
        self._answer: asyncio.Future[ApprovalAnswer] | None = None

    def use(self, *, bound: Mapping[str, tuple[str, ...]], env: Mapping[str, str]) -> None:
        """Use these keys, as `keys.bindings` returns them, and the editor's environment from now on."""
        self._bound, self._env = bound, env

    @property
    def panel(self) -> ApprovalPanel | None:
        """The question that is shown."""
        return next(iter(self.query(ApprovalPanel)), None)

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Return the user's answer. The question disappears when it is answered, or the caller cancelled."""
        async with self._turn:
            panel = ApprovalPanel(request, bound=self._bound, prompt_is_empty=self._prompt_is_empty)
            self._answer = asyncio.get_running_loop().create_future()
            await self.mount(panel)
            try:
                return await self._answer
            except asyncio.CancelledError:
                if panel.reason:
                    self._on_text_left(panel.reason)
                raise
            finally:
                if panel.is_attached:
                    panel.give_focus_back()
                    panel.remove()

    def on_approval_panel_said_asked(self, event: ApprovalPanel.SaidAsked) -> None:
        """Request to show the turn."""
        event.stop()
        self._on_said_asked(event.turn_id)

    def on_approval_panel_edit_asked(self, event: ApprovalPanel.EditAsked) -> None:
        """Open the user's editor."""
        event.stop()
        if self.panel is not None and isinstance(self.panel.request, ToolApproval):
            self.run_worker(self._edit(self.panel.request), group="editor", exclusive=True)

    async def _edit(self, request: ToolApproval) -> None:
        """Answer with what was saved; if that is unchanged, the question stays."""
        draft, answer = request.draft or "", self._answer
        edited = await editor.edit(draft, app_of(self), env=self._env, name=request.draft_name)
        if edited.notice:
            app_of(self).notify(edited.notice, markup=False)
        if answer is None or edited.text in (None, draft):
            return
        if not answer.done():
            answer.set_result(ApprovalAnswer(ConsentAnswer.EDIT, edited=edited.text))
            return
        self._on_text_left(edited.text)
        app_of(self).notify(
            "The question is gone, because the file has changed or the turn has ended. What you edited is in "
            "the prompt."
        )

    def on_approval_panel_answered(self, event: ApprovalPanel.Answered) -> None:
        """Pass the answer to the caller."""
        event.stop()
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(event.answer)


def choices(request: ApprovalRequest) -> list[Choice]:
    """Return the answers to this question. A number means the same in all of them, so hands can learn it."""
    match request:
        case ToolApproval(rules=rules):
            found = [Choice(1, "yes, once", ConsentAnswer.ONCE)]
            if rules:
                added = "the rules above" if _are_long(rules) else _words(rules)
                always = "yes, always in this project"
                found.append(Choice(2, f"{always}: adds {added}", ConsentAnswer.ALWAYS, brief=always))
            found.append(Choice(3, "no", ConsentAnswer.NO))
            found.append(Choice(4, "no, and tell the model why", ConsentAnswer.NO, wants_reason=True))
            if request.draft is not None:
                found.append(Choice(5, "edit it first, in your editor", ConsentAnswer.EDIT))
            return found
        case GoOnApproval():
            return [
                Choice(1, "yes, continue", ConsentAnswer.ONCE),
                Choice(3, "no, stop here", ConsentAnswer.NO),
            ]
        case _:
            assert_never(request)


def question_lines(request: ToolApproval) -> list[str]:
    """Return the question, why, and the complete proposal, as lines of text."""
    return [
        _title(request),
        f"Reason: {cut_line(revealed(request.reason), _REASON_CHARS_MAX)}",
        *_said(request),
        *(f"{line.gutter}{line.text}" for line in _lines(request)),
    ]


def _what_and_why(request: ToolApproval) -> ComposeResult:
    """Return the tool, why it is asked about, and the complete proposal."""
    why = cut_line(revealed(request.reason), _REASON_CHARS_MAX)
    yield PlainText(_title(request), classes="approval-what")
    yield PlainText(f"Reason: {why}", classes=f"approval-why {PLEASANT}")
    yield ProposalView(_lines(request), said=_said(request))


def _said(request: ToolApproval) -> list[str]:
    """Return what the user said that the call violates."""
    return [cut_line(revealed(hit.words), _SAID_CHARS_MAX) for hit in request.hits[:_HITS_MAX]]


def _lines(request: ToolApproval, *, is_tight: bool = False) -> list[TextLine]:
    """Return the proposal, and the rules that "always" adds if its answer does not name them."""
    listed = request.rules if is_tight or _are_long(request.rules) else ()
    return proposal_lines(request.proposal, rules=listed)


_VERBS = {"web_fetch": "fetch", "list": "list files in", "glob": "look for", "grep": "search for"}
"""Return what a tool does, if its name does not say so."""


def _title(request: ToolApproval) -> str:
    """Return `Edit httpx/_utils.py?`, `Run this command?`."""
    match request.proposal:
        case ChangeFile(path=path):
            return f"{revealed(request.tool).capitalize()} {revealed(path)}?"
        case RunCommand():
            return "Run this command?"
        case _:
            about = cut_line(revealed(request.summary), _SAID_CHARS_MAX)
            return f"{_VERBS.get(request.tool, revealed(request.tool)).capitalize()} {about}".rstrip() + "?"


def _words(rules: tuple[Rule, ...]) -> str:
    return ", ".join(revealed(str(rule)) for rule in rules)


def _are_long(rules: tuple[Rule, ...]) -> bool:
    words = _words(rules)
    return len(words) > _RULES_CHARS_MAX or words != ", ".join(map(str, rules))


def _listed(named: Sequence[str]) -> str:
    """Return `1, 3, 4`, and `1 to 5` if none is left out."""
    counted_up = [str(number) for number in range(1, len(named) + 1)]
    return f"1 to {len(named)}" if list(named) == counted_up and len(named) > 3 else ", ".join(named)
