"""`DOC_UPDATE`: set a field of a document."""

from ragforge.workflow.operation import Operation, ProgramFault, ProgramHost, Value, as_object


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    document, field, value = operands
    if field in ("_id", "type", "userId", "projectId"):
        raise ProgramFault(f"DOC_UPDATE cannot change {field}.")
    return {**as_object(document, "DOC_UPDATE"), field: value}


OPERATION = Operation("DOC_UPDATE", _run)
