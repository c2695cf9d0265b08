"""`ragforge -p` where `.git` leads to a repository that does not know the folder."""

import subprocess
from pathlib import Path

from tests.cli.running import Program
from tests.standins.openai import Call, OpenAIStandIn, Reply


def lead_away(quick: Program) -> Path:
    """Let the project's `.git` lead to somebody's repository."""
    private = quick.tmp_path.resolve() / "private"
    private.mkdir()
    for command in (
        ["git", "init", "-q", "-b", "secret-branch"],
        ["git", "-c", "user.email=a@b", "-c", "user.name=a", "commit", "-q", "--allow-empty", "-m", "hush"],
    ):
        subprocess.run(command, cwd=private, check=True)
    (quick.project / ".git").write_text(f"gitdir: {private}/.git\n")
    return private / ".git"


async def test_it_is_not_read_and_named_unless_it_is_allowed(quick: Program, openai: OpenAIStandIn) -> None:
    private = lead_away(quick)
    look = Reply(calls=[Call("shell", '{"command": "git log --format=%s"}')])
    openai.script(look, Reply(text=["done"]))
    ran = await quick.run("-p", "look", "--output-format", "json")
    assert ran.code == 0
    assert f"The repository {private} is not read" in ran.err
    assert f"--allow 'git({private})' for one run, or with `/permissions add git({private})`." in ran.err
    assert [call["ok"] for call in ran.json["tools"]] == [False]
    assert "hush" not in str([request.body for request in openai.requests])

    openai.script(look, Reply(text=["done"]))
    ran = await quick.run("-p", "look", "--output-format", "json", "--allow", f"git({private})")
    assert (ran.code, ran.err) == (0, "")
    assert [call["ok"] for call in ran.json["tools"]] == [True]
    assert "hush" in str([request.body for request in openai.requests])
