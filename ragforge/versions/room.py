"""Whether the kept contents take more than they may: looked at when a session is opened."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

from ragforge.domain.errors import RagforgeError
from ragforge.files.open import size as size_words
from ragforge.session.state import Workspace
from ragforge.store.files import contents_file
from ragforge.versions.storage import GIB, clean_up


async def room_warning(workspace: Workspace) -> str:
    """What a person is to be told where contents take more than history.size_gb_max; "" where they do not.

    Up to the limit it costs a look at the sizes of files. Over it every store that they are kept for is asked
    what a clean-up would free.
    """
    limit = workspace.settings.history.size_gb_max
    on_disk = await asyncio.to_thread(_bytes_on_disk, workspace.data_dir)
    if on_disk <= limit * GIB:
        return ""
    over = (
        f"What is kept of files and conversations takes {size_words(on_disk)}, more than "
        f"history.size_gb_max ({limit:g} GB)."
    )
    try:
        found = await clean_up(workspace, keep_days=workspace.settings.history.keep_days, dry_run=True)
    except RagforgeError:
        # A store that cannot be asked: the command says which.
        return f"{over} `/history gc` says what a clean-up would free."
    older = "`/history gc DAYS` gives up the contents of versions that are older."
    if not found.contents:
        return f"{over} All of it is needed; {older}"
    return f"{over} `/history gc` would free {size_words(found.bytes)}; {older}"


def _bytes_on_disk(folder: Path) -> int:
    """What the database of contents takes, and the files beside it; 0 where there is none."""
    contents, total = contents_file(folder), 0
    with suppress(OSError):  # there is none yet, or a clean-up in another process removes some just now
        total += contents.path.stat().st_size
        for entry in os.scandir(contents.beside or folder):
            if entry.is_dir(follow_symlinks=False):
                total += sum(file.stat().st_size for file in os.scandir(entry))
    return total
