"""Kills at any system call: of turns, programs, undo and redo, and of restores with the recoveries that
follow."""

import asyncio
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.faults.children import Children, Ended
from tests.faults.programs import ProgramGround, model_environ
from tests.faults.shim import Action, Fault
from tests.faults.trials import Ground
from tests.restoring import Tree, open_place, read_tree, wanted_between, write_tree, write_wanted
from tests.soak.sums import Sums

PROGRAMS = "kills of programs"
TURNS_A_GROUND = 30
"""To look at a project costs more with each turn."""
INSIDE_SHARE = 0.8
"""So many kills of moves are aimed behind their first step."""
STEPS = ("rename", "unlink", "rmdir", "mkdir")
"""Calls by which a restore changes what lies there."""

Enough = Callable[[], bool]


def kill(folder: Path, nth: int, chance: random.Random) -> Fault:
    """Before the n-th call or after it."""
    return Fault(str(folder), nth, chance.choice((Action.KILL_BEFORE, Action.KILL_AFTER)))


def first_step(calls: Sequence[str]) -> int:
    """The number of the first call that changes a file of the project, not a temporary one; 0 for none."""
    for number, call in enumerate(calls, start=1):
        what, _, path = call.partition(" ")
        is_step = what in STEPS and path.startswith("/project/")
        if is_step and not path.endswith(".ragforge-tmp"):
            return number
    return 0


def was_inside(ended: Sequence[str]) -> bool:
    """Whether a child that was killed had taken its first step, or was about to."""
    return first_step(ended) > 0


def aimed(calls: Sequence[str], chance: random.Random) -> int:
    """A call to be killed at, more often behind the first step."""
    start = first_step(calls) if chance.random() < INSIDE_SHARE else 1
    return chance.randint(max(1, start), len(calls))


def kill_turns(children: Children, base: Path, sums: Sums, chance: random.Random, enough: Enough) -> None:
    ground, count = None, 0
    while not enough():
        if ground is None or ground.number >= TURNS_A_GROUND:
            ground = Ground(children, base / f"turns{count}").begin()
            calls = ground.turn(Fault(str(ground.folder))).calls
            count += 1
        verdict = ground.turn(kill(ground.folder, chance.randint(1, len(calls)), chance))
        if not verdict.met:
            continue
        sums.tally("kills of turns").add(wrong=bool(verdict.wrong))
        if verdict.wrong:
            sums.tell_lost(f"a turn killed at {verdict.calls[-1]}", verdict.wrong)
            ground = None
        sums.save()


def kill_moves(children: Children, base: Path, sums: Sums, chance: random.Random, enough: Enough) -> None:
    ground, count = None, 0
    while not enough():
        if ground is None:
            ground = Ground(children, base / f"moves{count}").begin()
            ends = ground.ends()
            calls = ground.move(Fault(str(ground.folder)), ends).calls
            count += 1
        verdict = ground.move(kill(ground.folder, aimed(calls, chance), chance), ends)
        if verdict.met:
            inside = was_inside(verdict.calls)
            sums.tally("kills of undo and redo").add(wrong=bool(verdict.wrong), inside=inside)
            if verdict.wrong:
                sums.tell_lost(f"a move killed at {verdict.calls[-1]}", verdict.wrong)
                ground = None
            sums.save()


def kill_programs(children: Children, base: Path, sums: Sums, enough: Enough) -> None:
    """Go on where the last run ended: before and after each call in turn."""
    with model_environ() as env:
        ground = ProgramGround(children, base / "programs", env).begin()
        while not enough():
            nth = sums.places[PROGRAMS] // 2 + 1
            action = (Action.KILL_BEFORE, Action.KILL_AFTER)[sums.places[PROGRAMS] % 2]
            verdict = ground.kill(Fault(str(ground.folder), nth, action))
            if not verdict.met:
                sums.places[PROGRAMS] = 0  # all were tried: from the first on again
                continue
            sums.places[PROGRAMS] += 1
            sums.tally(PROGRAMS).add(wrong=bool(verdict.wrong))
            if verdict.wrong:
                sums.tell_lost(f"a program killed at {verdict.calls[-1]}", verdict.wrong)
            sums.save()


def kill_restores(
    children: Children,
    folder: Path,
    sums: Sums,
    chance: random.Random,
    enough: Enough,
    before: Tree,
    after: Tree,
) -> None:
    """Restores back and forth between two states, killed, and their recoveries killed as well."""
    folder.mkdir()
    write_tree(folder / "project", before)
    asyncio.run(keep_contents(folder, before, after))
    states, at = (before, after), 0
    calls = {0: list[str](), 1: list[str]()}
    while not enough():
        write_wanted(folder, wanted_between(states[at], states[1 - at]))
        if not calls[at]:
            calls[at] = children.run("restore", folder, Fault(str(folder)), what="apply").calls
            at = 1 - at
            continue
        ended = children.run("restore", folder, kill(folder, aimed(calls[at], chance), chance), what="apply")
        if not ended.was_killed:
            assert not ended.error, ended.error
            at = 1 - at
            continue
        kills = [was_inside(ended.calls)]
        wrong, recovered = recover_killed(children, folder, kills, chance)
        found = read_tree(folder / "project")
        if found not in states:
            wrong.append(f"neither as before nor as after: {found}")
        elif recovered == "finished" and found != states[1 - at]:
            wrong.append("said to be finished, and is not")
        for inside in kills:
            sums.tally("kills of restores").add(wrong=bool(wrong), inside=inside)
        if wrong:
            sums.tell_lost(f"a restore killed at {ended.calls[-1]}", wrong)
            return
        at = states.index(found)
        sums.save()


def recover_killed(
    children: Children, folder: Path, kills: list[bool], chance: random.Random
) -> tuple[list[str], str]:
    """Recover, killed on the way as often as chance wants; what is wrong, and how it ended."""
    while True:
        fault = kill(folder, chance.randint(1, 40), chance) if chance.random() < 0.6 else None
        ended: Ended = children.run("restore", folder, fault, what="recover")
        if not ended.was_killed:
            break
        # What was begun before is gone on with: it is behind the first step if that was, or if this is.
        kills.append(kills[-1] or was_inside(ended.calls))
    if ended.error or "raised" in (ended.result or {}):
        return [f"the recovery failed: {ended.error or ended.result}"], ""
    again = children.run("restore", folder, what="recover").result
    wrong = [] if again == {"finished": None} else [f"the recovery is not done with: {again}"]
    return wrong, "finished" if ended.result["finished"] else ""


async def keep_contents(folder: Path, *trees: Tree) -> None:
    place = await open_place(folder)
    await place.keep(*trees)
    await place.close()
