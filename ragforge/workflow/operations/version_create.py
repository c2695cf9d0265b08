"""`VERSION_CREATE`: a version that is not stored yet."""

from ragforge.domain.ids import new_id
from ragforge.workflow.operation import (
    VERSION_TYPE,
    Fields,
    Operation,
    ProgramHost,
    Value,
    as_list,
    as_object,
    as_text,
    is_error,
    is_object,
    plain,
)
from ragforge.workflow.program_text import name_of


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    given = as_object(operands[0], "VERSION_CREATE")
    code = as_text(given.get("code"), "The code of VERSION_CREATE")
    parent = given.get("parent")
    parent = parent.get("id") if is_object(parent) else parent
    if not is_error(given.get("diff")):
        as_list(given.get("diff"), "The diff of VERSION_CREATE")
    for each in as_list(given.get("mergedFrom"), "The mergedFrom of VERSION_CREATE"):
        as_text(each, "The mergedFrom of VERSION_CREATE")
    return {
        **{key: value for key, value in given.items() if key not in ("type", "id")},
        "type": VERSION_TYPE,
        "id": new_id(),
        "title": as_text(given.get("title") or "", "The title of VERSION_CREATE"),
        "program": name_of(code),
        "parent": as_text(parent, "The parent of VERSION_CREATE") if parent else None,
        "code": code,
        "alternatives": [
            _alternative(host, each)
            for each in as_list(given.get("alternatives"), "The alternatives of VERSION_CREATE")
            if each and not is_error(each)
        ],
    }


def _alternative(host: ProgramHost, value: Value) -> Fields:
    if is_object(value) and "approach" in value:
        return value
    code = as_text(plain(value), "An alternative")
    facts = host.about(code)
    return {"code": code, "approach": facts.pop("focus", None), "metrics": facts}


OPERATION = Operation("VERSION_CREATE", _run)
