"""How the user is asked whether files of the project are trusted."""

from collections.abc import Sequence

from msgspec import Struct

from ragforge.domain.programs import SUFFIX
from ragforge.session.trust import FileTrust


class TrustWords(Struct, frozen=True):
    """How the user is asked: about new files, about changed ones, why; and what the two answers mean."""

    new: str
    changed: str
    why: str
    trust: str
    without: str


INSTRUCTIONS = TrustWords(
    "This folder has instructions for the model. Do you trust them?",
    "The project's instructions have changed. Do you trust them as they are now?",
    "The model follows them in every turn. Read them if somebody else wrote them: text in them can make it "
    "act against you.",
    "the model reads them, now and until they change",
    "the model does not read them",
)
PROGRAM = TrustWords(
    "This program came with the project. Do you trust it?",
    "This program of the project has changed. Do you trust it as it is now?",
    "It asks models, which costs money, and shows them what it names. Read it if somebody else wrote it. Its "
    "calls of tools are asked about like any other.",
    "it runs, now and until it changes",
    "it does not run",
)


def trust_words(files: Sequence[FileTrust]) -> TrustWords:
    """What fits the files."""
    return PROGRAM if all(file.path.suffix == SUFFIX for file in files) else INSTRUCTIONS
