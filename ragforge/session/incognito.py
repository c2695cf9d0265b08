"""A run without traces: its folder is removed with it or, after a crash, at the next start."""

import asyncio
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Generator, MutableMapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ragforge.config.paths import data_dir
from ragforge.domain import timeouts
from ragforge.domain.errors import StoreError, UsageError
from ragforge.files.locks import open_lock, try_lock
from ragforge.session.logs import stop_log

log = logging.getLogger(__name__)

PREFIX = "ragforge-incognito-"
LOCK = "lock"


@contextmanager
def incognito(environ: MutableMapping[str, str]) -> Generator[None]:
    """For the duration, everything that this process stores goes to a private temporary folder.

    Settings and keys are the usual ones. Raises UsageError if no such folder can be created.
    """
    ordinary = environ.get("RAGFORGE_DATA_DIR")
    model = _last_model(data_dir(environ))
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.geteuid()}-"))  # made with mode 0700
        lock = open_lock(folder / LOCK)
        try_lock(lock)
    except OSError as error:
        raise UsageError(
            f"Cannot make a folder for --incognito in {tempfile.gettempdir()}: {error.strerror}. "
            "Free some space there, or choose another folder with TMPDIR."
        ) from error
    environ["RAGFORGE_DATA_DIR"] = str(folder)
    try:
        _set_last_model(folder, model)
        yield
    finally:
        stop_log()  # any further log line would create the folder again
        if ordinary is None:
            del environ["RAGFORGE_DATA_DIR"]
        else:
            environ["RAGFORGE_DATA_DIR"] = ordinary
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def remove_left_behind() -> None:
    """Remove the folders of killed runs. Those of running ones are locked."""
    ours = f"{PREFIX}{os.geteuid()}-"
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(ours) and entry.is_dir(follow_symlinks=False):
                _remove_if_dead(Path(entry.path))


def _remove_if_dead(folder: Path) -> None:
    with suppress(OSError):
        stat = folder.lstat()
        if stat.st_uid != os.geteuid():
            return
        try:
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            if time.time() - stat.st_mtime > timeouts.INCOGNITO_LOCKLESS_S_MAX:
                shutil.rmtree(folder, ignore_errors=True)
            return
        try:
            if try_lock(lock):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


def _last_model(folder: Path) -> str:
    """Return the model chosen last in ordinary runs: the user expects it here too."""
    from ragforge.store.files import machine_file  # only this kind of run needs these so early
    from ragforge.store.local.state import open_local_state

    if not machine_file(folder).path.exists():
        return ""

    async def read() -> str:
        local = await open_local_state(folder)
        try:
            return await local.chosen.last_model()
        finally:
            await local.close()

    try:
        return asyncio.run(read())
    except StoreError as error:
        log.warning("The model chosen last is not known: %s", error)
        return ""


def _set_last_model(folder: Path, model: str) -> None:
    from ragforge.store.local.state import open_local_state  # as above

    async def write() -> None:
        local = await open_local_state(folder)
        try:
            await local.chosen.set_last_model(model)
        finally:
            await local.close()

    if model:
        asyncio.run(write())
