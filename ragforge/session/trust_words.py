"""How the user is asked whether files of the project are trusted."""

from collections.abc import Sequence

from msgspec import Struct

from ragforge.domain.programs import SUFFIX
from ragforge.session.own_commands import FOLDER as COMMANDS_FOLDER
from ragforge.session.trust import FileTrust


class TrustWords(Struct, frozen=True):
    """How the user is asked: about new files, about changed ones, why; and what the two answers mean."""

    new: str
    changed: str
    why: str
    trust: str
    without: str


INSTRUCTIONS = TrustWords(
    "This folder contains instructions for the model. Do you trust them?",
    "The project's instructions have changed. Do you still trust them?",
    "The model follows them in every turn. If somebody else wrote them, read them first: they could make "
    "the model act against you.",
    "the model reads them until they change",
    "the model does not read them",
)
PROGRAM = TrustWords(
    "This program came with the project. Do you trust it?",
    "This program of the project has changed. Do you still trust it?",
    "It calls models, which costs money, and sends them what it names. If somebody else wrote it, read it "
    "first. Its tool calls need approval like any other.",
    "it can run until it changes",
    "it does not run",
)
COMMAND = TrustWords(
    "This command came with the project. Do you trust it?",
    "This command of the project has changed. Do you still trust it?",
    "Its text is sent to the model. Shell commands in it, as !`...`, run at once, and what it lists as "
    "allowed-tools needs no approval in its turn. If somebody else wrote it, read it first.",
    "it can run until it changes",
    "it does not run",
)


def trust_words(files: Sequence[FileTrust]) -> TrustWords:
    """What fits the files."""
    if all(file.path.suffix == SUFFIX for file in files):
        return PROGRAM
    return COMMAND if all(file.path.is_relative_to(COMMANDS_FOLDER) for file in files) else INSTRUCTIONS
