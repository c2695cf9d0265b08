"""`OPTIMIZE`: the same program, shorter; other text by one call of a model."""

from ragforge.workflow.model_tasks import ask_task
from ragforge.workflow.operation import Operation, ProgramHost, Value, as_text
from ragforge.workflow.optimizer import optimized
from ragforge.workflow.program_text import is_program


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    text = as_text(operands[0], "OPTIMIZE")
    if not is_program(text):
        return await ask_task(host, "", "optimize_code", {"code": text})
    return optimized(text)


OPERATION = Operation("OPTIMIZE", _run, is_durable=True)
