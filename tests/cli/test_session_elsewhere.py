"""Commands about the newest session, in a folder that has none."""

import subprocess

from tests.cli.running import Program
from tests.standins.openai import OpenAIStandIn, Reply


async def test_a_folder_without_a_session_names_where_the_project_has_one(
    quick: Program, openai: OpenAIStandIn
) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=quick.project, check=True)
    below = quick.project / "below"
    below.mkdir()
    ran = await quick.run("undo", cwd=below)
    assert (ran.code, ran.err.endswith("yet. Run `ragforge` to start one.\n")) == (2, True)
    openai.script(Reply(text=["Hello."]))
    await quick.run("-p", "hello")
    ran = await quick.run("undo", cwd=below)
    assert ran.code == 2
    assert f"-r ID resumes one from {quick.project}; `ragforge sessions` lists them." in ran.err
