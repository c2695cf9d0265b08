"""The program where its caller closed a stream: cron, a daemon, `>&-` in a script."""

from pathlib import Path

import pytest

from tests.cli.running import Program


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
async def test_a_stream_that_the_caller_closed_changes_no_result(tmp_path: Path, closed: str) -> None:
    program = Program(tmp_path, wrapper=("sh", "-c", f'exec "$@" {closed}', "sh"))
    ran = await program.run("memory", "add", "We use tabs.")
    assert (ran.code, ran.err) == (0, "")
    assert ("We use tabs." in ran.out) == (">&-" not in closed.split())
    listed = await Program(tmp_path).run("memory", "list")
    assert "We use tabs." in listed.out
