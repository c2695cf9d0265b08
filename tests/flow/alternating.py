"""Requests worked out in several ways: models that answer each way by a script of its own."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ragforge.session.state import Session
from ragforge.versions.attempts.group import Group
from tests.standins.gemini import Call, Calls, GeminiStandIn, Recorded, Text

READABLE, FAST, THOROUGH = "easiest to read", "runs fastest", "Do this thoroughly"


@dataclass
class Models:
    """Answers each way by a script of its own, told apart by what was added to the request."""

    ways: dict[str, list]
    asked: dict[str, list[Recorded]] = field(default_factory=dict)

    def __call__(self, request: Recorded) -> object:
        whole = str(request.body)
        way = next(each for each in self.ways if each in whole)
        self.asked.setdefault(way, []).append(request)
        replies = self.ways[way]
        return replies.pop(0) if replies else Text("Done.")


def script(gemini: GeminiStandIn, calls: int = 40) -> Callable[[dict[str, list]], Models]:
    def with_ways(ways: dict[str, list]) -> Models:
        models = Models(ways)
        gemini.script(*[models] * calls)
        return models

    return with_ways


def writes(content: str, path: str = "a.txt") -> Calls:
    return Calls(Call("write", {"path": path, "content": content}))


def runs(command: str) -> Calls:
    return Calls(Call("shell", {"command": command}))


async def all_lines(group: Group) -> list[str]:
    async with asyncio.timeout(180):
        return [line async for line in group.lines()]


def copies_in(session: Session) -> list[str]:
    folder = session.workspace.data_dir / "copies"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def furnish(root: Path) -> Path:
    """A few files of all kinds in the project's folder, which is given back."""
    (root / "src").mkdir()
    (root / "src" / "main.py").write_text("print(1)\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "empty").mkdir()
    (root / "link").symlink_to("src/main.py")
    return root
