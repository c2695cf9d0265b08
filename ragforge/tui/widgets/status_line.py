"""The status line: one line of facts, the least important left out where there is no room."""

from collections.abc import Collection
from pathlib import PurePath

from msgspec import Struct, field
from msgspec.structs import replace
from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.reactive import reactive
from textual.selection import Selection
from textual.widget import Widget

from ragforge.domain.approvals import Mode
from ragforge.domain.events import UsageUpdated
from ragforge.domain.printable import one_line
from ragforge.domain.usage import Usage
from ragforge.domain.words import counted


class Status(Struct, frozen=True):
    """What the status line tells. Empty and zero values are left out; `cost_usd` None is unknown."""

    model: str = ""
    folder: str = ""
    git_branch: str = ""
    session: str = ""
    """Its title, or the short id."""
    mode: Mode = Mode.ASK
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    estimated: bool = False
    context_tokens: int = 0
    context_tokens_max: int = 0
    queued: int = 0
    jobs: int = 0
    away: bool = False
    """The server that keeps the conversations cannot be reached."""
    waiting: int = 0
    """Rows that have not been carried to it yet."""
    held: bool = False
    """Another process keeps them from being carried."""
    background: str = ""
    """What is still to be summarised or embedded, e.g. "2 turns to summarise"."""
    background_note: str = ""
    """Why that waits, or goes on without a model."""
    background_usd: float | None = 0.0
    """What summaries, embeddings and look-ups of this session cost, apart from the chat; None is unknown."""
    hints: int = 0
    """How many wait for an answer."""
    notice: str = ""
    """A state that lasts, e.g. "read only" or "incognito"."""

    def after(self, event: UsageUpdated) -> "Status":
        """The status with a step's tokens and cost added."""
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
    """A piece of the line: words, a shorter form, a style, and how soon it goes (highest first)."""

    words: str
    short: str
    style: str
    goes: int


class StatusLine(Widget):
    """Draws a `Status`: set `status` to a new one."""

    status: reactive[Status] = reactive(Status())

    def __init__(self, status: Status | None = None, *, id: str | None = None) -> None:
        super().__init__(id=id)
        if status is not None:
            self.set_reactive(StatusLine.status, status)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The whole line, nothing cut off."""
        return _BETWEEN.join(fact.words for fact in _facts(self.status)), "\n"

    def render(self) -> Content:
        """The facts that fit."""
        facts = fit(_facts(self.status), self.content_size.width)
        parts: list[Content | tuple[str, str]] = []
        for index, (words, style) in enumerate(facts):
            if index:
                parts.append((_BETWEEN, _MUTED))
            parts.append((words, style))
        return Content.assemble(*parts)


_BETWEEN = " · "
_MUTED = "$foreground-muted"


def status_words(status: Status, width: int) -> str:
    """The line as text, at most `width` cells long."""
    return _BETWEEN.join(words for words, _ in fit(_facts(status), width))


def fit(facts: list[_Fact], width: int) -> list[tuple[str, str]]:
    """Words and style of the facts that fit.

    Shortens, then drops, one after the other, what is least important; the last one is cut.
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
    return [(_cut(words, width), fact.style) for fact, words in shown.items()]


def _length(words: Collection[str]) -> int:
    return sum(cell_len(word) for word in words) + len(_BETWEEN) * max(0, len(words) - 1)


def _cut(words: str, width: int) -> str:
    return words if cell_len(words) <= width else set_cell_size(words, max(0, width - 1)).rstrip() + "…"


def _facts(status: Status) -> list[_Fact]:
    """All there is to tell, in the order of the line."""
    usage = status.usage
    share = ""
    if status.context_tokens_max:
        share = f"{100 * status.context_tokens / status.context_tokens_max:.0f}%"
    tokens_in, tokens_out = usage.input_tokens, usage.output_tokens + usage.thought_tokens
    tokens = f"{number_words(tokens_in)} in {number_words(tokens_out)} out" if usage.total_tokens else ""
    jobs = counted(status.jobs, "job") if status.jobs else ""
    hints = counted(status.hints, "hint") if status.hints else ""
    facts = [
        _mode_fact(status.mode),
        _Fact(status.notice, status.notice, "$text-warning", 1),
        _Fact(*_server_words(status), "$text-warning", 2),
        _Fact(status.model, status.model.rpartition(":")[2], "$foreground", 3),
        _Fact(
            f"{share} of {number_words(status.context_tokens_max)}" if share else "",
            share,
            "$text-warning" if status.context_tokens > 0.8 * status.context_tokens_max else _MUTED,
            4,
        ),
        _Fact(_some(status.queued, "queued"), _some(status.queued, "queued"), "$text-accent", 5),
        _Fact(*_cost_words(status), _MUTED, 6),
        _Fact(*_background_cost_words(status), _MUTED, 12),
        _Fact(jobs, jobs, "$text-accent", 7),
        _Fact(hints, hints, _MUTED, 7),
        _Fact(status.background_note, "memory: /context", "$text-warning", 13),
        _Fact(status.background, status.background.replace("turns ", "").replace("turn ", ""), _MUTED, 14),
        _Fact(status.git_branch, status.git_branch[:16], _MUTED, 8),
        _Fact(status.folder, PurePath(status.folder).name, _MUTED, 9),
        _Fact(status.session, status.session[:20], _MUTED, 10),
        _Fact(
            tokens,
            number_words(usage.total_tokens),
            _MUTED,
            11,
        ),
    ]
    return [
        replace(fact, words=one_line(fact.words), short=one_line(fact.short) or one_line(fact.words))
        for fact in facts
        if fact.words
    ]


def _mode_fact(mode: Mode) -> _Fact:
    match mode:
        case Mode.ALL:
            return _Fact("ALL: nothing is asked", "ALL", "$text-error bold reverse", 0)
        case Mode.ACCEPT_EDITS:
            return _Fact("accept edits", "edits", "$text-warning bold", 0)
        case Mode.PLAN:
            return _Fact("plan", "plan", "$text-primary bold", 0)
        case Mode.ASK:
            return _Fact("ask", "ask", _MUTED, 0)


def _server_words(status: Status) -> tuple[str, str]:
    """What is to be known of the server, in full and short; nothing while all is carried and it answers."""
    waiting = _some(status.waiting, "waiting")
    if status.held and waiting and not status.away:
        return f"{waiting} · held up", f"{status.waiting} held up"
    if not status.away:
        return waiting, waiting
    if not waiting:
        return "server away", "away"
    return f"server away · {waiting}", f"away · {status.waiting}"


def _cost_words(status: Status) -> tuple[str, str]:
    """The cost in full and short; nothing before anything was used."""
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
    """What memory costs, in full and short; nothing where it costs nothing."""
    cost = status.background_usd
    if cost is None:
        return "memory: price unknown", "memory $?"
    if not cost:
        return "", ""
    words = f"${cost:.{2 if cost >= 0.1 else 4}f}" if cost >= 0.00005 else "<$0.0001"
    return f"memory {words}", f"+{words}"


def _some(number: int, noun: str) -> str:
    return f"{number} {noun}" if number else ""


def number_words(number: int) -> str:
    """`950`, `12.4k`, `1.05M`."""
    if number < 1000:
        return str(number)
    if number < 999_950:
        return f"{number / 1000:.1f}".removesuffix(".0") + "k"
    return f"{number / 1_000_000:.2f}".rstrip("0").removesuffix(".") + "M"
