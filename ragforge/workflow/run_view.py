"""A running program as shown: its lines, those that run now, and the cost of each call."""

from collections.abc import Iterable, Sequence

from ragforge.domain.printable import one_line
from ragforge.domain.programs import CallsOfLine, ProgramRow, ProgramView
from ragforge.domain.usage import sum_costs
from ragforge.domain.words import cost_words, counted
from ragforge.workflow.check import SpuProgram
from ragforge.workflow.runs import ProgramCall

LINE_CHARS = 70
_TOLD = frozenset({"LLM_EXEC", "AGENT_EXEC", "TOOL_EXEC", "CHECK"})
"""Slow operations: their start is shown in a line if there is no listing, and their end is marked if
there is one."""


class RunWatch:
    """The views of a run, one after another."""

    def __init__(self, program: SpuProgram) -> None:
        self._program = program
        self._rows = _rows(program)
        self._present: tuple[int, ...] = ()
        self._done = frozenset[int]()

    def view(
        self, places: tuple[int, ...] | None, calls: Sequence[ProgramCall], price_usd_max: float
    ) -> ProgramView:
        """Return the current view. places: of the running instructions; None: the same as before."""
        before, code = self._present, self._program.code
        self._present = before if places is None else places
        new = [code[at] for at in self._present if at not in before]
        over = [code[at] for at in before if at not in self._present]
        self._done |= {each.at.line for each in over if each.operation in _TOLD}
        told = (each for each in new if each.operation in _TOLD and each.at.line)
        begun = tuple(f"> line {each.at.line}: {cut_line(each)}" for each in told)
        cost = sum_costs(call.cost_usd for call in calls)
        limit = "" if cost is None else f" of ${price_usd_max:g}"
        total = f"{counted(len(calls), 'call')} · {cost_words(cost)}{limit}"
        present = frozenset(code[at].at.line for at in self._present)
        return ProgramView(self._program.name, self._rows, present, _by_line(calls), total, begun, self._done)


def _rows(program: SpuProgram) -> tuple[ProgramRow, ...]:
    """Return the program's own labels and operations, in order."""
    labels: dict[int, list[str]] = {}
    for name, at in program.labels.items():
        if name not in program.standard:
            labels.setdefault(at, []).append(name)
    rows: list[ProgramRow] = []
    for at, instruction in enumerate(program.code[: program.own_length]):
        rows += [ProgramRow(0, f"{name}:", is_label=True) for name in labels.get(at, [])]
        rows.append(ProgramRow(instruction.at.line, one_line(str(instruction)).strip()))
    return tuple(rows)


def _by_line(calls: Iterable[ProgramCall]) -> dict[int, CallsOfLine]:
    found: dict[int, list[ProgramCall]] = {}
    for call in calls:
        found.setdefault(call.line, []).append(call)
    return {
        line: CallsOfLine(
            len(each),
            each[-1].model,
            sum(call.seconds for call in each),
            sum_costs(call.cost_usd for call in each),
        )
        for line, each in found.items()
    }


def cut_line(value: object) -> str:
    """Return the value in one line, cut if it is long."""
    text = one_line(str(value)).strip()
    return text if len(text) <= LINE_CHARS else f"{text[:LINE_CHARS]} …"
