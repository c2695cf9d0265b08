"""Errors of the database layer, worded for the file they concern, with what to do."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import apsw

from ragforge.domain.errors import StoreDamaged, StoreMoved, StoreNewer, StoreUnavailable
from ragforge.store.backups import recovery_words
from ragforge.store.files import REPAIR, StoreFile
from ragforge.store.sqlite.connection import NotAFile

BROKEN_LINK_HELP = "Put the file back, or remove the link if the contents are lost"
"""A repair asks first: it must not replace what may only be on a disk that is not connected."""


def is_broken_link(path: Path) -> bool:
    """Whether it is a link that leads to nothing, or back to itself."""
    return path.is_symlink() and not path.exists()


@contextmanager
def explained(file: StoreFile) -> Generator[None]:
    """Complete errors about the whole file with its content and its repair; others pass unchanged."""
    held = f"It holds {file.facts.holds}."
    try:
        yield
    except StoreNewer as error:
        raise StoreNewer(
            f"{file.path} was written by a newer ragforge. {held} Update ragforge, or choose another folder "
            "for its data with RAGFORGE_DATA_DIR."
        ) from error
    except StoreDamaged as error:
        if isinstance(error.__cause__, NotAFile):
            run = f"{BROKEN_LINK_HELP}, then run" if is_broken_link(file.path) else "Run"
            raise StoreDamaged(
                f"{file.path} cannot be used: {error.__cause__}. {held} {run} `{REPAIR}`."
            ) from error
        if error.__cause__ is not None and not isinstance(error.__cause__, apsw.Error):
            raise
        raise StoreDamaged(
            f"{file.path} is damaged ({error.__cause__ or error}). {held} Run `{REPAIR}`."
        ) from error
    except StoreMoved as error:
        raise moved(file) from error
    except StoreUnavailable as error:
        cause = error.__cause__
        if "disk is full" in str(error):
            raise StoreUnavailable(f"{error} {held}") from error
        if not isinstance(cause, (apsw.Error, OSError)):
            raise
        raise StoreUnavailable(
            f"Cannot use {file.path} ({cause}). {held} Make the file and its folder readable and writable, "
            f"then run `{REPAIR}`."
        ) from error


def moved(file: StoreFile) -> StoreMoved:
    """Return the error for one of this machine's own databases that is open and no longer at its path."""
    return StoreMoved(
        f"{file.path} was removed, moved or replaced while ragforge had it open, so nothing more is written "
        f"to it. It holds {file.facts.holds}. If you moved it, move it back. Otherwise close every ragforge "
        f"and start it again.{recovery_words(file.path.parent, file.path)}"
    )
