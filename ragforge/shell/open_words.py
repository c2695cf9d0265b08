"""Which words of a command a rule may leave open: none that runs a program, writes elsewhere or leads out."""

import functools
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from ragforge.files.paths import inside, is_protected
from ragforge.shell.grammar import SimpleCommand
from ragforge.shell.patterns import stays_inside
from ragforge.shell.program_flags import PASSED_ON, PROGRAMS, Program
from ragforge.shell.program_names import RUNNERS

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:+-]*")
_REMOTE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_ARGUMENT_FILE = re.compile(r"(-\w+)?@")
_GNU = "g"
"""Before the names of GNU's programs, where the system has its own: `gsed`."""
_VERSION = re.compile(r"[\d.]+$")
_ABBREVIATION_CHARS_MIN = 2
"""A single letter after one dash is a short flag, not an abbreviation."""


class Surroundings(Struct, frozen=True):
    """Where a command may run: the project's root and every folder; cwd is the session's. All resolved."""

    root: Path
    cwd: Path
    folders: frozenset[Path]

    @property
    def elsewhere(self) -> bool:
        """Whether it may run in another folder than the session's, where a relative path differs."""
        return any(folder != self.cwd for folder in self.folders)

    @property
    def protected(self) -> bool:
        """Whether it may run in a folder where every write needs approval."""
        return any(is_protected(folder, self.root) for folder in self.folders)


class _Names(Struct, frozen=True):
    """A program's flags as they are compared, with those of its subcommand."""

    program: Program
    names: frozenset[str]
    letters: frozenset[str]
    first_letters: frozenset[str]
    harmless: frozenset[str]
    values: frozenset[str]
    value_letters: frozenset[str]


def depth_of(texts: Sequence[str]) -> int | None:
    """Return how many words identify the command; None if only all of them do."""
    program = _program(texts)
    if program is None:
        return None
    for subcommand in sorted(program.always, key=lambda each: len(each.split()), reverse=True):
        wanted = subcommand.split()
        told = texts[1 : 1 + len(wanted)]
        if len(told) == len(wanted) and all(
            word == want or (want == "*" and _NAME.fullmatch(word))
            for word, want in zip(told, wanted, strict=True)
        ):
            return 1 + len(wanted)
    return None


def are_open(command: SimpleCommand, count: int, place: Surroundings, *, exact: bool = False) -> bool:
    """Whether the words after the first ones are harmless under a rule for these first words.

    exact: the rule names every word, so their effect was approved.
    """
    texts = command.texts
    if not texts or not command.words[0].literal:
        return False
    name = _base(texts[0])
    program = _program(texts)
    if program is None:
        return not {name.lower(), _plain(name), _plain(name).removeprefix(_GNU)} & RUNNERS
    if _is_exact(program, texts, count):
        return False
    if not all(word.literal or stays_inside(word, place.folders, place.root) for word in command.words):
        return False
    flags = _names_of(name, " ".join(texts[1:2]))
    if any(_is_covered_by_none(word, flags, texts[0]) for word in texts[1:]):
        return False
    if program.bare_cluster and any(_is_flag(f"-{word}", flags) for word in texts[1:2]):
        return False
    if program.scripts and any(_is_flag(word, _passed_on()) for word in texts[1:]):
        return False
    return exact or _operands_stay(texts, count, flags, place)


def _base(word: str) -> str:
    return word.rpartition("/")[2]


def _plain(name: str) -> str:
    """Return the name without a version: python3.12."""
    return _VERSION.sub("", name).lower() or name


def _program(texts: Sequence[str]) -> Program | None:
    name = _base(texts[0])
    return PROGRAMS.get(name) or PROGRAMS.get(_plain(name))


def _is_exact(program: Program, texts: Sequence[str], count: int) -> bool:
    """Whether only the whole command may be allowed: it installs, runs, or is not what the rule names."""
    first = texts[1] if len(texts) > 1 else ""
    if not (program.exact or any(program.always)):
        return False
    if first.startswith("-") and not program.tasks and "" not in program.always:
        return True  # flags before the subcommand
    if depth_of(texts) is not None:
        return first in program.exact.split() and " ".join(texts[1:3]) not in program.always
    exact = program.exact.split()
    if first in exact or "+".join(texts[1:3]) in exact:
        return True
    # A rule for the program alone means the subcommands that are known to be harmless.
    return count < 2 and any(program.always) and "" not in program.always and "*" not in program.always


@functools.cache
def _names_of(name: str, subcommand: str) -> _Names:
    program = PROGRAMS.get(name) or PROGRAMS[_plain(name)]
    own = PROGRAMS.get(f"{name} {subcommand}", Program())
    return _compared(program, own)


@functools.cache
def _passed_on() -> _Names:
    return _compared(PASSED_ON, Program())


def _compared(program: Program, own: Program) -> _Names:
    return _Names(
        program=program,
        names=_alike(f"{program.names} {own.names}"),
        letters=frozenset(program.letters + own.letters),
        first_letters=frozenset(program.first_letters),
        harmless=_alike(program.harmless),
        values=_alike(f"{program.values} {own.values}"),
        value_letters=frozenset(program.value_letters + own.value_letters),
    )


def _alike(names: str) -> frozenset[str]:
    return frozenset(map(_same, names.split()))


def _same(name: str) -> str:
    """Return the name as parsers compare it, some of which accept `--test-runner` as `--testRunner`."""
    return name if len(name) == 1 else name.replace("-", "").replace("_", "").lower()


def _is_covered_by_none(word: str, flags: _Names, name: str) -> bool:
    if _ARGUMENT_FILE.match(word) and flags.program.argument_files:
        return True
    if word.startswith("/") and _base(name) == "dotnet":
        word = "-" + word[1:].replace("/", "-")  # MSBuild accepts /p:x=y too
    return _is_flag(word, flags)


def _is_flag(word: str, flags: _Names) -> bool:
    """Whether the word is one of the flags: with a value, abbreviated, in camel case, or in a cluster."""
    if not word.startswith("-") or not word.strip("-"):
        return False
    bare = word.lstrip("-")
    dashes = len(word) - len(bare)
    stem = re.split("[=:]", bare, maxsplit=1)[0]
    # `--verify-` abbreviates `--verify-signatures`, but is not `--verify`.
    if _same(stem) in flags.harmless and not stem.endswith(("-", "_")):
        return False
    if dashes > 1 or flags.program.one_dash_names:
        # `--coverage.reportsDirectory`, `-test.cpuprofile`
        forms = {_same(stem), _same(stem.partition(".")[0]), _same(stem.rpartition(".")[2])}
        if forms & flags.names:
            return True
        least = 1 if dashes > 1 else _ABBREVIATION_CHARS_MIN
        if flags.program.abbreviates and len(stem) >= least and _abbreviates_one(stem, flags):
            return True
        if dashes > 1:
            return False
    return _is_short_flag(bare, stem, flags)


def _abbreviates_one(stem: str, flags: _Names) -> bool:
    return any(each.startswith(_same(stem)) for each in flags.names if len(each) > 1)


def _is_short_flag(bare: str, stem: str, flags: _Names) -> bool:
    if bare[0] in flags.first_letters or bare[0] in flags.letters:
        return True
    if not flags.program.clusters:
        return stem in flags.letters
    for letter in bare:
        if letter in flags.letters | flags.first_letters:
            return True
        if letter in flags.value_letters:
            return False
    return False


def _operands_stay(texts: Sequence[str], count: int, flags: _Names, place: Surroundings) -> bool:
    """Whether no word names a path outside or in `.git`, another task, or a source to fetch from."""
    behind = list(_words_behind(texts, count, flags))
    if any(_leads_out(path, place) for word in behind for path in _paths_in(word, flags)):
        return False
    if flags.program.globs and any("{" in word or "[" in word for word in behind):
        return False
    if flags.program.remote and any(":" in word for word in behind):
        return False
    operands = [word for word in behind if not word.startswith("-")]
    if flags.program.tasks and not all(_is_task(word, is_named=count > 1) for word in operands):
        return False
    own = PROGRAMS.get(" ".join((_base(texts[0]), *texts[1:2])), Program())
    return not own.source or all(
        map(_REMOTE.fullmatch, _sources(behind, _alike(own.switches) | flags.values))
    )


def _sources(words: Sequence[str], switches: frozenset[str]) -> Iterator[str]:
    """Return the words that may name a source to fetch: what follows an unknown flag may be its value."""
    is_certain = True
    for word in words:
        if not word.startswith("-"):
            yield word
            if is_certain:
                return
        bare = word.lstrip("-")
        takes_next = word.startswith("--") and bare and "=" not in bare
        is_certain = not takes_next or _same(bare) in switches


def _words_behind(texts: Sequence[str], count: int, flags: _Names) -> Iterator[str]:
    """Return the words that the rule leaves open, without those that are only a flag's text."""
    has_subcommand = flags.program.exact and not flags.program.tasks
    takes_value = False
    for word in texts[max(count, 2 if has_subcommand else 1) :]:
        if not takes_value:
            yield word
        takes_value = not takes_value and _takes_value(word, flags)


def _takes_value(word: str, flags: _Names) -> bool:
    if not word.startswith("-") or "=" in word:
        return False
    bare = word.lstrip("-")
    if (word.startswith("--") or flags.program.one_dash_names) and _same(bare) in flags.values:
        return True
    if word.startswith("--") or not bare or bare[-1] not in flags.value_letters:
        return False
    return not (set(bare[:-1]) & flags.value_letters) and (flags.program.clusters or len(bare) == 1)


def _is_task(word: str, *, is_named: bool) -> bool:
    return word.isdecimal() if is_named else _NAME.fullmatch(word) is not None


def _paths_in(word: str, flags: _Names) -> Iterator[str]:
    """Yield the parts of the word that may be a path."""
    if not word.startswith("-"):
        yield word
        return
    bare = word.lstrip("-")
    stem, equals, value = bare.partition("=")
    if equals and _same(stem) not in flags.values:
        yield from value.split(",")
    if not word.startswith("--") and bare and bare[0] not in flags.value_letters:
        yield from (bare[at:] for at in range(1, len(bare)) if bare[at:].startswith(("/", "~", "..")))


def _leads_out(path: str, place: Surroundings) -> bool:
    if path == os.devnull:
        return False
    if path.startswith("~") or "://" in path or path.lower().startswith("file:"):
        return True
    resolved = [Path(os.path.realpath(each / path)) for each in place.folders]
    return any(not inside(each, place.root) or is_protected(each, place.root) for each in resolved)
