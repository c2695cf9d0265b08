"""A rule said in passing stops the hand: asked about, refused where nobody is there, told in every mode."""

from pathlib import Path

import pytest

from ragforge.agent.permissions import Allow, Ask, Decision, Refuse
from ragforge.domain.approvals import ApprovalAnswer, ConsentAnswer, Mode, Rule, RunCommand
from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.events import ConstraintsMet, ToolEnded
from ragforge.domain.ids import now
from ragforge.domain.memories import Memory, MemoryFilter, MemorySource, MemoryType, Strength
from ragforge.domain.metrics import TALLY
from ragforge.domain.turns import CallStatus
from ragforge.memory.derive.turn_memories import keep_memories
from ragforge.memory.material import Understanding
from ragforge.memory.memories import new_memory
from ragforge.session.constraints import ALONE, UNREAD, Constraints, decide_with
from ragforge.session.metrics import all_samples, metrics_text
from ragforge.session.open import close_session, close_workspace, new_session, open_workspace
from ragforge.session.state import Session
from ragforge.store.sqlite.memories import SqliteMemories
from ragforge.tools.base import Preview
from ragforge.tools.registry import find_tools
from tests.contract.builders import a_summary
from tests.flow.beside import a_memory, beside, by_the_model, done
from tests.flow.recorded import shell
from tests.flow.running import User, environ, of_type, opened, say, says_no
from tests.flow.test_metrics import samples
from tests.standins.gemini import Call, Calls, GeminiStandIn, Text

SAID = "By the way: never use pip, we use uv."
OFFLINE: dict[str, object] = {"memory.model": "local"}
RULE = "never use pip, we use uv"


async def told(session: Session) -> None:
    """The rule was said in an earlier session, and filed."""
    await say(session, SAID)
    await session.workspace.background.finish(timeout_s=20)


async def rules(session: Session) -> list[tuple[str, Strength, int, int]]:
    found = await session.workspace.store.memories.find(MemoryFilter(binding=True))
    return [(each.content.strip("."), each.strength, each.held, each.broken) for each in found]


async def test_a_rule_said_three_sessions_ago_stands_in_the_approval(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = environ(tmp_path, gemini)
    TALLY.take()
    async with opened(tmp_path, env, flags=OFFLINE) as session:
        gemini.script(Text("Noted."))
        await told(session)
        assert [(content, strength) for content, strength, *_ in await rules(session)] == [
            (RULE, Strength.MUST)
        ]
    workspace = await open_workspace(cwd=tmp_path / "project", flags=OFFLINE, environ=env)
    for _ in range(2):
        later = await new_session(workspace)
        gemini.script(Text("Hello."))
        await say(later, "Hello there, how are you?")
        await close_session(later)
    session = await new_session(workspace)
    session.live.consent.grant_for_run([Rule("shell", "echo"), Rule("shell", "pip install")])
    gemini.script(shell("echo pip install x"), shell("pip install --no-index left-pad"), Text("Well."))
    user = says_no("use uv")
    events = await say(session, "Add left-pad.", user)
    (asked,) = user.asked
    assert [hit.words.partition(": ")[2] for hit in asked.hits] == [f'"{RULE}."']
    assert asked.hits[0].constraint.turn
    assert asked.rules == ()
    assert [each.call.status for each in of_type(events, ToolEnded)] == [CallStatus.OK, CallStatus.DENIED]
    assert [(event.asked, event.stopped) for event in of_type(events, ConstraintsMet)] == [(True, True)]
    # The reason may have been filed by now.
    assert (RULE, Strength.MUST, 1, 0) in await rules(session)
    # Its turn is understood anew, as when a model is back: nothing was said again.
    wanted = MemoryFilter(binding=True)
    found = [each for each in await workspace.store.memories.find(wanted) if RULE in each.content]
    (turn,) = await workspace.store.turns.read(found[0].turns)
    again = Understanding(a_summary(session.live.record, "Noted.", turn), tuple(found))
    await keep_memories(workspace.store, again)
    counted = samples(metrics_text(await all_samples(workspace)))
    assert counted["memory_constraint_hits_total", "declined"] == 1
    assert counted["memory_preferences_extracted_total", "constraint"] == 1
    assert counted["memory_preferences_active", "constraint"] == 1
    assert counted["memory_preference_confidence_bucket", "0.8"] >= 1
    assert counted["memory_preference_extraction_seconds_count",] >= 1
    await close_session(session)
    await close_workspace(workspace)


@pytest.mark.parametrize(
    ("mode", "headless", "setting", "status", "heard"),
    [
        (Mode.ALL, False, "refuse", CallStatus.OK, "[This goes against what the user said:"),
        (Mode.ALL, True, "refuse", CallStatus.OK, "[This goes against what the user said:"),
        (Mode.ASK, True, "refuse", CallStatus.DENIED, "Not done. This goes against what the user said:"),
        (Mode.ASK, True, "warn", CallStatus.OK, "[This goes against what the user said:"),
    ],
)
async def test_where_nobody_is_asked_the_model_hears_the_sentence(
    tmp_path: Path,
    gemini: GeminiStandIn,
    mode: Mode,
    headless: bool,
    setting: str,
    status: CallStatus,
    heard: str,
) -> None:
    flags = {**OFFLINE, "constraints.headless": setting}
    async with opened(tmp_path, environ(tmp_path, gemini), flags=flags) as session:
        gemini.script(Text("Noted."))
        await told(session)
        consent = session.live.consent
        consent.headless = headless
        consent.grant_for_run([Rule("shell", "= pip --version")], everything=mode is Mode.ALL)
        gemini.script(shell("pip --version || true"), Text("Well."))
        user = User(lambda _: ApprovalAnswer(ConsentAnswer.NO))
        events = await say(session, "Which pip is there?", user)
        (ended,) = of_type(events, ToolEnded)
        assert user.asked == []
        assert heard in ended.call.result
        assert f'"{RULE}' in ended.call.result
        assert ended.call.status is status
        (met,) = of_type(events, ConstraintsMet)
        assert (met.asked, met.stopped) == (False, status is CallStatus.DENIED)
        assert [row[2:] for row in await rules(session)] == [(1, 0) if met.stopped else (0, 1)]


@pytest.mark.parametrize(
    ("user", "headless", "asked", "left"),
    [
        (User(), False, 1, ["a.txt", "b.txt"]),
        (says_no(), False, 2, []),
        (says_no(), True, 0, []),
    ],
)
async def test_a_rule_against_every_call_is_asked_about_until_one_is_allowed(
    tmp_path: Path, gemini: GeminiStandIn, user: User, headless: bool, asked: int, left: list[str]
) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini), flags=OFFLINE) as session:
        gemini.script(Text("Noted."))
        await say(session, "Never edit files matching **/*")
        await session.workspace.background.finish(timeout_s=20)
        session.live.consent.grant_for_run([Rule("write", "/**")])
        if headless:
            session.live.consent.ask_nobody()
        writes = [Call("write", {"path": name, "content": "X"}) for name in ("a.txt", "b.txt")]
        gemini.script(Calls(*writes), Text("Well."))
        await say(session, "Write two files.", user)
        assert len(user.asked) == asked
        assert sorted(each.name for each in session.workspace.place.root.glob("*.txt")) == left


async def test_while_the_rules_cannot_be_read_those_of_before_hold_and_else_every_change_is_asked_about(
    tmp_path: Path, gemini: GeminiStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini), flags=OFFLINE) as session:
        gemini.script(Text("Noted."))
        await told(session)
        session.live.consent.grant_for_run([Rule("shell", "pip")])
        find = SqliteMemories.find

        async def away(self: SqliteMemories, wanted: MemoryFilter) -> list[Memory]:
            if wanted.binding:
                raise StoreUnavailable("The disk does not answer.")
            return await find(self, wanted)

        monkeypatch.setattr(SqliteMemories, "find", away)
        user = says_no()
        gemini.script(shell("ls"), shell("pip list"), Text("Well."))
        await say(session, "Write x.", user)
        assert [(request.reason, request.hits) for request in user.asked] == [(UNREAD, ())]
        monkeypatch.undo()
        gemini.script(shell("pip list"), Text("Well."))
        await say(session, "Say x.", user)
        monkeypatch.setattr(SqliteMemories, "find", away)
        gemini.script(shell("pip list"), Text("Well."))
        await say(session, "Which pip is there?", user)
        assert [len(request.hits) for request in user.asked] == [0, 1, 1]
        monkeypatch.undo()


async def test_a_rule_that_only_a_model_finds_stops_the_hand_and_is_less_sure(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    found = a_memory(
        "Never use npm in this repository.", "preference", strength="must", applies_to=["npm", "yarn"]
    )
    gemini.always_structured(by_the_model("About the lock file.", found))
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        gemini.script(Text("That is annoying."))
        await say(session, "npm broke the lock file of this repository twice now, I have had it, bun it is.")
        await done(session)
        (kept,) = await session.workspace.store.memories.find(MemoryFilter(binding=True))
        assert (kept.strength, kept.applies_to, kept.confidence) == (
            Strength.MUST,
            ("npm", "repository"),
            0.6,
        )
        session.live.consent.grant_for_run([Rule("shell", "npm install")])
        user = says_no()
        gemini.script(shell("bun --version || true"), shell("npm install left-pad"), Text("Well."))
        await say(session, "Add left-pad.", user)
        (asked,) = [each for each in user.asked if each.hits]
        assert asked.hits[0].words.endswith('"Never use npm in this repository."')


async def test_the_oldest_of_many_rules_is_held_too(tmp_path: Path, gemini: GeminiStandIn) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini), flags=OFFLINE) as session:
        gemini.script(Text("Noted."))
        await told(session)
        workspace = session.workspace
        for number in range(1_100):
            await workspace.store.memories.save(
                new_memory(
                    f"never edit files under generated/{number}/",
                    MemoryType.PREFERENCE,
                    project_id=workspace.project.id,
                    at=now(),
                    source=MemorySource.BACKGROUND,
                    person=workspace.person.id,
                )
            )
        hits = await Constraints(session).hits(find_tools()["shell"], Preview(RunCommand("pip install x")))
        assert [each.constraint.text.strip(".") for each in hits] == [RULE]


def test_what_cannot_be_read_is_asked_about_and_refused_where_nobody_is() -> None:
    def decided(
        decision: Decision, mode: Mode = Mode.ASK, *, alone: str = "", warns: bool = False
    ) -> Decision:
        return decide_with(decision, (), mode=mode, unattended=alone, warns=warns, unread=True)

    assert decided(Allow()) == Ask(UNREAD)
    assert decided(Ask("changes a file", (Rule("edit", "a"),))) == Ask(f"changes a file; {UNREAD}")
    assert decided(Allow(), Mode.ALL) == Allow()
    assert isinstance(decided(Allow(), alone=ALONE), Refuse)
    assert decided(Allow(), alone=ALONE, warns=True) == Allow()
    assert decided(Refuse("no")) == Refuse("no")
