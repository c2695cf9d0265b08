"""`SELECT_BEST`: the best of several answers: those that assemble, then a model that judges, with reasons."""

from typing import TypeGuard

from ragforge.domain.errors import ModelError
from ragforge.workflow.gate import faults_of_program
from ragforge.workflow.model_tasks import ask_task
from ragforge.workflow.operation import (
    Fields,
    Operation,
    ProgramFault,
    ProgramHost,
    Value,
    as_list,
    is_error,
    is_object,
    plain,
    shown,
)
from ragforge.workflow.program_text import is_program


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    given = as_list(operands[0], "SELECT_BEST")
    if made := [each for each in given if _is_of_copy(each)]:
        return await _taken(host, made)
    faults: list[str] = []
    texts: list[str] = []
    answers = [shown(plain(each)) for each in given if each and not is_error(each)]
    faults += [each["error"] for each in given if is_error(each)]
    are_programs = any(map(is_program, answers))
    for text in answers:
        if are_programs and (wrong := faults_of_program(text)):
            faults.append("; ".join(wrong[:3]))
        else:
            texts.append(text)
    if not texts:
        raise ProgramFault(
            "No answer can be used: " + " | ".join(dict.fromkeys(faults) or ["there was no answer"])
        )
    return texts[0] if len(texts) == 1 else await _judged(host, texts)


def _is_of_copy(value: Value) -> TypeGuard[Fields]:
    """Whether it is what an agent made in a copy of the project."""
    return (
        is_object(value)
        and {"text", "failed", "version", "diff", "check"} <= value.keys()
        and isinstance(value["version"], str | None)
    )


async def _taken(host: ProgramHost, made: list[Fields]) -> Fields:
    """Return the best work of agents: those that passed the check, then the judge; use it for the project."""
    passed = [each for each in made if is_object(check := each["check"]) and check["passed"]]
    among = passed or [each for each in made if not each["failed"]] or made
    texts = [f"{each['text']}\n\n{each['diff']}" for each in among]
    best = among[0] if len(among) == 1 else among[texts.index(await _judged(host, texts, "judge_work"))]
    if best["version"]:
        await host.take_version(best["version"])
    return best


async def _judged(host: ProgramHost, texts: list[str], task: str = "judge_candidates") -> str:
    """Return the one that a model takes; the shortest if it cannot decide."""
    fields = {f"candidate {number}": text for number, text in enumerate(texts, 1)}
    try:
        verdict = await ask_task(host, "judge", task, fields)
    except ModelError:
        return min(texts, key=len)
    scores = verdict["scores"]
    for text, score in zip(texts, scores, strict=False):
        host.remember(text, score=score)
    best = verdict["best"]
    taken = texts[best - 1] if isinstance(best, int) and 1 <= best <= len(texts) else min(texts, key=len)
    host.remember(taken, reasons=verdict["reasons"])
    return taken


OPERATION = Operation("SELECT_BEST", _run, is_durable=True)
