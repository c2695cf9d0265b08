"""Questions in text, answered by a number, a letter or a word, and never by what was typed before them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import monotonic

from msgspec import Struct, field

from ragforge.cli.lines.printer import LinePrinter
from ragforge.cli.lines.reader import Typed
from ragforge.commands.base import Option
from ragforge.domain import timeouts
from ragforge.domain.approvals import (
    ApprovalAnswer,
    ApprovalRequest,
    ConsentAnswer,
    GoOnApproval,
    ToolApproval,
)
from ragforge.domain.printable import escaped
from ragforge.domain.reveal import spelled_out
from ragforge.session.trust import FileTrust
from ragforge.session.trust_words import trust_words

YES, NO = "yes", "no"
YES_OR_NO = {"y": YES, "yes": YES, "n": NO, "no": NO}


class _Question(Struct, eq=False):
    """An open question: which words answer it; none for any words."""

    answers: Mapping[str, str]
    hint: str
    answered: asyncio.Future[str | None]
    asked_s: float = field(default_factory=monotonic)


class Questions:
    """Asks one question at a time."""

    def __init__(self, printer: LinePrinter, edit: Callable[[str, str], Awaitable[str]]) -> None:
        """edit: returns a text, with its file name, as edited in the user's editor."""
        self._printer = printer
        self._edit = edit
        self._turn = asyncio.Lock()
        self._asked: _Question | None = None

    @property
    def is_open(self) -> bool:
        """Whether a question waits for its answer."""
        return self._asked is not None and not self._asked.answered.done()

    def take(self, typed: Typed | None) -> bool:
        """Pass input to the open question; return False if it is not an answer, or none is open.

        An answer is a line by itself, after a pause in which the question could be read.
        """
        asked = self._asked
        if asked is None or asked.answered.done():
            return False
        if typed is None:
            asked.answered.set_result(None)
            return False  # everybody is told the end of the input
        words = typed.text.strip().lower()
        is_answer = "\n" not in typed.text and (not asked.answers or words in asked.answers)
        if is_answer and typed.at_s - max(asked.asked_s, typed.before_s) >= timeouts.APPROVAL_QUIET_S:
            asked.answered.set_result(asked.answers.get(words, typed.text.strip()))
            return True
        why = (
            "That was typed too early to count as an answer."
            if is_answer
            else "That is not one of the answers, so it is kept as your next message."
        )
        self._printer.line(f"{why} {asked.hint}")
        return is_answer

    def cancel(self) -> bool:
        """Close the open question without an answer; return whether there was one."""
        asked = self._asked
        if asked is None or asked.answered.done():
            return False
        asked.answered.set_result(None)
        return True

    async def ask(self, lines: Sequence[str], answers: Mapping[str, str], hint: str) -> str | None:
        """Return which of the answers was given; None at the end of the input."""
        async with self._turn:
            for line in lines:
                self._printer.line(line)
            self._printer.part(f"{hint} ")
            self._asked = _Question(answers, hint, asyncio.get_running_loop().create_future())
            try:
                return await self._asked.answered
            finally:
                self._asked = None

    async def confirmed(self, question: str, detail: str = "") -> bool | None:
        """Return the answer to a yes-or-no question; None for none."""
        answer = await self.ask([*filter(None, [detail, question])], YES_OR_NO, "Answer y or n:")
        return None if answer is None else answer == YES

    async def yes_or_no(self, question: str, detail: str = "") -> bool | None:
        """The same as `confirmed`, for callers that work in both faces."""
        return await self.confirmed(question, detail)

    async def one_of(self, question: str, detail: str, options: Sequence[Option]) -> str | None:
        """Return which option is chosen, by its number; None for none."""
        listed = [(f"{each.name}: {each.meaning}", each.then) for each in options]
        return await self.choice([detail, question], listed)

    async def choice(self, lines: Sequence[str], options: Sequence[tuple[str, str]]) -> str | None:
        """Return which option is chosen, by its number. options: words and their values."""
        listed = [f"  {number}  {words}" for number, (words, _) in enumerate(options, 1)]
        answers = {str(number): gives for number, (_, gives) in enumerate(options, 1)} | {"": ""}
        hint = f"Answer 1 to {len(options)}, or Enter for none:"
        return await self.ask([*lines, *listed], answers, hint) or None

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Return the user's answer to an approval; at the end of the input it stays open."""
        # Loaded with the first one: the interface's own words, so that both faces ask the same.
        from ragforge.tui.widgets.approval import choices, question_lines

        offered = choices(request)
        match request:
            case ToolApproval():
                lines = question_lines(request)
            case GoOnApproval(steps=steps):
                lines = [f"{steps} steps used. Continue?"]
        keys = {1: "y", 2: "a", 3: "n", 4: "w", 5: "e"}
        listed = [f"  {each.number} or {keys[each.number]}  {each.words}" for each in offered]
        answers = {key: str(each.number) for each in offered for key in (str(each.number), keys[each.number])}
        number = await self.ask([*lines, *listed], answers, "Answer with a number or a letter:")
        if number is None:
            await asyncio.Event().wait()  # until the turn is interrupted
        chosen = next(each for each in offered if str(each.number) == number)
        if chosen.answer is ConsentAnswer.EDIT and isinstance(request, ToolApproval):
            edited = await self._edit(request.draft or "", request.draft_name)
            # If nothing was changed, the same question is asked again.
            return ApprovalAnswer(ConsentAnswer.EDIT, edited=edited)
        reason = await self.ask([], {}, "What should the model do instead?") if chosen.wants_reason else ""
        return ApprovalAnswer(chosen.answer, reason or "")

    async def trusts(self, files: Sequence[FileTrust]) -> bool:
        """Return whether these files of the project are trusted."""
        words = trust_words(files)
        question = words.changed if any(file.before is not None for file in files) else words.new
        lines = [words.why]
        for file in files:
            lines.append(f"--- {escaped(str(file.path))}{' (changed)' if file.before is not None else ''}")
            lines.append(file.diff(spelled_out) or spelled_out(file.text))
        return bool(await self.confirmed(question, "\n".join(lines)))
