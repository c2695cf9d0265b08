"""Custom commands: Markdown files of the user and of the project that become messages."""

import asyncio
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ragforge.agent.instructions import FILE_BYTES_MAX, Instructions, read_instructions
from ragforge.agent.permissions import only_reads
from ragforge.commands.base import Outcome, Send, Verb, run_command, verbs_on
from ragforge.config.paths import config_dir
from ragforge.domain.approvals import Mode, Rule, TurnTerms, parse_rule
from ragforge.domain.arguments import Face
from ragforge.domain.errors import UsageError
from ragforge.domain.front_matter import FrontMatter, read_front_matter
from ragforge.files.open import kind_of, open_file
from ragforge.files.paths import inside
from ragforge.providers.registry import parse_model
from ragforge.session.agent_parts import tool_context
from ragforge.session.program_files import program_commands, program_files
from ragforge.session.state import Session, Workspace
from ragforge.session.trust import TrustPlace

FOLDER = Path(".ragforge") / "commands"
FILES_MAX = 200
OUTPUT_CHARS_MAX = 20_000
MENTION_BYTES_MAX = 50_000
SCREENS = ("hints", "store", "theme", "trust")
"""Commands that only the interface has."""
RUNS_MAX = 20
"""How many shell commands one file may have."""
RUNNING = "_RAGFORGE_COMMANDS"
"""In the environment of such a shell command: the commands it runs for, so that none runs itself."""

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_SLOT = re.compile(
    r"!`(?P<shell>[^`\n]+)`|(?P<all>\$ARGUMENTS)\b|\$(?P<nth>[1-9])(?!\d)|(?:^|(?<=\s))@(?P<path>[^\s`]+)",
    re.MULTILINE,
)
_ARGUMENT = re.compile(r"\$ARGUMENTS\b|\$([1-9])(?!\d)")
_TOOLS = {"bash": "shell", "multiedit": "edit"}
"""Tools as files of other assistants name them."""


class OwnCommand(Struct, frozen=True):
    """A command defined by a file. problem: why it cannot be used."""

    name: str
    file: Instructions
    in_project: bool
    front: FrontMatter
    problem: str = ""

    @property
    def description(self) -> str:
        """Its description, in a line: from its front matter, else the beginning of its text."""
        lines = [line.strip("# ").strip() for line in self.front.body.splitlines() if line.strip()]
        return " ".join((self.front.fields.get("description") or (lines or [""])[0]).split())[:200]

    @property
    def usage(self) -> str:
        """The usage of its arguments."""
        takes = "[ARGUMENTS]" if _ARGUMENT.search(self.front.body) else ""
        return self.front.fields.get("argument-hint", takes)


def find_own_commands(workspace: Workspace, taken: Mapping[str, str]) -> list[OwnCommand]:
    """Return the commands of the user and of the project, by name; blocks.

    taken: names that exist already, and what to say of a file that uses one of them. The user's own
    come before the project's: a project cannot replace their text by its own.
    """
    root = workspace.place.root
    own = config_dir(workspace.environ) / "commands"
    found: dict[str, OwnCommand] = {}
    unusable: list[OwnCommand] = []
    for folder, within in ((own, Path(own.anchor)), (root / FOLDER, root)):
        for path in _files(folder):
            command = _read(path, folder, within, workspace)
            why = taken.get(command.name, "")
            if not why and command.name in found:
                why = f"{found[command.name].file.path} has this name already"
            if why or command.problem:
                unusable.append(replace(command, problem=why or command.problem))
            else:
                found[command.name] = command
    return sorted([*found.values(), *unusable], key=lambda command: command.name)


async def own_commands(session: Session) -> list[OwnCommand]:
    """Return every command of the user's and the project's files, including unusable ones, by name."""
    return await asyncio.to_thread(lambda: find_own_commands(session.workspace, _taken()))


def _taken() -> dict[str, str]:
    """Return the names of the built-in commands."""
    names = (name for verb in verbs_on(Face.INTERFACE).values() for name in (verb.name, *verb.aliases))
    return dict.fromkeys((*names, *SCREENS), "a built-in command has this name")


async def run_typed(
    session: Session, name: str, text: str, verbs: Mapping[str, Verb[Any]] | None = None
) -> Outcome:
    """Run a slash command: a built-in one, the user's own, or a program by its name.

    Raises RagforgeError, as `run_command`.
    """
    known = verbs or verbs_on(Face.INTERFACE)
    if not any(name in (verb.name, *verb.aliases) for verb in known.values()):
        named = [command for command in await own_commands(session) if command.name == name]
        if named:
            return await expand(session, min(named, key=lambda command: command.problem != ""), text)
        if ":" in name or name in await asyncio.to_thread(program_commands, session.workspace):
            return await run_command(session, "run", f"{name} {text}".rstrip(), verbs)
    return await run_command(session, name, text, verbs)


def names_of_files(environ: Mapping[str, str], root: Path) -> set[str]:
    """Return the names of commands and programs from files of the user and of the project; blocks."""
    own = config_dir(environ)
    commands = {
        _name(path, folder) for folder in (own / "commands", root / FOLDER) for path in _files(folder)
    }
    return commands | {each.name for each in program_files(environ, root)}


def _name(path: Path, folder: Path) -> str:
    return "-".join(path.relative_to(folder).with_suffix("").parts).lower().replace(" ", "-")


def _files(folder: Path) -> Iterator[Path]:
    count = 0
    for where, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".md") and count < FILES_MAX:
                count += 1
                yield Path(where, name)


def _read(path: Path, folder: Path, within: Path, workspace: Workspace) -> OwnCommand:
    name = _name(path, folder)
    file = read_instructions(path, root=within, clean=workspace.redactor.text)
    in_project = within == workspace.place.root
    if file is None:
        empty = Instructions(path, "")
        return OwnCommand(name, empty, in_project, FrontMatter({}, ""), "it is empty or cannot be read")
    front = read_front_matter(file.text)
    return OwnCommand(name, file, in_project, front, _problem(name, file, front))


def _problem(name: str, file: Instructions, front: FrontMatter) -> str:
    if not _NAME.fullmatch(name):
        return "its name may contain only lowercase letters, digits, - and _, and must start with a letter"
    if file.is_note:
        return "it is a link to a file outside the project"
    if front.problem:
        return front.problem
    if "[truncated: the file is longer]" in file.text[-100:]:
        return f"it is larger than {FILE_BYTES_MAX:,} bytes"
    if not front.body.strip():
        return "it has no text"
    try:
        rules_of(front)
    except UsageError as error:
        return str(error)
    return ""


def rules_of(front: FrontMatter) -> tuple[Rule, ...]:
    """Return what needs no approval in the command's turn. Raises UsageError for an invalid rule."""
    return tuple(rule for text in front.items("allowed-tools") if (rule := _rule(text)))


def _rule(text: str) -> Rule | None:
    name, bracket, pattern = text.partition("(")
    tool = _TOOLS.get(name.strip().lower(), name.strip().lower())
    if bracket:
        return parse_rule(f"{tool}({pattern.replace(':*)', ')')}")
    if tool == "shell":
        raise UsageError("allowed-tools must say which commands, as in shell(git status)")
    return Rule(tool, "**") if tool in ("edit", "write") else None  # others need no approval in the project


async def expand(session: Session, command: OwnCommand, arguments: str) -> Send:
    """Return the command's message, with its own terms.

    The user is asked about a project's file first, like about its instructions. Raises UsageError for a file
    that is not trusted or cannot be used, and for a shell command in it that fails to start.
    """
    if command.problem:
        raise UsageError(f"{command.file.path} cannot be used as /{command.name}: {command.problem}.")
    if session.busy:
        raise UsageError(f"/{command.name}: {session.why_busy}")
    running = session.workspace.environ.get(RUNNING, "").split(":")
    if command.name in running:
        raise UsageError(
            f"/{command.name} runs itself: {' > '.join([*filter(None, running), command.name])}."
        )
    await _check_trust(session, command)
    model = command.front.fields.get("model", "")
    if model:
        parse_model(model, endpoints=session.workspace.settings.endpoints)
    text = await _expanded(session, command, arguments)
    typed = f"/{command.name} {arguments}".rstrip()
    return Send(text, typed=typed, terms=TurnTerms(model, rules_of(command.front)))


async def _check_trust(session: Session, command: OwnCommand) -> None:
    if not command.in_project:
        return
    workspace = session.workspace
    place = TrustPlace(workspace.project.id, workspace.place.root)
    if not await workspace.trust.admitted(place, [command.file]):
        file = command.file.path.relative_to(place.root)
        raise UsageError(f"/{command.name} did not run: {file} came with the project and is not trusted.")


async def _expanded(session: Session, command: OwnCommand, arguments: str) -> str:
    body, words = command.front.body, _words(arguments)
    if len([match for match in _SLOT.finditer(body) if match["shell"]]) > RUNS_MAX:
        raise UsageError(f"/{command.name} runs more than {RUNS_MAX} shell commands. Put them in a script.")
    parts: list[str] = []
    end = 0
    for match in _SLOT.finditer(body):
        parts.append(body[end : match.start()])
        end = match.end()
        if line := match["shell"]:
            parts.append(await _output(session, command, _filled(line, arguments, words, quoted=True)))
        elif path := match["path"]:
            parts.append(await asyncio.to_thread(_mentioned, session, _filled(path, arguments, words)))
        else:
            parts.append(_filled(match[0], arguments, words))
    parts.append(body[end:])
    if arguments.strip() and not _ARGUMENT.search(body):
        parts.append(f"\n\n{arguments.strip()}")
    return "".join(parts)


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:  # an unclosed quotation mark
        return arguments.split()


def _filled(text: str, arguments: str, words: list[str], *, quoted: bool = False) -> str:
    """Insert the arguments into the text. Their contents are not interpreted again."""

    def put(match: re.Match[str]) -> str:
        if match[1] is None:
            return shlex.join(words) if quoted else arguments
        word = words[int(match[1]) - 1] if int(match[1]) <= len(words) else ""
        return shlex.quote(word) if quoted else word

    return _ARGUMENT.sub(put, text)


async def _output(session: Session, command: OwnCommand, line: str) -> str:
    """Return the output of a shell command in the file, and how it ended if it failed."""
    from ragforge.tools.shell import ShellArgs, run  # most commands run nothing

    if session.live.consent.mode is Mode.PLAN and not only_reads(line):
        raise UsageError(
            f"Plan mode is on, and /{command.name} runs a command that may change something: {line}"
        )
    context = tool_context(session)
    running = ":".join(filter(None, [context.env.get(RUNNING, ""), command.name]))
    result = await run(ShellArgs(line), replace(context, env={**context.env, RUNNING: running}))
    text, _, ending = result.text.rpartition("\n\n[")
    if len(text) > OUTPUT_CHARS_MAX:
        text = f"{text[:OUTPUT_CHARS_MAX]}\n[cut: {len(text):,} characters in all]"
    return f"{text}\n[`{line}`: {ending}" if result.failed else text


def _mentioned(session: Session, written: str) -> str:
    """Return the content of a text file of the project, under its name; other mentions are unchanged."""
    root = session.workspace.place.root
    try:
        path = (session.cwd / written).resolve()
        if not (path.is_file() and inside(path, root)):
            return f"@{written}"
        with open_file(path) as file:
            content = file.read(MENTION_BYTES_MAX + 1)
    except (OSError, ValueError, RuntimeError, UsageError):
        return f"@{written}"
    if b"\0" in content or kind_of(content).startswith("image"):
        return f"@{written}"
    text = content[:MENTION_BYTES_MAX].decode("utf-8", "replace").rstrip("\n")
    cut = "\n[cut: the file is longer]" if len(content) > MENTION_BYTES_MAX else ""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    return f"`{written}`:\n{fence}\n{text}\n{fence}{cut}"
