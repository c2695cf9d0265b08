"""The table of flags beside the help of the tools that are installed here."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragforge.agent.permissions import Ask
from tests.unit.judging import judge

HELP = {
    "go test": (["go", "help", "testflag"], ["go", "help", "build"]),
    "go vet": (["go", "help", "vet"],),
    "mvn test": (["mvn", "--help"],),
    "ctest": (["ctest", "--help"],),
    "make test": (["make", "--help"],),
    "cargo build": (["cargo", "build", "--help"],),
    "cargo test": (["cargo", "test", "--help"],),
    "cargo fmt": (["cargo", "fmt", "--help"], ["rustfmt", "--help"]),
    "cargo doc": (["cargo", "doc", "--help"],),
    "gofmt": (["gofmt", "--help"],),
    "rustfmt": (["rustfmt", "--help"],),
    "docker ps": (["docker", "ps", "--help"], ["docker", "--help"]),
    "docker logs": (["docker", "logs", "--help"],),
    "pip list": (["pip", "list", "--help"],),
    "ruff check": (["ruff", "check", "--help"],),
    "ruff format": (["ruff", "format", "--help"],),
    "pytest": (["pytest", "--help"],),
    "pyright": (["pyright", "--help"],),
    "mypy": (["mypy", "--help"],),
    "tox run": (["tox", "run", "--help"],),
    "nox": (["nox", "--help"],),
    "black": (["black", "--help"],),
    "isort": (["isort", "--help"],),
    "flake8": (["flake8", "--help"],),
    "just test": (["just", "--help"],),
    "rake test": (["rake", "--help"],),
    "gradle test": (["gradle", "--help"],),
    "rspec": (["rspec", "--help"],),
    "eslint": (["eslint", "--help"],),
    "prettier": (["prettier", "--help"],),
    "jest": (["jest", "--help"],),
    "vitest": (["vitest", "--help"],),
    "hatch test": (["hatch", "test", "--help"],),
    **{f"git {name}": (["git", name, "-h"],) for name in ("add", "commit", "fetch", "pull", "switch")},
    **{f"git {name}": (["git", name, "-h"],) for name in ("merge", "cherry-pick", "mv", "status", "log")},
    **{f"git {name}": (["git", name, "-h"],) for name in ("diff", "show", "blame", "ls-files")},
}
TELLING = frozenset(
    (
        *("file", "files", "path", "paths", "dir", "directory", "directories", "folder", "root", "rootdir"),
        *("prog", "program", "cmd", "command", "commands", "exec", "executable", "script", "shell", "hook"),
        *("plugin", "plugins", "config", "configuration", "settings", "module", "modules", "loader", "init"),
        *("output", "report", "reports", "reporter", "reporters", "write", "export", "cache", "xml", "pipe"),
        *("interpreter", "editor", "runner", "resolver", "transform", "parser", "format", "formatter"),
        *("template", "overlay", "url", "uri", "host", "proxy", "import", "require", "define", "trace"),
        *("makefile", "rakefile", "justfile", "toolexec", "vettool", "modfile", "cpuprofile", "memprofile"),
    )
)
# Looked at, and found to run and write nothing of their own, or only where the project says.
HARMLESS = {
    "mvn": "check-plugin-updates update-plugins cpu npr npu up",
    "ctest": "build-config build-two-config output-on-failure test-output-size-failed C N "
    "test-output-size-passed test-output-truncation",
    "make": "assume-new assume-old new-file old-file output-sync print-directory trace what-if O W o w",
    "cargo": "future-incompat-report message-format files-with-diff l",
    "gofmt": "d e l w",
    "rustfmt": "files-with-diff l",
    "docker": "format",
    "pip": "format require-virtualenv",
    "ruff": "extend-per-file-ignores per-file-ignores output-format exit-non-zero-on-format range n",
    "pytest": "cache-clear cache-show doctest-ignore-import-errors doctest-modules doctest-report trace "
    "full-trace log-cli-date-format log-cli-format log-date-format log-format log-file-date-format "
    "log-file-format log-file-level log-file-mode strict-config",
    "mypy": "cache-fine-grained deprecated-calls-exclude fixed-format-cache junit-format module output m O "
    "report-deprecated-as-note scripts-are-modules skip-cache-mtime-checks sqlite-cache "
    "untyped-calls-exclude",
    "nox": "script-mode",
    "isort": "add-import filter-files format-error format-success known-local-folder multi-line "
    "remove-import rm skip src a m",
    "flake8": "per-file-ignores",
    "just": "clean clear-shell-args command-color completions dump-format evaluate-format timestamp-format "
    "usage l s",
    "eslint": "cache cache-strategy print-config report-unused-disable-directives "
    "report-unused-disable-directives-severity report-unused-inline-configs",
    "prettier": "cache cache-strategy require-pragma vue-indent-script-and-style with-node-modules write w",
    "jest": "cache changedFilesWithAncestor clearCache coveragePathIgnorePatterns moduleFileExtensions "
    "modulePathIgnorePatterns resetModules runTestsByPath testPathIgnorePatterns testPathPatterns "
    "transformIgnorePatterns unmockedModulePathPatterns watchPathIgnorePatterns",
    "vitest": "cache clearCache fileParallelism hookTimeout printConsoleTrace s",
    "hatch": "cover-xml",
    "git": "pathspec-file-nul untracked-files u write-commit-graph write-fetch-head L dirstat-by-file "
    "output-indicator-context output-indicator-new output-indicator-old rotate-to skip-to submodule root "
    "directory empty-directory format",
}


def executable(name: str) -> str | None:
    """The tool beside this Python, else in PATH."""
    return shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)


NEGATED = re.compile("--(no|disable|ignore|help|exclude|extend-exclude|list|show|allow)-?")


def words_of(head: str) -> set[str]:
    """The words of a flag and of what it takes, `--testRunner <path>` as test, runner, path."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", head)}


def flags_of(text: str) -> Iterator[tuple[str, str]]:
    """Each flag of a help text, with what its line says it takes."""
    for line in text.splitlines():
        if not re.match(r"\s*-", line):
            continue
        head = re.split(r"\s{2,}(?=[A-Za-z(\[=])", line.strip(), maxsplit=1)[0]
        for flag in re.findall(r"(?<![\w-])--?(?:\[no-\])?[A-Za-z][\w.-]*", head):
            yield flag.replace("[no-]", ""), head


INSTALLED = [words for words in HELP if executable(words.split()[0])]


@pytest.mark.parametrize("words", INSTALLED)
def test_every_flag_of_its_help_that_sounds_like_running_or_writing_is_known(root: Path, words: str) -> None:
    tool = words.split(maxsplit=1)[0]
    harmless = HARMLESS.get(tool, "").split()
    seen, unknown = 0, set[str]()
    for command in HELP[words]:
        program = executable(command[0])
        if program is None:
            continue
        done = subprocess.run(
            [program, *command[1:]],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=root, check=False,
            # Without those that are installed beside it: what they add differs, and takes seconds to load.
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        )  # fmt: skip
        for flag, head in flags_of(done.stdout + done.stderr):
            seen += 1
            if not TELLING & words_of(head) or flag.lstrip("-") in harmless or NEGATED.match(flag):
                continue
            if not isinstance(judge(root, f"{words} {flag}", f"shell({words})"), Ask):
                unknown.add(flag)
    assert seen > 0
    assert " ".join(sorted(unknown)) == ""
