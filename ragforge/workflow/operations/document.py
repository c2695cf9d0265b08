"""`DOCUMENT`: a text with a header and comments."""

from ragforge.workflow.model_tasks import ask_task
from ragforge.workflow.operation import Operation, ProgramHost, Value, as_text
from ragforge.workflow.program_text import is_program, with_header


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    text = as_text(operands[0], "DOCUMENT")
    if not is_program(text):
        return await ask_task(host, "", "document_code", {"code": text})
    return with_header(text)


OPERATION = Operation("DOCUMENT", _run, is_durable=True)
