"""Copies left behind by a crash: changes in them become versions, then the copies are removed."""

import json
import logging
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from ragforge.domain.cancellation import in_thread
from ragforge.domain.commands import typed
from ragforge.domain.errors import RagforgeError
from ragforge.shell.jobs import Jobs
from ragforge.versions.copies.file_copies import Room, left_rooms
from ragforge.versions.project_files import ProjectFiles
from ragforge.versions.record.recorder import Recorder

if TYPE_CHECKING:  # where there are any at all
    from ragforge.versions.copies.project_copies import About

log = logging.getLogger(__name__)

CUT_OFF = "cut off by a crash"


async def clear_left(files: ProjectFiles) -> list[str]:
    """Store what was done in this project's copies and remove them; return what to tell the user.

    Copies of other projects are left to those, unless they no longer exist.
    """
    said: list[str] = []
    try:
        rooms = await in_thread(lambda _: list(left_rooms(files.data_dir)))
    except OSError as error:
        log.warning("Copies in %s cannot be looked at: %s", files.data_dir, error)
        return []
    for room in rooms:
        about = await in_thread(lambda _, room=room: _about(room))
        try:
            if about is None:
                await in_thread(lambda _, room=room: room.remove())
            elif about.project_id == files.project.id:
                said += await _cleared(files, room, about)
            elif not Path(about.root).exists():
                await _removed(files, room, about)
            else:
                room.leave()
        except (RagforgeError, OSError) as error:
            log.warning("Copies in %s could not be cleared: %s", room.folder, error, exc_info=error)
            room.leave()
            said.append(f"Copies of the project in {room.folder} could not be cleared yet: {error}")
    return said


def _about(room: Room) -> "About | None":
    from ragforge.versions.copies.project_copies import ABOUT, About  # where there are any at all

    with suppress(OSError, ValueError, msgspec.ValidationError):
        return msgspec.convert(json.loads((room.folder / ABOUT).read_text()), About)
    return None  # it died before a copy was complete


async def _cleared(files: ProjectFiles, room: Room, about: "About") -> list[str]:
    from ragforge.config.store_address import bare_url

    turns: list[str] = []
    if about.store == bare_url(files.store.url):
        for copy, name in zip(about.copies, about.names, strict=True):
            turns += await _kept(files, about, Path(copy), name)
        record = await files.store.sessions.get(about.session_id)
        if record and record.head in turns:
            # Each turn moved the session's head to itself when it started, and nobody moved it back.
            await files.store.sessions.set_head(record.id, about.head)
    await _removed(files, room, about)
    if not turns:
        return []
    count = "1 alternative was" if len(turns) == 1 else f"{len(turns)} alternatives were"
    return [f"{count} cut off by a crash. What was done is kept; `{typed('alternatives')}` lists it."]


async def _kept(files: ProjectFiles, about: "About", copy: Path, name: str) -> list[str]:
    """Return the interrupted turns of the copy, after their versions were made."""
    from ragforge.versions.copies.project_copies import label_of

    turns = [turn.turn_id for turn in await files.state.open_turns(copy)]
    if not turns or not copy.is_dir():
        return []
    recorder = Recorder(copy, of_copy=about.track_rules(str(copy)))
    await recorder.recover(replace(files, root=copy, jobs=Jobs()))
    await recorder.close()
    for version in (await files.store.versions.of_turns(turns))[-1:]:
        label = label_of(int(copy.parent.name), name, [CUT_OFF])
        await files.store.versions.label(version.id, label)
    return turns


async def _removed(files: ProjectFiles, room: Room, about: "About") -> None:
    await in_thread(lambda _: room.remove())
    for copy in about.copies:
        await files.state.forget(Path(copy))
