"""The weightiest topics of a project, with their memories and vectors, in one query."""

from msgspec.structs import replace

from ragforge.domain.memories import ConceptFilter, MemoryScope, MemoryType, memory_id
from ragforge.store.base import Store
from tests.contract.builders import NOON, a_memory, a_project, a_vector, an_association, an_embedding
from tests.contract.builders_memories import kept

ADA = "ada@example.org"


async def test_topics_come_by_importance_and_use_with_what_holds_and_its_vectors(store: Store) -> None:
    project, other = a_project(), a_project()
    for each in (project, other):
        await store.projects.add(each)
    used = a_memory(project, "used", topic="database", importance=0.5)
    old = a_memory(project, "old", topic="database", importance=0.9)
    new = a_memory(project, "new", topic="database", importance=0.6)
    gone = a_memory(project, "gone", topic="database", importance=0.6)
    style = a_memory(project, "style", topic="style", importance=0.7)
    hers = a_memory(
        project,
        "hers",
        topic="tools",
        type=MemoryType.PREFERENCE,
        owner=ADA,
        importance=0.2,
        id=memory_id("hers", scope=MemoryScope.PROJECT, project_id=project.id, session_id="", owner=ADA),
    )
    await kept(
        store,
        *(used, old, new, gone, style, hers),
        a_memory(project, "without a topic"),
        a_memory(other, "elsewhere", topic="database"),
    )
    await store.memories.forget([gone.id], NOON)
    await store.memories.associate([an_association(new, old)])
    for minute in range(2):
        await store.memories.touch([used.id], NOON.replace(minute=minute))
    await store.vectors.save([an_embedding(used, 0.0, 1.0), an_embedding(style, 1.0, 0.0)])

    wanted = ConceptFilter(project.id, ADA, an_embedding(used).model)
    database, theirs, tools = await store.memories.concepts(wanted)
    assert (database.topic, round(database.weight, 4)) == ("database", round(0.5 * 3 + 0.6, 4))
    assert [each.content for each in database.memories] == ["new", "used"]
    assert dict(database.vectors) == {used.id: a_vector(0.0, 1.0)}
    assert (theirs.topic, set(theirs.vectors)) == ("style", {style.id})
    assert (tools.topic, tools.memories[0].owner) == ("tools", ADA)
    assert database.memories[1].access_count == 2

    async def topics(wanted: ConceptFilter) -> list[str]:
        return [each.topic for each in await store.memories.concepts(wanted)]

    assert await topics(replace(wanted, limit=1)) == ["database"]
    assert await topics(replace(wanted, person="bob@example.org")) == ["database", "style"]
    assert await topics(replace(wanted, topics=("tools", "style"))) == ["style", "tools"]
    assert await topics(replace(wanted, project_id="nowhere")) == []
    [one] = await store.memories.concepts(replace(wanted, topics=("database",), each=1, model="other"))
    assert ([each.content for each in one.memories], dict(one.vectors)) == (["new"], {})
