"""The effects of a tool call, read from its preview only: commands, paths, lines and dependencies."""

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath

from msgspec import Struct

from ragforge.domain.approvals import ChangeFile, RunCommand
from ragforge.domain.file_kinds import PROSE
from ragforge.shell.grammar import Parsed, parse_command
from ragforge.shell.program_names import WRAPPERS
from ragforge.tools.base import Effect, Preview

DEPTH_MAX = 3
"""How deep commands within commands are read."""

RUN_BY = frozenset(
    {("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("bundle", "exec")}
) | {
    ("pnpm", "exec"),
    ("pnpm", "dlx"),
    ("yarn", "dlx"),
    ("npm", "exec"),
}
SHELLS = frozenset(["sh", "bash", "dash", "zsh"])
ADDERS: dict[str, frozenset[str]] = {
    "npm": frozenset({"install", "i", "add"}),
    "pnpm": frozenset({"add", "install", "i"}),
    **dict.fromkeys(("yarn", "bun", "uv", "poetry", "pdm", "cargo", "bundle", "hatch"), frozenset({"add"})),
    **dict.fromkeys(("pip", "pipx", "gem", "brew", "conda", "apt", "apt-get"), frozenset({"install"})),
    **{"go": frozenset({"get"}), "composer": frozenset({"require"}), "dotnet": frozenset({"add"})},
}
"""The subcommands that add a package, by program."""
MANIFESTS: dict[str, re.Pattern[str]] = {
    "package.json": re.compile(r'\s*"(@?[\w./-]+)":\s*"(?:[\^~><=*v]|\d+\.|workspace:|npm:|git|latest)'),
    "composer.json": re.compile(r'\s*"([\w.-]+/[\w.-]+)":\s*"'),
    "Cargo.toml": re.compile(r'\s*([\w-]+)\s*=\s*(?:"[\^~><=*]?\d|\{.*(?:version|path|git))'),
    "pyproject.toml": re.compile(r'\s*"([A-Za-z][\w.-]*)(?:\[[\w, -]+\])?\s*(?:[<>=~!].*)?",?\s*$'),
    "requirements.txt": re.compile(r"([A-Za-z][\w.-]*)(?:\[[\w, -]+\])?\s*(?:[<>=~!;#].*)?$"),
    "go.mod": re.compile(r"\s*(?:require )?([\w.-]+\.[\w./-]+) v\d"),
    "Gemfile": re.compile(r"\s*gem ['\"]([\w-]+)"),
}
"""A line that names a dependency, whose name is the first group."""
_NOT_PACKAGES = frozenset(
    {"version", "name", "description", "license", "main", "module", "types", "node", "edition"}
)

_DELETERS = frozenset(["rm", "rmdir", "unlink", "shred", "trash"])
_WRITERS = frozenset(["touch", "mkdir", "tee", "truncate", "chmod", "chown", "patch"])
_COPIERS = frozenset(["cp", "install", "ln", "rsync", "scp"])
_OUTPUTS = frozenset(
    ["-o", "-O", "--out", "--output", "--outfile", "--output-file", "--out-file", "--dest", "--target-dir"]
)
_COMMENTS = (
    (
        re.compile(r"(?:^|\s)#.*"),
        frozenset(
            {
                *("py", "pyi", "sh", "bash", "zsh", "rb", "yml", "yaml", "toml"),
                *("r", "pl", "ex", "exs", "cfg", "ini", "tf", "gd", "jl"),
            }
        ),
    ),
    (re.compile(r"(?:^|\s)--\s.*"), frozenset(["sql", "lua", "hs"])),
)
_SLASHES = re.compile(r"(?:^|[^:])//.*|/\*.*?(?:\*/|$)|^\s*\*\s.*")
_SPOKEN = re.compile(r"([\"'`])((?:(?!\1).)*\s(?:(?!\1).)*)\1")
_SCRIPTS = frozenset(["sh", "bash", "zsh", "yml", "yaml", "mk", "ps1", "bat"])


class AddedLine(Struct, frozen=True):
    """A line to be written. code: the line without comments and quoted sentences."""

    path: str
    text: str
    code: str


class CallEffects(Struct, frozen=True):
    """What a call would do. Paths inside the project are relative to it."""

    commands: tuple[tuple[str, ...], ...] = ()
    """Each command, together with the command that it starts; programs without their folder."""
    written: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    added: tuple[AddedLine, ...] = ()
    packages: tuple[str, ...] = ()
    """Names of dependencies that would be added."""
    words: frozenset[str] = frozenset()
    """All words in lowercase, by which most rules are excluded quickly."""
    code: str = ""
    """All added code, by which more of them are excluded."""


def effects_of(effect: Effect, preview: Preview, *, root: Path, cwd: Path) -> CallEffects:
    """Return what the call would do; nothing for a call that only reads."""
    match preview.proposal:
        case RunCommand(command):
            return _of_command(command, root=root, cwd=cwd)
        case ChangeFile(_, diff) if effect is Effect.WRITE:
            paths = tuple(_shown(str(each), root) for each in preview.paths)
            return _of_change(paths, diff)
        case _:
            return CallEffects()


def _of_change(paths: tuple[str, ...], diff: str) -> CallEffects:
    lines = diff.splitlines()
    name = paths[0] if paths else ""
    added = tuple(_added(name, [each[1:] for each in lines if each[:1] == "+" and each[:4] != "+++ "]))
    before = [each[1:] for each in lines if each[:1] in "- " and each[:4] != "--- "]
    packages = _named(name, [each.text for each in added]) - _named(name, before)
    words = frozenset(each for line in added for each in words_of(line.text)).union(*map(words_of, paths))
    code = "\n".join(each.code for each in added)
    return CallEffects(written=paths, added=added, packages=tuple(sorted(packages)), words=words, code=code)


def words_of(text: str) -> list[str]:
    """Return the words of a line in lowercase, and the parts of compound identifiers."""
    return [each.lower() for each in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-zà-ÿ]+|\d+", text)]


def _added(path: str, lines: Sequence[str]) -> Iterator[AddedLine]:
    """Pair each line with its code. Prose and multi-line strings have no code."""
    ending = PurePosixPath(path).suffix[1:].lower()
    if ending in PROSE:
        yield from (AddedLine(path, line, "") for line in lines)
        return
    is_text = False
    for line in lines:
        marks = line.count('"""') + line.count("'''")
        inside, is_text = is_text or marks == 1, is_text != (marks % 2 == 1)
        yield AddedLine(path, line, "" if inside else _code(line, ending))


def _code(line: str, ending: str) -> str:
    for pattern, endings in _COMMENTS:
        if ending in endings:
            line = pattern.sub("", line)
            break
    else:
        line = _SLASHES.sub("", line)
    return line if ending in _SCRIPTS else _SPOKEN.sub("''", line)


def _named(path: str, lines: Sequence[str]) -> set[str]:
    """Return the dependencies that these lines of a manifest name."""
    file = PurePosixPath(path).name
    pattern = MANIFESTS.get("requirements.txt" if re.fullmatch(r"requirements.*\.txt", file) else file)
    found = (pattern.match(line) for line in lines) if pattern else ()
    return {each[1] for each in found if each} - _NOT_PACKAGES


def _of_command(command: str, *, root: Path, cwd: Path) -> CallEffects:
    written, deleted, commands, packages = list[str](), list[str](), list[tuple[str, ...]](), list[str]()
    folder, parsed = cwd, parse_command(command)
    commands += _piped(parsed)
    for words in _commands(parsed, command):
        commands.append(words)
        if words[0] == "cd" and len(words) > 1:
            folder = folder / words[1]
            continue
        gone, made = _paths(words)
        deleted += (_shown(os.path.normpath(folder / each), root) for each in gone)
        written += (_shown(os.path.normpath(folder / each), root) for each in made)
        packages += packages_of(words)
    written += (_shown(os.path.normpath(folder / each), root) for each in _targets(parsed, command))
    spoken = frozenset(each for text in (command, *written, *deleted) for each in words_of(text))
    return CallEffects(tuple(commands), tuple(written), tuple(deleted), (), tuple(packages), spoken)


def _commands(parsed: Parsed | None, command: str, depth: int = 0) -> Iterator[tuple[str, ...]]:
    """Return the simple commands, and those that they start."""
    simple = [each.texts for each in parsed.commands if each.words] if parsed else _cut(command)
    for words in simple:
        yield from _unwrapped(words, depth)


def _piped(parsed: Parsed | None) -> Iterator[tuple[str, ...]]:
    """Return the program that feeds a shell, as `curl | sh`: the program, a bar and the shell."""
    for before, each in pairwise(parsed.commands if parsed else ()):
        started = (words[0] for words in _unwrapped(each.texts, 0))
        shell = next((name for name in started if name in SHELLS), "")
        if each.fed and before.words and shell:
            yield program_name(before.texts[0]), "|", shell


def _cut(command: str) -> list[tuple[str, ...]]:
    """Split a line that cannot be parsed reliably at the places where the shell would."""
    found = (re.findall(r"[^\s\"']+|\"[^\"]*\"|'[^']*'", each) for each in re.split(r"[;&|\n()]+", command))
    return [tuple(word.strip("\"'") for word in words) for words in found if words]


def _unwrapped(words: tuple[str, ...], depth: int) -> Iterator[tuple[str, ...]]:
    while words and re.fullmatch(r"\w+=.*", words[0]):
        words = words[1:]
    if not words or depth > DEPTH_MAX:
        return
    name = program_name(words[0])
    yield (name, *words[1:])
    rest = list(words[1:])
    if name in SHELLS and "-c" in rest[:-1]:
        inner = rest[rest.index("-c") + 1]
        yield from _commands(parse_command(inner), inner, depth + 1)
    elif name.startswith("python") and rest[:1] == ["-m"] and len(rest) > 1:
        yield from _unwrapped(tuple(rest[1:]), depth + 1)
    elif name in WRAPPERS or (name, rest[0] if rest else "") in RUN_BY:
        rest = rest if name in WRAPPERS else rest[1:]
        while rest and (rest[0].startswith("-") or rest[0].replace(".", "").isdigit() or "=" in rest[0]):
            rest = rest[1:]
        yield from _unwrapped(tuple(rest), depth + 1)


def program_name(word: str) -> str:
    """Return the program without its folder and version suffix: `pip3.11` becomes `pip`."""
    name = word.rpartition("/")[2]
    return re.sub(r"(?<=[a-z])\d+(?:\.\d+)*$", "", name) if name[:3] in ("pip", "pyt") else name


def packages_of(words: tuple[str, ...]) -> list[str]:
    """Return what an installer would add to the project."""
    name, rest = words[0], [each for each in words[1:] if not each.startswith("-")]
    if name == "uv" and rest[:1] == ["pip"]:
        name, rest = "pip", rest[1:]
    if not rest or rest[0] not in ADDERS.get(name, ()) or {"-r", "--requirement"} & set(words):
        return []
    named = [
        each for each in rest[1:] if each[0] not in "./" and not each.endswith((".txt", ".whl", ".lock"))
    ]
    return [re.split(r"(?<=.)@|[<>=~!\[]", each)[0] for each in named]


def _paths(words: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the paths that a command deletes, and those that it writes."""
    name, rest = words[0], list(words[1:])
    named = [each for each in rest if not each.startswith("-")]
    made = [rest[at + 1] for at, each in enumerate(rest[:-1]) if each in _OUTPUTS]
    made += [each.partition("=")[2] for each in rest if each.partition("=")[0] in _OUTPUTS and "=" in each]
    if name == "git" and named[:1] in (["rm"], ["mv"], ["checkout"], ["restore"]):
        name, named = ("rm" if named[0] == "rm" else "mv" if named[0] == "mv" else "touch"), named[1:]
    if name in _DELETERS:
        return named, made
    if name == "mv":
        return named[:-1], [*made, *named[-1:]]
    if name == "find" and ("-delete" in rest or "rm" in rest):
        return named[:1], made
    if name in _COPIERS:
        made += named[-1:]
    elif name in _WRITERS:
        made += named
    elif name in ("sed", "perl") and any(each.startswith("-i") or each == "--in-place" for each in rest):
        made += named if "-e" in rest else named[1:]
    elif name == "dd":
        made += [each[3:] for each in rest if each.startswith("of=")]
    return [], made


def _targets(parsed: Parsed | None, command: str) -> list[str]:
    if parsed is None:
        return re.findall(r">>?\s*([\w./-]+)", command)
    return [
        each.target.text
        for each in parsed.redirections
        if each.target and not each.harmless and ">" in each.operator
    ]


def _shown(path: str, root: Path) -> str:
    relative = os.path.relpath(path, root)
    return path if relative.startswith("..") else PurePosixPath(relative).as_posix()
