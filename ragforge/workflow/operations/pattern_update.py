"""`PATTERN_UPDATE`: add a finding to the patterns, with its support and evidence, and store them."""

import hashlib
from typing import cast

from ragforge.workflow.operation import (
    Fields,
    Operation,
    ProgramFault,
    ProgramHost,
    Value,
    as_list,
    is_error,
    is_object,
)

TYPE = "pattern"
EVIDENCE_MAX = 20


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    patterns = list(map(_pattern, as_list(operands[0], "PATTERN_UPDATE")))
    kept = {each["_id"]: each for each in await host.library.documents(TYPE)}
    known = {each["text"]: each for each in patterns}
    for each in _found(operands[1]):
        known.setdefault(each["text"], each)
    for each in known.values():
        evidence = each["evidence"] or [host.session_id]
        document = _document(host, {**each, "evidence": evidence})
        if before := kept.get(document["_id"]):
            both = dict.fromkeys([*before["evidence"], *evidence])
            document |= {"evidence": list(both)[-EVIDENCE_MAX:], "support": len(both)}
        await host.library.keep_document(document)
    return list(known.values())


def _pattern(value: Value) -> Fields:
    if not is_object(value) or not isinstance(value.get("text"), str):
        raise ProgramFault("PATTERN_UPDATE takes a list of patterns as ANALYZE makes it.")
    evidence: Value = value.get("evidence")
    return {"support": 1, **value, "evidence": evidence if isinstance(evidence, list) else []}


def _found(value: Value) -> list[Fields]:
    if value is None or is_error(value):
        return []
    kind = "mistake" if is_object(value) and "mistakes" in value else "strategy"
    lists: list[Value] = list(value.values()) if is_object(value) else [value]
    items = next((cast("list[Value]", each) for each in lists if isinstance(each, list)), list[Value]())
    texts: list[str] = [each for each in items if isinstance(each, str) and each.strip()]
    return [{"kind": kind, "text": each.strip(), "support": 1, "evidence": []} for each in texts]


def _document(host: ProgramHost, pattern: Fields) -> Fields:
    digest = hashlib.sha256(" ".join(pattern["text"].lower().split()).encode()).hexdigest()[:32]
    return {**pattern, "_id": digest, "type": TYPE, "userId": host.user_id, "projectId": host.project_id}


OPERATION = Operation("PATTERN_UPDATE", _run, is_durable=True)
