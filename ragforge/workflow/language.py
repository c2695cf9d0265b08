"""The operations of the language and their operands. Those in `operations/` can run."""

from collections.abc import Iterable
from difflib import get_close_matches

_OPERATIONS = """
SESSION_INIT out
SESSION_UPDATE reg any any
WAIT_INPUT out
DISPLAY any
CONV_SAVE reg any text
HISTORY_LOAD out any any
SEM_COMPRESS out any
LLM_EXEC out any any
EXTRACT out any
BUILD_CONTEXT out object
SELECT_BEST out any
MERGE out any any
OPTIMIZE out any
DOCUMENT out any
DIFF_ANALYZE out any any
VERSION_CREATE out object
VERSION_SAVE reg any
VERSION_GET out any
VERSION_LOAD out any
VERSION_CHILDREN out any
ALTERNATIVES_GET out any
SELECT out any
DOC_CREATE out text
DOC_UPDATE reg text any
DOC_STORE reg
DOC_LOAD out any
DOC_SEARCH out object
EDGE_CREATE out any any text
RESTORE reg any
ANALYZE out any
PATTERN_UPDATE reg any
SORT reg text text
LIMIT reg any
TOOL_EXEC out text object
AGENT_EXEC out object
CHECK out
PROJECT_DIFF out any any
APPEND reg any
CMP any any
JE label
JNE label
JMP label
CALL label
RET
LOOP any label
POP out
PARALLEL_START
PARALLEL_END
HALT
WAIT_SECONDS any
"""
OPERATIONS = {name: tuple(kinds) for name, *kinds in map(str.split, _OPERATIONS.strip().splitlines())}
"""Each with the kinds of its operands. out: a register that it writes; reg: one that it changes."""

KINDS = {
    "out": "a register for the result, as $NAME",
    "reg": "a register, as $NAME",
    "label": "a label",
    "text": "a text in quotes",
    "object": "an object, as {key: value}",
    "any": "a value",
}
JUMPS = frozenset({"JE", "JNE", "JMP", "CALL", "LOOP", "RET"})
FUNCTIONS = ("TIME_NOW", "LOAD_ALL_LANGUAGES", "LOAD_PATTERNS")
NEEDS = {"tools": "TOOL_EXEC", "agents": "AGENT_EXEC", "check": "CHECK"}
"""What `.needs` names, and the operation that needs it."""
DIRECTIVES = ("program", "version", "persistence", "description", "input", "limit", "needs")
LIMITS = ("calls", "cost_usd", "seconds", "steps")


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the sentence that names the nearest one; empty if none is near."""
    near = get_close_matches(name, list(names), n=1)
    return f" Did you mean {near[0]}?" if near else ""
