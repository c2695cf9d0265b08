"""What is typed after a command that moves between versions: words and a few options."""

from msgspec import Struct

from ragforge.domain.errors import UsageError
from ragforge.domain.moves import ConflictChoice, Part
from ragforge.versions.head_move import Choices

ON_CONFLICT = "--on-conflict"
COUNT_MAX = 10_000


class Arguments(Struct, frozen=True):
    """What was typed. choice: None where nothing was said of conflicts."""

    words: tuple[str, ...] = ()
    part: Part = Part.BOTH
    choice: ConflictChoice | None = None

    @property
    def choices(self) -> Choices:
        """What shall become of files in conflict; where nothing was said, the person is asked."""
        return Choices(self.choice or ConflictChoice.KEEP, ask=self.choice is None)


def parse_arguments(command: str, args: str, *, words_max: int) -> Arguments:
    """The words and options of a slash command. Raises UsageError that says which there are."""
    words: list[str] = []
    part, choice = Part.BOTH, None
    given = args.split()
    while given:
        word = given.pop(0)
        name, has_value, value = word.partition("=")
        if name == ON_CONFLICT:
            choice = choice_named(value if has_value else (given.pop(0) if given else ""))
        elif word in ("--files", "--chat"):
            wanted = Part(word.removeprefix("--"))
            if part not in (Part.BOTH, wanted):
                raise UsageError("--files moves the files alone, --chat the chat alone: give only one.")
            part = wanted
        elif word.startswith("--"):
            raise UsageError(f"/{command} has no {word}. It takes --files, --chat and {ON_CONFLICT} CHOICE.")
        else:
            words.append(word)
    if len(words) > words_max:
        raise UsageError(f"/{command} does not know what to do with {' '.join(words[words_max:])!r}.")
    return Arguments(tuple(words), part, choice)


def choice_named(text: str) -> ConflictChoice:
    """The choice of this name. Raises UsageError."""
    try:
        return ConflictChoice(text)
    except ValueError:
        known = ", ".join(ConflictChoice)
        raise UsageError(f"{ON_CONFLICT} takes one of: {known}; and not {text!r}.") from None


def count_of(text: str, what: str) -> int:
    """A whole number from 1. Raises UsageError."""
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:6]) <= COUNT_MAX and len(text) < 6):
        raise UsageError(f"{what} is a whole number from 1 to {COUNT_MAX}, and not {text!r}.")
    return int(text)
