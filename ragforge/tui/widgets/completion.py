"""The list above the prompt: commands, files or earlier messages. It never takes the focus."""

import asyncio
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import chain

from msgspec import Struct
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from ragforge.tui.fuzzy import ranked
from ragforge.tui.mouse import StepsByWheel
from ragforge.tui.project_files import PathMatches

ROWS_MAX = 7
CHOICES_MAX = 200

COMMON = (
    *("help", "sessions", "undo", "redo", "memory", "search", "model", "diff", "cost", "new", "compact"),
    *("rewind", "context", "log", "hints", "config", "theme", "export", "copy", "exit"),
)
"""The most used ones for a user without history."""

Files = Callable[[str, threading.Event], PathMatches]
"""The project's paths that fit a query; runs in a thread and returns early when the event is set."""


class CompletionKind(StrEnum):
    """What the list offers."""

    COMMAND = "command"
    PATH = "path"
    HISTORY = "history"


class CommandRow(Struct, frozen=True):
    """A slash command as the list shows it. `args`: its usage, or nothing."""

    name: str
    help: str
    aliases: tuple[str, ...] = ()
    args: str = ""


class CompletionItem(Struct, frozen=True):
    """A line of the list.

    insert: what replaces the `replaces` characters before the cursor.
    runs: nothing is missing, Enter may send it. goes_on: a folder, whose content is offered next.
    """

    insert: str
    label: str
    detail: str = ""
    replaces: int = 0
    runs: bool = False
    goes_on: bool = False


class CompletionRequest(Struct, frozen=True):
    """What the text before the cursor needs. `typed`: the word so far; `query`: what to search for."""

    kind: CompletionKind
    typed: str
    query: str
    start: int


class Completion(StepsByWheel, Static):
    """The list. The prompt steers it: `follow`, `step`, `chosen`, `close`."""

    DEFAULT_CSS = """
    Completion {
        display: none;
        height: auto;
        padding: 0 1;
        background: $surface;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        &.-open { display: block; }
    }
    """

    @dataclass
    class Clicked(Message):
        """A line was clicked."""

        choice: CompletionItem

    def __init__(
        self,
        *,
        commands: Callable[[], Sequence[CommandRow]] | None = None,
        files: Files | None = None,
        sent: Callable[[], Sequence[str]] = tuple[str],
        id: str | None = None,
    ) -> None:
        """A closed list.

        commands: the slash commands. files: the project's. sent: earlier messages, which tell what is
        used most.
        """
        super().__init__(id=id)
        self._commands = commands or tuple[CommandRow]
        self._files = files
        self._sent = sent
        self._choices: list[CompletionItem] = []
        self._index = 0
        self._note = ""
        """The usage of the command that is being typed, if there is nothing to choose."""
        self._wanted: CompletionRequest | None = None
        self._dismissed_at: int | None = None
        self._looking: threading.Event | None = None

    @property
    def is_open(self) -> bool:
        """Whether it is visible, with at least one line."""
        return bool(self._choices)

    @property
    def chosen(self) -> CompletionItem | None:
        """The line that Tab would take."""
        return self._choices[self._index] if self._choices else None

    def step(self, by: int) -> None:
        """Go up or down, wrapping at the ends."""
        if self._choices:
            self._index = (self._index + by) % len(self._choices)
            self._draw()

    def close(self) -> None:
        """Close it, and stop searching."""
        if self._looking:
            self._looking.set()
        self._wanted = None
        self._show([])

    def dismiss(self) -> None:
        """Close it and leave this word alone, until Tab asks."""
        self._dismissed_at = self._wanted.start if self._wanted else None
        self.close()

    def follow(self, before: str, *, first_line: bool, again: bool = False) -> None:
        """Offer what fits the text before the cursor; `again`: even if it was dismissed."""
        wanted = wanted_by(before, first_line=first_line)
        if wanted is None or again:
            self._dismissed_at = None
        if wanted is None or self._dismissed_at == wanted.start:
            self.close()
            if first_line and wanted is None and before.startswith("/"):
                self._tell(usage_of(before, self._commands()))
            return
        self._wanted = wanted
        if wanted.kind is CompletionKind.COMMAND:
            self._show(command_choices(wanted, self._commands(), self._sent()))
        else:
            # What is shown meanwhile must fit the input: Enter may come before the files do.
            shown = [choice.label for choice in self._choices if choice.insert.startswith("@")]
            self._show(path_choices(wanted, ranked(wanted.query, shown)))
            self.run_worker(partial(self._find, wanted), group="files", exclusive=True, exit_on_error=False)

    def show_history(self, query: str, entries: Sequence[str]) -> None:
        """Offer earlier messages that contain every word of the query."""
        words = query.lower().split()
        fitting = [text for text in entries if all(word in text.lower() for word in words)]
        self._show([CompletionItem(text, " ".join(text[:400].split())) for text in fitting[:CHOICES_MAX]])

    async def _find(self, wanted: CompletionRequest) -> None:
        if self._files is None:
            return
        stop = self._looking = threading.Event()
        try:
            complete = False
            while not complete and self._wanted == wanted:
                found = await asyncio.to_thread(self._files, wanted.query, stop)
                complete = found.complete
                if self._wanted == wanted:
                    chosen = self.chosen.label if self._index and self.chosen else ""
                    self._show(path_choices(wanted, found.paths), chosen=chosen)
        finally:
            # Newer input cancels this worker; its thread must not continue.
            stop.set()

    def _tell(self, note: str) -> None:
        """Show the usage of a command; no key is taken for it."""
        self._note = note
        self.set_class(bool(note), "-open")
        self._draw()

    def _show(self, choices: list[CompletionItem], *, chosen: str = "") -> None:
        self._choices = choices
        self._note = ""
        labels = [choice.label for choice in choices]
        self._index = labels.index(chosen) if chosen in labels else 0
        self.set_class(bool(choices), "-open")
        self._draw()

    def _draw(self) -> None:
        first = self._first_row
        rows = self._choices[first : first + self._rows_max]
        room = max(8, (self.screen.size.width - 4) * 3 // 5)
        label_width = min(room, max((len(row.label) for row in rows if row.detail), default=0))
        lines = [
            Content.assemble(
                ("› ", "bold") if first + number == self._index else "  ",
                (_fitted(row, label_width), "bold" if first + number == self._index else ""),
                ("  " + row.detail, "dim") if row.detail else "",
            )
            for number, row in enumerate(rows)
        ]
        if self._note:
            lines.append(Content.styled(f"  {self._note}", "dim"))
        if len(self._choices) > self._rows_max:
            lines.append(Content.styled(f"  {self._index + 1} of {len(self._choices)}", "dim"))
        self.update(Content("\n").join(lines))

    @property
    def _rows_max(self) -> int:
        return max(2, min(ROWS_MAX, self.screen.size.height // 3))

    @property
    def _first_row(self) -> int:
        rows = self._rows_max
        return min(max(0, self._index - rows // 2), max(0, len(self._choices) - rows))

    def on_click(self, event: events.Click) -> None:
        """Take the line."""
        row = self._first_row + event.y
        if event.y < self._rows_max and row < len(self._choices):
            self.post_message(self.Clicked(self._choices[row]))


def _fitted(row: CompletionItem, width: int) -> str:
    """Return the label, padded to one width if something follows it."""
    if not row.detail:
        return row.label
    return row.label.ljust(width) if len(row.label) <= width else row.label[: width - 1] + "…"


def wanted_by(before: str, *, first_line: bool) -> CompletionRequest | None:
    """Return what the text before the cursor, in its line, needs: a command, a path or nothing."""
    if first_line and re.fullmatch(r"/[a-zA-Z0-9_:-]*", before):
        return CompletionRequest(CompletionKind.COMMAND, before, before[1:], 0)
    if match := re.search(r"""(?:^|[\s(\["'])(@(?:"([^"]*)|([^\s"@]*)))$""", before):
        query = match[2] if match[2] is not None else match[3]
        return CompletionRequest(CompletionKind.PATH, match[1], query, match.start(1))
    return None


def by_use(names: Sequence[str], sent: Iterable[str]) -> list[str]:
    """Return the commands, last sent first. sent: earlier messages, each once, newest first."""
    words = (text.split(maxsplit=1)[0][1:] for text in sent if text.startswith("/") and text.strip("/ "))
    places = {name: place for place, name in enumerate(dict.fromkeys((*words, *COMMON)))}
    return sorted(names, key=lambda name: places.get(name, len(places)))


def is_optional(usage: str) -> bool:
    """Whether a command may be sent without what its usage names."""
    depth = 0
    for char in usage:
        depth += (char == "[") - (char == "]")
        if depth == 0 and char not in " ]":
            return False
    return True


def usage_of(before: str, rows: Sequence[CommandRow]) -> str:
    """Return the usage of the command that is being typed, and its description; else nothing."""
    if found := re.match(r"/([a-z0-9_:-]+) ", before):
        named = (row for row in rows if row.name == found[1])
        others = (row for row in rows if found[1] in row.aliases)
        if (row := next(chain(named, others), None)) and row.args:
            return f"/{found[1]} {row.args}  {row.help}"
    return ""


def command_choices(
    wanted: CompletionRequest, rows: Sequence[CommandRow], sent: Iterable[str] = ()
) -> list[CompletionItem]:
    """Return the commands that fit: by name first, then by alias, then by any letters in order.

    sent: earlier messages; while no name is typed, those sent last come first.
    """
    names = {row.name: row for row in rows}
    by_word = {**{word: row for row in reversed(rows) for word in row.aliases}, **names}
    if not wanted.query:
        fitting = [names[name] for name in by_use(list(names), sent)]
    else:
        words = ranked(wanted.query, [word for row in rows for word in (row.name, *row.aliases)])
        words.sort(key=lambda word: not (word in names and word.startswith(wanted.query)))
        fitting = list(dict.fromkeys(by_word[word] for word in words))
    return [
        CompletionItem(
            f"/{row.name} " if row.args else f"/{row.name}",
            f"/{row.name}",
            row.help,
            replaces=len(wanted.typed),
            runs=is_optional(row.args),
        )
        for row in fitting
    ]


def path_choices(wanted: CompletionRequest, paths: Sequence[str]) -> list[CompletionItem]:
    """Return the paths as mentions; those with spaces in quotes."""
    choices: list[CompletionItem] = []
    for path in paths[:CHOICES_MAX]:
        folder = path.endswith("/")
        quoted = bool(re.search(r"""[\s"'()\[\]]""", path)) or wanted.typed.startswith('@"')
        mention = f'@"{path}' + ("" if folder else '"') if quoted else f"@{path}"
        choices.append(
            CompletionItem(
                mention if folder else mention + " ", path, replaces=len(wanted.typed), goes_on=folder
            )
        )
    return choices
