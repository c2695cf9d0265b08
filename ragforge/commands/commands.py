"""`/commands`: custom commands and skills, from files of the user and of the project."""

import asyncio
from typing import TYPE_CHECKING, Any

from ragforge.commands.base import NoArguments, Outcome, Tell, Verb
from ragforge.domain.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Container, Sequence
    from pathlib import Path

    from ragforge.session.state import Session


async def _run(session: "Session", args: NoArguments) -> Outcome:
    from ragforge.config.paths import config_dir
    from ragforge.session.own_commands import FOLDER, own_commands
    from ragforge.session.program_files import program_commands
    from ragforge.session.skills import find_skills, skills_place

    found = await own_commands(session)
    skills = await asyncio.to_thread(find_skills, session.workspace)
    programs = await asyncio.to_thread(program_commands, session.workspace)
    own = config_dir(session.workspace.environ)
    usable = [command for command in found if not command.problem]
    found_skills = [skill for skill in skills if not skill.problem]
    in_project = [each.file for each in (*usable, *found_skills) if each.in_project]
    untrusted = await session.workspace.trust.untrusted(skills_place(session), in_project)
    waiting = {session.workspace.place.root / each.path for each in untrusted}
    parts = [
        _section(
            "Commands",
            [_line(f"/{each.name} {each.usage}".rstrip(), each, waiting) for each in usable],
        ),
        _section("Programs", [f"- **/{name}** {what}".rstrip() for name, what in programs.items()]),
        _section("Skills", [_line(each.name, each, waiting) for each in found_skills]),
        _section(
            "Not usable",
            [f"- `{one_line(str(path))}`: {problem}" for path, problem in _problems(found, skills)],
        ),
    ]
    if shown := "\n\n".join(filter(None, parts)):
        return Tell(shown)
    return Tell(
        f"You have no commands of your own yet. A file `{own / 'commands' / 'NAME.md'}`, or "
        f"`{FOLDER / 'NAME.md'}` in a project, adds the command `/NAME`, which sends the file's text as a "
        "message."
    )


def _line(name: str, each: Any, waiting: "Container[Path]") -> str:
    note = " (not trusted yet)" if each.file.path in waiting else ""
    return f"- **{name}** {each.description}{note}"


def _section(title: str, lines: list[str]) -> str:
    return "\n".join([f"**{title}**", "", *lines]) if lines else ""


def _problems(*kinds: "Sequence[Any]") -> "list[tuple[Path, str]]":
    return [(each.file.path, each.problem) for kind in kinds for each in kind if each.problem]


VERB = Verb(
    "commands", "List your own commands and skills, and files that cannot be used.", NoArguments, _run
)
