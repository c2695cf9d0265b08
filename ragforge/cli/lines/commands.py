"""Slash commands in the line mode: their outcomes as text."""

from __future__ import annotations

from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, assert_never

from ragforge.cli.lines.face import LineFace
from ragforge.cli.lines.printer import LinePrinter
from ragforge.cli.lines.questions import Questions
from ragforge.cli.lines.screens import HELP as SCREENS
from ragforge.cli.lines.screens import LineScreens
from ragforge.commands import base
from ragforge.commands.base import Outcome, find_verbs, verbs_on
from ragforge.commands.forget import ask_what_to_forget
from ragforge.domain.arguments import Face, parse
from ragforge.domain.errors import RagforgeError, UsageError
from ragforge.domain.ids import short_id
from ragforge.domain.messages import TextPart
from ragforge.domain.programs import ProgramView

if TYPE_CHECKING:
    pass


class LineCommands:
    """Runs commands and handles their outcomes."""

    def __init__(self, face: LineFace, printer: LinePrinter, questions: Questions) -> None:
        self._face = face
        self._printer = printer
        self._questions = questions
        self._screens = LineScreens(face, printer, questions, self._run_line)

    async def run(self, name: str, args: str) -> None:
        """Run a command. Raises RagforgeError."""
        conversation = self._face.conversation
        if name in SCREENS:
            await self._screens.open(name, args)
            return
        sets = base.name_here(name) == "config" and args.strip()
        if sets:
            from ragforge.tui import keys  # slow to load

            keys.check_config(args, beside=conversation.workspace.settings.keys)
        outcome = await conversation.run(name, args, verbs_on(Face.INTERFACE))
        if sets:
            await conversation.reload_settings()
        await self._carry_out(outcome)
        with suppress(RagforgeError):
            await conversation.hints.drop_outdated()

    async def asked_to_forget(self, message: str) -> bool:
        """Whether the message only asks to forget a memory; then the user is asked which."""
        asked = await ask_what_to_forget(self._face.conversation.session, message)
        if asked is not None:
            await self._carry_out(asked)
        return asked is not None

    async def _run_line(self, line: str) -> None:
        name, _, args = line.partition(" ")
        await self.run(name, args)

    async def _carry_out(self, outcome: Outcome) -> None:
        face = self._face
        match outcome:
            case base.Tell(text):
                self._printer.line(text)
            case base.Report():
                self._print(outcome)
            case base.Open(screen, args):
                await self._open(screen, args)
            case base.Confirm() | base.Choose():
                if line := await self._answered(outcome):
                    await self._run_line(line)
            case base.Copy(text):
                self._printer.line(text)
            case base.Send() | base.Retry():
                await self._send(outcome)
            case base.StartNew() | base.Fork():
                await self._begin(outcome)
            case base.HeadMoved(result):
                for line in outcome.lines:
                    self._printer.line(line)
                if result.chat and result.draft.strip():
                    await face.keep_unsent(result.draft)
            case base.Follow(lines):
                async with aclosing(lines) as told:
                    async for line in told:
                        if isinstance(line, str):
                            self._printer.line(line)
                        elif isinstance(line, ProgramView):
                            for begun in line.begun:
                                self._printer.line(begun)
                        else:
                            await self._carry_out(line)
            case base.UserQuestion():
                await self._answer(outcome)
            case base.Quit():
                face.leave()
            case base.GoIncognito():
                face.incognito_next = True
                face.leave()
            case _:
                assert_never(outcome)

    async def _answer(self, asked: base.UserQuestion) -> None:
        """Ask the user, and pass the answer to the command."""
        match asked.kind:
            case base.QuestionKind.CONFIRM:
                asked.reply(await self._questions.confirmed(asked.text, asked.diff))
            case base.QuestionKind.CHOOSE:
                listed = [(words, str(number)) for number, words in enumerate(asked.options)]
                answer = await self._questions.choice([asked.text], listed)
                asked.reply(int(answer) if answer else None)
            case base.QuestionKind.APPROVE if asked.request:
                asked.reply(await self._questions.approve(asked.request))
            case _:
                self._printer.line("Programs that wait for input run on the command line: ragforge run NAME.")
                asked.reply(None)

    async def _answered(self, asked: base.Confirm | base.Choose) -> str:
        """Return the command line of the answer; empty for none."""
        match asked:
            case base.Confirm(question, then, otherwise, command, detail):
                shown = "\n".join(filter(None, [detail, command and f"$ {command}"]))
                answer = await self._questions.confirmed(question, shown)
                return then if answer else otherwise if answer is False else ""
            case base.Choose(question, detail, options, diff):
                listed = [(f"{each.name}: {each.meaning}", each.then) for each in options]
                return await self._questions.choice([*filter(None, [diff, detail, question])], listed) or ""

    def _print(self, report: base.Report) -> None:
        for line in report.lines:
            self._printer.line(line if isinstance(line, str) else "".join(span.text for span in line))
        if report.exact:
            exact = report.exact
            self._printer.line(exact.decode("utf-8", "replace") if isinstance(exact, bytes) else exact)
        for note in report.notes:
            self._printer.line(note)

    async def _open(self, screen: str, args: str) -> None:
        """In place of a screen: the command line's text, or the alternative to it."""
        conversation = self._face.conversation
        if screen == "help":
            self._help(args)
            return
        if screen == "sessions" and args:
            await self._face.go_to(args)
            return
        if self._screens.has(screen):
            await self._screens.open(screen, args)
            return
        verb = find_verbs()[screen]
        if screen == "memory":  # lists, like its screen
            verb = next(each for each in verb.verbs if each.name == "list")
        if verb.shell is None:
            raise UsageError(f"/{screen} needs the full screen, or an argument.")
        outcome = await verb.shell(conversation.workspace, parse(verb.args, args, command=screen))
        if isinstance(outcome, base.Instead):
            outcome = await outcome.verb.run(conversation.session, outcome.args)
        await self._carry_out(outcome)
        if screen == "sessions":
            self._printer.line("/sessions ID opens one of them.")

    def _help(self, words: str) -> None:
        rows = {name: (verb.usage, verb.help) for name, verb in verbs_on(Face.INTERFACE).items()}
        rows |= {name: ("", about) for name, about in SCREENS.items()}
        for name, (usage, about) in sorted(rows.items()):
            if words.lower() in f"{name} {about}".lower():
                self._printer.line(f"/{name} {usage}".rstrip() + f": {about}")

    async def _send(self, outcome: base.Send | base.Retry) -> None:
        face, conversation = self._face, self._face.conversation
        approve = self._questions.approve
        match outcome:
            case base.Retry():
                await face.follow(conversation.retry(approve))
            case base.Send(text, typed, terms) if typed:
                try:
                    await face.follow(conversation.submit((TextPart(text, typed),), approve, terms))
                except RagforgeError:
                    await face.keep_unsent(typed)
                    raise
            case base.Send(text):
                await face.say(text)

    async def _begin(self, outcome: base.StartNew | base.Fork) -> None:
        conversation = self._face.conversation
        if isinstance(outcome, base.Fork):
            await conversation.fork(conversation.session.id, at=outcome.at)
            self._printer.line(f"The fork {short_id(conversation.session.id)} continues from here.")
        else:
            await conversation.start_new()
            self._printer.line(f"A new session. {outcome.said}".rstrip())
