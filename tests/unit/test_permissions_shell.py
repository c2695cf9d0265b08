"""Which shell commands need asking."""

from pathlib import Path

import pytest

from ragforge.agent.permissions import Allow, Ask, Refuse
from ragforge.domain.approvals import Mode
from tests.unit.judging import judge

READ_ONLY = """
ls
ls -la src
ls --color=never
cat b.py src/a.py
cat -n -- b.py
head -n 5 b.py
head -20 b.py
tail -n +3 b.py
wc -l b.py src/a.py
pwd
echo "hello, world" 'x;y' a\\ b
printf '%s\\n' a b
which python
stat -c %s b.py
du -sh .
df -h
date
date -u +%F
uname -a
whoami
id -u
grep -rn "foo$" src
grep -n -e /etc/passwd b.py
grep /api/v1 -r src
rg -n --glob '!x' foo src
find . -name '*.py' -type f
find src -maxdepth 2 \\( -name a -o -name b \\) -print
sort -k2,2 -t, -n b.py
sort -u b.py | uniq -c | head
cut -d: -f1 b.py
tr a-z A-Z
diff -u b.py src/a.py
cmp b.py src/a.py
basename /etc/passwd .x
dirname src/a.py
realpath b.py
readlink -f b.py
tree -L 2 src
sed -n '1,3p' b.py
sed -n '$p' b.py
true
test -f b.py && echo yes || echo no
[ -d src ] && ls src
git status
git --no-pager log --oneline -n 5
git log -p --since=2.weeks -- src
git diff HEAD~1 --stat
git diff --cached
git show HEAD:b.py
git branch
git branch -a --sort=-committerdate
git branch --list 'x*'
git rev-parse --show-toplevel
git rev-parse --abbrev-ref HEAD
git ls-files -m
git blame -L 1,3 b.py
git remote -v
git stash list
git tag -l 'v*'
git tag
git grep -n foo
ls 2>/dev/null
ls src 2>&1 | head -3
ls >/dev/null; pwd
(ls; pwd)
{ ls; pwd; }
! ls
cd src && ls
cd src && cat a.py
ls \\
  src
cat lib/*.py
wc -l lib/?.py ./lib/[ab].py
grep -rn --include=*.py x lib
cat dashes/*.py
cat none/*.py
ls # a comment
ls && ls || ls & ls
""".strip().split("\n")


@pytest.mark.parametrize("command", "\n".join(READ_ONLY).replace("\\\n", "\\\0").split("\n"))
def test_a_read_only_command_needs_no_asking(root: Path, command: str) -> None:
    command = command.replace("\0", "\n")
    assert judge(root, command) == Allow()
    assert judge(root, command, mode=Mode.PLAN) == Allow()


OUTSIDE = """
cat /etc/passwd
cat out/passwd
cat src/passwd
cat ../x
cat src/../../x
cat ~/.ssh/id_rsa
cat ~root/x
head -n 1 /etc/passwd
grep root /etc/passwd
grep -e root /etc/passwd
grep -ie root /etc/passwd
grep -r root /etc
grep root b.py -e /etc/passwd
ls /
ls out
find / -name x
find .. -name x
find . -newer /etc/passwd
sort /etc/passwd
wc -l < /etc/passwd
diff b.py /etc/passwd
diff src out
sed -n 1p /etc/passwd
test -f /etc/passwd
[ -f ../x ]
stat /etc
tree /
git diff /etc/passwd b.py
git diff --no-index b.py src/a.py
cd / && ls
cd .. && ls
cd && ls
cd - && ls
cd out && cat passwd
cd src && cd ../.. && ls
cd src; cat ../../x
cd src && cat ../b.py
cat src/*
cat out/*
cat ../*.py
cat /*
cat /etc/*
cat *
cd src && cat *
cd lib && cat *.py
cat dashes/*.py /etc/passwd
cd dashes && cat *.py
cat /proc/self/environ
cat /dev/stdin
""".strip().split("\n")

CHANGES = """
rm b.py
touch x
ls > files
ls >> files
ls >| files
ls &> files
ls <> files
ls 2> files
cat < b.py
cat <<< hello
cat b.py | tee x
find . -exec rm {} +
find . -execdir rm {} \\;
find . -ok rm {} \\;
find . -delete
find . -fprint x
find . -fprintf x %p
find . -fls x
find . -files0-from x
find -L . -name x
sort -o x b.py
sort -ox b.py
sort -uo x b.py
sort --output=x b.py
sort --outp=x b.py
sort --compress-program=sh b.py
sort -S 1 b.py
uniq b.py x
uniq b.py -c
date -s now
date 01010101
date --set=now
rg --pre=sh x
rg --pre sh x
rg -z x
rg -L x
grep -R x .
grep -f b.py x
tree -o x
tree -l
sed -n 'w x' b.py
sed -n '1e ls' b.py
sed -i 1d b.py
sed 1d b.py
sed -n 1p -i b.py
awk '{print}' b.py
env
env ls
xargs ls
printf -v PATH x
test -v 'a[$(rm b.py)]'
[ -v 'a[$(rm b.py)]' ]
[[ 'a[$(rm b.py)]' -eq 1 ]]
git -c core.pager=sh log
git -C .. status
git --exec-path=. status
git --git-dir=x status
git diff --output=x
git diff --ext-diff
git log --textconv
git show --output x
git grep -O x
git grep -Osh x
git grep --open-files-in-pager=sh x
git branch new
git branch -D main
git branch -v new
git tag new
git tag -d v1
git stash
git stash pop
git remote add x y
git config -l
git reflog expire --all
git status -v
git push
git commit -m x
command ls
builtin ls
exec ls
eval ls
sudo ls
time ls
./ls
/bin/ls
'l's x; rm b.py
\\rm b.py
"rm" b.py
ls; rm b.py
ls && rm b.py
ls || rm b.py
ls | sh
ls |& sh
ls & rm b.py
(ls; rm b.py)
{ ls; rm b.py; }
echo $(rm b.py)
echo `rm b.py`
echo "$(rm b.py)"
echo "a `rm b.py`"
echo ${x:-$(rm b.py)}
echo $((a[$(rm b.py)]))
cat <(rm b.py)
ls > >(sh)
X=1 ls
PATH=. ls
LD_PRELOAD=x ls
X=1
X=1; ls
export PATH=.; ls
for PATH in .; do ls; done
if ls; then ls; fi
while ls; do ls; done
case x in x) ls;; esac
ls() { rm b.py; }; ls
function ls { rm b.py; }; ls
alias ls=rm; ls
coproc ls
((PATH=1))
echo $HOME
echo "$HOME"
echo ~
cat ~/*.py
sort src/*.py
uniq src/*.py
cat */a.py
cat **/a.py
ls .*
grep -r x .*
cat ./.*
cat -*
cat "$x"*
rm *.py
cat {b,c}.py
ls $'-l'
ls $"x"
! rm b.py
cd src && git status
unknown
""".strip().split("\n")

UNCLEAR = [
    "ls '",
    'ls "',
    "ls $(",
    "ls (",
    "ls ;; rm",
    "ls\r\nrm b.py",
    "ls\x00rm",
    "ls\x0brm",
    "ls\u00a0rm",
    "ls \ud800",
    "ls \x1b[31m",
    "ls " + "x" * 20_001,
    "(" * 150 + "ls" + ")" * 150,
    "cat <<E\n$(rm b.py)\nE",
    "cat <<'E'\nx\nE",
    "ls\\\nx",
    "if ls",
    "",
    "   ",
    "# only this",
    "> b.py",
    "ls\nrm b.py",
    "ls \\\\\nrm b.py",
]


@pytest.mark.parametrize("command", OUTSIDE + CHANGES + UNCLEAR)
def test_any_other_command_asks(root: Path, command: str) -> None:
    assert isinstance(judge(root, command), Ask)
    assert isinstance(judge(root, command, mode=Mode.ACCEPT_EDITS), Ask)
    assert judge(root, command, mode=Mode.ALL) == Allow()


READS_ELSEWHERE = ("cd src && git status", "cd lib && cat *.py")


@pytest.mark.parametrize("command", [command for command in CHANGES if command not in READS_ELSEWHERE])
def test_plan_mode_refuses_what_may_change_something(root: Path, command: str) -> None:
    decision = judge(root, command, f"shell({command.split(maxsplit=1)[0]})", mode=Mode.PLAN)
    assert isinstance(decision, Refuse)
    assert "Plan mode" in decision.reason


def test_plan_mode_asks_before_it_reads_elsewhere_and_offers_no_rule(root: Path) -> None:
    assert judge(root, "cat /etc/hosts", mode=Mode.PLAN) == Ask("reads outside the project: /etc/hosts")


def test_the_reason_names_what_is_doubtful(root: Path) -> None:
    for command, words in {
        "ls && rm x": "rm x",
        "cat /etc/passwd": "reads outside the project: /etc/passwd",
        "ls > x": "redirection: > x",
        "X=1 ls": "an assignment",
        "for x in y; do ls; done": "a loop",
        "ls '": "cannot be parsed",
    }.items():
        decision = judge(root, command)
        assert isinstance(decision, Ask)
        assert words in decision.reason


@pytest.mark.parametrize(
    "command",
    [
        # A flag that takes no value after all leaves the next word to be a flag.
        "git log --pretty --output=b.py",
        "git log --min-parents --output=b.py",
        "git log --format --output=b.py",
        "git diff -U --output=b.py",
        "git diff -X --output=b.py",
        "git diff --unified --output=b.py",
        # ... or an operand: a new branch, a file to read.
        "git branch --abbrev new",
        "du --time /etc",
        "diff --context /etc/passwd b.py",
        # These set a variable, and PATH is one.
        "printf '%n' PATH; ls",
        "printf 'abc%5ln' PATH && ls",
        "printf '%d%%%n' 1 PATH",
        # It refreshes the index, which has a hook.
        "git describe --dirty",
    ],
)
def test_what_only_looks_like_reading_asks(root: Path, command: str) -> None:
    assert isinstance(judge(root, command), Ask)
