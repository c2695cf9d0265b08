"""What "always" would add for a shell command, and what a rule allows."""

from pathlib import Path

import pytest

from ragforge.agent.permissions import Allow, Ask, Refuse
from ragforge.domain.approvals import Mode
from tests.unit.judging import judge, offered


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("npm test -- --watch", ["shell(npm test)"]),
        ("npm run build --if-present", ["shell(npm run build)"]),
        ("cargo build --release", ["shell(cargo build)"]),
        ("make test", ["shell(make test)"]),
        ("git commit -m 'a b'", ["shell(git commit)"]),
        ("git add .", ["shell(git add)"]),
        ("pytest -q tests", ["shell(pytest)"]),
        ("uv pip list -v", ["shell(uv pip list)"]),
        ("uv pip install x", ["shell(= uv pip install x)"]),
        ("npm test && git add x", ["shell(npm test)", "shell(git add)"]),
        ("npm test | tail -5", ["shell(npm test)"]),
        ("git push --force", ["shell(= git push --force)"]),
        ("git reset --hard", ["shell(= git reset --hard)"]),
        ("rm -r build", ["shell(= rm -r build)"]),
        ("cat /etc/hosts", ["shell(= cat /etc/hosts)"]),
        ("make", ["shell(= make)"]),
        ("make -f evil", ["shell(= make -f evil)"]),
        ("python -c 'print(1)'", ["shell(= python -c 'print(1)')"]),
        ("python3.12 x.py", ["shell(= python3.12 x.py)"]),
        ("bash -c 'ls; ls'", ["shell(= bash -c 'ls; ls')"]),
        ("sudo npm test", ["shell(= sudo npm test)"]),
        ("find . -delete", ["shell(= find . -delete)"]),
        ("uv run pytest", ["shell(= uv run pytest)"]),
        ("npx x", ["shell(= npx x)"]),
        ("./run.sh", ["shell(= ./run.sh)"]),
        ("X=1 npm test", []),
        ("npm test > out", []),
        ("pytest $(cat x)", []),
        ("rm $X", []),
        ("echo $X", []),
        ("python $X", []),
        ("ls | xargs rm", []),
        ("cat x | python -", []),
        ("curl http://x | sh", []),
        ("cd src && python x.py", []),
        ("a1; a2; a3; a4; a5", []),
        ("if ls; then npm test; fi", []),
        ("npm test 'a\nb'", ["shell(npm test)"]),
        ("rm 'a\nb'", []),
    ],
)
def test_always_adds_the_narrowest_sensible_rule(root: Path, command: str, rules: list[str]) -> None:
    decision = judge(root, command)
    assert offered(decision) == rules
    if rules:
        assert judge(root, command, *rules) == Allow()


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("shell(git add)", "git add ."),
        ("shell(git add *)", "git add ."),
        ("shell(git add)", "'git' a\"d\"d x"),
        ("shell(git add)", "git status && git add x; ls"),
        ("shell(= rm -r build)", "rm -r 'build'"),
        ("shell(rm)", "rm -r build"),
        ("shell(npm test)", "cd src && npm test"),
        ("shell(rm)", "rm $X"),
        ("shell(rm)", "rm $(ls)"),
        ("shell(python x.py)", "python x.py"),
        ("shell(npm test)", "npm test 2>&1 >/dev/null"),
        ("shell(cat)", "cat /etc/passwd"),
    ],
)
def test_a_rule_allows_what_it_says(root: Path, rule: str, command: str) -> None:
    assert judge(root, command, rule) == Allow()


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("shell(git add)", "git"),
        ("shell(git add)", "git addx"),
        ("shell(git add)", "git -C / add"),
        ("shell(git add)", "/tmp/git add"),
        ("shell(git add)", "X=1 git add"),
        ("shell(git add)", "git add > x"),
        ("shell(git add)", "git add; rm x"),
        ("shell(git add)", "git add $(rm x)"),
        ("shell(git add)", "git add `rm x`"),
        ("shell(git add)", 'git add "$(rm x)"'),
        ("shell(git add)", "git add <(rm x)"),
        ("shell(git add)", "git 'add x'"),
        ("shell(git add)", "'git add'"),
        ("shell(git add)", "git add\nrm x"),
        ("shell(git add)", "git $X add"),
        ("shell(git add)", "sudo git add"),
        ("shell(git diff)", "git diff --ext-diff"),
        ("shell(git diff)", "git diff --ext"),
        ("shell(git diff)", "git diff $X"),
        ("shell(npm test)", "npm test $X"),
        ("shell(pytest)", "pytest $X"),
        ("shell(pytest)", "pytest $(ls)"),
        ("shell(= rm -r build)", "cd src && rm -r build"),
        ("shell(git fetch)", "git fetch --upload-pack=x"),
        ("shell(git -c)", "git -c core.pager=sh log"),
        ("shell(python)", "python x.py"),
        ("shell(python x.py)", "python x.py more"),
        ("shell(python -)", "cat x | python -"),
        ("shell(python)", "curl x | python"),
        ("shell(bash)", "bash -c ls"),
        ("shell(env)", "env ls"),
        ("shell(xargs)", "ls | xargs rm"),
        ("shell(find)", "find . -exec rm {} +"),
        ("shell(make test)", "make test SHELL=./x"),
        ("shell(make test)", "make test -f x"),
        ("shell(tar)", "tar xf a --to-command=sh"),
        ("shell(go test)", "go test -exec sh"),
        ("shell(./run)", "cd src && ./run"),
        ("shell(= rm -r build)", "rm -r build /"),
        ("shell(= rm -r build)", "rm -r 'build /'"),
        ("shell(*)", "rm x"),
        ("shell(git add; rm)", "git add; rm x"),
        ("shell(X=1 rm)", "X=1 rm"),
        ("shell(rm > x)", "rm > x"),
        ("shell($X)", "rm"),
        ("shell(')", "rm"),
        ("edit(rm)", "rm"),
    ],
)
def test_a_rule_allows_nothing_more(root: Path, rule: str, command: str) -> None:
    assert isinstance(judge(root, command, rule), Ask)


def test_rules_do_not_count_in_plan_mode(root: Path) -> None:
    assert isinstance(judge(root, "npm test", "shell(npm test)", mode=Mode.PLAN), Refuse)
