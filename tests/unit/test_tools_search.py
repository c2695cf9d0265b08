import asyncio
import contextlib
import os
import signal
import subprocess
from pathlib import Path

import pytest

from ragforge.tools import glob, grep, list_files
from ragforge.tools.base import ToolContext
from ragforge.tools.glob import GlobArgs
from ragforge.tools.grep import GrepArgs
from ragforge.tools.list_files import ListArgs
from ragforge.tools.scan import report, scan
from ragforge.tools.scan_child import answers
from ragforge.tools.scan_values import End, GrepRequest, MatchedLine
from tests.tool_context import folder_of_nobody, make_context


def put(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


@pytest.fixture
def ctx(tmp_path: Path) -> ToolContext:
    return make_context(tmp_path)


async def found(ctx: ToolContext, pattern: str, path: str = ".") -> list[str]:
    result = await glob.run(GlobArgs(pattern, path), ctx)
    assert not result.failed, result.text
    return [
        line for line in result.text.split("\n") if not line.startswith("[") and line != "No files match."
    ]


async def test_patterns_mean_what_people_expect(ctx: ToolContext) -> None:
    names = ["a.py", "b.txt", "src/a.py", "src/deep/er/c.py", "src/d.ts", "src/e.tsx", ".github/f.yml"]
    put(ctx.cwd, dict.fromkeys(names, ""))
    for pattern, expected in {
        "*.py": ["a.py", "src/a.py", "src/deep/er/c.py"],
        "./*.yml": [".github/f.yml"],
        "src/*.py": ["src/a.py"],
        "src/**/*.py": ["src/a.py", "src/deep/er/c.py"],
        "**/er/*": ["src/deep/er/c.py"],
        "src/**": ["src/a.py", "src/d.ts", "src/deep/er/c.py", "src/e.tsx"],
        "src/deep/": ["src/deep/er/c.py"],
        "src/*.{ts,tsx}": ["src/d.ts", "src/e.tsx"],
        "src/[ad].*": ["src/a.py", "src/d.ts"],
        "src": [],
        "*.PY": [],
    }.items():
        assert sorted(await found(ctx, pattern)) == expected, pattern


async def test_the_file_that_changed_last_comes_first_and_the_rest_is_counted(ctx: ToolContext) -> None:
    put(ctx.cwd, {"old": "", "new": "", "middle": ""})
    for age, name in enumerate(["new", "middle", "old"]):
        os.utime(ctx.cwd / name, (1_000_000 - age, 1_000_000 - age))
    assert await found(ctx, "*") == ["new", "middle", "old"]
    result = await glob.run(GlobArgs("*", limit=2), ctx)
    assert result.text == "new\nmiddle\n[2 of 3 files match; narrow the search to see the others]"


@pytest.mark.parametrize(
    "pattern", ["../*", "/etc/*", "~/*", "a/../../b", "{" * 8 + "a,b}" * 8 + "{a,b}" * 8]
)
async def test_patterns_that_leave_the_folder_or_explode_are_refused(ctx: ToolContext, pattern: str) -> None:
    result = await glob.run(GlobArgs(pattern), ctx)
    assert result.failed
    assert "pattern" in result.text


async def test_links_are_named_but_never_followed(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    put(
        tmp_path,
        {"project/a.py": "secret = 1", "outside/b.py": "secret = 2", "outside/sub/c.py": "secret = 3"},
    )
    (project / "loop").symlink_to(".")
    (project / "away").symlink_to(outside)
    (project / "link.py").symlink_to(outside / "b.py")
    ctx = make_context(project)
    assert sorted(await found(ctx, "**/*.py")) == ["a.py", "link.py"]
    assert (await grep.run(GrepArgs("secret"), ctx)).text == "a.py:1: secret = 1"
    listed = (await list_files.run(ListArgs(depth=5), ctx)).text
    assert "c.py" not in listed
    assert "loop -> ." in listed
    preview = await grep.TOOL.preview(GrepArgs("secret", "away"), ctx)
    assert preview.paths == (outside.resolve(),)


IGNORES = {
    ".gitignore": "*.log\n!keep.log\n/build\nnode_modules/\n# comment\n\\#odd\ndocs/**/*.tmp\ndata/*\n"
    "!data/kept/\ndeep/**\n!deep/er/\n!deep/keep\n lead\ntrailing   \n[invalid\n*/only/*\n\r\n",
    "sub/.gitignore": "!*.log\nlocal\n/rooted\n**/far\n",
    "white/.gitignore": "*\n!*/\n!*.py\n!.gitignore\n",
}
FILES = [
    *(
        "a.py",
        "a.log",
        "keep.log",
        "build/x",
        "sub/build/x",
        "node_modules/x",
        "sub/node_modules/y/z",
        "#odd",
    ),
    *(
        "docs/a.tmp",
        "docs/b/c/d.tmp",
        "docs/a.txt",
        "data/x",
        "data/kept/y",
        "deep/x",
        "deep/er/y",
        "deep/keep",
        " lead",
        "lead",
        "trailing",
    ),
    *("sub/a.log", "sub/local", "sub/x/local", "sub/rooted", "sub/x/rooted", "sub/a/b/far", "white/a.txt"),
    *(
        "white/a.py",
        "white/x/b.py",
        "white/x/y/c.txt",
        "a/only/b",
        "only/a",
        "file with spaces",
        "excluded",
        "ü.log",
    ),
]


async def test_what_is_found_is_what_git_does_not_ignore(ctx: ToolContext) -> None:
    put(ctx.cwd, IGNORES | dict.fromkeys(FILES, ""))
    git = ["git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"]
    try:
        subprocess.run([*git, "init", "-q"], cwd=ctx.cwd, check=True)
    except FileNotFoundError:
        pytest.skip("git is not installed, so there is nothing to compare with")
    put(ctx.cwd, {".git/info/exclude": "excluded\n"})
    listed = subprocess.run(
        [*git, "ls-files", "-z", "--others", "--exclude-standard"],
        cwd=ctx.cwd,
        check=True,
        capture_output=True,
    )
    assert sorted(await found(ctx, "*")) == sorted(listed.stdout.decode().split("\0")[:-1])


async def test_rules_from_above_hold_below_unless_the_folder_itself_is_ignored(ctx: ToolContext) -> None:
    put(
        ctx.cwd,
        {
            ".gitignore": "*.log\nvendor/\n",
            "a/b/x.log": "",
            "a/b/x.py": "",
            "vendor/v/y.py": "z",
            "vendor/v/z.log": "",
        },
    )
    assert await found(ctx, "*", "a/b") == ["a/b/x.py"]
    assert await found(ctx, "y.py") == []
    assert sorted(await found(ctx, "*", "vendor/v")) == ["vendor/v/y.py", "vendor/v/z.log"]
    assert (await grep.run(GrepArgs("z", "vendor/v/y.py"), ctx)).text == "vendor/v/y.py:1: z"
    inner = make_context(ctx.cwd, cwd=ctx.cwd / "a")
    assert await found(inner, "*") == ["b/x.py"]
    assert (await list_files.run(ListArgs("..", 1), inner)).text.startswith(".gitignore")


async def test_a_folder_outside_the_project_has_the_rules_of_its_own_repository(tmp_path: Path) -> None:
    put(
        tmp_path,
        {"other/.git/HEAD": "", "other/.gitignore": "*.log\n", "other/sub/a.log": "", "other/sub/b": ""},
    )
    put(tmp_path, {"project/a": ""})
    names = await found(make_context(tmp_path / "project"), "*", "../other/sub")
    assert names == [str(tmp_path.resolve() / "other" / "sub" / "b")]


async def test_a_gitignore_that_is_a_pipe_holds_nothing_up(ctx: ToolContext) -> None:
    os.mkfifo(ctx.cwd / ".gitignore")
    put(ctx.cwd, {"a.py": "x"})
    assert await found(ctx, "*.py") == ["a.py"]
    assert "a.py:1: x" in (await grep.run(GrepArgs("."), ctx)).text


async def test_lines_come_by_file_with_number_and_context(ctx: ToolContext) -> None:
    put(ctx.cwd, {"b.txt": "one\ntwo\nthree\nfour\nfive\n", "a/c.txt": "Two\r\n", "a.md": "two"})
    assert (await grep.run(GrepArgs("^two$"), ctx)).text == "a.md:1: two\nb.txt:2: two"
    cased = await grep.run(GrepArgs("^two$", ignore_case=True, include="*.txt"), ctx)
    assert cased.text == "a/c.txt:1: Two\nb.txt:2: two"
    around = await grep.run(GrepArgs("one|five", "b.txt", context=1), ctx)
    assert around.text == "b.txt:1: one\nb.txt-2- two\n--\nb.txt-4- four\nb.txt:5: five"
    nothing = await grep.run(GrepArgs("seven"), ctx)
    assert nothing.text == "No lines match."
    assert not nothing.failed


async def test_matches_beyond_the_limit_are_counted(ctx: ToolContext) -> None:
    put(ctx.cwd, {"a": "x\n" * 30, "b": "x\n" * 20_000, "c": "x"})
    result = await grep.run(GrepArgs("x", "a", limit=10), ctx)
    assert result.text.count("\n") == 10
    assert result.text.endswith("[10 of 30 lines match; narrow the search to see the others]")
    assert "[10 of at least 20030 lines" in (await grep.run(GrepArgs("x", limit=10), ctx)).text


async def test_binary_and_large_files_are_skipped_and_counted(ctx: ToolContext) -> None:
    (ctx.cwd / "binary").write_bytes(b"word\0word")
    (ctx.cwd / "large").write_bytes(b"word\n" * 1_200_000)
    (ctx.cwd / "wide").write_bytes("größtes word".encode("utf-16"))
    result = await grep.run(GrepArgs("word"), ctx)
    assert result.text == (
        "wide:1: größtes word\n[binary files skipped: 1]\n[files too large to be searched: 1]"
    )


async def test_of_a_long_line_the_piece_with_the_match_is_shown(ctx: ToolContext) -> None:
    put(ctx.cwd, {"a": "x" * 100_000 + "needle" + "y" * 100_000})
    result = await grep.run(GrepArgs("needle"), ctx)
    assert "needle" in result.text
    assert len(result.text) < 600


@pytest.mark.parametrize(
    ("pattern", "words"),
    [("a(b", "at character 2"), ("*", "at character 1"), ("(" * 20_000, "regular expression")],
)
async def test_what_is_no_regular_expression_is_told_with_the_place(
    ctx: ToolContext, pattern: str, words: str
) -> None:
    result = await grep.run(GrepArgs(pattern), ctx)
    assert result.failed
    assert words in result.text


def endless(ctx: ToolContext, *, limit_s: float) -> GrepRequest:
    put(ctx.cwd, {"a": "needle b\n", "z": "b" + "a" * 40 + "c\n"})
    return grep_request(ctx.cwd, "needle|b(a|a)*$", limit_s=limit_s)


def grep_request(path: Path, pattern: str, *, limit_s: float = 20.0) -> GrepRequest:
    folder = os.fsencode(path)
    return GrepRequest(
        folder=folder,
        root=folder,
        cwd=folder,
        limit_s=limit_s,
        limit=10,
        pattern=pattern,
        include="",
        ignore_case=False,
        context=0,
    )


async def test_a_pattern_that_never_ends_is_stopped_and_the_app_goes_on(ctx: ToolContext) -> None:
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.01)
            beats += 1

    before = children()
    heart = asyncio.create_task(beat())
    # Long enough to start the process on a busy machine, and to find the first line.
    scanned = await scan(endless(ctx, limit_s=3), ctx)
    heart.cancel()
    assert scanned.timed_out
    assert scanned.lines == ("a:1: needle b",)
    assert beats > 5
    result = report(scanned, found="lines match", limit=10)
    assert "not finished" in result.text
    assert not result.failed
    assert children() <= before


async def test_a_search_that_is_cancelled_leaves_no_process(ctx: ToolContext) -> None:
    before = children()
    task = asyncio.create_task(scan(endless(ctx, limit_s=60), ctx))
    async with asyncio.timeout(180):
        while children() <= before:
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert children() <= before


def children() -> set[str]:
    """The process ids of our children, living or not yet waited for."""
    if Path("/proc/self/stat").exists():
        found: set[str] = set()
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):  # it ended meanwhile
                parent = stat.read_text().rpartition(")")[2].split()[1]
                found |= {stat.parent.name} if parent == str(os.getpid()) else set()
        return found
    with subprocess.Popen(["ps", "-A", "-o", "pid=,ppid="], stdout=subprocess.PIPE, text=True) as ps:
        pairs = [line.split() for line in ps.communicate()[0].splitlines()]
    return {pid for pid, parent in pairs if parent == str(os.getpid())} - {str(ps.pid)}


async def test_a_search_process_that_dies_is_told(ctx: ToolContext) -> None:
    searching = asyncio.create_task(scan(endless(ctx, limit_s=30), ctx))
    before = children()
    while not (started := children() - before):
        await asyncio.sleep(0.01)
    os.kill(int(started.pop()), signal.SIGKILL)
    result = report(await searching, found="lines match", limit=10)
    assert "ended before it was done" in result.text


async def test_modules_of_the_project_do_not_run_in_the_search(ctx: ToolContext) -> None:
    trap = "open('trapped', 'w').close()\n"
    put(ctx.cwd, {"msgspec.py": trap, "re.py": trap, "ragforge/__init__.py": trap, "sitecustomize.py": trap})
    ctx.env["PYTHONPATH"] = str(ctx.cwd)
    assert "re.py" in await found(ctx, "*.py")
    assert not list(ctx.cwd.rglob("trapped"))


async def test_a_folder_is_listed_by_name_to_a_depth(ctx: ToolContext) -> None:
    put(ctx.cwd, {"b.txt": "12345", "a/c.txt": "", "a/d/e.txt": "", "x.log": "", ".gitignore": "*.log\n"})
    flat = await list_files.run(ListArgs(), ctx)
    assert flat.text == (".gitignore  6 bytes\na/\nb.txt  5 bytes\n[left out because git ignores them: 1]")
    deep = await list_files.run(ListArgs("a", 2), ctx)
    assert deep.text == "c.txt  0 bytes\nd/\nd/e.txt  0 bytes"
    (ctx.cwd / "empty").mkdir()
    assert (await list_files.run(ListArgs("empty"), ctx)).text == "No files or folders."


async def test_names_that_break_lines_or_encodings_are_shown_escaped(ctx: ToolContext) -> None:
    (ctx.cwd / "two\nlines").touch()
    (ctx.cwd / "bidi\u202etxt").touch()
    (ctx.cwd / os.fsdecode(b"latin-\xe9")).write_text("x")
    listed = (await list_files.run(ListArgs(), ctx)).text.split("\n")
    assert listed == ["bidi\\u202etxt  0 bytes", "latin-\\udce9  1 bytes", "two\\nlines  0 bytes"]
    assert (await grep.run(GrepArgs("x"), ctx)).text == "latin-\\udce9:1: x"


@pytest.mark.parametrize("path", ["missing", "file", "", "a\0b"])
async def test_what_is_no_folder_is_said(ctx: ToolContext, path: str) -> None:
    put(ctx.cwd, {"file": ""})
    for run in (list_files.run(ListArgs(path), ctx), glob.run(GlobArgs("*", path), ctx)):
        result = await run
        assert result.failed
        assert "Give" in result.text or "Remove" in result.text


def test_what_may_not_be_read_is_counted() -> None:
    with folder_of_nobody() as folder:
        put(folder, {"closed/a": "x", "b": "x", "c": "x"})
        (folder / "closed").chmod(0)
        (folder / "b").chmod(0)
        # In this process: the interpreter itself may lie where nobody else may start it.
        *lines, end = answers(grep_request(folder.resolve(), "x"))
        (folder / "closed").chmod(0o755)
    assert lines == [MatchedLine("c:1: x")]
    assert end == End(total=1, unreadable=2)


async def test_a_deep_tree_is_walked_to_its_end(ctx: ToolContext) -> None:
    put(ctx.cwd, {"/".join(["d"] * 300) + "/leaf.py": ""})
    (name,) = await found(ctx, "leaf.py")
    assert name.count("/") == 300
