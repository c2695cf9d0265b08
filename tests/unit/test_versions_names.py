"""Names of branches: those that git takes."""

import subprocess

import pytest

from ragforge.domain.errors import UsageError
from ragforge.versions.names import check_branch_name

GOOD = ("main", "try-2", "feature/x", "a.b", "ü", "机", "x@y", "@x", "x-@", "a{b", "a}b", "1", "x.locked")
BAD = (
    *("--", "-x", "/x", "x/", "x//y", ".x", "x/.y", "x.lock", "x.lock/y", "x.", "x..", "a..b", "HEAD", ""),
    *("a~b", "a^b", "a:b", "a?b", "a*b", "a[b", "a\\b", "a@{b", "a b", "a\tb", "a\x7fb"),
)
NAMES = (*GOOD, "a]b", *BAD)


@pytest.mark.parametrize("name", NAMES)
def test_a_branch_is_named_as_in_git(name: str) -> None:
    ran = subprocess.run(["git", "check-ref-format", "--branch", name], capture_output=True, check=False)
    if ran.returncode == 0:
        assert check_branch_name(name) == name
    else:
        with pytest.raises(UsageError, match="not a valid branch name"):
            check_branch_name(name)


def test_names_that_would_break_a_line_or_mean_something_else_are_none():
    for name in ("@", "a\u2028b", "a\u202eb", "x" * 201):
        with pytest.raises(UsageError):
            check_branch_name(name)
