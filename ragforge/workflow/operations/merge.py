"""`MERGE`: an object with the fields of another; a text with requirements, by one call of a model."""

from ragforge.workflow.model_tasks import ask_task
from ragforge.workflow.operation import (
    Operation,
    ProgramHost,
    Value,
    as_object,
    as_text,
    is_object,
    is_version,
)


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    value, more = operands[0], as_object(operands[1], "MERGE")
    if value is None or (is_object(value) and not is_version(value)):
        return {**(value or {}), **more}
    return await ask_task(host, "", "merge_requirements", {"code": as_text(value, "MERGE"), **more})


OPERATION = Operation("MERGE", _run, is_durable=True)
