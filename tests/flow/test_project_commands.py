"""`/init`, `/review` and `/status`: what is sent and told."""

import asyncio
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.commands.base import Follow, Send, Tell, run_command
from ragforge.domain.derivations import DerivedFilter
from ragforge.domain.ratings import KIND
from ragforge.session.state import Session
from ragforge.tui.terminal import notification
from ragforge.workflow.operation import ProgramFault
from tests.flow.moving import turn, write
from tests.flow.running import environ, opened
from tests.standins.gemini import Call, Calls, GeminiStandIn, Text, Until


def git(folder: Path, *args: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@x.org")
    subprocess.run(["git", *identity, *args], cwd=folder, check=True, capture_output=True)


async def sent(session: Session, name: str, words: str = "") -> str:
    outcome = await run_command(session, name, words)
    assert isinstance(outcome, Send)
    return outcome.text


async def reviewed(session: Session, gemini: GeminiStandIn, words: str = "") -> str:
    """What the first reviewer is given."""
    gemini.script(Text("One."), Text("Two."), Text("Both."))
    before = len(gemini.asked("streamGenerateContent"))
    shown = await followed(session, "review", words)
    given = gemini.asked("streamGenerateContent")[before:]
    assert len(given) == (3 if "Both." in shown else 0), shown
    return given[0].last_text if given else shown


async def test_reviewers_look_around_the_diff_side_by_side_and_change_nothing(
    session: Session, gemini: GeminiStandIn
) -> None:
    await turn(session, gemini, "write", write("a.txt", "one\n"))
    (session.cwd / "b.txt").write_text("what a.txt is used by\n")
    before = len(gemini.asked("streamGenerateContent"))
    both = asyncio.Event()
    first = Calls(Call("read", {"path": "b.txt"}))
    gemini.script((Until(both), first), (Until(both), first), Text("One."), Text("Two."), Text("Both."))

    async def both_asked() -> None:
        while len(gemini.asked("streamGenerateContent")) < before + 2:  # neither waits for the other
            await asyncio.sleep(0.01)
        both.set()

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(both_asked())
        shown = await followed(session, "review")
    assert "Both." in shown
    given = gemini.asked("streamGenerateContent")[before:]
    assert len(given) == 5
    assert all("what a.txt is used by" in str(each.body) for each in given[2:4])
    # The diff and the instructions were not said by the user, so nothing of them is remembered as theirs.
    assert given[0].last_text.endswith("\nDo the task that the program gives.")
    assert "I ran this command:\n$ ragforge run review" in given[0].last_text
    offered = {tool["name"] for tool in given[0].body["tools"][0]["functionDeclarations"]}
    assert "read" in offered
    assert not offered & {"write", "edit", "shell", "agent"}


async def followed(session: Session, name: str, words: str = "") -> str:
    outcome = await run_command(session, name, words)
    assert isinstance(outcome, Follow)
    return "\n".join([str(each) async for each in outcome.lines])


async def test_a_review_holds_what_is_not_committed_and_new_files_too(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q")
    (project / ".gitignore").write_text("ignored.txt\n")
    (project / "a.txt").write_text("one\n")
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        git(project, "add", "a.txt")
        assert "+one" in await reviewed(session, gemini), "before the first commit all files are new"
        git(project, "add", ".")
        git(project, "commit", "-qm", "first")
        assert "There is nothing to review" in await reviewed(session, gemini)
        (project / "a.txt").write_text("two\n")
        (project / "new ünd.txt").write_text("fresh\n")
        (project / "ignored.txt").write_text("never\n")
        text = await reviewed(session, gemini, "the tests")
        assert "-one\n+two" in text
        assert "+fresh" in text
        assert "+never" not in text
        assert "## focus_on\nthe tests" in text
        # A repository that would make git run a program is not asked.
        git(project, "config", "filter.evil.clean", "touch stolen")
        (project / ".gitattributes").write_text("* filter=evil\n")
        with pytest.raises(ProgramFault, match="can make it run a program"):
            await followed(session, "review")
        assert not (project / "stolen").exists()


async def test_without_git_a_review_is_of_the_newest_turn_and_since(
    session: Session, gemini: GeminiStandIn
) -> None:
    await session.set_mode(session.live.consent.mode)
    await turn(session, gemini, "write", write("a.txt", "one\n"))
    assert "+one" in await reviewed(session, gemini)


async def test_init_writes_instructions_or_improves_those_that_are_there(session: Session) -> None:
    assert (await sent(session, "init")).startswith("Write AGENTS.md")
    (session.cwd / "AGENTS.md").write_text("Use tabs.\n")
    assert (await sent(session, "init")).startswith("Improve AGENTS.md")


async def test_status_tells_what_is_in_use(session: Session, gemini: GeminiStandIn) -> None:
    await turn(session, gemini, "hello")
    told = await run_command(session, "status", "")
    assert isinstance(told, Tell)
    for words in ("gemini:gemini-3.8-flash", "1 turn, $", str(session.cwd), "**mode**: ask"):
        assert words in told.text
    assert gemini.key not in told.text


@pytest.mark.parametrize(
    ("environment", "osc"),
    [
        ({"TERM_PROGRAM": "iTerm.app"}, ["9"]),
        ({"KITTY_WINDOW_ID": "1"}, ["9"]),
        ({"VTE_VERSION": "7600"}, ["777"]),
        ({"TERM": "foot"}, ["777"]),
        ({"TERM": "xterm-256color"}, ["9", "777"]),
    ],
)
def test_a_notification_is_one_that_the_terminal_knows(environment: dict[str, str], osc: list[str]) -> None:
    found = notification("ragforge: done;\x1b]0;x\x07 now", environment)
    assert [part.split(";")[0] for part in found.split("\x1b]")[1:]] == osc
    assert found.count("\x07") == len(osc)
    assert found.count("\x1b") == len(osc)
    assert ("notify;ragforge;done" in found) == ("777" in osc), "its title is not said twice"


async def test_a_rating_that_cannot_be_read_is_not_counted(session: Session, gemini: GeminiStandIn) -> None:
    await turn(session, gemini, "hello")
    await run_command(session, "rate", "2")
    assert "satisfaction 0.25 (1 rated)" in str(await run_command(session, "stats", ""))
    workspace = session.workspace
    (record,) = await workspace.store.derivations.find(DerivedFilter(KIND.label, workspace.project.id))
    await workspace.store.derivations.save(replace(record, data={"from another version": 2}))
    told = str(await run_command(session, "stats", ""))
    assert "1 prompt" in told
    assert "rated" not in told
