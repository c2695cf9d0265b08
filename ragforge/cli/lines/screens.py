"""The line mode's substitutes for the interface's screens: lists answered by a number."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import assert_never

from ragforge.cli.lines.face import LineFace
from ragforge.cli.lines.printer import LinePrinter
from ragforge.cli.lines.questions import Questions
from ragforge.domain.errors import RagforgeError, UsageError
from ragforge.domain.hints import HintAction, HintAnswer, ProactiveHint
from ragforge.domain.messages import text_of
from ragforge.domain.printable import one_line
from ragforge.domain.words import counted, first_words
from ragforge.session import servers
from ragforge.session.instructions import all_instructions, answer_instructions
from ragforge.session.trust_words import answered_words
from ragforge.versions.book import VersionBook

LISTED_MAX = 20
HELP = {
    "hints": "Show the hints that you have not answered.",
    "store": "Show where conversations are kept.",
    "theme": "Change the colours of the full screen: auto, dark or light.",
    "trust": "Show the project's instruction files, and choose whether the model reads them.",
}
"""Commands that are only screens in the interface."""


class LineScreens:
    """Opens them by name."""

    def __init__(
        self,
        face: LineFace,
        printer: LinePrinter,
        questions: Questions,
        run_line: Callable[[str], Awaitable[None]],
    ) -> None:
        """run_line: runs a command line."""
        self._face = face
        self._printer = printer
        self._questions = questions
        self._run_line = run_line
        self._opens: Mapping[str, Callable[[str], Awaitable[None]]] = {
            "config": self._config,
            "hints": self._hints,
            "model": self._model,
            "rewind": self._rewind,
            "store": self._store,
            "theme": self._theme,
            "trust": self._trust,
        }

    def has(self, name: str) -> bool:
        """Whether there is one of this name."""
        return name in self._opens

    async def open(self, name: str, args: str) -> None:
        """Show it, and do what is chosen. Raises RagforgeError."""
        await self._opens[name](args.strip())

    async def _config(self, args: str) -> None:
        rows = {row.key: row for row in self._face.conversation.workspace.loaded.rows()}
        shown = {key: f"{key} = {row.value or '(unset)'}" for key, row in rows.items()}
        listed = [f"{words} ({rows[key].source})" for key, words in shown.items()]
        answers = {key.lower(): key for key in rows} | {"": ""}
        key = await self._questions.ask(listed, answers, "The name of one to change, or Enter for none:")
        if not key:
            return
        asked = [rows[key].about, shown[key]]
        if value := await self._questions.ask(asked, {}, "The new value, or Enter to leave it:"):
            await self._run_line(f"store {value}" if key == "store" else f"config {key} {value}")

    async def _model(self, args: str) -> None:
        conversation = self._face.conversation
        now = conversation.session.live.record.model
        self._printer.line(f"Model: {now or 'none'}. /model PROVIDER:NAME chooses one.")
        providers = [now.partition(":")[0]] if ":" in now else []
        if await conversation.gemini_key_source():
            providers.append("gemini")
        else:
            self._printer.line(
                "For Gemini: get a key at https://aistudio.google.com/apikey, then run: ragforge login"
            )
        names: list[str] = []
        for provider in dict.fromkeys(providers):
            try:
                names += (await conversation.models_of(provider))[:LISTED_MAX]
            except RagforgeError as error:
                self._printer.line(str(error))
        for found in await conversation.local_endpoints():
            names += [f"{found.name}:{model}" for model in found.models[:LISTED_MAX]]
        options = [(name, f"model {name}") for name in dict.fromkeys(names)]
        await self._choose("Which model?", [*options, ("none: search answers", "model local")])

    async def _rewind(self, args: str) -> None:
        session = self._face.conversation.session
        rows = await VersionBook(session.worktree).turns(session.live.record.head)
        if not rows:
            raise UsageError("There are no turns to go back to yet.")
        options = [
            (
                f"turn {row.turn.index + 1}, {counted(len(row.changes), 'file')}, "
                f"+{row.lines_added} -{row.lines_removed}: {first_words(text_of(row.turn.user))}",
                f"rewind {row.turn.index + 1}",
            )
            for row in reversed(rows[-LISTED_MAX:])
        ]
        await self._choose("Go back to before which turn?", options)

    async def _store(self, args: str) -> None:
        if args:
            raise UsageError(f"Quit, and run: ragforge db connect {args}")
        conversation = self._face.conversation
        status = await conversation.workspace.store.status()
        for fact in servers.facts_of(status, conversation.link):
            self._printer.line(f"{fact.name}: {fact.words}")

    async def _theme(self, args: str) -> None:
        if args not in ("auto", "dark", "light"):
            raise UsageError(
                "Plain mode uses the terminal's own colours. The theme applies to the full screen."
            )
        await self._run_line(f"config theme {args}")

    async def _trust(self, args: str) -> None:
        session = self._face.conversation.session
        files = await all_instructions(session)
        if not files:
            self._printer.line("This folder has no instruction files: no AGENTS.md, CLAUDE.md or GEMINI.md.")
            return
        trusted = await self._questions.trusts(files)
        await answer_instructions(session, files, trusted=trusted)
        self._printer.line(answered_words(files, trusted=trusted))

    async def _hints(self, args: str) -> None:
        hints = self._face.conversation.hints
        await hints.drop_outdated()
        if not hints.open:
            self._printer.line("There are no open hints.")
            return
        known = {hint.id: hint for hint in hints.open}
        options = [
            (f"{hint.title}: {one_line(hint.message)} ({hint.action_label})", id)
            for id, hint in known.items()
        ]
        chosen = await self._questions.choice(["Apply which hint?"], options)
        if chosen:
            await self._apply(known[chosen])
            await hints.answer(known[chosen], HintAnswer.APPLY)

    async def _apply(self, hint: ProactiveHint) -> None:
        payload, conversation = hint.action_payload, self._face.conversation
        match payload.action:
            case HintAction.WRITE:
                self._printer.line(f"Send this, or edit it first:\n{payload.text}")
            case HintAction.COMMAND:
                await self._run_line(payload.text)
            case HintAction.OPEN_TURN:
                for memory in await conversation.workspace.store.memories.get([payload.text]):
                    place = await conversation.memory_book.open_evidence(memory)
                    await self._face.go_to(place.session_id, at=place.turn)
            case _:
                assert_never(payload.action)

    async def _choose(self, question: str, options: list[tuple[str, str]]) -> None:
        """Ask for one, and run its command line."""
        if options and (line := await self._questions.choice([question], options)):
            await self._run_line(line)
