"""Benchmarks run rarely, and a name that was moved must not be found out then."""

import ast
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[2] / "benchmarks").rglob("*.py"))


def imported(file: Path) -> Iterator[tuple[str, str]]:
    """Modules of the program, each with a name that the file takes from it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ragforge"):
            yield from ((node.module or "", each.name) for each in node.names)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_a_benchmark_imports_is_there(file: Path) -> None:
    missing = [
        f"{module}.{name}"
        for module, name in imported(file)
        if not hasattr(found := import_module(module), name)
        and not (hasattr(found, "__path__") and find_spec(f"{module}.{name}"))
    ]
    assert missing == []
