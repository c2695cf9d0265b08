"""The table of waits and retries: it is the only one, and nobody keeps a copy of a value."""

import ast
import re
from pathlib import Path

import pytest

from ragforge.domain import timeouts
from tests import patience

PACKAGE = Path(timeouts.__file__).parents[1]
WAITS = re.compile(
    r"(TIMEOUT|DEADLINE|GRACE|LEASE|RETRY|DRAIN|SETTLE).*_M?S(_MAX)?$|(^|_)(TRIES|ATTEMPTS|RETRIES)_MAX$"
)
MAY_HAVE = re.compile("timeouts|TIMEOUT|DEADLINE|GRACE|LEASE|RETRY|DRAIN|SETTLE|TRIES|ATTEMPTS|RETRIES")
"""Stands in every file that has copies: to parse all of them takes seconds."""


def copies(tree: ast.Module) -> list[str]:
    """Constants of a module that are waits, and defaults of parameters that were read at import."""
    found = [
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and WAITS.search(target.id)
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            defaults = [*node.args.defaults, *(default for default in node.args.kw_defaults if default)]
            found += [text for default in defaults if "timeouts." in (text := ast.unparse(default))]
        if isinstance(node, ast.ImportFrom) and node.module == "ragforge.domain.timeouts":
            found += [f"import of {alias.name}" for alias in node.names]
    return found


def test_waits_and_retries_stand_in_one_table_alone() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    kept = {
        path.relative_to(PACKAGE).as_posix(): found
        for path, source in sources.items()
        if path.name != "timeouts.py" and MAY_HAVE.search(source) and (found := copies(ast.parse(source)))
    }
    assert kept == {}


@pytest.mark.parametrize(
    "source",
    [
        "READ_TIMEOUT_S = 3",
        "def f(limit_s=timeouts.X): ...",
        "from ragforge.domain.timeouts import GIT_S_MAX",
    ],
)
def test_a_copy_is_found(source: str) -> None:
    assert MAY_HAVE.search(source)
    assert copies(ast.parse(source))


def test_what_tests_loosen_is_in_the_table_and_comes_back() -> None:
    names = {*patience.RECALL, *patience.COMMAND, *patience.SERVER}
    before = {name: getattr(timeouts, name) for name in names}
    with patience.patience(names):
        assert all(getattr(timeouts, name) >= patience.PATIENT_S for name in names)
    assert {name: getattr(timeouts, name) for name in names} == before
