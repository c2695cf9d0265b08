"""Commands that only read, judged by their flags: a flag that is not in the tables may be unsafe.

Omitted on purpose: `env` and `ps` (they show environments), `awk`, `less`, `xargs` (they run programs),
`tail -f` and the like (they never end), and every flag that writes a file, runs a program, follows
symbolic links below a folder, or reads the names of files from a file.
"""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from ragforge.shell.readonly_flags import FIND_TESTS, FIND_TESTS_WITH_VALUE, GIT, PROGRAMS, Flags


class Reads(Struct, frozen=True):
    """What a read-only command reads.

    paths: as written, relative to the folder it runs in; a word that may be a path counts as one.
    files_only: given a folder, it would read what links in it point to.
    """

    paths: tuple[str, ...] = ()
    files_only: bool = False


def find_reads(words: Sequence[str]) -> Reads | None:
    """Return what the command reads, or None if it is not known to only read.

    words: the program's bare name and its arguments, exactly as it receives them.
    """
    if not words:
        return None
    name, args = words[0], words[1:]
    if name in _SPECIAL:
        return _SPECIAL[name](args)
    flags = PROGRAMS.get(name)
    return None if flags is None else _reads_with(flags, args)


def _reads_with(flags: Flags, args: Sequence[str]) -> Reads | None:
    operands = _operands(flags, args)
    if operands is None or (flags.operands_max is not None and len(operands) > flags.operands_max):
        return None
    if not flags.operands_are_paths:
        return Reads()
    has_pattern = flags.first_is_pattern and not any(map(_may_give_pattern, args))
    return Reads(tuple(operands[1:] if has_pattern else operands), files_only=flags.files_only)


def _may_give_pattern(arg: str) -> bool:
    return arg.startswith("--regexp") or (arg.startswith("-") and arg[1:2] != "-" and "e" in arg)


def _operands(flags: Flags, args: Sequence[str]) -> list[str] | None:
    """Return the arguments that are not flags, or None if a flag is unknown.

    Some programs treat everything after the first operand as operands: so are values there.
    """
    operands: list[str] = []
    rest = list(args)
    while rest:
        arg = rest.pop(0)
        if arg == "--":
            return operands + rest
        if not arg.startswith("-") or arg == "-":
            operands.append(arg)
            continue
        value = rest[:1]
        before = len(rest)
        if not _take_flag(flags, arg, rest) or (operands and flags.operands_max is not None):
            return None
        if operands and len(rest) < before:
            operands += value
    return operands


def _take_flag(flags: Flags, arg: str, rest: list[str]) -> bool:
    """Whether the flag is known; its value, if it is the next word, is taken from rest."""
    if flags.numeric and re.fullmatch(r"-\d+", arg):
        return True
    if arg.startswith("--"):
        name, equals, _ = arg[2:].partition("=")
        if equals:
            return name in flags.long_values
        if name in flags.long:
            return True
        return name in flags.long_values and _take_value(rest)
    for index, letter in enumerate(arg[1:], start=1):
        if letter in flags.short_optional:
            return True
        if letter in flags.short_values:
            return index + 1 < len(arg) or _take_value(rest)
        if letter not in flags.short:
            return False
    return True


def _take_value(rest: list[str]) -> bool:
    # What looks like a flag is one to a program that expects no value here after all.
    if not rest or (rest[0].startswith("-") and not re.fullmatch(r"-\d+", rest[0])):
        return False
    rest.pop(0)
    return True


def _any_words(args: Sequence[str]) -> Reads | None:
    return Reads()


_PRINTF_CONVERSION = re.compile(r"%[-+ #0']*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?[hlLjzt]*[bqQsdiouxXfFeEgGaAc%]")


def _printf(args: Sequence[str]) -> Reads | None:
    # bash's `printf -v NAME` sets a variable, and so does `%n`: PATH, for one.
    if not args or args[0].startswith("-"):
        return None
    return None if "%" in _PRINTF_CONVERSION.sub("", args[0]) else Reads()


def _date(args: Sequence[str]) -> Reads | None:
    operands = _operands(PROGRAMS["date"], args)
    # Without a plus it would set the clock.
    return Reads() if operands is not None and all(word.startswith("+") for word in operands) else None


# Without -v, -R and -o: bash evaluates their operand, which can run a command.
_TEST_OPERATORS = frozenset(
    (
        *("!", "-a", "=", "==", "!=", "<", ">"),
        *("-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"),
        *("-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h", "-n", "-z", "-t", "-p", "-S", "-b", "-c"),
    )
)


def _test(args: Sequence[str]) -> Reads | None:
    if any(word.startswith("-") and word not in _TEST_OPERATORS for word in args):
        return None
    return Reads(tuple(word for word in args if word not in _TEST_OPERATORS))


def _bracket(args: Sequence[str]) -> Reads | None:
    return _test(args[:-1]) if args and args[-1] == "]" else None


_SED_ADDRESS = r"(?:\d+|\$)"
_SED_PRINT = re.compile(rf"{_SED_ADDRESS}(?:,{_SED_ADDRESS})?p(?:; ?{_SED_ADDRESS}(?:,{_SED_ADDRESS})?p)*")


def _sed(args: Sequence[str]) -> Reads | None:
    """Only `sed -n '10,20p' FILE...`: sed's other commands write files and run programs."""
    if len(args) < 2 or args[0] != "-n" or not _SED_PRINT.fullmatch(args[1]):
        return None
    return None if any(word.startswith("-") for word in args[2:]) else Reads(tuple(args[2:]))


def _find(args: Sequence[str]) -> Reads | None:
    rest = list(args)
    paths: list[str] = []
    while rest and not rest[0].startswith("-") and rest[0] not in {"(", ")", "!", ","}:
        paths.append(rest.pop(0))
    while rest:
        word = rest.pop(0)
        if word in FIND_TESTS:
            continue
        if word not in FIND_TESTS_WITH_VALUE or not rest:
            return None
        value = rest.pop(0)
        if word.endswith("newer"):
            paths.append(value)
    return Reads(tuple(paths))


def _git(args: Sequence[str]) -> Reads | None:
    rest = list(args)
    if rest[:1] == ["--no-pager"]:
        rest.pop(0)
    if rest == ["--version"]:
        return Reads()
    for length in (2, 1):  # `stash list` before `stash`
        flags = GIT.get(" ".join(rest[:length]))
        if flags is not None:
            return _git_reads(" ".join(rest[:length]), flags, rest[length:])
    return None


def _git_reads(name: str, flags: Flags, args: list[str]) -> Reads | None:
    reads = _reads_with(flags, args)
    if reads is None or name not in {"branch", "tag"}:
        return reads
    # With a name they create it, unless told to list.
    listing = any(arg in {"--list", "-l"} for arg in args)
    operands = _operands(flags, args) or []
    return reads if listing or not operands else None


_SPECIAL: dict[str, Callable[[Sequence[str]], Reads | None]] = {
    "echo": _any_words,
    "true": _any_words,
    "false": _any_words,
    ":": _any_words,
    "printf": _printf,
    "date": _date,
    "test": _test,
    "[": _bracket,
    "sed": _sed,
    "find": _find,
    "git": _git,
}
