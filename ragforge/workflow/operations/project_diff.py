"""`PROJECT_DIFF`: the diff of the project's files, of two versions or of uncommitted changes."""

from ragforge.workflow.operation import Operation, ProgramHost, Value, as_text


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    one, other = operands
    if one is None and other is None:
        return await host.uncommitted_changes()
    what = "PROJECT_DIFF"
    return await host.changes_between(as_text(one or "", what), as_text(other or "", what))


OPERATION = Operation("PROJECT_DIFF", _run, is_durable=True)
