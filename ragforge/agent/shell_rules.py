"""Rules for shell commands: which command a rule matches, and which rule "always" would add.

`shell(git add)` matches every simple command that begins with these whole words; `shell(= rm -r build)`
matches that command exactly. A command that runs whatever its arguments say is matched exactly only.
"""

import functools
import re
import shlex
from collections.abc import Sequence

from ragforge.domain.approvals import Rule
from ragforge.tools.shell_grammar import SimpleCommand, parse_command

PATTERN_CHARS_MAX = 300
EXACT = "= "

# They run what their arguments, their input or a file say. Also by version: python3.12.
_RUNNERS = frozenset(
    (
        *("sh", "bash", "dash", "zsh", "fish", "ksh", "csh", "tcsh", "busybox", "pwsh", "osascript"),
        *("python", "pypy", "ipython", "node", "nodejs", "deno", "bun", "tsx", "ts-node", "ruby", "irb"),
        *("perl", "php", "lua", "luajit", "r", "rscript", "julia", "java", "jshell", "groovy", "scala"),
        *("tclsh", "wish", "expect", "ghci", "runghc", "elixir", "erl", "gdb", "lldb", "strace", "ltrace"),
        *(
            "awk",
            "gawk",
            "mawk",
            "nawk",
            "sed",
            "ed",
            "ex",
            "vi",
            "vim",
            "nvim",
            "emacs",
            "less",
            "more",
            "man",
        ),
        *("env", "xargs", "parallel", "sudo", "doas", "su", "runuser", "pkexec", "chroot", "unshare"),
        *("nohup", "nice", "ionice", "timeout", "stdbuf", "setsid", "time", "watch", "script", "flock"),
        *("eval", "exec", "source", ".", "command", "builtin", "trap", "alias", "enable", "hash", "set"),
        *(
            "shopt",
            "export",
            "read",
            "mapfile",
            "readarray",
            "getopts",
            "cd",
            "pushd",
            "popd",
            "let",
            "test",
            "[",
            "printf",
        ),
        *("ssh", "scp", "sftp", "rsync", "nc", "ncat", "socat", "telnet", "tmux", "screen", "at", "batch"),
        *("crontab", "systemd-run", "npx", "pnpx", "bunx", "uvx", "entr", "direnv", "dotenv", "coproc"),
    )
)
_RUNNERS_OF_TWO = frozenset(
    (
        *("docker run", "docker exec", "docker compose", "podman run", "podman exec", "podman compose"),
        *("kubectl exec", "kubectl run", "npm exec", "npm x", "npm config", "npm explore", "pnpm exec"),
        *("pnpm dlx", "yarn exec", "yarn dlx", "yarn node", "uv run", "uv tool", "pipx run", "poetry run"),
        *("pdm run", "hatch run", "rye run", "pixi run", "conda run", "mamba run", "mise exec", "mise x"),
        *("nix run", "nix shell", "nix develop", "bundle exec", "go run", "go tool", "go generate", "go env"),
        *("dotnet exec", "dotnet run", "git bisect", "git submodule", "git rebase", "git filter-branch"),
        *("git config", "git difftool", "git mergetool", "git daemon", "git for-each-repo", "git hook"),
        *("git remote", "git send-email", "git clone", "git init", "git archive", "git instaweb"),
    )
)
# With one of these a command that is harmless otherwise runs a program, or writes where it is told.
_RUNNING_FLAGS: dict[str, tuple[str, ...]] = {
    "git": (
        *("--exec", "--exec-path", "--ext-diff", "--textconv", "--upload-pack", "--receive-pack", "--output"),
        *("--open-files-in-pager", "--extcmd", "--config-env", "--git-dir", "--work-tree", "-O"),
    ),
    "find": ("-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"),
    "rg": ("--pre", "--hostname-bin", "--search-zip", "-z"),
    "sort": ("--compress-program", "--output", "-o"),
    "tar": (
        *("--to-command", "--checkpoint-action", "--use-compress-program", "--rsh-command", "-I", "-F"),
        *("--rmt-command", "--info-script", "--new-volume-script"),
    ),
    "make": ("--eval", "--file", "--makefile", "--directory", "--include-dir", "-f", "-C", "-I", "-E"),
    "npm": ("--script-shell", "--prefix", "--node-options", "--userconfig", "--globalconfig", "-C"),
    "pnpm": ("--script-shell", "--dir", "--shell-emulator", "--node-options", "-C"),
    "yarn": ("--cwd", "--script-shell", "--node-options"),
    "cargo": ("--config", "--manifest-path", "-C", "-Z"),
    "go": ("-exec", "-toolexec", "-vettool", "-modfile", "-overlay", "-o", "-C"),
    "tree": ("-o",),
}

# How many words say what the command does, where one word would say too little.
_DEPTHS = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "cargo", "go", "make", "uv", "pip", "pip3", "poetry", "pdm"), 2),
    **dict.fromkeys(("ruff", "hatch", "tox", "nox", "just", "task", "rake", "gradle", "mvn", "dotnet"), 2),
    **dict.fromkeys(("docker", "podman", "bundle", "composer", "swift", "zig"), 2),
    **dict.fromkeys(("pytest", "mypy", "pyright", "tsc", "eslint", "prettier", "black", "isort"), 1),
    **dict.fromkeys(("flake8", "jest", "vitest", "rspec", "phpunit", "ctest", "gofmt", "rustfmt"), 1),
}
_DEPTHS_OF_TWO = {
    **dict.fromkeys(("npm run", "pnpm run", "yarn run", "hatch env", "uv pip"), 3),
}
_GIT_COMMON = frozenset(
    (
        *("add", "commit", "fetch", "pull", "switch", "stash", "merge", "cherry-pick", "mv", "status"),
        *("log", "diff", "show", "blame", "ls-files"),
    )
)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:+-]*")


def matches(rule: Rule, command: SimpleCommand, *, elsewhere: bool) -> bool:
    """Whether the rule says that this command needs no asking.

    elsewhere: the command line changes the folder, so what is named by a relative path may differ.
    """
    read = _read_pattern(rule.pattern) if rule.tool == "shell" else None
    if read is None or command.assigns or len(command.words) < len(read[0]):
        return False
    words, exact = read
    if any(not word.literal for word in command.words[: len(words)]):
        return False
    if command.texts[: len(words)] != words:
        return False
    if elsewhere and "/" in words[0]:
        return False
    if runs_others(command):
        return command.literal and command.texts == words and not command.fed and not elsewhere
    return command.texts == words if exact else True


def propose(command: SimpleCommand, *, elsewhere: bool, exact: bool = False) -> Rule | None:
    """The narrowest sensible rule that matches the command, or None where none would be safe.

    exact: only this very command, even where its first words would say enough otherwise.
    """
    texts = command.texts
    count = None if exact or runs_others(command) else _count_of_words(texts)
    chosen = texts if count is None else texts[:count]
    pattern = (EXACT if count is None else "") + shlex.join(chosen)
    if len(pattern) > PATTERN_CHARS_MAX or not pattern.isprintable():
        return None
    rule = Rule("shell", pattern)
    return rule if matches(rule, command, elsewhere=elsewhere) else None


def runs_others(command: SimpleCommand) -> bool:
    """Whether what the command does hangs on its arguments, its input or a file, not on its name."""
    texts = command.texts
    if not texts or not command.words[0].literal:
        return True
    name = texts[0].rpartition("/")[2]
    plain_name = re.sub(r"[\d.]+$", "", name).lower() or name
    if {name.lower(), plain_name} & _RUNNERS or " ".join((name, *texts[1:2])) in _RUNNERS_OF_TWO:
        return True
    flags = _RUNNING_FLAGS.get(name)
    if flags is None:
        return False
    if not command.literal:  # a variable or a file's name may turn out to be such a flag
        return True
    if name == "git" and texts[1:2] and texts[1].startswith("-"):
        return True
    return any(_is_flag(word, flags) or (name == "make" and "=" in word) for word in texts[1:])


def _is_flag(word: str, flags: Sequence[str]) -> bool:
    """Whether the word is one of the flags: with a value, abbreviated, or among other letters."""
    if not word.startswith("-") or word == "-":
        return False
    stem = word.partition("=")[0]
    if any(flag == stem or (len(stem) > 2 and flag.startswith(stem)) for flag in flags):
        return True
    letters = {flag[1] for flag in flags if len(flag) == 2}
    return not word.startswith("--") and any(letter in letters for letter in word[1:])


def _count_of_words(texts: Sequence[str]) -> int | None:
    name = texts[0].rpartition("/")[2]
    if name == "git":
        return 2 if len(texts) > 1 and texts[1] in _GIT_COMMON else None
    depth = _DEPTHS.get(name)
    if depth is None:
        return None
    depth = _DEPTHS_OF_TWO.get(" ".join((name, *texts[1:2])), depth)
    told = [text for text in texts[1:depth] if _NAME.fullmatch(text)]
    return depth if len(told) == depth - 1 else None


@functools.lru_cache(maxsize=512)
def _read_pattern(pattern: str) -> tuple[tuple[str, ...], bool] | None:
    """The words of a rule, and whether they are the whole command; None where it is no rule for one."""
    exact = pattern.startswith(EXACT)
    parsed = parse_command(pattern.removeprefix(EXACT))
    if parsed is None or len(parsed.commands) != 1 or parsed.redirections or parsed.strange:
        return None
    command = parsed.commands[0]
    words = command.words
    if words and words[-1].text == "*" and not words[-1].literal and not exact:
        words = words[:-1]
    if not words or command.assigns or any(not word.literal for word in words):
        return None
    return tuple(word.text for word in words), exact
