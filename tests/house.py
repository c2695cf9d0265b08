"""Figures of how the code hangs together: `python -m tests.house` prints them beside the recorded ones.

A change may make any of them better and none of them worse; tests/unit/test_house.py sees to it.
"""

import ast
import asyncio
import inspect
import re
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType

import grimp

import ragforge

ROOT = Path(ragforge.__file__).parent
TESTS = Path(__file__).parent
LINES_FIRST_DAY = 77_392
"""The lines of ragforge/ before it was rearranged."""

UNDO = "ragforge.commands.undo"
VERSIONS = ("ragforge.versions",)

RECORDED = {
    "modules in the largest import circle": 0,
    "modules that /undo imports": 120,  # what this machine remembers lies in six files
    "modules named by a participle": 2,
    "class names used more than twice": 1,
    "store files that name the same stored field": 9,
    "store files by stored field, together": 58,
    "files of versions that /redo of one file passes": 20,
    "modules of the program that a search loads": 124,  # what this machine remembers lies in six files
    "functions of more than 50 lines, tests included": 0,
}
"""What is reached. Whoever makes one better writes the new value here."""
REACH = {
    "modules in the largest import circle": 3,
    "modules that /undo imports": 120,
    "modules named by a participle": 20,
    "class names used more than twice": 5,
    "store files that name the same stored field": 4,
    "files of versions that /redo of one file passes": 20,
}

FIELDS = (
    *("access_count", "accessed_at", "confidence", "forgotten_at", "importance", "topic"),
    *("assistant", "first_commit", "git_remote", "project_path", "provider_id", "thought_tokens"),
    *("duration_ms", "lines_added", "lines_removed", "result_chars"),
)
"""Fields of stored nouns whose names mean nothing else."""

LINES_MAX = 50
STATE = re.compile(r"\b(live|activity)\.")
IN_PLACE = {
    *("append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft", "remove"),
    *("reverse", "setdefault", "sort", "update"),
}
"""What changes a list, a dict, a set or a deque in place; `add` is also what `Spending` has."""
FROM = re.compile(r"^\s*from (ragforge[\w.]*) import", re.MULTILINE)
"""A module out of a package is an import of the package's own file too."""
CLASS = re.compile(r"^\s*class _*(\w+)[(:]", re.MULTILINE)
DEF = re.compile(r"(\s*)(?:async )?def ")
NOUNS = {"embedding", "feed", "seed", "setting", "string", "thing"}
IRREGULAR = {
    "found",
    "gone",
    "kept",
    "known",
    "left",
    "made",
    "owed",
    "seen",
    "sent",
    "shown",
    "undone",
    "written",
}


def figures() -> dict[str, int]:
    """All that can be counted without running anything."""
    graph = import_graph()
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(ROOT.rglob("*.py"))}
    imports = {
        module: graph.find_modules_directly_imported_by(module) | set(FROM.findall(sources[path]))
        for path in sources
        for module in [_module_of(path)]
    }
    fields = [_naming(field, sources) for field in FIELDS]
    return {
        "modules in the largest import circle": max(map(len, circles(imports)), default=0),
        "modules that /undo imports": len(graph.find_upstream_modules(UNDO)),
        "modules named by a participle": sum(is_participle(path.stem) for path in sources),
        "class names used more than twice": len(repeated(sources.values())),
        "store files that name the same stored field": max(fields),
        "store files by stored field, together": sum(fields),
        "functions of more than 50 lines, tests included": sum(map(_long_functions, (ROOT, TESTS))),
    }


@cache
def import_graph() -> grimp.ImportGraph:
    """Which module imports which."""
    return grimp.build_graph("ragforge", cache_dir=None)


def rooms() -> dict[str, set[str]]:
    """The folders of ragforge/, each with those that its modules import from."""
    graph = import_graph()
    found: dict[str, set[str]] = {path.parent.name: set() for path in ROOT.glob("*/__init__.py")}
    for module in graph.modules:
        room = module.split(".")[1:2]
        for other in graph.find_modules_directly_imported_by(module) if room else ():
            if room[0] in found and (to := other.split(".")[1:2]) and to != room:
                found[room[0]].add(to[0])
    return found


def lines() -> int:
    """How long the program is, blank lines and comments included."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in ROOT.rglob("*.py"))


def circles(imports: Mapping[str, Set[str]]) -> list[set[str]]:
    """Modules that import each other, directly or through others. Tarjan's algorithm."""
    found: list[set[str]] = []
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        path.append(module)
        for other in imports[module]:
            if other not in order:
                visit(other)
            if other in path:
                lowest[module] = min(lowest[module], lowest[other])
        if lowest[module] == order[module]:
            at = path.index(module)
            circle = set(path[at:])
            del path[at:]
            if len(circle) > 1:
                found.append(circle)

    for module in imports:
        if module not in order:
            visit(module)
    return found


def is_participle(name: str) -> bool:
    """Whether a module says what happens or has happened, and not what it holds."""
    words = name.split("_")
    return any((re.search("(ing|ed)$", word) and word not in NOUNS) or word in IRREGULAR for word in words)


def repeated(sources: Iterable[str]) -> list[str]:
    """Names that more than two classes have, a leading underscore or not."""
    names = Counter(name for source in sources for name in CLASS.findall(source))
    return sorted(name for name, count in names.items() if count > 2)


def written_outside(sources: Mapping[Path, str]) -> list[str]:
    """Where the state of an open session is assigned to, or changed in place, outside of its package."""
    found: list[str] = []
    for path, source in sources.items():
        if "session" in path.parts or not STATE.search(source):
            continue
        for node in ast.walk(ast.parse(source)):
            for each in _written(node):
                if STATE.search(text := ast.unparse(each)):
                    found.append(f"{path}:{each.lineno}: {text}")
    return found


def _written(node: ast.AST) -> list[ast.expr]:
    """The fields, items and collections that the node changes."""
    match node:
        case ast.Assign(targets=found) | ast.Delete(targets=found):
            return [each for each in found if isinstance(each, ast.Attribute | ast.Subscript)]
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            return [target] if isinstance(target, ast.Attribute | ast.Subscript) else []
        case ast.Call(func=ast.Attribute(value=value, attr=name)):
            return [value] if name in IN_PLACE and isinstance(value, ast.Attribute | ast.Subscript) else []
    return []


def _module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")


def _long_functions(folder: Path) -> int:
    sources = (path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
    trees = (ast.parse(source) for source in sources if _may_have_long_functions(source))
    functions = (
        node
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return sum((each.end_lineno or each.lineno) - each.lineno >= LINES_MAX for each in functions)


def _may_have_long_functions(source: str) -> bool:
    """Whether a function begins so many lines above the next one beside or around it, or above the end: a
    glance, where to parse everything takes seconds."""
    found = [(number, DEF.match(line)) for number, line in enumerate(source.splitlines())]
    starts = [(number, len(match[1])) for number, match in found if match]
    ends = [(len(found), 0)]
    for number, indent in reversed(starts):
        while ends[-1][1] > indent:
            ends.pop()
        if ends[-1][0] - number >= LINES_MAX:
            return True
        ends.append((number, indent))
    return False


def _naming(field: str, sources: Mapping[Path, str]) -> int:
    word = re.compile(rf"\b{field}\b")
    return sum(
        bool(word.search(source))
        for path, source in sources.items()
        if "store" in path.relative_to(ROOT).parts
    )


@contextmanager
def watched_files(packages: Iterable[str]) -> Iterator[set[str]]:
    """Collect the files of these packages of which a function runs, in this thread and in new ones."""
    folders = tuple(f"{ROOT.parent.joinpath(*package.split('.'))}/" for package in packages)
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        runs = (
            event == "call" and code.co_flags & inspect.CO_OPTIMIZED
        )  # what an import runs is not optimized
        if runs and code.co_filename.startswith(folders):
            found.add(code.co_filename)

    # Only threads that begin now are watched.
    executor = ThreadPoolExecutor()
    asyncio.get_running_loop().set_default_executor(executor)
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def main() -> None:
    """Print the figures."""
    for name, value in figures().items():
        print(f"{name}: {value} (recorded {RECORDED[name]}, to reach {REACH.get(name, 'less')})")
    total = lines()
    print(f"lines: {total:,} ({total - LINES_FIRST_DAY:+,} since the first day)")


if __name__ == "__main__":
    main()
