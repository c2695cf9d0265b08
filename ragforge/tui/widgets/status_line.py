"""The status line: activity on the left, usage on the right; the least important is dropped first."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePath
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace
from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.selection import Selection
from textual.widget import Widget

from ragforge.domain.approvals import Mode
from ragforge.domain.printable import one_line
from ragforge.domain.usage import Usage
from ragforge.domain.words import counted, first_words
from ragforge.tui.cells import fitting
from ragforge.tui.keys import with_present_keys
from ragforge.tui.textual_types import changed_keys

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.domain.events import UsageUpdated


class Status(Struct, frozen=True):
    """The contents of the status line. Empty and zero values are left out; `cost_usd` None is unknown."""

    model: str = ""
    folder: str = ""
    git_branch: str = ""
    session: str = ""
    """Its title, or the short id."""
    mode: Mode = Mode.ASK
    vim: str = ""
    """The mode of Vim's keys, if they are used."""
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    estimated: bool = False
    context_tokens: int = 0
    context_tokens_max: int = 0
    queued: int = 0
    jobs: int = 0
    away: bool = False
    """The server that stores the conversations cannot be reached."""
    waiting: int = 0
    """Rows that have not been carried to it yet."""
    held: bool = False
    """Another process prevents them from being carried."""
    background: str = ""
    """What is still to be summarised or embedded, e.g. "2 turns to summarise"."""
    background_note: str = ""
    """Why that waits, or continues without a model."""
    background_usd: float | None = 0.0
    """The cost of this session's summaries, embeddings and look-ups, apart from the chat; None is unknown."""
    hints: int = 0
    """How many wait for an answer."""
    notice: str = ""
    """A lasting state, e.g. "read only" or "incognito"."""

    def after(self, event: UsageUpdated) -> Status:
        """Return the status with a step's tokens and cost added."""
        cost = None if self.cost_usd is None or event.cost_usd is None else self.cost_usd + event.cost_usd
        return replace(
            self,
            usage=self.usage + event.usage,
            cost_usd=cost,
            estimated=self.estimated or event.estimated,
            context_tokens=event.context_tokens,
            context_tokens_max=event.context_tokens_max,
        )


class _Fact(Struct, frozen=True):
    """A piece of the line.

    words: all of it. short: what is left of it if there is little room. goes: how soon it is dropped, highest
    first. about: what it means, for a user who clicks it.
    """

    words: str
    short: str
    style: str
    goes: int
    about: str = ""
    is_right: bool = True


class PlacedFact(Struct, frozen=True):
    """A piece in the line: its first column, and what it means."""

    words: str
    style: str
    column: int
    about: str


class StatusLine(Widget):
    """Draws a `Status` in two groups: set `status` to a new one. A click on a piece explains it."""

    class Pressed(Message):
        """A piece was clicked: this is what it means."""

        def __init__(self, about: str) -> None:
            super().__init__()
            self.about = about

    status: reactive[Status] = reactive(Status())

    def __init__(self, status: Status | None = None, *, id: str | None = None) -> None:
        super().__init__(id=id)
        if status is not None:
            self.set_reactive(StatusLine.status, status)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the whole line, without truncation."""
        return _BETWEEN.join(fact.words for fact in _facts(self.status)), "\n"

    def render(self) -> Content:
        """Draw the pieces that fit."""
        parts: list[Content | tuple[str, str]] = []
        column = 0
        for shown in laid_out(_facts(self.status), self.content_size.width):
            gap = shown.column - column
            between = _BETWEEN if gap == len(_BETWEEN) else " " * gap
            parts += [(between, _MUTED), (shown.words, shown.style)]
            column = shown.column + cell_len(shown.words)
        return Content.assemble(*parts)

    def on_click(self, event: events.Click) -> None:
        """Explain the piece that was clicked."""
        at = event.get_content_offset(self)
        if at is None:
            return
        for shown in laid_out(_facts(self.status), self.content_size.width):
            if shown.column <= at.x < shown.column + cell_len(shown.words):
                event.stop()
                about = with_present_keys(shown.about, changed_keys(self), *KEYS_NAMED)
                self.post_message(self.Pressed(_with_meaning(shown.words, about)))

    def explained(self) -> str:
        """Return every piece of the line and what it means, as Markdown."""
        return with_present_keys(explained(self.status), changed_keys(self), *KEYS_NAMED)


KEYS_NAMED = ("cycle_mode", "hints", "up")
"""The actions whose keys the explanations name."""
_BETWEEN = " · "
_MUTED = "$foreground-muted"


def status_words(status: Status, width: int) -> str:
    """Return the line as text, at most `width` cells long."""
    line = ""
    for shown in laid_out(_facts(status), width):
        gap = shown.column - cell_len(line)
        line += (_BETWEEN if line and gap == len(_BETWEEN) else " " * gap) + shown.words
    return line


def explained(status: Status) -> str:
    """Return every piece of the line and what it means, as Markdown."""
    return "\n".join(f"- {_with_meaning(fact.words, fact.about)}" for fact in _facts(status))


def _with_meaning(words: str, about: str) -> str:
    """Return a piece and what it means; only the sentence if that includes the piece."""
    return words if words == about else f"`{words.rstrip('.')}`: {about}"


def laid_out(facts: list[_Fact], width: int) -> list[PlacedFact]:
    """Return the pieces that fit, one group from the left, the other up to the right edge."""
    kept = fit(facts, width)
    right = [(fact, words) for fact, words in kept if fact.is_right]
    start = width - _length([words for _, words in right])
    shown: list[PlacedFact] = []
    column = 0
    for fact, words in kept:
        if fact.is_right and right and fact is right[0][0]:
            column = max(column, start)
        shown.append(PlacedFact(words, fact.style, column, fact.about))
        column += cell_len(words) + len(_BETWEEN)
    return shown


def fit(facts: list[_Fact], width: int) -> list[tuple[_Fact, str]]:
    """Return the facts that fit, and the words of each.

    Shortens, then drops, one after the other, what is least important; the last one is truncated.
    """
    shown = {fact: fact.words for fact in facts}
    soonest_first = sorted(facts, key=lambda fact: -fact.goes)
    for fact in soonest_first:
        if _length(shown.values()) <= width:
            break
        shown[fact] = fact.short
    for fact in soonest_first:
        if _length(shown.values()) <= width or len(shown) == 1:
            break
        del shown[fact]
    return [(fact, fitting(words, width)) for fact, words in shown.items()]


def _length(words: Collection[str]) -> int:
    return sum(cell_len(word) for word in words) + len(_BETWEEN) * max(0, len(words) - 1)


def _facts(status: Status) -> list[_Fact]:
    """Return all facts, in the order of the line."""
    facts = [*_left(status), *_waiting(status), *_used(status)]
    return [
        replace(fact, words=one_line(fact.words), short=one_line(fact.short) or one_line(fact.words))
        for fact in facts
        if fact.words
    ]


def _left(status: Status) -> list[_Fact]:
    """Return what is running, and where."""
    facts = [
        _Fact(
            f"-- {status.vim.upper()} --" if status.vim else "",
            status.vim[:1].upper(),
            "$foreground bold",
            0,
            "The mode of Vim's keys (`ui.keys`): Esc goes to normal, i or a to insert.",
        ),
        _mode_fact(status.mode),
        _Fact(status.notice, status.notice, "$text-warning", 1, "A state that lasts until you change it."),
        _Fact(
            *_server_words(status),
            "$text-warning",
            2,
            "Changes that wait on this machine for the Neo4j server. /store shows its state.",
        ),
        _Fact(
            status.model,
            status.model.partition(":")[2],
            "$foreground",
            3,
            "The provider and model in use. /model chooses another one.",
        ),
        _Fact(status.git_branch, status.git_branch[:16], _MUTED, 8, "The git branch of this folder."),
        _Fact(
            status.folder,
            PurePath(status.folder).name,
            _MUTED,
            12,
            "The folder where tools and commands run.",
        ),
        _Fact(
            status.session,
            first_words(status.session, 20),
            _MUTED,
            13,
            "This session's title. /rename changes it; /sessions lists all sessions.",
        ),
    ]
    return [replace(fact, is_right=False) for fact in facts]


def _waiting(status: Status) -> list[_Fact]:
    """Return what waits, or is done in the background."""
    jobs = counted(status.jobs, "job") if status.jobs else ""
    hints = counted(status.hints, "hint") if status.hints else ""
    queued = _some(status.queued, "queued")
    background = status.background.replace("turns ", "").replace("turn ", "")
    return [
        _Fact(
            queued,
            queued,
            "$text-accent",
            5,
            "Messages that are sent when the turn ends. Up edits the last one.",
        ),
        _Fact(
            jobs,
            jobs,
            "$text-accent",
            7,
            "Commands that run in the background. /jobs lists them, and stops one.",
        ),
        _Fact(hints, hints, _MUTED, 7, "Hints for what you are doing. /hints shows them. F8 does too."),
        _Fact(
            status.background_note,
            "memory: /context",
            "$text-warning",
            13,
            status.background_note,
        ),
        _Fact(
            status.background,
            background,
            _MUTED,
            14,
            "Background work on memory that is still to be done.",
        ),
    ]


def _used(status: Status) -> list[_Fact]:
    """Return what was used: memory, context and cost at the end."""
    usage = status.usage
    share = ""
    if status.context_tokens_max:
        share = f"{100 * status.context_tokens / status.context_tokens_max:.0f}%"
    window = number_words(status.context_tokens_max)
    tokens_in, tokens_out = usage.input_tokens, usage.output_tokens + usage.thought_tokens
    tokens = f"{number_words(tokens_in)} in {number_words(tokens_out)} out" if usage.total_tokens else ""
    is_nearly_full = status.context_tokens > 0.8 * status.context_tokens_max
    return [
        _Fact(
            tokens,
            number_words(usage.total_tokens),
            _MUTED,
            11,
            "Tokens that the model has read and written in this session. /cost shows them by model.",
        ),
        _Fact(
            *_background_cost_words(status),
            _MUTED,
            12,
            "What memory work for this session has cost, in addition to the chat. /cost shows more. A "
            "price that is not known can be added in prices.toml, in the configuration folder.",
        ),
        _Fact(
            f"{share} of {window}" if share else "",
            share,
            "$text-warning" if is_nearly_full else _MUTED,
            4,
            f"How much of the context window ({window} tokens) is used. /context shows the parts.",
        ),
        _Fact(
            *_cost_words(status),
            _MUTED,
            6,
            "What this session's chat has cost; ~ marks an estimate. /cost shows it by model.",
        ),
    ]


def _mode_fact(mode: Mode) -> _Fact:
    match mode:
        case Mode.ALL:
            about = "Everything is allowed without asking. /mode ask changes that."
            return _Fact("ALL: everything is allowed", "ALL", "$text-error bold reverse", 0, about)
        case Mode.ACCEPT_EDITS:
            about = (
                "The model may change files in the project without asking; commands need approval. "
                "Shift+Tab changes the mode."
            )
            return _Fact("accept edits", "edits", "$text-warning bold", 0, about)
        case Mode.PLAN:
            about = "Nothing is changed: the model only reads and plans. Shift+Tab changes the mode."
            return _Fact("plan", "plan", "$text-primary bold", 0, about)
        case Mode.ASK:
            about = "File changes and commands need your approval. Shift+Tab changes the mode."
            return _Fact("ask", "ask", _MUTED, 0, about)


def _server_words(status: Status) -> tuple[str, str]:
    """Return the server's state, in full and short; nothing while all is carried and it answers."""
    waiting = _some(status.waiting, "waiting")
    if status.held and waiting and not status.away:
        return f"{waiting} · held up", f"{status.waiting} held up"
    if not status.away:
        return waiting, waiting
    if not waiting:
        return "server away", "away"
    return f"server away · {waiting}", f"away · {status.waiting}"


def _cost_words(status: Status) -> tuple[str, str]:
    """Return the cost in full and short; nothing before anything was used."""
    if status.cost_usd is None:
        return "price unknown", "price unknown"
    if not status.usage.total_tokens:
        return "", ""
    about = "~" if status.estimated else ""
    digits = 2 if status.cost_usd >= 0.1 or status.cost_usd == 0 else 4
    words = f"{about}${status.cost_usd:.{digits}f}"
    if 0 < status.cost_usd < 0.00005:
        words = "<$0.0001"
    return words, words


def _background_cost_words(status: Status) -> tuple[str, str]:
    """Return memory's cost, in full and short; nothing if it is zero, or no price is known anyway."""
    cost = status.background_usd
    if cost is None:
        return ("", "") if status.cost_usd is None else ("memory cost unknown", "memory $?")
    if not cost:
        return "", ""
    words = f"${cost:.{2 if cost >= 0.1 else 4}f}" if cost >= 0.00005 else "<$0.0001"
    return f"memory {words}", f"+{words}"


def _some(number: int, noun: str) -> str:
    return f"{number} {noun}" if number else ""


def number_words(number: int) -> str:
    """Return `950`, `12.4k`, `1.05M`."""
    if number < 1000:
        return str(number)
    if number < 999_950:
        return f"{number / 1000:.1f}".removesuffix(".0") + "k"
    return f"{number / 1_000_000:.2f}".rstrip("0").removesuffix(".") + "M"
