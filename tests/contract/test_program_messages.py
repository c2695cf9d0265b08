from datetime import timedelta

from msgspec.structs import replace

from ragforge.domain.derivations import Underived
from ragforge.domain.search import HitKind, Query, what
from ragforge.memory.recall.results import Recall
from ragforge.memory.recall.search import search
from ragforge.session.marks import search_everything
from ragforge.store.base import Store
from ragforge.workflow.records import MESSAGE, ProgramMessageRecord
from tests.contract.builders import NOON, a_project, a_turn, new_session

WORDS = "Sort the résumés by surname"


async def test_what_programs_said_is_found_and_marked_and_is_in_no_index(store: Store) -> None:
    project, elsewhere = a_project(), a_project()
    for each in (project, elsewhere):
        await store.projects.add(each)
        for number, text in enumerate((WORDS, "Sort them", "Something else")):
            at = NOON + timedelta(hours=number)
            message = ProgramMessageRecord(
                f"{each.id}{number}", "session", "mails", "user_prompt", at.isoformat(), text
            )
            source = Underived(each.id, each.id, at)
            await store.derivations.save(MESSAGE.record(source, message, name=message.message))
    session = await new_session(store, project)
    await store.turns.start(a_turn(session, "Sort the resumes by surname"))

    async def found(words: str, **more: object) -> list[tuple[str, str]]:
        query = replace(Query(words, project_id=project.id, kinds=tuple(HitKind)), **more)
        hits = (await search_everything(Recall(store), query)).hits
        return [(hit.kind, hit.text) for hit in hits]

    assert await found("sorting resumes surname") == [
        (HitKind.TURN, "Sort the resumes by surname"),
        (HitKind.PROGRAM, WORDS),
    ]
    assert await found("resumes", kinds=(HitKind.PROGRAM,)) == [(HitKind.PROGRAM, WORDS)]
    assert len(await found("resumes", kinds=(HitKind.PROGRAM,), project_id=None)) == 2
    assert await found("sort", kinds=(HitKind.PROGRAM,), since=NOON + timedelta(minutes=1)) == [
        (HitKind.PROGRAM, "Sort them")
    ]
    assert await found("sort", kinds=(HitKind.PROGRAM,), until=NOON) == []
    assert await found("sort", kinds=(HitKind.PROGRAM,), session_id=session.id) == []
    (hit,) = (await search_everything(Recall(store), Query("else", kinds=(HitKind.PROGRAM,)))).hits[:1]
    assert (hit.session_title, what(hit)) == ("Program mails", "user_prompt of a program")
    # A model is given what this finds.
    assert not (await search(Recall(store), Query("Something else", project_id=project.id))).hits
