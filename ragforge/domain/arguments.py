"""The arguments of a command, declared as the fields of a Struct: parsing, formatting, usage.

class UndoArguments(Struct, frozen=True, kw_only=True):
    count: Annotated[int, Meta(ge=1), word("N", "How many turns.")] = 1
    part: Annotated[Part, flags(files="The files alone.", chat="The chat alone.")] = Part.BOTH
"""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from ragforge.domain.errors import UsageError

Args = TypeVar("Args", bound=Struct)

COUNT_CHARS_MAX = 4
"""Longer digit strings are parts of ids: no sensible count is that long."""
ID_PART = re.compile(r"(?=.{4})[0-9a-fA-F-]+")
_WORD = re.compile(r"""(?:[^\s"']|"[^"]*"|'[^']*')+(?=\s|$)""")
_TYPED = re.compile(r"(?:[^\s\"']|\"[^\"]*\"|'[^']*'|[\"'])+")
_QUOTED = re.compile(r""""([^"]*)"|'([^']*)'""")


class ValuesOf(StrEnum):
    """Names that a value can be completed from."""

    NOTHING = ""
    BRANCHES = "branches"
    SESSIONS = "sessions"
    SETTINGS = "settings"


class Face(StrEnum):
    """Where a command is typed."""

    INTERFACE = "interface"
    SHELL = "shell"


class Spelling(Struct, frozen=True):
    """How a field is written and described.

    metavar: the placeholder of its value in the usage. options: its names; without any it is positional.
    rest: it takes everything that follows, as typed. hidden: only our own command lines use it.
    meanings: each of these words is an option of its own, `--files` or `--chat`, and selects that value.
    only: the one place where it can be typed; None for both. whole: commas are part of the values of a list.
    """

    metavar: str = ""
    help: str = ""
    options: tuple[str, ...] = ()
    rest: bool = False
    hidden: bool = False
    values: ValuesOf = ValuesOf.NOTHING
    meanings: Mapping[str, str] = {}
    only: Face | None = None
    whole: bool = False


def word(
    metavar: str, help: str = "", *, values: ValuesOf = ValuesOf.NOTHING, only: Face | None = None
) -> Spelling:
    """A positional value."""
    return Spelling(metavar, help, values=values, only=only)


def rest(metavar: str, help: str = "", *, only: Face | None = None) -> Spelling:
    """Everything that follows, as typed."""
    return Spelling(metavar, help, rest=True, only=only)


def option(
    *names: str,
    metavar: str = "",
    help: str = "",
    hidden: bool = False,
    values: ValuesOf = ValuesOf.NOTHING,
) -> Spelling:
    """A value that follows its name, or a flag if the field is a bool."""
    return Spelling(metavar, help, options=names, hidden=hidden, values=values)


def shell_option(
    *names: str, metavar: str = "", help: str = "", values: ValuesOf = ValuesOf.NOTHING, whole: bool = False
) -> Spelling:
    """An option that only the command line has."""
    return Spelling(metavar, help, options=names, values=values, only=Face.SHELL, whole=whole)


def flags(**meanings: str) -> Spelling:
    """Flags of which at most one may be given; each selects the value of that name."""
    return Spelling(options=tuple(f"--{name}" for name in meanings), meanings=meanings)


class Argument(Struct, frozen=True):
    """A field: its name, its type without None and notes, how it is written, and its default."""

    name: str
    type: Any
    spelling: Spelling
    default: Any
    is_required: bool
    least: int | None = None
    most: int | None = None

    @property
    def takes_value(self) -> bool:
        """Whether a value follows its name."""
        return self.type is not bool and not self.spelling.meanings

    @property
    def is_list(self) -> bool:
        """Whether it takes several values, separated by commas."""
        return get_origin(self.type) is tuple

    @property
    def item(self) -> Any:
        """The type of each value."""
        return get_args(self.type)[0] if self.is_list else self.type

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed words, if they are fixed."""
        return () if self.spelling.meanings else _members(self.item)

    @property
    def shown(self) -> str:
        """The placeholder of its value in the usage."""
        return self.spelling.metavar or "|".join(self.choices) or "VALUE"

    @property
    def wanted(self) -> str:
        """The allowed values, to complete a sentence: `must be ...`."""
        if self.choices:
            return " or ".join(filter(None, [", ".join(self.choices[:-1]), self.choices[-1]]))
        if self.item is str:
            return "some text"
        if self.type is float:
            return "a number"
        number = f"a whole number of at least {self.least}"
        if self.most is not None:
            number = f"a whole number from {self.least} to {self.most:,}"
        return f"{number} or at least 4 characters of an id" if self.type == int | str else number

    def read(self, text: str) -> Any:
        """Return the value. Raises ValueError for anything else."""
        if not text:
            raise ValueError
        if self.is_list:
            return tuple(self.item(each) for each in text.split(",") if each)
        if self.choices or self.type is float:
            return self.type(text)
        if self.type == int | str and (len(text) > COUNT_CHARS_MAX or not text.isdecimal()):
            if not ID_PART.fullmatch(text):
                raise ValueError
            return text
        if self.type in (int, int | str):
            number = int(text) if text.isascii() and text.isdecimal() else -1
            if number < (self.least or 0) or (self.most is not None and number > self.most):
                raise ValueError
            return number
        return text


def _members(kind: Any) -> tuple[str, ...]:
    try:
        return tuple(kind.__members__.values())
    except AttributeError:
        return ()


class Former(Struct, frozen=True):
    """A former spelling that works until the next release: `Former("--turn ID", "ID")`."""

    old: str
    new: str

    @property
    def notice(self) -> str:
        """The message shown when it was used."""
        return f"{self.old} is now {self.new}; the old spelling works until the next release."


@cache
def arguments_of(kind: type[Struct], face: Face | None = None) -> tuple[Argument, ...]:
    """Return the arguments in the order of their declaration, positional first, options last.

    face: only those available there.
    """
    hints = get_type_hints(kind, include_extras=True)
    found: list[Argument] = []
    for field in msgspec.structs.fields(kind):
        type, *notes = get_args(hints[field.name])
        spelling = next(note for note in notes if isinstance(note, Spelling))
        bounds = next((note for note in notes if isinstance(note, Meta)), Meta())
        named = [each for each in get_args(type) if each is not None.__class__]
        if len(named) == 1 and get_origin(type) is not tuple:
            type = named[0]
        is_required = field.default is msgspec.NODEFAULT
        default = None if is_required else field.default
        found.append(
            Argument(field.name, type, spelling, default, is_required, _whole(bounds.ge), _whole(bounds.le))
        )
    here = [each for each in found if face is None or each.spelling.only in (None, face)]
    return tuple(sorted(here, key=lambda each: (bool(each.spelling.options), each.takes_value)))


def _whole(bound: float | None) -> int | None:
    return None if bound is None else int(bound)


def usage(kind: type[Struct], face: Face = Face.INTERFACE) -> str:
    """Return the usage, such as `[A [B]] [--on-conflict keep|restore|merge]`."""
    shown = [each for each in arguments_of(kind, face) if not each.spelling.hidden]
    words = ""
    for each in reversed([each for each in shown if not each.spelling.options]):
        words = f"{each.shown} {words}".rstrip()
        words = words if each.is_required else f"[{words}]"
    return " ".join(filter(None, [words, *(_usage(each) for each in shown if each.spelling.options)]))


def _usage(each: Argument) -> str:
    names = each.spelling.options
    text = (
        f"{names[0]} {each.shown}"
        if each.takes_value
        else names[0]
        if each.type is bool
        else " | ".join(names)
    )
    return text if each.is_required else f"[{text}]"


def parse(kind: type[Args], text: str, *, command: str) -> Args:
    """Parse what was typed after a slash command.

    Words may be quoted; `--` ends the options. Options may also follow the words of a `rest`
    argument; a word there that is not an option belongs to it. Raises UsageError that says what to write
    instead.
    """
    return _Line(kind, text, command).parsed()


class _Line:
    """What was typed, word by word."""

    def __init__(self, kind: type[Struct], text: str, command: str) -> None:
        arguments = arguments_of(kind, Face.INTERFACE)
        self._kind = kind
        self._left = text.strip()
        self._command = command
        self._places = [each for each in arguments if not each.spelling.options]
        self._options = {name: each for each in arguments for name in each.spelling.options}
        self._values: dict[str, Any] = {}

    def parsed(self) -> Any:
        takes_options = bool(self._options)
        while self._left:
            is_option = takes_options and re.match(r"--?[^\s\d-]|--(\s|$)", self._left)
            if self._places and self._places[0].spelling.rest and not is_option:
                end = _end_of_words(self._left, self._options) if takes_options else len(self._left)
                self._values[self._places.pop(0).name] = self._left[:end].rstrip()
                self._left = self._left[end:].lstrip()
                continue
            name = self._word()
            if name == "--" and takes_options:
                takes_options = False
            elif is_option or (name.startswith("--") and not self._places):
                self._take_option(name)
            elif self._places:
                place = self._places.pop(0)
                self._set(place, place.shown, name)
            else:
                raise self._wrong(f"takes no further argument: {name!r}.")
        options = (each for each in self._options.values() if each.name not in self._values)
        for missing in (*self._places, *options):
            if missing.is_required:
                named = " ".join([*missing.spelling.options[:1], missing.shown])
                told = f": {missing.spelling.help}" if missing.spelling.help else "."
                raise self._wrong(f"needs {named}{told}")
        return self._kind(**self._values)

    def _word(self) -> str:
        match = _WORD.match(self._left)
        if match is None:
            raise self._wrong(f"has an unclosed quote: {self._left}. Close it or remove it.")
        self._left = self._left[match.end() :].lstrip()
        return _QUOTED.sub(lambda quoted: quoted[1] or quoted[2] or "", match[0])

    def _take_option(self, word: str) -> None:
        name, has_value, value = word.partition("=")
        found = self._options.get(name)
        if found is None:
            known = [each for each in arguments_of(self._kind, Face.INTERFACE) if each.spelling.options]
            takes = ", ".join(_usage(each)[1:-1] for each in known if not each.spelling.hidden)
            raise self._wrong(
                f"has no option {name}. {f'Its options: {takes}.' if takes else 'It has no options.'}"
            )
        if found.takes_value:
            self._set(found, name, value if has_value or not self._left else self._word())
        elif has_value:
            raise self._wrong(f"takes no value for {name}: write only {name}.")
        elif found.type is bool:
            self._values[found.name] = True
        else:
            chosen = found.type(name.removeprefix("--"))
            if self._values.setdefault(found.name, chosen) is not chosen:
                raise self._wrong(f"takes only one of {' and '.join(found.spelling.options)}.")

    def _set(self, argument: Argument, label: str, text: str) -> None:
        try:
            self._values[argument.name] = argument.read(text)
        except ValueError:
            raise self._wrong(f"{label} must be {argument.wanted}, not {text!r}.", sep=": ") from None

    def _wrong(self, what: str, *, sep: str = " ") -> UsageError:
        return UsageError(f"/{self._command}{sep}{what}")


def _end_of_words(text: str, options: Mapping[str, Argument]) -> int:
    """Return where the options after the words start; the end of the text if there are none."""
    found = list(_TYPED.finditer(text))
    end = len(text)
    if any(each[0] == "--" for each in found):
        return end
    while found:
        name, has_value, _ = found[-1][0].partition("=")
        here = options.get(name)
        before = options.get(found[-2][0]) if len(found) > 1 else None
        if here and here.takes_value == bool(has_value):
            end = found.pop().start()
        elif before and before.takes_value and not name.startswith("-"):
            end = found[-2].start()
            del found[-2:]
        else:
            break
    return end


def written(args: Struct) -> str:
    """Return the arguments as they are typed: the inverse of `parse`."""
    words: list[str] = []
    options = {name: each for each in arguments_of(type(args)) for name in each.spelling.options}
    for each in sorted(arguments_of(type(args)), key=lambda each: each.spelling.rest):
        value = getattr(args, each.name)
        if value == each.default and not each.is_required:
            continue
        if not each.takes_value:
            words.append(each.spelling.options[0] if each.type is bool else f"--{value}")
            continue
        text: str = ",".join(value) if each.is_list else str(value)
        if each.spelling.rest:
            is_plain = not text.startswith("-") and _end_of_words(text, options) == len(text)
            text = text if is_plain else f"-- {text}"
        elif re.search(r"""[\s"']|^$""", text):
            text = f"'{text}'" if '"' in text else f'"{text}"'
        words += [*each.spelling.options[:1], text]
    return " ".join(words)


def modern(words: Sequence[str], former: Sequence[Former], *, tell: Callable[[str], None]) -> list[str]:
    """Replace former spellings by the current ones; tell: called with each that was used."""
    out = list(words)
    for each in former:
        name, *has_value = each.old.split()
        place = next((at for at, found in enumerate(out) if found.partition("=")[0] == name), None)
        if place is None or "--" in out[:place]:
            continue
        _, is_joined, value = out.pop(place).partition("=")
        if has_value and not is_joined:
            value = out.pop(place) if place < len(out) else ""
        new = each.new.split()
        out[:0] = [value if [part] == has_value else part for part in new]
        tell(each.notice)
    return out
