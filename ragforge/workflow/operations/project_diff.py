"""`PROJECT_DIFF`: what is not committed yet, as a diff."""

from ragforge.workflow.operations.base import Operation, ProgramFault, ProgramHost, Value


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    if operands != (None, None):
        raise ProgramFault(
            "PROJECT_DIFF can only compare null with null, which is what is not committed yet: "
            "this version of ragforge compares no two versions in a program."
        )
    return await host.uncommitted_changes()


OPERATION = Operation("PROJECT_DIFF", _run, is_durable=True)
