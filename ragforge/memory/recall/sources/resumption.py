"""Where the user left off, if the message asks for it."""

from ragforge.domain.context import Recalled
from ragforge.domain.ids import now
from ragforge.domain.memories import Memory
from ragforge.domain.search import HitKind
from ragforge.memory.periods import with_due_day
from ragforge.memory.recall.passages import passages_of, statement
from ragforge.memory.recall.source import Above, ContextSource, Finding, Lookup, Section

SECTION = Section("Where You Left Off", share=0.4, place=1)


async def _look(lookup: Lookup) -> Finding:
    before = await lookup.left_off()
    turns = [turn.id for turn in before.turns]

    async def items(above: Above) -> list[Recalled]:
        fit = await lookup.fit()
        cut = await lookup.without_forgotten(before.turns)
        ended = await passages_of(fit, cut, above=above, found={})
        said = [
            Recalled(
                SECTION.heading,
                HitKind.TURN,
                each.turn.id,
                statement(each).text,
                0,
                "the end of the session before",
                each.turn.started_at,
                each.turn.session_id,
                each.turn.id,
            )
            for each in ended
        ]
        holding = await lookup.holding(before.todos, above)
        return [*said, *(_todo(todo, text) for todo, text in zip(before.todos, holding, strict=True) if text)]

    return Finding(items, turns)


def _todo(todo: Memory, text: str) -> Recalled:
    return Recalled(
        SECTION.heading,
        HitKind.MEMORY,
        todo.id,
        f"[{todo.type}] {with_due_day(todo, text, now())}",
        0,
        "still to do",
        todo.updated_at,
        todo.session_id,
        todo.turns[-1] if todo.turns else "",
    )


SOURCE = ContextSource((SECTION,), order=2, look=_look)
