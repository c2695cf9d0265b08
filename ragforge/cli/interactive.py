"""Starting the interface, and what stays in the terminal when it ends."""

import asyncio
import importlib
import os
import sys
import threading

from ragforge.cli.options import Options
from ragforge.domain.errors import RagforgeError
from ragforge.tui.background import Background, ask_background


def run_interface(options: Options) -> int:
    """Run the interface to its exit code."""
    try:
        options.check()
    except RagforgeError as error:
        return _failed(str(error), error.exit_code)
    if not sys.stdout.isatty():
        return _failed("The interface needs a terminal. Without one, give a prompt: ragforge -p ...", 2)
    background = Background(None)

    def ask() -> None:
        nonlocal background
        background = ask_background(os.environ)

    asking = threading.Thread(target=ask)
    asking.start()  # the terminal answers while Textual is imported
    from ragforge.tui.app import RagforgeApp
    from ragforge.tui.opening import Leaving, Opened

    asking.join()

    async def open_session() -> Opened:
        # Most of the program is loaded here: in a thread, so that keys are drawn meanwhile.
        opening = await asyncio.to_thread(importlib.import_module, "ragforge.cli.opening")
        return await opening.open_for_interface(options)

    app = RagforgeApp(
        open_session,
        theme_setting=_theme(options),
        terminal_is_dark=background.is_dark,
        typed_before=background.typed.decode("utf-8", "ignore"),
    )
    left = app.run(mouse=True) or Leaving(exit_code=app.return_code or 0)
    return _leave(left)


def _leave(left: object) -> int:
    from ragforge.tui.opening import Leaving

    if not isinstance(left, Leaving):
        return 1
    if left.last_answer:
        print(left.last_answer)  # noqa: T201 - the command line's own output
    if left.draft:
        print(f"Not sent:\n{left.draft}")  # noqa: T201
    if left.resume_command:
        print(f"\nResume this session with: {left.resume_command}")  # noqa: T201
    if left.failure:
        return _failed(left.failure, left.exit_code or 1)
    return left.exit_code


def _failed(text: str, code: int) -> int:
    print(f"ragforge: {text}", file=sys.stderr)  # noqa: T201
    return code


def _theme(options: Options) -> str:
    return "auto"
