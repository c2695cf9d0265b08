"""The copy of a program in the project, for everyone who works on it."""

import asyncio
from pathlib import Path

from msgspec import Struct

from ragforge.agent.instructions import FILE_BYTES_MAX, read_instructions
from ragforge.domain.errors import UsageError
from ragforge.files.diffs import unified
from ragforge.files.paths import inside
from ragforge.session.program_files import EXAMPLES_SUFFIX, IN_PROJECT, SUFFIX
from ragforge.session.state import Workspace
from ragforge.session.trust import FileTrust, TrustPlace
from ragforge.workflow.gate import faults_of_program
from ragforge.workflow.tree import content_of, write_file


class SharedFile(Struct, frozen=True):
    """A file to write. path: within the project. before: its current text; None for no file."""

    path: Path
    content: bytes
    before: bytes | None

    @property
    def diff(self) -> str:
        """Return the change, as a unified diff."""
        before = None if self.before is None else self.before.decode("utf-8", "replace")
        return unified(before, self.content.decode("utf-8", "replace"), str(self.path))


def files_to_share(workspace: Workspace, name: str, own: Path) -> list[SharedFile]:
    """Return what is new or different in the project: the program in the file `own`, its examples; blocks.

    Raises UsageError for a program that cannot run, contains a secret or is too long to be trusted.
    """
    root = workspace.place.root
    content = content_of(own)
    if content is None:
        raise UsageError(f"You have no program {name} of your own: there is no {own}.")
    if faults := faults_of_program(content.decode("utf-8", "replace")):
        raise UsageError(f"{own.name} cannot run, so it was not shared.\n" + "\n".join(faults))
    if len(content) > FILE_BYTES_MAX:
        raise UsageError(
            f"{own.name} is not shared: a project's program has at most {FILE_BYTES_MAX:,} bytes."
        )
    folder = root / IN_PROJECT
    if not inside(folder.resolve(), root):
        raise UsageError(f"{IN_PROJECT} leads out of the project, so nothing was written there.")
    found: list[SharedFile] = []
    for suffix in (SUFFIX, EXAMPLES_SUFFIX):
        text = content if suffix == SUFFIX else content_of(own.with_name(f"{name}{suffix}"))
        if text is None:
            continue
        if workspace.redactor.text(shown := text.decode("utf-8", "replace")) != shown:
            raise UsageError(f"{name}{suffix} is not shared: it holds something that looks like a secret.")
        path = folder / f"{name}{suffix}"
        before = content_of(path)
        if before != text:
            found.append(SharedFile(path.relative_to(root), text, before))
    return found


async def share(workspace: Workspace, files: list[SharedFile]) -> None:
    """Write the files into the project, and trust them: they are the user's own. Raises UsageError."""
    root = workspace.place.root
    for each in files:
        await asyncio.to_thread(write_file, root / each.path, each.content)
        read = read_instructions(root / each.path, root=root)
        if read and each.path.suffix == SUFFIX:
            place = TrustPlace(workspace.project.id, root)
            await workspace.trust.answer(place, [FileTrust(each.path, read.text)], trusted=True)
