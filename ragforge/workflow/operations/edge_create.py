"""`EDGE_CREATE`: a relationship between two things, once."""

import hashlib

from ragforge.workflow.operation import Operation, ProgramHost, Value, as_text


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    source, target, kind = operands
    ends = [as_text(source, "EDGE_CREATE"), as_text(target, "EDGE_CREATE")]
    edge = {
        "_id": hashlib.sha256("\n".join([kind, *ends]).encode()).hexdigest()[:32],
        "type": "edge",
        "userId": host.user_id,
        "projectId": host.project_id,
        "kind": kind,
        "from": ends[0],
        "to": ends[1],
    }
    await host.library.keep_document(edge)
    return edge


OPERATION = Operation("EDGE_CREATE", _run, is_durable=True)
