from pathlib import Path

import pytest

from ragforge.domain.printable import escaped
from ragforge.files.paths import inside, is_protected
from ragforge.tools.paths import resolve
from tests.tool_context import make_context


def test_relative_paths_start_where_the_session_works(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    ctx = make_context(tmp_path, cwd=tmp_path / "sub")
    root = tmp_path.resolve()
    assert resolve("a.py", ctx) == root / "sub" / "a.py"
    assert resolve("../a.py", ctx) == root / "a.py"
    assert resolve(str(root / "a.py"), ctx) == root / "a.py"
    assert resolve("~/a.py", ctx) == (Path.home() / "a.py").resolve()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".git/config", True),
        ("sub/.git/hooks/pre-commit", True),
        (".GIT/config", True),
        (".g\u200cit/config", True),
        ("git~1/config", True),
        (".git. /config", True),
        (".ragforge/config.toml", True),
        (".Ragforge", True),
        (".gitignore", False),
        (".github/workflows/a.yml", False),
        ("src/git/a.py", False),
    ],
)
def test_what_runs_code_or_grants_consent_later_is_protected(path: str, expected: bool) -> None:
    assert is_protected(Path("/project") / path, Path("/project")) is expected
    assert is_protected(Path("/elsewhere") / path, Path("/project")) is expected


def test_a_project_below_such_a_folder_is_not_all_protected() -> None:
    root = Path("/home/me/.ragforge/trees/one")
    assert not is_protected(root / "a.py", root)
    assert is_protected(root.parent / "two" / "a.py", root)


def test_a_folder_whose_name_begins_like_the_root_is_outside() -> None:
    assert not inside(Path("/project-2/a"), Path("/project"))
    assert inside(Path("/project"), Path("/project"))


def test_what_breaks_or_reorders_a_line_is_escaped_and_letters_stay() -> None:
    assert escaped("größe 日本\u202f.png") == "größe 日本\u202f.png"
    assert escaped("a\x1b[2J\nb\u202e\udce9") == "a\\x1b[2J\\nb\\u202e\\udce9"
