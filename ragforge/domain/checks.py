"""Which check a shell command runs, such as tests, a linter or a compiler, and whether it failed."""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import takewhile

from msgspec import Struct

from ragforge.domain.turns import CallStatus

CHARS_MAX = 20_000
_TESTS = """
pytest;py.test;tox;nox;unittest;jest;vitest;mocha;ava;rspec;phpunit;ctest;nextest;go test;cargo test
cargo nextest;npm test;npm t;pnpm test;yarn test;bun test;deno test;mvn test;mvn verify;gradle test
gradle check;gradlew test;gradlew check;make test;make check;just test;dotnet test;mix test;rake test
rake spec;rails test;swift test;manage.py test;zig test;stack test;cabal test;sbt test;flutter test;dart test
"""
_OTHERS = """
ruff check;ruff format --check;mypy;pyright;pyre check;ty check;flake8;pylint;black --check;isort --check
eslint;tsc;biome check;prettier --check;stylelint;cargo check;cargo clippy;cargo build;go vet;go build
golangci-lint;staticcheck;make lint;make build;npm lint;npm build;npm typecheck;pnpm lint;pnpm build
pnpm typecheck;yarn lint;yarn build;yarn typecheck;mvn compile;mvn package;gradle build;gradlew build
dotnet build;rubocop;shellcheck;phpstan;swift build;mix compile;javac;lint-imports;codespell
terraform validate
"""
TESTS = frozenset(_TESTS.replace("\n", ";").strip(";").split(";"))
CHECKS = TESTS | frozenset(_OTHERS.replace("\n", ";").strip(";").split(";"))

_ASSIGNMENT = re.compile(r"\w+=.*", re.DOTALL)
_STARTERS = {"time", "nice", "timeout", "env", "xvfb-run", "npx", "bunx", "uvx", "pnpx", "exec", "command"}
_RUNNERS = {"uv", "poetry", "pipenv", "pdm", "hatch", "rye", "bundle", "pnpm", "npm", "yarn", "bun"}
_PACKAGES = {"npm", "pnpm", "yarn", "bun"}
_PYTHON = re.compile(r"python[\d.]*")
_VALUE = re.compile(r"[\d.]+[smh]?")
_BETWEEN = {"&&", "||", ";", "|", "|&", "&"}
_FAILED = re.compile(
    r"\b[1-9]\d* (?:failed|failures?|failing|errors?|problems?)\b"
    r"|^(?:FAILED|FAIL)\b|: error\b|^error(?:\[|:)",
    re.MULTILINE,
)
_PASSED = re.compile(
    r"\b\d+ (?:passed|passing|tests? OK)\b|^ok\b|^OK$|test result: ok|no issues found|All checks passed", re.M
)
_SAYS_WHY = re.compile(
    r"^(?:E  |FAILED|FAIL\b|panicked)|\w*(?:Error|Exception)\b|: error\b|^error\b", re.IGNORECASE
)
_PYTEST = re.compile(r"^E\s{2,}")
WHY_LINES_MAX = 2
WHY_CHARS_MAX = 300
_DID_NOT_RUN = re.compile(
    r"No module named|command not found|no tests ran|not found: |Missing script|\[Exit code 12[67] "
    r"|unrecognized arguments"
)
_WAS_ENDED = re.compile(r"\[(?:Ended after its time limit|Killed by )")


class CheckRun(Struct, frozen=True):
    """A check that ran.

    name: such as `pytest` or `npm test`. failed: None if neither exit code nor output tells.
    """

    name: str
    is_test: bool
    failed: bool | None


def checks_of(command: str, status: CallStatus, result: str) -> list[CheckRun]:
    """Return the checks that the command ran, in order; none if it did not get that far."""
    if status not in (CallStatus.OK, CallStatus.FAILED) or len(command) > CHARS_MAX:
        return []
    commands = list(_simple_commands(command))
    names = [_check_name(words) for words, _ in commands]
    if not any(names) or _DID_NOT_RUN.search(result) or _WAS_ENDED.search(result):
        return []
    last = len(names) - 1
    runs: list[CheckRun] = []
    for at, name in enumerate(names):
        if name is not None:
            # What follows `;` or a pipe hides the exit code; after `&&` it is the code of either.
            tells = all(commands[later][1] == "&&" for later in range(at + 1, last + 1))
            others = any(each is None for each in names[at + 1 :])
            failed = _outcome(status, result, tells=tells, alone=not others)
            runs.append(CheckRun(name, name in TESTS, failed))
    return runs


def check_output(result: str) -> str:
    """Return the lines of a failed check's output that say what failed, on one line; else its last line."""
    lines = [line.strip() for line in result[-CHARS_MAX:].splitlines() if line.strip()]
    telling = [line for line in lines if _SAYS_WHY.search(line)]
    kept = telling[-WHY_LINES_MAX:] or [line for line in lines if not line.startswith("[")][-1:]
    return "; ".join(dict.fromkeys(_PYTEST.sub("", line) for line in kept))[:WHY_CHARS_MAX]


def _outcome(status: CallStatus, result: str, *, tells: bool, alone: bool) -> bool | None:
    if tells and status is CallStatus.OK:
        return False
    if tells and alone:
        return True
    return True if _FAILED.search(result) else False if _PASSED.search(result) else None


def _simple_commands(command: str) -> Iterator[tuple[list[str], str]]:
    """Return the words of each command, and what precedes it: nothing, `&&`, `||`, `;` or `|`."""
    head, *_ = command.partition("<<")
    lexer = shlex.shlex(head.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=";|&")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    before = ""
    try:
        for token in lexer:
            if token in _BETWEEN:
                if words:
                    yield words, before
                words, before = [], token
            else:
                words.append(token)
    except ValueError:  # an unclosed quote
        return
    if words:
        yield words, before


def _check_name(words: Sequence[str]) -> str | None:
    """Return the check that these words run."""
    rest = [word.strip("(){}") for word in words]
    rest = [word for word in rest if word]
    while rest and (_ASSIGNMENT.fullmatch(rest[0]) or rest[0].rpartition("/")[2] in _STARTERS):
        starter = rest.pop(0)
        while "=" not in starter and rest and (rest[0].startswith("-") or _VALUE.fullmatch(rest[0])):
            rest.pop(0)
    if not rest:
        return None
    program = rest[0].rpartition("/")[2]
    if program in _RUNNERS and rest[1:2] in (["run"], ["exec"]) and len(rest) > 2:
        inner = _check_name(rest[2:])
        return inner or _of_package(program, rest[2])
    if _PYTHON.fullmatch(program):
        rest = [word for word in rest[1:] if word != "-m"]
        program = rest[0].rpartition("/")[2] if rest else ""
    if rest[1:2] and f"{program} {rest[1]}" in CHECKS:
        return f"{program} {rest[1]}"
    flagged = next((name for name in CHECKS if _has_flag(name, program, rest)), None)
    return flagged or (program if program in CHECKS else _of_goals(program, rest))


def _has_flag(name: str, program: str, words: Sequence[str]) -> bool:
    first, *others = name.split()
    return "--" in name and first == program and all(each in words for each in others)


def _of_goals(program: str, words: Sequence[str]) -> str | None:
    """`mvn -q clean test`: a goal after flags and other goals."""
    return next((f"{program} {word}" for word in words[1:] if f"{program} {word}" in CHECKS), None)


def _of_package(program: str, script: str) -> str | None:
    """`npm run test:unit` is `npm test`."""
    name = f"{program} {''.join(takewhile(str.isalpha, script))}"
    return name if program in _PACKAGES and name in CHECKS else None
