"""Commands of one's own: Markdown files that become messages, under their own terms."""

from pathlib import Path

import pytest

from ragforge.commands.base import Send, Tell
from ragforge.domain.approvals import Mode, Rule
from ragforge.domain.errors import UsageError
from ragforge.domain.events import ToolEnded
from ragforge.domain.front_matter import read_front_matter
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import CallStatus
from ragforge.session import own_commands
from ragforge.session.own_commands import SCREENS, run_typed
from ragforge.session.state import Session
from ragforge.session.turn import submit
from ragforge.tui.screens.base import find_screens
from tests.flow.moving import shell
from tests.flow.running import of_type, says_no
from tests.standins.gemini import Calls, GeminiStandIn, Text


def own(tmp_path: Path, name: str, text: str) -> Path:
    return _put(tmp_path / "config" / "commands" / name, text)


def of_project(session: Session, name: str, text: str) -> Path:
    return _put(session.workspace.place.root / ".ragforge" / "commands" / name, text)


def _put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


async def sent(session: Session, name: str, arguments: str = "") -> Send:
    outcome = await run_typed(session, name, arguments)
    assert isinstance(outcome, Send)
    return outcome


async def test_arguments_output_and_files_go_into_their_places(session: Session, tmp_path: Path) -> None:
    (session.cwd / "a b.txt").write_text("never mentioned\n")
    (session.cwd / "notes.md").write_text("see @notes.md and !`echo no`\n```\ncode\n```\n")
    own(
        tmp_path,
        "git/look.md",
        "---\ndescription: Look at something\nargument-hint: FILE [WORDS]\n---\n"
        "Look at $1, not $2; all: $ARGUMENTS.\n!`printf '%s|' $1 $2; echo`\n@notes.md\n@gone.txt me@x.org",
    )
    outcome = await sent(session, "git-look", "'a b.txt' $(touch,hacked)")
    assert outcome.text == (
        "Look at a b.txt, not $(touch,hacked); all: 'a b.txt' $(touch,hacked).\na b.txt|$(touch,hacked)|\n"
        "`notes.md`:\n````\nsee @notes.md and !`echo no`\n```\ncode\n```\n````\n@gone.txt me@x.org"
    )
    assert not (session.cwd / "hacked").exists()
    assert outcome.typed == "/git-look 'a b.txt' $(touch,hacked)"
    own(tmp_path, "plain.md", "Explain it.")
    assert (await sent(session, "plain", "slowly !`id`")).text == "Explain it.\n\nslowly !`id`"
    own(tmp_path, "fails.md", "!`echo out; exit 3`")
    assert (await sent(session, "fails")).text.startswith("out\n[`echo out; exit 3`: Exit code 3")
    listed = await run_typed(session, "commands", "")
    assert isinstance(listed, Tell)
    assert "**/git-look FILE [WORDS]** Look at something" in listed.text


async def test_a_command_may_ask_another_model_and_needs_no_asking_for_what_it_names(
    session: Session, tmp_path: Path, gemini: GeminiStandIn
) -> None:
    own(
        tmp_path,
        "make.md",
        "---\nmodel: gemini:gemini-3.5-flash-lite\nallowed-tools: Bash(touch a.txt:*), read\n---\nMake it.",
    )
    outcome = await sent(session, "make")
    assert outcome.terms is not None
    assert outcome.terms.rules == (Rule("shell", "touch a.txt"),)
    user = says_no()
    gemini.script(Calls(shell("touch a.txt"), shell("touch b.txt")), Text("Made."))
    parts = (TextPart(outcome.text),)
    events = [event async for event in submit(session, parts, user.approve, terms=outcome.terms)]
    statuses = [event.call.status for event in of_type(events, ToolEnded)]
    assert statuses == [CallStatus.OK, CallStatus.DENIED]
    assert len(user.asked) == 1
    [turn] = await session.workspace.store.turns.path(session.live.record.head)
    assert turn.model == "gemini:gemini-3.5-flash-lite"
    assert session.live.record.model == "gemini:gemini-3.8-flash"
    # With the turn its rights have ended.
    gemini.script(Calls(shell("touch a.txt")), Text("No."))
    [ended] = of_type([event async for event in submit(session, parts, user.approve)], ToolEnded)
    assert ended.call.status is CallStatus.DENIED
    newest = (await session.workspace.store.turns.path(session.live.record.head))[-1]
    assert newest.model == "gemini:gemini-3.8-flash"


async def test_a_projects_command_waits_for_trust_in_its_very_text(session: Session, tmp_path: Path) -> None:
    file = of_project(session, "hello.md", "Hello !`touch ran`")
    own(tmp_path, "mine.md", "Mine.")

    async def listed() -> str:
        outcome = await run_typed(session, "commands", "")
        assert isinstance(outcome, Tell)
        return outcome.text

    assert "- **/hello** Hello !`touch ran` (not trusted yet)" in await listed()
    assert "- **/mine** Mine.\n" in await listed()
    with pytest.raises(UsageError, match=r"hello\.md came with the project and is not trusted"):
        await run_typed(session, "hello", "")
    assert not (session.cwd / "ran").exists()
    asked: list[str] = []

    async def ask(files) -> bool:
        asked.extend(each.text for each in files)
        return True

    session.workspace.trust.ask = ask
    assert (await sent(session, "hello")).text == "Hello (no output)"
    assert asked == ["Hello !`touch ran`"]
    assert "not trusted yet" not in await listed()
    await sent(session, "hello")
    assert len(asked) == 1
    file.write_text("Hello !`touch other`")
    await sent(session, "hello")
    assert asked[1:] == ["Hello !`touch other`"]
    # The user's own of the same name comes first, and nobody is asked about it.
    own(tmp_path, "hello.md", "Mine.")
    assert (await sent(session, "hello")).text == "Mine."


async def test_plan_mode_holds_for_what_a_command_runs(session: Session, tmp_path: Path) -> None:
    own(tmp_path, "change.md", "!`touch changed`")
    own(tmp_path, "look.md", "!`ls`")
    (session.cwd / "seen.txt").touch()
    await session.set_mode(Mode.PLAN)
    with pytest.raises(UsageError, match="Plan mode is on"):
        await run_typed(session, "change", "")
    assert not (session.cwd / "changed").exists()
    assert "seen.txt" in (await sent(session, "look")).text


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("cost.md", "Mine now.", "a built-in command has this name"),
        ("quit.md", "Mine now.", "a built-in command has this name"),
        ("store.md", "Mine now.", "a built-in command has this name"),
        ("open.md", "---\ndescription: x\nNo end.", "its front matter does not end"),
        ("twice.md", "---\nmodel: a\nmodel: b\n---\nx", "line 3 gives 'model' a second time"),
        ("odd.md", "---\n{model}\n---\nx", "line 2 is not `key: value`"),
        ("empty.md", "", "it is empty or cannot be read"),
        ("head.md", "---\ndescription: x\n---\n", "it has no text"),
        (
            "rights.md",
            "---\nallowed-tools: shell\n---\nx",
            "allowed-tools must say which commands, as in shell(git status)",
        ),
        ("rule.md", "---\nallowed-tools: shell(\n---\nx", "Not a rule"),
        ("2fast.md", "x", "its name may contain only lowercase letters"),
        ("long.md", "x" * 50_000, "it is larger than 40,000 bytes"),
    ],
)
async def test_files_that_cannot_be_used_say_why_and_built_ins_stay(
    session: Session, tmp_path: Path, name: str, text: str, why: str
) -> None:
    own(tmp_path, name, text)
    listed = await run_typed(session, "commands", "")
    assert isinstance(listed, Tell)
    assert why in listed.text
    if "built-in" in why and name != "store.md":
        assert not isinstance(await run_typed(session, name.removesuffix(".md"), ""), Send)
    else:
        with pytest.raises(UsageError):
            await run_typed(session, name.removesuffix(".md"), "")


async def test_loops_end(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = own(tmp_path, "again.md", "/again @again.md")
    (session.cwd / "again.md").write_text("/again @again.md")
    outcome = await sent(session, "again")
    assert outcome.text.count("/again") == 2
    (file.parent / "loop").symlink_to(file.parent)
    (file.parent / "circle.md").symlink_to(file.parent / "circle.md")
    outside = tmp_path / "outside.md"
    outside.write_text("secret")
    link = of_project(session, "link.md", "")
    link.unlink()
    link.symlink_to(outside)
    listed = await run_typed(session, "commands", "")
    assert isinstance(listed, Tell)
    assert listed.text.count("**/again**") == 1
    assert "circle.md`: it is empty or cannot be read" in listed.text
    assert "link.md`: it is a link to a file outside the project" in listed.text
    # A command that starts ragforge, which runs the command again.
    own(tmp_path, "spawn.md", f"!`echo ${own_commands.RUNNING}`")
    assert (await sent(session, "spawn")).text == "spawn"
    session.workspace.environ[own_commands.RUNNING] = "other:spawn"
    with pytest.raises(UsageError, match="/spawn runs itself: other > spawn > spawn"):
        await run_typed(session, "spawn", "")


def test_screens_that_are_commands_are_known_as_taken() -> None:
    assert set(SCREENS) == {screen.name for screen in find_screens().values() if screen.help}


def test_a_head_is_read_as_it_is_written() -> None:
    front = read_front_matter(
        "---\na: 'x: y'\nb: [p(q, r), s]\nc:\n  - one\n  - two, three\nd: >\n  e\n  f\n---\nB"
    )
    assert front.fields["a"] == "x: y"
    assert front.items("b") == ("p(q, r)", "s")
    assert front.items("c") == ("one", "two", "three")
    assert front.fields["d"] == "e f"
    assert front.body == "B"
    assert read_front_matter("# No head\n---\n").body == "# No head\n---\n"
