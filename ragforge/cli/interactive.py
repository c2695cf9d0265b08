"""Start the interface, and print what stays in the terminal when it ends."""

import asyncio
import importlib
import os
import signal
import sys
from typing import NoReturn

from msgspec import Struct
from msgspec.structs import replace

from ragforge.cli.edge import FAILED, as_called, drop_output, tell
from ragforge.cli.options import Options, is_line_mode
from ragforge.cli.output import answer_text
from ragforge.config.paths import FOLDER_VARIABLES, project_file, user_file
from ragforge.config.project import find_project
from ragforge.domain import timeouts
from ragforge.domain.approvals import Mode
from ragforge.domain.errors import UsageError
from ragforge.session.logs import start_log
from ragforge.tui.first_prompt import prompt as first_prompt
from ragforge.tui.first_prompt.answers import from_colorfgbg
from ragforge.tui.first_prompt.prompt import FirstPrompt
from ragforge.tui.launch import Known, Leaving, NotOpened, OpenedChat

STOP_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def run_interface(options: Options) -> int:
    """Run the interface and return the exit code. Raises UsageError before the screen is touched."""
    options.check(headless=False)
    if is_line_mode(options, os.environ):
        return _run_line_mode(options)
    if not (sys.stdout.isatty() and sys.stderr.isatty()):  # Textual draws on standard error
        raise UsageError('The interface needs a terminal. Without one, use: ragforge -p "PROMPT"')
    first = first_prompt.begin(os.environ)
    start_log(os.environ)
    look = look_of(options)
    if first:
        first.show_theme(look.theme)
    asked_to_go = first.asked_to_go if first else _noted_signals()
    from ragforge.tui.app import RagforgeApp  # keys are echoed meanwhile

    if asked_to_go:
        return 128 + asked_to_go[0]

    async def open_session(*, embedded: bool = False) -> OpenedChat | NotOpened:
        if asked_to_go:
            signal.raise_signal(asked_to_go[0])  # now the app handles it
        # Most of the program is loaded here: in a thread, so that keys are drawn meanwhile.
        opening = await asyncio.to_thread(importlib.import_module, "ragforge.cli.start")
        return await opening.open_for_interface(options, embedded=embedded)

    app = RagforgeApp(
        open_session,
        theme_setting=look.theme,
        terminal_is_dark=_is_dark(first),
        first=first,
        known=look.known,
    )
    left = app.run(mouse=look.mouse) or Leaving(exit_code=app.return_code or 0)
    first_prompt.leave()  # the app may have failed before it took the terminal
    code = left.exit_code or (FAILED if left.failure else 0)
    try:
        _say_goodbye(left)
        sys.stdout.flush()
    except OSError:
        drop_output()  # the terminal is gone; what was said is stored
    if left.incognito_next:
        _begin_incognito(options)
    return code


def _run_line_mode(options: Options) -> int:
    from ragforge.cli.lines.mode import run_line_mode  # most terminals draw screens

    start_log(os.environ)
    code, incognito_next = run_line_mode(options)
    if incognito_next:
        _begin_incognito(options)
    return code


def _noted_signals() -> list[int]:
    """Collect signals until the app handles them. An exception might be swallowed, as in `__del__`."""
    asked_to_go: list[int] = []
    for number in STOP_SIGNALS:
        signal.signal(number, lambda number, _: asked_to_go.append(number))
    return asked_to_go


def _is_dark(first: FirstPrompt | None) -> bool | None:
    """Return what is known of the terminal's background."""
    if first is None:
        return from_colorfgbg(os.environ.get("COLORFGBG", ""))
    return first.is_dark(timeout_s=timeouts.TERMINAL_ANSWER_S_MAX)


def _say_goodbye(left: Leaving) -> None:
    """Print what stays on the terminal after the interface."""
    if left.said:
        print(answer_text(left.said))  # noqa: T201 - the command line's own output
    if left.draft:
        first_prompt.say_not_sent(left.draft)
    if left.resume_command:
        # On a line of its own: the path may be long, and a line that breaks copies badly.
        print(f"\nResume this session with:\n{as_called(left.resume_command)}")  # noqa: T201
    if left.waits:
        tell(left.waits)
    if left.failure:
        tell(left.failure)


def _begin_incognito(options: Options) -> NoReturn:
    """Restart as a run without traces. Nothing of this one is in its memory."""
    given = [f"--model={options.model}"] if options.model else []
    given += [
        name
        for name, is_set in (
            ("--no-memory", options.no_memory),
            ("--yolo", options.yolo),
            ("--plain", options.plain),
            ("--trust-project", options.trust_project),
        )
        if is_set
    ]
    given += [f"--allow={rule}" for rule in options.allow]
    price = options.flags.get("turn.price_usd_max")
    given += [f"--max-price={price}"] if price is not None else []
    sys.stdout.flush()
    # -P: else Python would import modules of the project's folder.
    os.execv(sys.executable, [sys.executable, "-P", "-m", "ragforge", "--incognito", *given])


class Look(Struct, frozen=True):
    """What must be known before the first frame: two settings, and the contents of the status line until the
    session is open."""

    known: Known
    theme: str = "auto"
    mouse: bool = True


def look_of(options: Options) -> Look:
    """Return how the interface looks here. Raises UsageError for an invalid setting, of any kind."""
    place = find_project(options.cwd, identify=False)
    known = Known(
        str(place.cwd),
        place.branch,
        "" if options.continues else options.model or "",
        Mode.ALL if options.yolo else Mode.ASK,
    )
    said = any(name.startswith("RAGFORGE_") and name not in FOLDER_VARIABLES for name in os.environ)
    written = user_file(os.environ).exists() or project_file(place.root).exists()
    if not (said or written or any(value is not None for value in options.flags.values())):
        return Look(known)  # a first start; loading the settings takes a tenth of it
    from ragforge.config.settings import load_settings

    settings = load_settings(
        cwd=place.cwd, flags=options.flags, environ=os.environ, project_root=place.root
    ).settings
    if not options.continues:
        known = replace(known, model=options.model or settings.model or "")
    if not options.yolo:
        known = replace(known, mode=Mode(settings.mode))
    return Look(known, settings.theme, settings.mouse)
