"""What a long session costs: 500 turns, each with a tool result of 20 KB, with the stand-in model server.

What is sent to the model is counted as the stand-in receives it; what was at the beginning of the previous
request counts as cached. It is compared, by the same counting, with a client that sends its whole history and
with one that lets a model summarise it when 85 % of the window is full. The answers about turns, with their
predictions, use the room that they have, and are counted as they are.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the stand-in is part of the tests

from ragforge.domain.approvals import Mode
from ragforge.domain.foresight import FILES_MAX, MESSAGE_CHARS_MAX, MESSAGES_MAX, TEXT_CHARS_MAX
from ragforge.domain.messages import TextPart
from ragforge.domain.usage import Price, Usage, cost_usd
from ragforge.memory.context import text_tokens
from ragforge.memory.material import FINDING_CHARS_MAX, FINDINGS_MAX, SUMMARY_CHARS_MAX
from ragforge.providers.prices import price_of
from ragforge.session.open import close_session, close_workspace, new_session, open_workspace
from ragforge.session.turn import submit
from tests.flow.beside import an_answer
from tests.flow.running import User, environ
from tests.standins.gemini import Call, Calls, GeminiStandIn, JsonText, Recorded, Text

TURNS = 500
RESULT_BYTES = 20_000
DAY = datetime(2026, 11, 21, tzinfo=UTC)
EARLY, LATE = (0.1, 0.2), (0.9, 1.0)
"""The turns that are compared, as shares of the session: 50 to 100 and 450 to 500 of 500."""
WINDOW = 1_048_576
FULL = 0.85
SUMMARY_TOKENS = 4_000
"""The length of a conversation after another client lets a model summarise it."""
GRAPH = Path(__file__).parents[1] / "docs" / "images" / "cost.svg"


@dataclass(slots=True)
class Spent:
    """The usage of one turn."""

    tokens: int = 0
    cached: int = 0
    cost: float = 0.0
    background: float = 0.0

    @property
    def whole(self) -> float:
        return self.cost + self.background


@dataclass(slots=True)
class Meter:
    """Counts requests as a service with a prompt cache would."""

    price: Price
    spent: list[Spent] = field(default_factory=list)
    _before: list[str] = field(default_factory=list)

    def count(self, pieces: Sequence[str], output: int) -> None:
        """Count one request of these pieces, in order."""
        same = 0
        for one, other in zip(pieces, self._before, strict=False):
            if one != other:
                break
            same += 1
        sizes = [text_tokens(piece) for piece in pieces]
        usage = Usage(sum(sizes), sum(sizes[:same]), output)
        turn = self.spent[-1]
        turn.tokens += usage.input_tokens
        turn.cached += usage.cached_tokens
        turn.cost += cost_usd(usage, self.price) or 0.0
        self._before = list(pieces)


def _price(model: str) -> Price:
    price = price_of(model, DAY)
    assert price is not None
    return price


def _pieces(body: dict) -> list[str]:
    head = json.dumps([body.get("systemInstruction"), body.get("tools")])
    return [head, *(json.dumps(content) for content in body["contents"])]


def _answer(number: int) -> str:
    return f"Step {number} is done: the parser now reads part {number}. " + "It was tested and it works. " * 8


async def ours(turns: int) -> Meter:
    """Run the program itself, with its background work counted separately."""
    meter = Meter(_price("gemini-3.8-flash"))
    cheap = _price("gemini-3.5-flash-lite")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "project").mkdir()
        async with GeminiStandIn() as server:

            def asked(request: Recorded) -> None:
                """Count it, and release it: all requests of the session are a gigabyte."""
                meter.count(_pieces(request.body), 80)
                server.requests.clear()

            def understood(request: Recorded) -> object:
                answer = _filled(request.schema or {}, len(meter.spent))
                usage = Usage(text_tokens("".join(_pieces(request.body))), 0, text_tokens(json.dumps(answer)))
                meter.spent[-1].background += cost_usd(usage, cheap) or 0.0
                server.requests.clear()
                return JsonText(answer)

            server.always_structured(understood)
            workspace = await open_workspace(
                cwd=folder / "project", flags={}, environ=environ(folder, server)
            )
            session = await new_session(workspace)
            session.live.consent.mode = Mode.ALL
            for number in range(turns):
                meter.spent.append(Spent())
                _write(folder / "project" / "part.txt", number)

                def reads(request: Recorded) -> object:
                    asked(request)
                    return Calls(Call("read", {"path": "part.txt"}))

                def answers(request: Recorded, number: int = number) -> object:
                    asked(request)
                    return Text(_answer(number))

                server.script(reads, answers)
                async for _ in submit(session, (TextPart(_words(number)),), User().approve):
                    pass
                await workspace.background.finish(timeout_s=30)
            await close_session(session)
            await close_workspace(workspace)
    return meter


def _filled(schema: dict, number: int) -> dict:
    """Return an answer about turns or summaries that uses all its room."""
    words = f"The parser reads part {number} now; it was tested and works. "
    answer = an_answer(schema, _long(words, SUMMARY_CHARS_MAX))
    for each in answer.get("turns", [answer]):
        each["findings"] = [_long(words, FINDING_CHARS_MAX)] * FINDINGS_MAX
        each["topics"] = ["parser", "tests"]
    for each in answer.get("turns", ()) if '"foresight"' in json.dumps(schema) else ():
        said = _long(words, TEXT_CHARS_MAX)
        each["foresight"] = {
            "individual_before_description": said,
            "collective_before_description": said,
            "predictability_individual": 7,
            "predictability_collective": 7,
            "collective_after_prediction": said,
            "individual_after_prediction": said,
            "next_messages": [_long(_words(at), MESSAGE_CHARS_MAX) for at in range(MESSAGES_MAX)],
            "files_foreseen": [f"src/parser/part_{at}.py" for at in range(FILES_MAX)],
        }
    return answer


def _long(words: str, chars: int) -> str:
    return (words * (chars // len(words) + 1))[:chars]


def _words(number: int) -> str:
    return f"Please do step {number}: read part.txt and make the parser understand part {number}."


def _write(path: Path, number: int) -> None:
    line = f"part {number}: a line of the input that the parser shall read\n"
    path.write_text(line * (RESULT_BYTES // len(line)))


def others(turns: int, *, compacts: bool) -> Meter:
    """Simulate a client that sends its whole history, or has a model summarise it when the window is full."""
    meter = Meter(_price("gemini-3.8-flash"))
    head, history = "s" * 12_000, list[str]()
    for number in range(turns):
        meter.spent.append(Spent())
        result = f"part {number} " * (RESULT_BYTES // 10)
        history.append(_words(number))
        meter.count([head, *history], 80)
        history += ["call", result]
        meter.count([head, *history], 80)
        history.append(_answer(number))
        if compacts and sum(map(text_tokens, history)) > FULL * WINDOW:
            meter.count([head, *history, "Summarise."], SUMMARY_TOKENS)
            history = ["s" * SUMMARY_TOKENS * 3]
    return meter


def _mean(meter: Meter, part: tuple[float, float], value: str) -> float:
    count = len(meter.spent)
    chosen = meter.spent[int(count * part[0]) : int(count * part[1])]
    return sum(getattr(spent, value) for spent in chosen) / len(chosen)


def _draw(meters: dict[str, Meter]) -> str:
    """Return a picture of the cumulative cost of each turn."""
    width, height, left, top = 720, 400, 70, 40
    colours = ("#1a7f5a", "#c2452d", "#3b6fb6")
    sums = {name: _summed(meter) for name, meter in meters.items()}
    highest = max(values[-1] for values in sums.values())
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + 60}" '
        'font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="white"/>',
        f'<text x="{left}" y="22">Dollars spent so far, turn by turn; 20 KB of tool results in each</text>',
        f'<path d="M{left} {top}V{height}H{width - 20}" fill="none" stroke="#888"/>',
        f'<text x="{left - 8}" y="{top + 5}" text-anchor="end">${highest:.0f}</text>',
        f'<text x="{left - 8}" y="{height}" text-anchor="end">$0</text>',
    ]
    for place, (name, values) in enumerate(sums.items()):
        step = (width - 20 - left) / max(1, len(values) - 1)
        points = " ".join(
            f"{left + at * step:.1f},{height - (height - top) * value / highest:.1f}"
            for at, value in enumerate(values)
        )
        colour = colours[place]
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        lines.append(
            f'<text x="{left + 10 + place * 225}" y="{height + 40}" fill="{colour}">{name}: '
            f"${values[-1]:.2f}</text>"
        )
    lines.append(
        f'<text x="{width - 20}" y="{height + 18}" text-anchor="end">turn {len(values)}</text></svg>'
    )
    return "\n".join(lines) + "\n"


def _summed(meter: Meter) -> list[float]:
    sums, total = list[float](), 0.0
    for spent in meter.spent:
        total += spent.whole
        sums.append(total)
    return sums


def main() -> None:
    """Print the table; with the full number of turns, also draw it."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else TURNS
    meters = {
        "ragforge": asyncio.run(ours(turns)),
        "whole history": others(turns, compacts=False),
        "compacts at 85 %": others(turns, compacts=True),
    }
    early = f"turns {int(turns * EARLY[0])}-{int(turns * EARLY[1])}"
    late = f"turns {int(turns * LATE[0])}-{turns}"
    print(
        f"{'':<18} {'all $':>9} {'memory $':>9} {early + ' $':>18} {late + ' $':>18} "
        f"{'ratio':>6} {'tokens':>12} {'cached':>7}"
    )
    for name, meter in meters.items():
        first, last = _mean(meter, EARLY, "whole"), _mean(meter, LATE, "whole")
        tokens = sum(spent.tokens for spent in meter.spent)
        cached = sum(spent.cached for spent in meter.spent)
        print(
            f"{name:<18} {sum(spent.whole for spent in meter.spent):9.3f} "
            f"{sum(spent.background for spent in meter.spent):9.3f} {first:18.5f} {last:18.5f} "
            f"{last / first:6.2f} {tokens:12,} {cached / tokens:7.0%}"
        )
    if turns == TURNS:
        GRAPH.write_text(_draw(meters))
        print(f"drawn: {GRAPH.name}")


if __name__ == "__main__":
    main()
