"""What several files of unit tests work in."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ragforge.versions.state import HistoryState, open_history_state
from tests.scanned import Project


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project's folder that shell commands are judged in; nothing is run there."""
    root = tmp_path_factory.mktemp("consent").resolve() / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("a")
    (root / "lib").mkdir()
    (root / "lib/a.py").write_text("a")
    (root / "dashes").mkdir()
    (root / "dashes/-n.py").write_text("named like a flag")
    (root / "b.py").write_text("b")
    (root / "x").write_text("x")
    (root / "out").symlink_to("/etc")
    (root / "src/passwd").symlink_to("/etc/passwd")
    return root


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[HistoryState]:
    """The history's local state."""
    opened = await open_history_state(tmp_path)
    yield opened
    await opened.close()


@pytest.fixture
async def other(state: HistoryState) -> AsyncIterator[HistoryState]:
    """As another process sees it."""
    opened = await open_history_state(state.path.parent)
    yield opened
    await opened.close()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project to scan."""
    root = tmp_path / "project"
    root.mkdir()
    return Project(root.resolve())
