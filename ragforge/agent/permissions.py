"""Permissions: whether a tool call is allowed, needs approval, or is refused. Only decides."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias, assert_never

from msgspec import Struct

from ragforge.config.repository import foreign_above
from ragforge.domain.approvals import ConstraintHit, Mode, Rule, foreign_rule
from ragforge.domain.json import JsonObject
from ragforge.domain.printable import escaped
from ragforge.files.paths import inside, is_protected
from ragforge.shell.git_settings import find_danger
from ragforge.shell.grammar import Parsed, SimpleCommand, parse_command
from ragforge.shell.open_words import Surroundings
from ragforge.shell.patterns import stays_harmless
from ragforge.shell.readonly_commands import find_reads
from ragforge.shell.rules import matches, propose
from ragforge.tools.base import AnyTool, Effect, Preview

FOLDERS_MAX = 64
RULES_MAX = 4
"""Nobody reads more rules than this at once, so they are not offered."""


class Allow(Struct, frozen=True):
    """The call runs without asking. hits: the constraints that it violates nevertheless."""

    hits: tuple[ConstraintHit, ...] = ()


class Ask(Struct, frozen=True):
    """The user decides. `rules` is what "always" would add; empty if there is no "always"."""

    reason: str
    rules: tuple[Rule, ...] = ()
    hits: tuple[ConstraintHit, ...] = ()


class Refuse(Struct, frozen=True):
    """The call does not run, and the model is told why."""

    reason: str
    hits: tuple[ConstraintHit, ...] = ()


Decision: TypeAlias = Allow | Ask | Refuse


def decide(
    tool: AnyTool,
    args: JsonObject,
    preview: Preview,
    *,
    mode: Mode,
    rules: Sequence[Rule],
    root: Path,
    cwd: Path,
) -> Decision:
    """Return whether the call is allowed.

    preview: what the tool says it would do, with links in its paths and root resolved.
    """
    if preview.refused:
        return Refuse(preview.refused)
    if mode is Mode.ALL:
        return Allow()
    match tool.effect:
        case Effect.READ:
            return _decide_read(preview, root)
        case Effect.WRITE:
            if mode is Mode.PLAN:
                return Refuse(_in_plan_mode(tool.name))
            return _decide_write(tool.name, preview, mode=mode, rules=rules, root=root)
        case Effect.WEB:
            return _decide_web(tool.name, preview, rules)
        case Effect.SHELL:
            command = str(args.get("command", ""))
            if mode is Mode.PLAN:
                return _decide_shell_in_plan_mode(tool.name, command, root=root, cwd=cwd)
            return _decide_shell(command, rules=rules, root=root, cwd=cwd)
        case _:
            assert_never(tool.effect)


def _in_plan_mode(tool: str) -> str:
    return (
        f"Plan mode is on: nothing may be changed, so `{tool}` was not run. Read, search and say what you "
        "would do; the user decides when to leave plan mode."
    )


def _decide_read(preview: Preview, root: Path) -> Decision:
    outside = [path for path in preview.paths if not inside(path, root)]
    return Ask(f"reads outside the project: {outside[0]}") if outside else Allow()


def _decide_write(tool: str, preview: Preview, *, mode: Mode, rules: Sequence[Rule], root: Path) -> Decision:
    if not preview.paths:
        return Ask("changes something outside the known files")
    for path in preview.paths:
        if not inside(path, root):
            return Ask(f"writes outside the project: {path}")
        if is_protected(path, root):
            return Ask(f"writes to a protected folder: {path.relative_to(root)}")
    names = [path.relative_to(root).as_posix() for path in preview.paths]
    patterns = [rule.pattern for rule in rules if rule.tool == tool]
    if mode is Mode.ACCEPT_EDITS or all(_matches_any(name, patterns) for name in names):
        return Allow()
    wanted = tuple(dict.fromkeys(_propose_path(name) for name in names))
    offered = len(wanted) <= RULES_MAX and all(pattern.isprintable() for pattern in wanted)
    return Ask("changes a file", tuple(Rule(tool, pattern) for pattern in wanted) if offered else ())


def _decide_web(tool: str, preview: Preview, rules: Sequence[Rule]) -> Decision:
    allowed = [rule.pattern for rule in rules if rule.tool == tool]
    asked = [host for host in preview.hosts if not any(_is_host(host, pattern) for pattern in allowed)]
    if not asked and preview.hosts:
        return Allow()
    wanted = tuple(Rule(tool, host) for host in asked)
    return Ask(f"contacts {', '.join(asked) or 'the network'}", wanted)


def _is_host(host: str, pattern: str) -> bool:
    """Whether the pattern matches the host: exactly, `*.example.org` for its subdomains, or `*` for any
    host."""
    return pattern in (host, "*") or (pattern.startswith("*.") and host.endswith(pattern[1:]))


def _matches_any(name: str, patterns: Sequence[str]) -> bool:
    # Imported here: a search or --version never asks for consent.
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.base import GitIgnorePatternError

    for pattern in patterns:
        try:
            # One at a time: a rule that begins with "!" must not undo another one.
            if GitIgnoreSpec.from_lines([pattern]).match_file(name):
                return True
        except GitIgnorePatternError:  # written by hand, and no pattern
            continue
    return False


def _propose_path(name: str) -> str:
    """Return a pattern for everything in the file's folder, or only for the file if that would be the whole
    project."""
    folder, _, file = name.rpartition("/")
    wanted = f"/{folder}" if folder else f"/{file}"
    escaped = "".join(f"\\{char}" if char in "\\*?[] " else char for char in wanted)
    return f"{escaped}/**" if folder else escaped


class _Doubt(Struct, frozen=True):
    """Why a simple command needs approval, and the rule that would allow it."""

    reason: str
    rule: Rule | None


def _decide_shell(command: str, *, rules: Sequence[Rule], root: Path, cwd: Path) -> Decision:
    cwd = Path(os.path.realpath(cwd))
    parsed = parse_command(command)
    if parsed is None:
        return Ask("runs a command that cannot be parsed reliably")
    if parsed.strange:
        return Ask(f"runs a command that contains {parsed.strange[0]}")
    for redirection in parsed.redirections:
        if not redirection.harmless:
            target = redirection.target.text if redirection.target else "text"
            return Ask(f"runs a command with a redirection: {redirection.operator} {target}")
    if not parsed.commands:
        return Ask("runs an empty command")
    folders = _folders(parsed, cwd)
    if isinstance(folders, Ask):
        return folders
    if not all(inside(folder, root) for folder in folders):
        return Ask("runs a command outside the project")
    place = Surroundings(root=root, cwd=cwd, folders=folders)
    doubts = _foreign_doubts(parsed, rules, place)
    asks_anyway = bool(doubts)
    for each in parsed.commands:
        doubt = _doubt(each, rules=rules, place=place, asks_anyway=asks_anyway)
        doubts += [doubt] if doubt else []
    if not doubts:
        return Allow()
    wanted = tuple(dict.fromkeys(doubt.rule for doubt in doubts if doubt.rule is not None))
    offered = all(doubt.rule is not None for doubt in doubts) and len(wanted) <= RULES_MAX
    return Ask(doubts[0].reason, wanted if offered else ())


def _foreign_doubts(parsed: Parsed, rules: Sequence[Rule], place: Surroundings) -> list[_Doubt]:
    """Return a doubt for each repository that git would read although it does not know the folder."""
    if not any(command.texts and Path(command.texts[0]).name == "git" for command in parsed.commands):
        return []
    found = {repository for folder in place.folders for repository in foreign_above(folder)}
    asked = [each for each in sorted(found) if foreign_rule(each) not in rules]
    return [
        _Doubt(
            f"runs git, and .git points to a repository that does not know this folder: {escaped(str(each))}",
            foreign_rule(each) if str(each).isprintable() else None,
        )
        for each in asked
    ]


def _doubt(
    command: SimpleCommand, *, rules: Sequence[Rule], place: Surroundings, asks_anyway: bool = False
) -> _Doubt | None:
    """asks_anyway: do not ask git for the settings of a repository that may not be read."""
    root, cwd, folders = place.root, place.cwd, place.folders
    if _is_cd(command):
        return None  # its target has been checked
    if any(matches(rule, command, place) for rule in rules):
        return None
    rule = propose(command, place)
    shown = " ".join(command.texts)
    if command.assigns or not command.words:
        return _Doubt("runs a command that sets a variable", None)
    reads = find_reads(command.texts)
    if reads is not None and not stays_harmless(command, folders=folders, root=root):
        return _Doubt(f"runs a command with words that the shell expands: {shown}", rule)
    if reads is None:
        return _Doubt(f"runs a command that may change something: {shown}", rule)
    if place.elsewhere and command.texts[0] == "git":
        # A folder may contain a repository whose settings run programs.
        return _Doubt(f"runs git in another folder: {shown}", rule)
    if command.texts[0] == "git" and not asks_anyway and (danger := find_danger(cwd, root)):
        return _Doubt(f"runs git, and this repository can make it run a program ({danger}): {shown}", rule)
    exact = propose(command, place, exact=True)
    for path in reads.paths:
        resolved = [Path(os.path.realpath(folder / path)) for folder in folders]
        if path != os.devnull and not all(inside(each, root) for each in resolved):
            return _Doubt(f"reads outside the project: {path}", exact)
        if reads.files_only and any(each.is_dir() for each in resolved):
            return _Doubt(f"follows links in a folder: {path}", exact)
    return None


def _is_cd(command: SimpleCommand) -> bool:
    return (
        command.literal
        and not command.assigns
        and len(command.words) == 2
        and command.texts[0] == "cd"
        and not command.texts[1].startswith("-")
        and command.texts[1] != ""
    )


def _folders(parsed: Parsed, cwd: Path) -> frozenset[Path] | Ask:
    """Return every folder in which a part of the command may run, whichever `cd` succeeds."""
    # As written: the shell goes back with `..` through the link by which it came, the system
    # from the link's target.
    written = {cwd}
    for command in parsed.commands:
        if _is_cd(command):
            wanted = {folder / command.texts[1] for folder in written}
            wanted |= {Path(os.path.normpath(each)) for each in wanted}
            if not any(each.is_dir() for each in wanted):
                # If it is created meanwhile, it may be a link to anywhere.
                return Ask(f"runs a command in a folder that does not exist: {command.texts[1]}")
            written |= wanted
        if len(written) > FOLDERS_MAX:
            return Ask("runs a command in too many folders")
    return frozenset(Path(os.path.realpath(folder)) for folder in written)


def _decide_shell_in_plan_mode(tool: str, command: str, *, root: Path, cwd: Path) -> Decision:
    decision = _decide_shell(command, rules=(), root=root, cwd=cwd)
    if not isinstance(decision, Ask):
        return decision
    # It may read elsewhere if asked for. No "always": rules do not count in this mode.
    return Ask(decision.reason) if only_reads(command) else Refuse(_in_plan_mode(tool))


def only_reads(command: str) -> bool:
    """Whether the command changes nothing, wherever it reads."""
    parsed = parse_command(command)
    if parsed is None or parsed.strange or not parsed.commands:
        return False
    return all(each.harmless for each in parsed.redirections) and all(
        _is_cd(each) or (each.literal and not each.assigns and find_reads(each.texts) is not None)
        for each in parsed.commands
    )
