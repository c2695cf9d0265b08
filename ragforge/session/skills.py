"""Skills: folders with a SKILL.md, known to the model by name and description, and read when needed."""

import asyncio
from pathlib import Path

from ragforge.agent.instructions import Instructions, Skill, read_instructions, skills_text
from ragforge.config.paths import config_dir
from ragforge.domain.front_matter import FrontMatter, read_front_matter
from ragforge.domain.printable import one_line
from ragforge.files.open import open_file, why
from ragforge.files.paths import inside
from ragforge.session.state import Session, Workspace
from ragforge.session.trust import TrustPlace
from ragforge.tools.base import ToolResult

NAME = "SKILL.md"
PROJECT_FOLDERS = (Path(".ragforge") / "skills", Path(".claude") / "skills")
SKILLS_MAX = 100
DESCRIPTION_CHARS_MAX = 500
FILES_LISTED_MAX = 50
FILE_BYTES_MAX = 100_000


def find_skills(workspace: Workspace) -> list[Skill]:
    """Return the skills of the user and of the project; of two with one name the user's. Blocks."""
    own, root = config_dir(workspace.environ) / "skills", workspace.place.root
    places = [(own, Path(own.anchor)), *((root / folder, root) for folder in PROJECT_FOLDERS)]
    found: dict[str, Skill] = {}
    unusable: list[Skill] = []
    for folder, within in places:
        for path in _files(folder):
            skill = _read(path, within, workspace)
            if skill.problem or skill.name in found:
                taken = f"{found[skill.name].file.path} has this name already" if not skill.problem else ""
                unusable.append(Skill("", "", skill.file, skill.in_project, problem=skill.problem or taken))
            else:
                found[skill.name] = skill
    return [*list(found.values())[:SKILLS_MAX], *unusable]


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(path for each in folder.iterdir() if (path := each / NAME).is_file())
    except OSError:
        return []


def _read(path: Path, within: Path, workspace: Workspace) -> Skill:
    file = read_instructions(path, root=within, clean=workspace.redactor.text)
    front = read_front_matter(file.text) if file else FrontMatter({}, "", "it is empty or cannot be read")
    name = one_line(front.fields.get("name") or path.parent.name)[:64]
    description = one_line(front.fields.get("description", ""))[:DESCRIPTION_CHARS_MAX]
    problem = front.problem or ("" if description else "its front matter has no description")
    if file and file.is_note:
        problem = "it is a link to a file outside the project"
    in_project = within == workspace.place.root
    return Skill(name, description, file or Instructions(path, ""), in_project, front.body, problem)


def skills_place(session: Session) -> TrustPlace:
    """Where the user's answers about a project's skills are stored."""
    return TrustPlace(session.workspace.project.id, session.workspace.place.root)


async def found_skills(session: Session) -> list[Skill]:
    """Return all usable ones, trusted or not."""
    found = await asyncio.to_thread(find_skills, session.workspace)
    return [skill for skill in found if not skill.problem]


async def admit_skills(session: Session) -> str:
    """Let the model read the trusted skills from now on, and return what it is told of them.

    The user is asked about a project's new ones, if there is a user to ask.
    """
    found = await found_skills(session)
    files = [skill.file for skill in found if skill.in_project]
    admitted = await session.workspace.trust.admitted(skills_place(session), files) if files else []
    session.live.view.skills = tuple(
        skill for skill in found if not skill.in_project or skill.file in admitted
    )
    return skills_text(session.live.view.skills)


async def read_skill(session: Session, name: str, file: str) -> ToolResult:
    """Return the text of a skill with the names of its files, or one of its files."""
    skill = next((each for each in session.live.view.skills if each.name == name), None)
    if skill is None:
        names = ", ".join(each.name for each in session.live.view.skills) or "none"
        return ToolResult(f"There is no skill called {name!r}. Available: {names}.", failed=True)
    if file:
        return await asyncio.to_thread(_read_file, skill, file)
    return ToolResult(await asyncio.to_thread(_told, skill))


def _told(skill: Skill) -> str:
    files = sorted(
        str(path.relative_to(skill.folder))
        for path in skill.folder.rglob("*")
        if path.is_file() and path.name != NAME
    )[:FILES_LISTED_MAX]
    listed = f"\n\nFiles beside it, in {skill.folder}: {', '.join(files)}" if files else ""
    return f"{skill.text.strip()}{listed}"


def _read_file(skill: Skill, file: str) -> ToolResult:
    try:
        path = (skill.folder / file).resolve()
        if not inside(path, skill.folder.resolve()):
            return ToolResult(f"{file} is not within the skill's folder.", failed=True)
        with open_file(path) as opened:
            content = opened.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        return ToolResult(f"{file} cannot be read: {why(error)}.", failed=True)
    except (ValueError, RuntimeError) as error:
        return ToolResult(f"{file} cannot be read: {error}.", failed=True)
    text = content[:FILE_BYTES_MAX].decode("utf-8", "replace")
    return ToolResult(text + ("\n[cut: the file is longer]" if len(content) > FILE_BYTES_MAX else ""))
