"""Laws of consent, with bash as the witness where a shell is concerned."""

import shlex
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragforge.agent.permissions import Allow, Ask, Decision, Refuse, decide
from ragforge.domain.approvals import Mode, Rule
from ragforge.shell.program_flags import PROGRAMS, Program
from ragforge.shell.readonly_commands import find_reads
from ragforge.shell.readonly_flags import GIT
from ragforge.shell.readonly_flags import PROGRAMS as READ_ONLY
from ragforge.tools import shell
from ragforge.tools.base import AnyTool, Preview
from ragforge.tools.registry import find_tools
from tests.bash_trace import trace

ROOT = Path(tempfile.gettempdir()).resolve() / "a project that is not there"
GIT_ADD = Rule("shell", "git add")
TOOLS = find_tools()
SAFE_MODES = [Mode.ASK, Mode.ACCEPT_EDITS, Mode.PLAN]


def judge(command: str, *rules: Rule, mode: Mode = Mode.ASK) -> Decision:
    return decide(shell.TOOL, {"command": command}, Preview(), mode=mode, rules=rules, root=ROOT, cwd=ROOT)


words = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]) | st.just(" "), max_size=8)
allowed = st.lists(words, max_size=4).map(lambda items: f"git add {shlex.join(items)}")


@settings(max_examples=200, deadline=None)
@given(allowed)
def test_a_rule_allows_its_command_with_any_quoted_words(command: str) -> None:
    text = judge(command, GIT_ADD)
    # Words that may be flags which run programs are asked about, and paths that lead out, see `are_open`.
    assert text == Allow() or any(
        word.startswith(("-", "/", "~", "..")) or "/" in word for word in shlex.split(command)
    )


@settings(max_examples=200, deadline=None)
@given(
    allowed,
    st.sampled_from(
        [
            *(
                "{}; rm x",
                "{} && rm x",
                "{} || rm x",
                "{} | sh",
                "{} & rm x",
                "{}\nrm x",
                "rm x; {}",
                "rm x | {}",
            ),
            *(
                "{} $(rm x)",
                "{} `rm x`",
                '{} "$(rm x)"',
                "{} <(rm x)",
                "{} > x",
                "{} >> x",
                "{} 2> x",
                "{} < x",
            ),
            *("X=1 {}", "X=1; {}", "sudo {}", "eval {}", "if {}; then rm x; fi", "f() {{ rm x; }}; {}"),
            *(
                "{} <<< x",
                "({}; rm x)",
                "$({})",
                "`{}`",
                "{} &> x",
                "cd /; {}",
                "cd / && {}",
                "export X=1; {}",
            ),
        ]
    ),
)
def test_nothing_put_to_an_allowed_command_goes_with_it(command: str, around: str) -> None:
    assert isinstance(judge(around.format(command), GIT_ADD), Ask)


PIECES = [
    *(
        "git",
        "add",
        " ",
        " ",
        " ",
        "ls",
        "c0",
        "rm x",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "\n",
        "(",
        ")",
        "{",
        "}",
        "'",
    ),
    *(
        '"',
        "\\",
        "$(",
        "`",
        "$",
        "#",
        "!",
        "~",
        "*",
        "=",
        "<",
        ">",
        ">>",
        "2>&1",
        ">/dev/null",
        "<<E\n",
        "\nE\n",
    ),
    *(
        "$'",
        "\\n",
        "x=1",
        "<(",
        "${x}",
        "if",
        "then",
        "fi",
        "\\\n",
        "git add",
        "git add ",
        "; git add ",
        "a",
        "[",
        "]",
    ),
]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=9).map(lambda pieces: "git add " + "".join(pieces)))
def test_no_quoting_trick_widens_a_rule(text: str) -> None:
    if judge(text, GIT_ADD) != Allow():
        return
    for returns in (0, 1):
        seen = trace(text, returns=returns)
        assert seen.files == []
        for ran in seen.ran:
            assert ran[:2] == ("git", "add") or find_reads(ran) is not None


COMMANDS = [
    *(
        "ls",
        "pwd",
        "git status",
        "echo a",
        "cat x",
        "git add x",
        "rm x",
        "cat /etc/passwd",
        "X=1 ls",
        "ls > x",
    ),
    *(
        "npm test",
        "python x.py",
        "sort -o x x",
        "echo $X",
        "find . -delete",
        "(ls)",
        "git push",
        "for a in b; do ls; done",
    ),
]
commands = st.sampled_from(COMMANDS)
rule_sets = st.lists(
    st.sampled_from([GIT_ADD, Rule("shell", "npm test"), Rule("shell", "rm"), Rule("shell", "= git push")])
)


@settings(max_examples=150, deadline=None)
@given(commands, st.sampled_from(["; ", " && ", " || ", " | ", " & ", "\n"]), commands, rule_sets)
def test_a_list_is_silent_only_where_each_part_is(
    first: str, joint: str, second: str, rules: list[Rule]
) -> None:
    parts_silent = judge(first, *rules) == judge(second, *rules) == Allow()
    assert (judge(first + joint + second, *rules) == Allow()) == parts_silent


@settings(max_examples=150, deadline=None)
@given(commands, st.text(max_size=12), rule_sets)
def test_text_put_to_a_command_that_asks_does_not_silence_it(
    command: str, text: str, rules: list[Rule]
) -> None:
    if judge(command, *rules) == Allow():
        return
    for longer in (f"{command} {text}", f"{command};{text}", f"{command}\n{text}", f"{command} #{text}"):
        assert judge(longer, *rules) != Allow()


any_command = st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | commands | st.text(max_size=30)


@settings(max_examples=150, deadline=None)
@given(any_command, rule_sets)
def test_each_mode_allows_at_least_what_a_stricter_one_does(command: str, rules: list[Rule]) -> None:
    silent = [
        judge(command, *rules, mode=mode) == Allow()
        for mode in (Mode.PLAN, Mode.ASK, Mode.ACCEPT_EDITS, Mode.ALL)
    ]
    assert silent == sorted(silent)
    assert silent[-1]


@settings(max_examples=150, deadline=None)
@given(any_command)
def test_what_always_would_add_is_enough_and_is_written_as_it_is_read(command: str) -> None:
    decision = judge(command)
    if isinstance(decision, Ask) and decision.rules:
        assert judge(command, *decision.rules) == Allow()


@pytest.fixture(scope="module")
def led_away(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose `.git` leads to a repository that does not know it."""
    folder = tmp_path_factory.mktemp("led").resolve()
    subprocess.run(["git", "init", "-q", folder / "private"], check=True)
    (folder / "project/src").mkdir(parents=True)
    (folder / "project/.git").write_text(f"gitdir: {folder}/private/.git\n")
    return folder / "project"


git_commands = st.builds(
    "{}git {}{}".format,
    st.sampled_from(["", "cd src && ", "ls; ", "ls | ", "(", "echo $(", "'", "/usr/bin/", "command "]),
    st.sampled_from(["log", "status", "add x", "diff --stat", "--version", "-C src log", "push"]),
    st.sampled_from(["", ")", "'", "; ls", " 2>&1", " >/dev/null"]),
)


@settings(max_examples=100, deadline=None)
@given(git_commands | any_command, st.lists(st.sampled_from(["git", "git log", "git add", "= git push"])))
def test_no_rule_lets_git_read_a_repository_that_does_not_know_the_folder(
    led_away: Path, command: str, patterns: list[str]
) -> None:
    rules = [Rule("shell", pattern) for pattern in patterns]
    decision = decide(
        shell.TOOL, {"command": command}, Preview(), mode=Mode.ASK, rules=rules, root=led_away, cwd=led_away
    )
    if decision == Allow():
        assert not [ran for ran in trace(command).ran if Path(ran[0]).name == "git"]


# What "always" offers for each tool, and how its flags that run or write may be spelled.
OPEN = [
    (f"{name} {subcommand.replace('*', 'test')}".strip(), program)
    for name, program in PROGRAMS.items()
    for subcommand in (program.always or ("",))
]


@st.composite
def spelled(draw: st.DrawFn, program: Program, own: Program) -> str:
    """One of the flags as its tool may take it. own: what the subcommand has besides."""
    letters = program.letters + program.first_letters
    if letters and (not program.names or draw(st.booleans())):
        letter = draw(st.sampled_from(letters))
        others = draw(st.text("qvxs", max_size=2)) if program.clusters else ""
        others = "".join(each for each in others if each not in program.value_letters + own.value_letters)
        glued = letter in program.first_letters or program.clusters
        return f"-{others}{letter}{draw(st.sampled_from(['', 'x=y', './e'])) if glued else ''}"
    if not program.names:
        return "-O" if program.letters else "@x"
    name = draw(st.sampled_from(program.names.split()))
    dashes = "-" if program.one_dash_names and draw(st.booleans()) else "--"
    if program.abbreviates and len(name) > 3 and draw(st.booleans()):
        name = name[: draw(st.integers(3, len(name)))]
    elif draw(st.booleans()):
        first, *rest = name.split("-")
        name = first + "".join(word.capitalize() for word in rest)
    return dashes + name + draw(st.sampled_from(["", "=x", "=./e", " x"]))


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from([each for each in OPEN if each[1].names or each[1].letters]))
def test_no_spelling_of_a_flag_that_runs_or_writes_goes_with_a_rule(
    data: st.DataObject, tool: tuple[str, Program]
) -> None:
    words, program = tool
    flag = data.draw(spelled(program, PROGRAMS.get(words, Program())))
    if flag.lstrip("-").partition("=")[0].split()[0] in program.harmless.split():
        return  # another flag by the same first letters
    around = data.draw(st.sampled_from(["{}", "x {}", "-q {}", "{} x", "-- {}"]))
    command = f"{words} {around.format(flag)}"
    # Behind `--` a word is no flag to a command that is silent without a rule.
    assert isinstance(judge(command, Rule("shell", words)), Ask) or judge(command) == Allow()


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([each for each in OPEN if each[1].always]),
    st.sampled_from(["/etc", "../x", "a/../../x", "~/x", "/", "..", "/etc/../etc/passwd", "https://x.org/y"]),
    st.sampled_from(["{}", "-- {}", "x {}", "--some-flag={}", "--some-flag={},b", "-q {}"]),
)
def test_no_path_out_of_the_project_goes_with_a_rule_for_a_tool(
    tool: tuple[str, Program], path: str, around: str
) -> None:
    command = f"{tool[0]} {around.format(path)}"
    assert isinstance(judge(command, Rule("shell", tool[0])), Ask) or judge(command) == Allow()


def test_no_flag_of_a_silent_command_is_one_that_runs_or_writes() -> None:
    silent = {
        **{name: flags for name, flags in READ_ONLY.items() if name in PROGRAMS},
        **{f"git {name}": flags for name, flags in GIT.items()},
    }
    for name, flags in silent.items():
        program, own = PROGRAMS[name.split()[0]], PROGRAMS.get(name, Program())
        # `git rev-parse --git-dir` prints what `git --git-dir=x` sets.
        told = (flags.long | flags.long_values) - {"git-dir"}
        assert not told & set(f"{program.names} {own.names}".split()), name
        short = set(flags.short + flags.short_values + flags.short_optional)
        assert not short & set(program.letters + own.letters), name


WRITERS = [tool for tool in TOOLS.values() if tool.effect == "write"]
names = (
    st.sampled_from(["a.py", "src/b.py", "deep/er/c", ".git/config", ".ragforge/x", "src/.git/hooks/x"])
    | words
)
rules_of_files = st.lists(
    st.builds(
        Rule,
        st.sampled_from(["edit", "write", "shell", "read"]),
        names | st.sampled_from(["**", "*", "!a", "/"]),
    )
)


def write(tool: AnyTool, paths: list[Path], rules: list[Rule], mode: Mode) -> Decision:
    return decide(tool, {}, Preview(paths=tuple(paths)), mode=mode, rules=rules, root=ROOT, cwd=ROOT)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(WRITERS), st.lists(names, max_size=3), rules_of_files)
def test_plan_mode_never_lets_a_file_be_changed(tool: AnyTool, found: list[str], rules: list[Rule]) -> None:
    assert isinstance(write(tool, [ROOT / name for name in found], rules, Mode.PLAN), Refuse)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(WRITERS),
    st.sampled_from([".git/config", ".ragforge/config.toml", "src/.git/x", "../x", "/etc/passwd", ".GIT/x"]),
    rules_of_files,
    st.sampled_from(SAFE_MODES),
)
def test_protected_and_foreign_files_ask_whatever_the_rules(
    tool: AnyTool, name: str, rules: list[Rule], mode: Mode
) -> None:
    decision = write(tool, [ROOT / "ok.py", ROOT / name], rules, mode)
    assert decision != Allow()
    assert isinstance(decision, Refuse) or decision.rules == ()
    assert write(tool, [ROOT / name], rules, Mode.ALL) == Allow()


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(WRITERS),
    st.lists(st.text("ab*?[]!#\\ /.é", min_size=1, max_size=8), min_size=1, max_size=3),
)
def test_what_always_would_add_for_files_is_enough(tool: AnyTool, found: list[str]) -> None:
    paths = [ROOT / "src" / name.strip("/") for name in found]
    if any(".." in path.parts for path in paths):
        return
    decision = write(tool, paths, [], Mode.ASK)
    if isinstance(decision, Ask) and decision.rules:
        assert write(tool, paths, list(decision.rules), Mode.ASK) == Allow()


@pytest.mark.parametrize("mode", SAFE_MODES)
def test_reading_asks_only_outside_the_project(mode: Mode) -> None:
    for tool in TOOLS.values():
        if tool.effect != "read":
            continue
        inside, outside = Preview(paths=(ROOT / "a",)), Preview(paths=(ROOT / "a", Path("/etc/passwd")))
        assert decide(tool, {}, inside, mode=mode, rules=[], root=ROOT, cwd=ROOT) == Allow()
        asked = decide(tool, {}, outside, mode=mode, rules=[], root=ROOT, cwd=ROOT)
        assert asked == Ask("reads outside the project: /etc/passwd")
