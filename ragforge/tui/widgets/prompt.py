"""The user's input. Typed text is never lost, and a paste never sends itself."""

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import ClassVar

from msgspec import Struct
from textual.actions import SkipAction
from textual.binding import BindingType
from textual.document._document import Selection
from textual.message import Message

from ragforge.domain.errors import UsageError
from ragforge.tui import clipboard, editor, keys
from ragforge.tui.prompt_box import PLACEHOLDER
from ragforge.tui.textual_types import changed_keys
from ragforge.tui.vim import Vim, VimMode, location_of, offset_of, place_in
from ragforge.tui.widgets.completion import Completion, CompletionItem, CompletionKind
from ragforge.tui.widgets.history import History
from ragforge.tui.widgets.paste import Folds, cleaned
from ragforge.tui.widgets.recall_area import RecallArea

OPEN_CHARS_MAX = 200_000
"""The longest paste that is opened in the prompt. With millions each key would take half a minute."""
QUIT_TWICE_S = 2.0
NOTHING_TO_PASTE = (
    "There is no image in the clipboard. To paste text, use your terminal's own key, often Ctrl+Shift+V."
)
STILL_OPENING = "The session is still opening. Paste the image again in a moment."
SEARCH_PLACEHOLDER = "Search earlier messages"
SEARCH_KEYS = "search: Enter uses it · Esc cancels"
NO_MATCH_KEYS = "search: no message matches · Esc cancels"

_SELECTING = ("left", "right", "word_left", "word_right", "line_start", "line_end")
_NAMED_OTHERWISE = {f"select_{where}": f"cursor_{where}(True)" for where in _SELECTING}
_KILLS = ("delete_to_start_of_line", "delete_to_end_of_line", "delete_word_left", "delete_word_right")


class Aside(Struct, frozen=True):
    """A draft put aside while the prompt is used for something else; it is restored afterwards."""

    text: str
    selection: Selection
    kind: CompletionKind


class Prompt(RecallArea, inherit_bindings=False):
    """The input of the chat."""

    BINDINGS: ClassVar[list[BindingType]] = []

    @dataclass
    class Submitted(Message):
        """The text to send, every paste whole."""

        text: str

    class EnterOnEmpty(Message):
        """Enter was pressed with nothing typed."""

    @dataclass
    class DraftChanged(Message):
        """The draft has changed; it is `prompt.draft`."""

        prompt: "Prompt"

    @dataclass
    class TakeBack(Message):
        """Queued messages are wanted back: answer with `put_back`. `last`: only the last."""

        last: bool

    @dataclass
    class Noticed(Message):
        """A sentence for the user."""

        text: str

    @dataclass
    class VimModeChanged(Message):
        """The mode of Vim's keys has changed; None without them."""

        mode: VimMode | None

    class SuggestionTaken(Message):
        """The suggestion was put into the prompt."""

    class QuitRequested(Message):
        """Ctrl+C twice, or Ctrl+D on an empty input."""

    def __init__(
        self,
        *,
        completion: Completion | None = None,
        history: History | None = None,
        bound: Mapping[str, tuple[str, ...]] | None = None,
        env: Mapping[str, str] | None = None,
        clock: Callable[[], float] = monotonic,
        id: str | None = None,
    ) -> None:
        """Create an empty prompt.

        completion: the list that it controls. bound: the keys, as `keys.bindings` returns them.
        env: the user's environment, as an editor may have it; None is the process's own.
        """
        super().__init__(id=id, placeholder=PLACEHOLDER, clock=clock, history=history)
        self.queued = 0
        """The number of queued messages; set by the owner. Up on an empty prompt requests the last."""
        self.suggestion = ""
        """What Right inserts into an empty prompt; set by the owner."""
        self._completion = completion or Completion()
        self._actions = keys.in_place(keys.Where.PROMPT, bound or keys.bindings())
        self._env = os.environ if env is None else env
        self._aside: Aside | None = None
        self._cleared_at_s = float("-inf")
        self._begins_chord = False
        """Whether the last key was a Ctrl+X that cut nothing."""
        self._killed = ""
        self._pasted: Path | None = None
        self._vim: Vim | None = None

    def on_mount(self) -> None:
        """Make every new-line key arrive as the same one."""
        keys.teach_terminal_keys()

    def use(
        self,
        *,
        bound: Mapping[str, tuple[str, ...]],
        env: Mapping[str, str],
        pasted: Path | None = None,
        vim: bool = False,
    ) -> None:
        """Use keys and environment from settings that were read after the first frame.

        pasted: the folder for images from the clipboard. vim: also Vim's keys.
        """
        self._actions = keys.in_place(keys.Where.PROMPT, bound)
        self._env = env
        self._pasted = pasted
        if vim != (self._vim is not None):
            self._vim = Vim() if vim else None
            self.post_message(self.VimModeChanged(self._vim and self._vim.mode))

    @property
    def draft(self) -> str:
        """The unsent text, every paste whole."""
        if self._aside:
            return self.folds.unfold(self._aside.text)
        if self.shows_entry_as_it_was:
            return self.folds.unfold(self.draft_left)
        return self.whole

    def set_draft(self, text: str) -> None:
        """Replace the text; undo restores it."""
        self._leave_aside()
        self.leave_walk()
        self._put(cleaned(text))

    def put_back(self, *texts: str) -> None:
        """Insert returned text (queued, failed, interrupted) before what is being written."""
        self._leave_aside()
        self.leave_walk()
        returned = [self.as_folded(cleaned(text)) for text in texts]
        self._put("\n\n".join(part for part in (*returned, self.text) if part.strip()))

    @property
    def is_lent(self) -> bool:
        """Whether the prompt is used for something else for a while."""
        return self._aside is not None

    # Actions of keys

    def is_command(self, key: str) -> bool:
        """Whether the key has an action, or any key has one in Vim's normal mode."""
        return key in self._actions or (self._vim is not None and self._vim.mode is not VimMode.INSERT)

    def sends(self, key: str) -> bool:
        """Whether the key is Enter and would not choose from a list."""
        return self._actions.get(key) == "submit" and not self._completion.is_open

    async def pressed(self, key: str, text: str) -> bool:
        """Do what the key does in Vim or by the table, else type the text."""
        if self._vim is not None and await self._pressed_in_vim(self._vim, key, text):
            return True
        action = self._actions.get(key)
        begun, self._begins_chord = self._begins_chord, False
        if begun and key == "ctrl+e":  # Ctrl+X Ctrl+E, as in a shell
            action = "edit_outside"
        if action != "clear":
            self._cleared_at_s = float("-inf")
        if action is None:
            if text == "/" and self.shows_returned:
                self.action_palette()  # a command is meant, not a longer message
            elif text:
                self.type_over("\n" if text == "\r" else text)
                self._offer(typed=True)
            return bool(text)
        before = self.text
        done = await self.app.run_action(_NAMED_OTHERWISE.get(action, action), self)
        if done and action in _KILLS and self.text != before:
            self._killed = self.deleted
        if done and action.startswith(("cursor", "delete", "undo", "redo")):
            self._offer(typed=self.text != before)
        self._leave_palette()
        return done

    async def _pressed_in_vim(self, vim: Vim, key: str, text: str) -> bool:
        """Do what the key does in Vim; return whether it does anything. An open list gets its keys first."""
        if key == "escape" and (self._aside or self._completion.is_open):
            return False
        before, was_waiting = vim.mode, vim.is_waiting
        text_before = self.text
        at = place_in(text_before, offset_of(text_before, self.cursor_location), before)
        step = vim.press(key, text, text_before, at)
        if vim.mode is not before:
            self.post_message(self.VimModeChanged(vim.mode))
        if step is None:
            self._end_selection()
            only_cancels = was_waiting and self._actions.get(key) == "submit"
            if only_cancels:
                self.move_cursor(location_of(text_before, at))
            return only_cancels
        self._cleared_at_s = float("-inf")
        if step.edit:
            start, end = (location_of(text_before, each) for each in (step.edit.start, step.edit.end))
            gone = self.replace(step.edit.insert, start, end, maintain_selection_offset=False).replaced_text
            if step.edit.kept:
                vim.keep(gone)
        for _ in range(step.times if step.action else 0):
            with suppress(SkipAction):  # no line or message in that direction
                await self.app.run_action(step.action, self)
        if step.at is not None or step.action:
            at = offset_of(self.text, self.cursor_location) if step.at is None else step.at
            self.move_cursor(location_of(self.text, place_in(self.text, at, vim.mode)))
            if vim.mode is VimMode.VISUAL:
                begun = vim.span(self.text, at)[1] if at < vim.anchor else vim.anchor
                self.selection = Selection(location_of(self.text, begun), self.cursor_location)
        self._completion.close()
        return True

    def _end_selection(self) -> None:
        """Leave Vim's visual mode, for what is no Vim key; the selection is then as for usual keys."""
        vim = self._vim
        if vim is None or vim.mode is not VimMode.VISUAL:
            return
        start, end = vim.span(self.text, offset_of(self.text, self.cursor_location))
        self.selection = Selection(location_of(self.text, start), location_of(self.text, end))
        vim.stop()
        self.post_message(self.VimModeChanged(vim.mode))

    def on_mouse_down(self) -> None:
        """A click places the cursor and ends Vim's selection."""
        self._end_selection()

    def set_text(self, text: str) -> None:
        """Replace the text, with nothing selected in Vim."""
        self._end_selection()
        super().set_text(text)

    def type_over(self, text: str) -> None:
        """Replace the selection by the text; in Vim, also the character under the cursor."""
        self._end_selection()
        super().type_over(text)

    def after_paste(self) -> None:
        """Close the list after a paste; a search continues with it."""
        self._cleared_at_s = float("-inf")
        if self._searching:
            self._offer(typed=True)
        else:
            self._completion.close()

    def action_newline(self) -> None:
        """Insert a new line."""
        if self._searching:
            return
        self.type_over("\n")
        self._completion.close()

    def action_submit(self) -> None:
        """Choose from the list if it completes something; else send."""
        choice = self._completion.chosen
        if choice is None or self.take(choice):
            self._send()

    def _send(self) -> None:
        if self._searching:
            return
        text = self.whole
        if self._vim is not None:
            self._vim.begin()
            self.post_message(self.VimModeChanged(self._vim.mode))
        self.keep_pastes()
        self._completion.close()
        if not text.strip():
            self.post_message(self.EnterOnEmpty())
            return
        if self._aside:
            self.sent.add(text)
            self._leave_aside()
        else:
            draft = self.draft_left
            self.remember(text)
            self._killed = self.folds.unfold(self._killed)
            self.load_text("")
            if draft:
                # An earlier message was sent, so the draft is restored.
                self._put(draft)
            else:
                self.folds = Folds()
        self.post_message(self.Submitted(text))

    def send(self, text: str) -> None:
        """Send this; what is being typed stays."""
        self.sent.add(text)
        self.post_message(self.Submitted(text))

    def action_clear(self) -> None:
        """Copy the selection; else clear, with the text kept in the history; the second time quit.

        A returned message is selected, but not by the user: it is cleared.
        """
        if not self.shows_returned and self._copy_selection():
            return
        now_s = self.clock()
        if now_s - self._cleared_at_s <= QUIT_TWICE_S:
            self.post_message(self.QuitRequested())
            return
        self._cleared_at_s = now_s
        key = next(key for key, does in self._actions.items() if does == "clear")
        again = f"{keys.shown(key)} again quits."
        if self._aside:
            self._leave_aside()
        elif self.text.strip():
            self.remember(self.draft_left, self.text)
            self._put("")
            again = f"Cleared; Up restores it. {again}"
        self.post_message(self.Noticed(again))

    def action_delete_or_quit(self) -> None:
        """Delete the next character; with nothing typed, quit."""
        if self.text or self._aside:
            self.action_delete_right()
        else:
            self.post_message(self.QuitRequested())

    def action_yank(self) -> None:
        """Insert what the last deletion of a word or line removed."""
        self.type_over(self._killed)

    def action_open_paste(self) -> None:
        """Open the folded paste at the cursor; elsewhere the key is the chat's."""
        if len(self.paste_at_cursor()) > OPEN_CHARS_MAX:
            words = f"This paste has more than {OPEN_CHARS_MAX:,} characters. Ctrl+G opens it in your editor."
            words = keys.with_present_keys(words, changed_keys(self), "edit_outside")
            self.post_message(self.Noticed(words))
        elif not self.unfold_at_cursor():
            raise SkipAction()

    def action_copy(self) -> None:
        if not self._copy_selection():
            raise SkipAction()

    def action_cut(self) -> None:
        """Copy and delete the selection."""
        selection = self.selection
        self._begins_chord = selection.is_empty
        if not selection.is_empty and self._copy_selection():
            self.delete(*selection, maintain_selection_offset=False)

    def action_paste(self) -> None:
        """Insert the image in the system's clipboard, else what was copied or cut in this app."""
        self.call_next(self._paste)

    async def _paste(self) -> None:
        from ragforge.tui import clipboard_image  # most sessions paste no image

        try:
            image = await asyncio.to_thread(clipboard_image.read_image, self._env)
            if image and self._pasted:
                mention = await asyncio.to_thread(clipboard_image.keep_image, image, self._pasted)
                await self.attach(mention, self._pasted)
                return
            told = STILL_OPENING if image else NOTHING_TO_PASTE
        except UsageError as error:
            told = str(error)
        if self.app.clipboard:
            await self.paste_in(self.app.clipboard)
        else:
            self.post_message(self.Noticed(told))

    def attached(self, images: str) -> None:
        """Tell the user what is sent with the message."""
        self.post_message(self.Noticed(f"Sent with the message: {images}"))

    def _copy_selection(self) -> bool:
        if selected := self.take_selection():
            self.post_message(self.Noticed(clipboard.copy(selected, self.app, env=self._env)))
        return bool(selected)

    # Earlier messages

    def action_up(self) -> None:
        """Go up in the list or the text; from its first line to the last queued or an older message."""
        if self._completion.is_open or self._searching:
            self._completion.step(-1)
        elif not self.text and self.queued and not self.walking:
            self.post_message(self.TakeBack(last=True))
        elif self.untouched or self.navigator.is_first_wrapped_line(self.cursor_location):
            self.walk(+1)
        else:
            self.action_cursor_up()

    def action_down(self) -> None:
        """Go down in the list or the text; from its last line to a newer message, finally to the draft."""
        if self._completion.is_open or self._searching:
            self._completion.step(+1)
        elif not (self.untouched or self.navigator.is_last_wrapped_line(self.cursor_location)):
            self.action_cursor_down()
        elif self.walking:
            self.walk(-1)
        else:
            raise SkipAction()

    def action_search_history(self) -> None:
        """Search earlier messages; again: the next match."""
        if self._searching:
            self._completion.step(+1)
        elif self.sent.entries():
            self._put_aside(CompletionKind.HISTORY, "", "")
        else:
            self.post_message(self.Noticed("No earlier messages."))

    @property
    def _searching(self) -> bool:
        return self._aside is not None and self._aside.kind is CompletionKind.HISTORY

    def action_cursor_right(self, select: bool = False) -> None:
        """Go right by a character; in an empty prompt insert the suggestion, which does not send it."""
        if not self.text and self.suggestion and not select:
            self.set_text(self.suggestion)
            self.post_message(self.SuggestionTaken())
        else:
            super().action_cursor_right(select)

    # The list above

    def action_palette(self) -> None:
        """List all commands; the draft is restored afterwards."""
        title = self._named("commands · Esc returns") if self.text else ""
        self._put_aside(CompletionKind.COMMAND, "/", title)

    def action_complete(self) -> None:
        """Choose from the list, or open it again."""
        if self._completion.chosen:
            self.take(self._completion.chosen)
        else:
            self._offer(typed=True, again=True)

    def action_close(self) -> None:
        """Close the list or return to the draft. Else Esc is the chat's, and the queue returns."""
        if self._aside:
            self._leave_aside()
        elif self._completion.is_open:
            self._completion.dismiss()
        else:
            if self.queued:
                self.post_message(self.TakeBack(last=False))
            raise SkipAction()

    def take(self, choice: CompletionItem) -> bool:
        """Insert the choice; return whether it is complete, so that Enter sends it."""
        if self._searching:
            self._leave_aside()
            self.jump_to(choice.insert)
            return False
        row, column = self.cursor_location
        start = column - choice.replaces
        typed_whole = self.document[row][start:column] == choice.insert.rstrip()
        if not typed_whole:
            self.replace(choice.insert, (row, start), (row, column), maintain_selection_offset=False)
        self._completion.close()
        if not typed_whole and (choice.goes_on or choice.insert.startswith("/")):
            self._offer(typed=True)
        return typed_whole or choice.runs

    def _offer(self, *, typed: bool, again: bool = False) -> None:
        """List what matches the text at the cursor. Typing opens the list, moving does not."""
        if not (typed or self._completion.is_open):
            return
        if self._searching:
            self._completion.show_history(self.text, self.sent.entries())
            self.border_title = self._named(SEARCH_KEYS if self._completion.is_open else NO_MATCH_KEYS)
        else:
            row, column = self.cursor_location
            self._completion.follow(self.document[row][:column], first_line=row == 0, again=again)

    def _put_aside(self, kind: CompletionKind, text: str, title: str) -> None:
        self._leave_aside()
        self._aside = Aside(self.text, self.selection, kind)
        self.border_title = title
        self.placeholder = SEARCH_PLACEHOLDER if kind is CompletionKind.HISTORY else PLACEHOLDER
        self._put(text)
        self._offer(typed=True, again=True)

    def _named(self, title: str) -> str:
        return keys.with_present_keys(title, changed_keys(self), "submit", "close")

    def _leave_palette(self) -> None:
        """Close the list of commands if the `/` is gone: restore the draft, or keep this as the draft."""
        if self._aside and self._aside.kind is CompletionKind.COMMAND and not self.text.startswith("/"):
            if not self.text:
                self._leave_aside()
            elif not self._aside.text:
                self._aside = None

    def _leave_aside(self) -> None:
        aside, self._aside = self._aside, None
        self.border_title = ""
        self.placeholder = PLACEHOLDER
        self._completion.close()
        if aside:
            self._put(aside.text)
            self.selection = aside.selection

    def _put(self, text: str) -> None:
        self.set_text(text)
        self._completion.close()

    def on_text_area_changed(self) -> None:
        """Report a new draft, which the words of a search are not."""
        if not self._aside:
            self.post_message(self.DraftChanged(self))

    # The external editor

    def action_edit_outside(self) -> None:
        """Open the draft in the user's editor."""
        self._leave_aside()
        self.run_worker(self._edit_outside(), group="editor", exclusive=True)

    async def _edit_outside(self) -> None:
        edited = await editor.edit(self.draft, self.app, env=self._env)
        if edited.notice:
            self.post_message(self.Noticed(edited.notice))
        if edited.text is not None:
            self._put(cleaned(edited.text))
