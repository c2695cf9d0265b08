"""`ragforge doctor`: independent checks, so that one failure prevents none of the others."""

import os
import platform
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterator
from enum import StrEnum
from inspect import isawaitable
from time import monotonic
from typing import TYPE_CHECKING

import msgspec
import typer
from msgspec import Struct

from ragforge import __version__
from ragforge.cli.edge import FAILED
from ragforge.cli.library import this_machine
from ragforge.cli.options import Options, run_async
from ragforge.cli.output import json_line, printable
from ragforge.domain.errors import RagforgeError
from ragforge.domain.urls import listens_words

if TYPE_CHECKING:
    from ragforge.commands.doctor import DoctorArguments
    from ragforge.session.machine import Machine

FREE_MB_MIN = 500
LATENCY_MS_MAX = 200.0
OPENING_S_MAX = 2.0


class Grade(StrEnum):
    """The result of a check."""

    OK = "ok"
    NOTE = "note"
    """It works, and could be better."""
    WRONG = "wrong"


class Diagnosis(Struct, frozen=True):
    """What a check found, and what to do."""

    about: str
    grade: Grade
    found: str
    todo: str = ""


def _run(options: Options, args: "DoctorArguments") -> int:
    found = run_async(lambda: _findings(options), asks=False)
    if args.json:
        typer.echo(json_line(msgspec.to_builtins(found)))
    else:
        for each in found:
            typer.echo(printable(f"{each.grade:<6} {each.about:<10} {each.found}"))
            if each.todo:
                typer.echo(printable(f"       {'':<10} {each.todo}"))
    return FAILED if any(each.grade is Grade.WRONG for each in found) else 0


async def _findings(options: Options) -> list[Diagnosis]:
    found: list[Diagnosis] = []
    checks: list[tuple[str, Callable[[], Iterator[Diagnosis] | Awaitable[list[Diagnosis]]]]] = [
        ("versions", _versions),
        ("settings", lambda: _settings(options)),
        ("store", lambda: _store(options)),
        ("model", lambda: _model(options)),
        ("foresight", lambda: _foresight(options)),
        ("terminal", _terminal),
        ("disk", lambda: _disk(options)),
    ]
    for about, check in checks:
        try:
            made = check()
            found += await made if isawaitable(made) else made
        except (RagforgeError, OSError) as error:
            said = next((each.about for each in found if each.found == str(error)), None)
            words = f"Not looked at, for the same reason as {said}." if said else str(error)
            found.append(Diagnosis(about, Grade.WRONG, words))
    return found


def _versions() -> Iterator[Diagnosis]:
    import apsw

    words = (
        f"ragforge {__version__}, Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}, "
        f"{platform.system()} {platform.machine()}"
    )
    yield Diagnosis("versions", Grade.OK, words)
    if not shutil.which("git"):
        todo = (
            "Install git. Without it, ragforge knows a project by its folder, and /review covers turns only."
        )
        yield Diagnosis("versions", Grade.NOTE, "git is not installed.", todo)


def _settings(options: Options) -> Iterator[Diagnosis]:
    loaded = this_machine(options).loaded
    yield Diagnosis("settings", Grade.OK, f"from {loaded.origin()}")
    for notice in filter(None, (*loaded.notices, listens_words(loaded.settings.metrics.listen))):
        yield Diagnosis("settings", Grade.NOTE, notice)


async def _store(options: Options) -> list[Diagnosis]:
    from ragforge.session.databases import opened
    from ragforge.session.servers import counts_words

    machine, began_s = this_machine(options), monotonic()
    is_named = str(machine.loaded.sources.get("store", "default")) != "default"
    if not is_named and _never_started(machine):
        words = f"not created yet; the first start creates it in {machine.data_dir}"
        return [Diagnosis("store", Grade.NOTE, words)]
    async with opened(machine, machine.url, tell=lambda _: None) as database:
        opened_s = monotonic() - began_s
        link, status = database.link, await database.status()
    answers = f"answers in {status.latency_ms:.1f} ms"
    words = f"{status.kind} at {status.place}: {counts_words(status.counts)}; {answers}"
    found = [Diagnosis("store", Grade.OK, words)]
    if status.latency_ms > LATENCY_MS_MAX or opened_s > OPENING_S_MAX:
        slow = f"Opening it took {opened_s:.1f} s."
        found.append(Diagnosis("store", Grade.NOTE, slow, "A slow disk or network delays each message."))
    if link.away:
        todo = "Everything is saved on this machine and sent later. See `ragforge db status`."
        found.append(Diagnosis("store", Grade.NOTE, f"The server cannot be reached: {link.away}", todo))
    return found


def _never_started(machine: "Machine") -> bool:
    """Whether the store's file is missing, and nothing beside it shows that there was one."""
    from ragforge.store.files import StoreFile
    from ragforge.store.survey import conversations_row, refuse_lost

    row = conversations_row(machine.url)
    if not isinstance(row, StoreFile) or row.path.exists() or row.path.is_symlink():
        return False
    refuse_lost(machine.data_dir, machine.url)
    return True


async def _model(options: Options) -> list[Diagnosis]:
    import asyncio

    from ragforge.config.secrets import find_key, key_variables
    from ragforge.providers.registry import parse_model

    machine = this_machine(options)
    chosen = machine.settings.model or await _last_model(machine)
    if not chosen:
        todo = "Start ragforge and use /model, or set GEMINI_API_KEY."
        return [Diagnosis("model", Grade.NOTE, "No model is chosen.", todo)]
    name = parse_model(chosen, endpoints=machine.settings.endpoints)
    endpoints = machine.settings.endpoints
    variables = key_variables(name.provider, endpoints)
    key = await asyncio.to_thread(find_key, name.provider, os.environ, endpoints=endpoints)
    if key:
        return [Diagnosis("model", Grade.OK, f"{chosen}, with the key from {key.source}")]
    if not variables:
        return [Diagnosis("model", Grade.OK, f"{chosen}, no key needed")]
    todo = f"Set {variables[0]}, or paste the key in the interface after /model."
    return [Diagnosis("model", Grade.WRONG, f"{chosen} needs a key, and none is set.", todo)]


async def _foresight(options: Options) -> list[Diagnosis]:
    from ragforge.store.local.state import open_local_state
    from ragforge.store.local.values import ANSWERS_MAX, UNUSABLE_MAX

    machine = this_machine(options)
    if not machine.settings.foresight.enabled:
        return [Diagnosis("foresight", Grade.OK, "off (foresight.enabled)")]
    local = await open_local_state(machine.data_dir)
    try:
        unusable = await local.chosen.unusable_answers()
    finally:
        await local.close()
    todo = "Set memory.model to a model that follows a JSON schema, or set foresight.enabled = false."
    words = (
        "{2} of the last {0} structured answers of {1} were unusable, so foresight is paused for this model."
    )
    bad = {model: count for model, count in sorted(unusable.items()) if count > UNUSABLE_MAX}
    if not bad:
        return [Diagnosis("foresight", Grade.OK, "on, by the model that summarises turns")]
    return [
        Diagnosis("foresight", Grade.NOTE, words.format(ANSWERS_MAX, model, count), todo)
        for model, count in bad.items()
    ]


async def _last_model(machine: "Machine") -> str:
    from ragforge.store.local.state import open_local_state

    local = await open_local_state(machine.data_dir)
    try:
        return await local.chosen.last_model()
    finally:
        await local.close()


def _terminal() -> Iterator[Diagnosis]:
    if not sys.stdout.isatty():
        yield Diagnosis("terminal", Grade.NOTE, "Standard output is not a terminal; the interface needs one.")
        return
    size = shutil.get_terminal_size()
    colours = os.environ.get("COLORTERM") or "no COLORTERM"
    yield Diagnosis(
        "terminal",
        Grade.OK,
        f"{os.environ.get('TERM') or 'TERM is unset'}, {colours}, {size.columns}x{size.lines}",
    )
    if (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        todo = "Set LANG to a locale that ends in .UTF-8."
        yield Diagnosis("terminal", Grade.NOTE, f"The encoding is {sys.stdout.encoding}, not UTF-8.", todo)
    if "TMUX" in os.environ and os.environ.get("TERM", "").startswith("xterm"):
        todo = 'In ~/.tmux.conf: set -g default-terminal "tmux-256color".'
        yield Diagnosis(
            "terminal", Grade.NOTE, "tmux reports itself as xterm, so keys and colours may be wrong.", todo
        )


def _disk(options: Options) -> Iterator[Diagnosis]:
    folder = this_machine(options).data_dir
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free_mb = shutil.disk_usage(existing).free // 1_000_000
    grade = Grade.OK if free_mb >= FREE_MB_MIN else Grade.WRONG
    todo = "" if grade is Grade.OK else "Free some space, or new messages may not be saved."
    yield Diagnosis("disk", grade, f"{free_mb:,} MB free for {folder}", todo)
    if not os.access(existing, os.W_OK):
        yield Diagnosis("disk", Grade.WRONG, f"{existing} is not writable.", "Change its owner or mode.")


RUNS = {"doctor": _run}
