"""The wording of the question whether files of the project are trusted."""

from collections.abc import Sequence

from msgspec import Struct

from ragforge.domain.programs import SUFFIX
from ragforge.session.own_commands import FOLDER as COMMANDS_FOLDER
from ragforge.session.trust import FileTrust


class TrustWords(Struct, frozen=True):
    """How the user is asked: about new files, about changed ones, why; what the two answers mean, and what
    is said after them. name, risk: what they are called and can do if there are others too."""

    new: str
    changed: str
    why: str
    trust: str
    without: str
    trusted: str
    untrusted: str
    name: str
    risk: str


INSTRUCTIONS = TrustWords(
    "This folder contains instructions for the model. Do you trust them?",
    "The project's instructions have changed. Do you still trust them?",
    "The model follows them in every turn. If somebody else wrote them, read them first: they could make "
    "the model act against you.",
    "the model reads them until they change",
    "the model does not read them",
    "The model reads the instructions from the next message on.",
    "The model does not read the instructions.",
    "instructions",
    "The model follows instructions in every turn.",
)
PROGRAM = TrustWords(
    "This program came with the project. Do you trust it?",
    "This program of the project has changed. Do you still trust it?",
    "It calls models, which costs money, and sends them what it names. If somebody else wrote it, read it "
    "first. Its tool calls need approval like any other.",
    "it can run until it changes",
    "it does not run",
    "The program can run until it changes.",
    "The program does not run.",
    "programs",
    "Programs call models, which costs money.",
)
COMMAND = TrustWords(
    "This command came with the project. Do you trust it?",
    "This command of the project has changed. Do you still trust it?",
    "Its text is sent to the model. Shell commands in it, as !`...`, run at once, and what it lists as "
    "allowed-tools needs no approval in its turn. If somebody else wrote it, read it first.",
    "it can run until it changes",
    "it does not run",
    "The command can run until it changes.",
    "The command does not run.",
    "commands",
    "Commands can run shell commands at once, as !`...`, and allow tools without approval.",
)


def trust_words(files: Sequence[FileTrust]) -> TrustWords:
    """Return the wording for the files; if they are of several kinds, it names each."""
    kinds = _kinds(files)
    if len(kinds) == 1:
        return kinds[0]
    *others, last = (kind.name for kind in kinds)
    named = f"{', '.join(others)} and {last}"
    return TrustWords(
        f"This folder contains {named}. Do you trust all of them?",
        f"Some of the project's {named} have changed. Do you still trust all of them?",
        " ".join([*(kind.risk for kind in kinds), "If somebody else wrote them, read them first."]),
        "they are used until they change",
        "they are not used",
        answered_words(files, trusted=True),
        answered_words(files, trusted=False),
        named,
        "",
    )


def answered_words(files: Sequence[FileTrust], *, trusted: bool) -> str:
    """Return the effect of the answer, a sentence for each kind of file."""
    return " ".join(kind.trusted if trusted else kind.untrusted for kind in _kinds(files))


def _kinds(files: Sequence[FileTrust]) -> list[TrustWords]:
    found = {_kind(file): None for file in files}
    return [kind for kind in (INSTRUCTIONS, COMMAND, PROGRAM) if kind in found]


def _kind(file: FileTrust) -> TrustWords:
    if file.path.suffix == SUFFIX:
        return PROGRAM
    return COMMAND if file.path.is_relative_to(COMMANDS_FOLDER) else INSTRUCTIONS
