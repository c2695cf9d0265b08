"""Lists of things to do in one statement: `todo: a chart, an alarm for frost`."""

import re
from functools import lru_cache

from msgspec import Struct

from ragforge.domain.language.base import AnyOf
from ragforge.domain.language.words import TEXTS_KEPT_MAX
from ragforge.domain.memories import Memory, MemoryType
from ragforge.memory.statements import plain

_TODO = AnyOf(lambda language: language.memories.get(MemoryType.TODO, ()))
_OPEN = AnyOf(lambda language: language.leaves_open)
_LIST = re.compile(r"^(?P<lead>[^:]{0,60}:)\s*(?P<items>.+)$")
_LABEL_WORDS_MAX = 3
"""A longer label before the colon is a statement itself."""
_BETWEEN = re.compile(r"(?:,(?![^()]*\))\s*(?:and |et )?|;\s*|\s(?:and|et)\s)(?![^()]*\))")

_NUMBERED = re.compile(r"(?:^|[,;]?\s+(?:and |et )?)(?=\(?\d{1,2}[.)]\s)")
"""Precedes each part of `1) a chart, 2) an alarm`."""


class TodoList(Struct, frozen=True):
    """What is to do, after the words that say so."""

    lead: str
    items: tuple[str, ...]


@lru_cache(TEXTS_KEPT_MAX)
def todo_list(statement: str) -> TodoList | None:
    """Return the parts of a to-do list; None if the statement is not one."""
    found = _LIST.match(statement)
    if found is None or not (_TODO.search(plain(statement)) or _OPEN.search(plain(statement))):
        return None
    numbered = [item for item in _NUMBERED.split(found["items"]) if item]
    parts = numbered if len(numbered) > 1 else _BETWEEN.split(found["items"])
    items = (item for item in parts if item and item.strip(" ."))
    return TodoList(found["lead"], tuple(items))


def without_label(memory: Memory) -> str:
    """Return the content, of a todo without a leading `todo:`, to be shown beside its type."""
    found = _LIST.match(memory.content) if memory.type is MemoryType.TODO else None
    if (
        found is None
        or len(found["lead"].split()) > _LABEL_WORDS_MAX
        or not _TODO.search(plain(found["lead"]))
    ):
        return memory.content
    return found["items"]
