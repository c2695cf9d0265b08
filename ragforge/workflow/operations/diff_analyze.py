"""`DIFF_ANALYZE`: the changes that a request asks for, each with what, where and why."""

from ragforge.workflow.model_tasks import ask_task
from ragforge.workflow.operation import Operation, ProgramFault, ProgramHost, Value, plain, shown


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    request, version = operands
    if version is None:
        raise ProgramFault("There is no program to change yet: ask for a new one first.")
    given = {"request": shown(request), "code": plain(version)}
    return (await ask_task(host, "", "diff_analysis", given))["changes"]


OPERATION = Operation("DIFF_ANALYZE", _run, is_durable=True)
