"""Agents of a program that write side by side: each in a copy of the folder, and one is taken."""

from pathlib import Path

from ragforge.commands.cost import VERB as COST
from ragforge.commands.cost import CostArguments
from ragforge.domain.approvals import ConsentAnswer
from ragforge.session.open import newest_session_here
from ragforge.session.state import Session
from ragforge.session.sub_agents import sub_agents_of
from tests.flow.moving import turn
from tests.flow.running import environ, opened
from tests.flow.test_program_tools import run
from tests.standins.gemini import Call, Calls, GeminiStandIn, JsonText, Recorded, Text

PAIR = """\
.program pair
.needs agents
    PARALLEL_START
        AGENT_EXEC $ONE, {prompt: 'Write it the FIRST way', model: 'first'}
        AGENT_EXEC $TWO, {prompt: 'Write it the SECOND way', model: 'second'}
    PARALLEL_END
    DISPLAY $ONE.text
"""
TAKEN = """\
    SELECT_BEST $BEST, [$ONE, $TWO]
    DISPLAY $BEST.text
"""


def writers(gemini: GeminiStandIn, *, best: int) -> None:
    """Two that write the same file in their own ways; the judge takes one."""

    def answer(request: Recorded) -> object:
        texts = [part.get("text", "") for each in request.body["contents"] for part in each["parts"]]
        way = "SECOND" if any(text.endswith("Write it the SECOND way") for text in texts) else "FIRST"
        if "functionResponse" in str(request.body["contents"][-1]):
            return Text(f"I wrote it the {way} way.")
        calls = [Call("write", {"path": "way.txt", "content": f"{way}\n"})]
        if way == "SECOND":
            calls.append(Call("write", {"path": "good.txt", "content": "yes\n"}))
        return Calls(*calls)

    gemini.script(*([answer] * 4))
    gemini.always_structured(JsonText({"scores": [0.1, 0.9], "best": best, "reasons": "It is whole."}))


async def test_each_writes_in_a_copy_and_the_best_becomes_the_projects(
    session: Session, gemini: GeminiStandIn
) -> None:
    (session.cwd / "pair.spu").write_text(PAIR + TAKEN)
    writers(gemini, best=2)
    heard = await run(session, "pair.spu", consent=ConsentAnswer.ONCE)
    assert heard[-1] == "I wrote it the SECOND way."
    assert (session.cwd / "way.txt").read_text() == "SECOND\n"
    assert (session.cwd / "good.txt").exists()
    judged = next(each for each in gemini.structured() if "candidate 1" in each.last_text)
    assert "+FIRST" in judged.last_text
    versions = session.workspace.store.versions
    rows = [row.version for row in await versions.rows(session.workspace.project.id)]
    made = [each for each in rows if each.label == "program pair"]
    assert len(made) == 2
    assert made[0].parents == made[1].parents
    assert (await session.worktree.head()).version in {each.id for each in made}
    assert not list((session.workspace.data_dir / "copies").glob("*/*"))


async def test_without_a_choice_the_project_stays_as_it_is(session: Session, gemini: GeminiStandIn) -> None:
    (session.cwd / "pair.spu").write_text(PAIR)
    writers(gemini, best=1)
    heard = await run(session, "pair.spu", consent=ConsentAnswer.ONCE)
    assert heard[-1] == "I wrote it the FIRST way."
    assert sorted(path.name for path in session.cwd.glob("*")) == ["pair.spu"]
    made = [row.version for row in await session.workspace.store.versions.rows(session.workspace.project.id)]
    assert [each.label for each in made].count("program pair") == 2


async def test_the_check_command_decides_before_any_model(tmp_path: Path, gemini: GeminiStandIn) -> None:
    env = environ(tmp_path, gemini, RAGFORGE_HISTORY_CHECK_COMMAND="test -f good.txt")
    async with opened(tmp_path, env) as session:
        (session.cwd / "pair.spu").write_text(PAIR + TAKEN)
        writers(gemini, best=1)
        await run(session, "pair.spu", consent=ConsentAnswer.ONCE)
        assert (session.cwd / "way.txt").read_text() == "SECOND\n"
        assert not [each for each in gemini.structured() if "candidate 1" in each.last_text]


async def test_its_agents_count_in_the_session_which_stays_the_newest(
    session: Session, gemini: GeminiStandIn
) -> None:
    (session.cwd / "pair.spu").write_text(PAIR)
    await turn(session, gemini, "Hello")
    writers(gemini, best=1)
    await run(session, "pair.spu", consent=ConsentAnswer.ONCE)
    workspace = session.workspace
    agents = await sub_agents_of(workspace.store, workspace.project.id, session.id)
    assert [each.title for each in agents] == ["program pair"] * 2
    told = await COST.run(session, CostArguments(json=True))
    calls = {
        name: [row["calls"] for row in told.data[name]["rows"] if row["purpose"] in ("chat", "program")]
        for name in ("session", "sub_agents")
    }
    assert calls == {"session": [1], "sub_agents": [4]}
    assert (await newest_session_here(workspace)).id == session.id


BESIDE = """\
.program beside
.needs agents
    PARALLEL_START
        AGENT_EXEC $ONE, {prompt: 'Move the invoice export into a pool of threads'}
        AGENT_EXEC $TWO, {prompt: 'Move the invoice export into a queue of jobs', after: $ONE.failed}
    PARALLEL_END
    AGENT_EXEC $THREE, {prompt: 'Move the invoice export somewhere else'}
"""


def recalled(gemini: GeminiStandIn, prompt: str) -> str:
    """What was put before the message with this prompt."""
    (text,) = [
        str(asked.body["contents"][-1]["parts"])
        for asked in gemini.asked("streamGenerateContent")
        if str(asked.body["contents"][-1]["parts"][-1].get("text", "")).endswith(prompt)
    ]
    return text.replace(prompt, "")


async def test_agents_side_by_side_recall_what_was_before_the_block(
    session: Session, gemini: GeminiStandIn
) -> None:
    (session.cwd / "beside.spu").write_text(BESIDE)
    await turn(session, gemini, "The invoice export takes ten minutes")
    gemini.script(*([Text("I moved the invoice export.")] * 3))
    await run(session, "beside.spu", consent=ConsentAnswer.ONCE)
    beside = recalled(gemini, "Move the invoice export into a queue of jobs")
    assert "ten minutes" in beside
    assert "pool of threads" not in beside
    after = recalled(gemini, "Move the invoice export somewhere else")
    assert "pool of threads" in after or "queue of jobs" in after


READS = """\
.program reads
.needs agents, tools
    AGENT_EXEC $ONE, {prompt: 'Look around', tools: 'read'}
    TOOL_EXEC $TWO, 'list', {path: '.'}
    AGENT_EXEC $THREE, {prompt: 'Tidy up'}
"""


async def test_only_what_may_have_changed_something_is_among_the_sessions(
    session: Session, gemini: GeminiStandIn
) -> None:
    (session.cwd / "reads.spu").write_text(READS)
    gemini.script(Text("I looked."), Text("I tidied up."))
    await run(session, "reads.spu", consent=ConsentAnswer.ONCE)
    recent = session.workspace.store.sessions.recent
    project = session.workspace.project.id
    listed = await recent(project_id=project, archived=False, limit=10)
    assert [row.session.title for row in listed] == ["Program reads"]
    archived = await recent(project_id=project, archived=True, limit=10)
    assert len(archived) == 2
