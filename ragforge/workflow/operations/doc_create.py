"""`DOC_CREATE`: a new document of a type; `DOC_STORE` stores it."""

from ragforge.domain.ids import new_id
from ragforge.workflow.operation import Operation, ProgramHost, Value


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    return {"_id": new_id(), "type": operands[0], "userId": host.user_id, "projectId": host.project_id}


OPERATION = Operation("DOC_CREATE", _run)
