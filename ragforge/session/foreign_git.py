"""Consent to read a repository that does not know the folder from which `.git` leads to it."""

from pathlib import Path

from msgspec.structs import replace

from ragforge.config.project import find_project
from ragforge.config.repository import foreign_repositories
from ragforge.domain.approvals import foreign_allowed, foreign_rule
from ragforge.domain.printable import escaped
from ragforge.session.state import Session, Workspace


def unread_repository(session: Session) -> Path | None:
    """Return the repository that `.git` leads to if the user has not allowed it; else None."""
    place = session.workspace.place
    if place.foreign_git is None:
        return None
    allowed = foreign_allowed(session.live.consent.rules)
    return next((each for each in foreign_repositories(place.root) if each not in allowed), None)


def unread_words(repository: Path) -> str:
    """Say which repository is not read, and how to allow it."""
    rule = escaped(str(foreign_rule(repository)))
    return (
        f"The repository {escaped(str(repository))} is not read, because .git points to it but it does not "
        f"know this folder. Allow it with --allow '{rule}' for one run, or with `/permissions add {rule}`."
    )


async def read_repository(session: Session) -> Workspace:
    """Remember the consent, and return the workspace with the repository's branch.

    If `.git` leads to another repository as well, that is unread now.
    """
    workspace, place = session.workspace, session.workspace.place
    if place.foreign_git is None:
        return workspace
    rule = foreign_rule(place.foreign_git)
    await session.live.consent.grant((rule,))
    allowed = foreign_allowed(session.live.consent.rules)
    return replace(workspace, place=find_project(place.cwd, identify=False, allowed=allowed))
