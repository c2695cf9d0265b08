"""The log file: what it holds, and what never reaches it or the terminal."""

import asyncio
import stat
import sys
from pathlib import Path

from tests.cli.running import Program, Ran, ended

LOUD = """
import logging, os, sys, warnings
from ragforge.domain.redact import Redactor
from ragforge.session.logs import start_log

start_log(os.environ)
logging.getLogger("httpx2").warning("early, with the key %s", os.environ["GEMINI_API_KEY"])
start_log(os.environ, Redactor(["a-password-of-the-keyring"]))
logging.getLogger("google.genai").warning("calls with a-password-of-the-keyring")
logging.getLogger("httpx2").info("too quiet for the file")
logging.getLogger("httpx2").setLevel(logging.INFO)
logging.getLogger("httpx2").info("too quiet, whatever the library wants")
logging.getLogger("ragforge.session.hints").info("Hint offered")
warnings.warn("a library's own warning")
try:
    raise ValueError("failed with a-password-of-the-keyring")
except ValueError:
    logging.getLogger("ragforge").exception("in the middle")
for number in range(int(sys.argv[1])):
    logging.getLogger("ragforge").warning("line %d %s", number, "x" * 1000)
"""


async def run_loud(program: Program, lines: int = 0) -> Ran:
    env = program.env | {"GEMINI_API_KEY": "the-key-of-the-environment"}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", LOUD, str(lines), stdout=pipe, stderr=pipe, env=env, cwd=program.project
    )
    return await ended(process)


async def test_what_is_logged_goes_to_the_file_alone_and_without_secrets(alone: Program):
    ran = await run_loud(alone)
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    file = alone.data / "ragforge.log"
    text = file.read_text()
    for words in (
        "early, with the key [redacted]",
        "calls with [redacted]",
        "Hint offered",
        "a library's own warning",
    ):
        assert words in text
    assert "ValueError: failed with [redacted]" in text
    assert "the-key-of-the-environment" not in text
    assert "a-password-of-the-keyring" not in text
    assert "too quiet" not in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_the_log_is_rotated_and_bounded(alone: Program):
    ran = await run_loud(alone, lines=4000)
    assert ran.err == ""
    files = sorted(path.name for path in alone.data.glob("ragforge.log*"))
    assert files == ["ragforge.log", "ragforge.log.1", "ragforge.log.2"]
    assert all((alone.data / name).stat().st_size <= 1_000_000 for name in files)
    assert "line 3999 " in (alone.data / "ragforge.log").read_text()


async def test_a_log_that_cannot_be_written_is_done_without(alone: Program):
    alone.env["RAGFORGE_DATA_DIR"] = "/dev/null/data"
    ran = await run_loud(alone)
    assert (ran.code, ran.out, ran.err) == (0, "", "")


async def test_a_quiet_run_makes_no_log(alone: Program):
    ran = await alone.run("-p", "x")
    assert ran.code == 0
    assert not Path(alone.data / "ragforge.log").exists()
