"""What a user corrects teaches: why a call was declined, what follows an undo, what was rewritten by hand."""

from pathlib import Path

from ragforge.domain.approvals import ApprovalAnswer, ConsentAnswer
from ragforge.domain.memories import MemoryFilter, MemoryType, Strength
from ragforge.domain.metrics import TALLY
from ragforge.session.metrics import all_samples, metrics_text
from ragforge.session.moves import undo
from ragforge.session.state import Session
from tests.flow.beside import a_memory, by_the_model, done
from tests.flow.recorded import shell, write
from tests.flow.running import environ, opened, say, says_no
from tests.flow.test_metrics import samples
from tests.standins.gemini import GeminiStandIn, Text

MUST, SHOULD = Strength.MUST, Strength.SHOULD
YES = ApprovalAnswer(ConsentAnswer.ONCE)


async def preferences(session: Session) -> dict[str, tuple[Strength, float]]:
    await done(session)
    found = await session.workspace.store.memories.find(MemoryFilter(types=(MemoryType.PREFERENCE,)))
    return {each.content: (each.strength, each.confidence) for each in found}


async def test_the_reason_of_a_declined_call_and_the_words_after_an_undo_become_preferences(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local")
    async with opened(tmp_path, env) as session:
        gemini.script(shell("bower install left-pad"), Text("Well."), Text("Done."), Text("Done again."))
        await say(session, "Add left-pad.", says_no("Use yarn, never bower."))
        assert await preferences(session) == {"Use yarn, never bower.": (MUST, 0.8)}
        await say(session, "Fetch the page.")
        await undo(session)
        await say(session, "Fetch the page. Use httpx.")
        assert (await preferences(session))["Use httpx."] == (SHOULD, 0.8)


async def test_the_model_is_shown_corrections_and_what_it_makes_of_them_is_kept(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    written, by_hand = "print('starting the job')\n", "log.info('starting the job')\n"
    TALLY.take()
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        gemini.script(write("job.py", written), shell("bower install"), Text("Done."), Text("Fine."))
        asked_no = "yarn here"
        denied = a_memory("The user wants yarn here.", "preference", confidence=0.95)
        gemini.script_structured(by_the_model("Wrote job.py.", denied))
        user = says_no(asked_no)
        user.answers = lambda request: says_no(asked_no).answers(request) if "bower" in str(request) else YES
        await say(session, "Write the job.", user)
        assert await preferences(session) == {"The user wants yarn here.": (SHOULD, 0.6)}
        (tmp_path / "project" / "job.py").write_text(by_hand)
        edited = a_memory("The user wants log.info for starting the job, no print.", "preference")
        made_up = a_memory("The user wants semicolons at the end.", "preference")
        gemini.script_structured(by_the_model("Went on.", edited, made_up))
        await say(session, "Go on.")
        assert set(await preferences(session)) == {"The user wants yarn here.", edited["content"]}
        counted = samples(metrics_text(await all_samples(session.workspace)))
        assert counted["memory_preferences_rejected_total", "not_their_words"] == 1
        gemini.script_structured(by_the_model("Said thanks."))
        await say(session, "Thanks.")
        await preferences(session)
        asked = gemini.structured()[:3]
        assert ["`<correction>`" in str(request.body) for request in asked] == [True, True, False]
        first, second, _ = (request.last_text for request in asked)
        assert f'<correction kind="declined call">\nOf: shell(command: bower install)\n{asked_no}' in first
        assert f'<correction kind="edited by hand">\nOf: {written}{by_hand}</correction>' in second
