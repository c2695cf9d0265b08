"""What a program must pass before it is stored: it assembles, its loops end, its examples pass."""

from collections.abc import Iterable

from ragforge.workflow.check import SpuProgram, assemble, next_places, reached
from ragforge.workflow.machine import CALLED_BY_MACHINE, built_operations
from ragforge.workflow.program_text import name_of


def faults_of_program(code: str) -> list[str]:
    """Return what is wrong with the text of a program, a line each; empty if it can run and ends."""
    if not code.strip():
        return ["The text is empty."]
    assembly = assemble(code.encode("utf-8", "replace"), built=built_operations())
    if assembly.program is None:
        return [str(fault) for fault in assembly.faults]
    faults = [] if name_of(code) else ["It has no .program NAME, which gives it its name."]
    return [*faults, *_endless(assembly.program)]


def _endless(program: SpuProgram) -> list[str]:
    """Return the loops that nothing leaves: no condition, no count, no wait for the user."""
    called = [program.labels[name] for name in CALLED_BY_MACHINE if name in program.labels]
    seen = reached(program, [0, *called])
    faults: list[str] = []
    for circle in _circles(program, seen):
        if not _ends(program, circle):
            first = program.code[min(circle)]
            faults.append(
                f"line {first.at.line}: this loop never ends: nothing in it jumps out on a condition, counts "
                "or waits for input."
            )
    return faults


def _ends(program: SpuProgram, circle: set[int]) -> bool:
    for at in circle:
        name = program.code[at].operation
        leaves = any(place not in circle for place in next_places(program, at))
        if name == "WAIT_INPUT" or at in program.closings.values():
            return True
        if name in ("JE", "JNE") and leaves:
            return True
    return False


def _circles(program: SpuProgram, places: Iterable[int]) -> list[set[int]]:
    """Return the strongly connected parts of the code that form cycles (Kosaraju's algorithm)."""
    forward = {at: [to for to in next_places(program, at) if to < len(program.code)] for at in places}
    back: dict[int, list[int]] = {at: [] for at in forward}
    for at, following in forward.items():
        for to in following:
            back[to].append(at)
    order: list[int] = []
    seen: set[int] = set()
    for start in forward:
        _visit(start, forward, seen, order)
    circles: list[set[int]] = []
    seen.clear()
    for start in reversed(order):
        if start not in seen:
            part: list[int] = []
            _visit(start, back, seen, part)
            if len(part) > 1 or start in forward[start]:
                circles.append(set(part))
    return circles


def _visit(start: int, edges: dict[int, list[int]], seen: set[int], order: list[int]) -> None:
    """Append what can be reached from the start and was not visited, each after all its successors."""
    if start in seen:
        return
    seen.add(start)
    waiting = [(start, iter(edges[start]))]
    while waiting:
        at, following = waiting[-1]
        for to in following:
            if to not in seen:
                seen.add(to)
                waiting.append((to, iter(edges[to])))
                break
        else:
            waiting.pop()
            order.append(at)
