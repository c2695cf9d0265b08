"""`WAIT_SECONDS`: let time pass."""

import asyncio

from ragforge.workflow.operation import Operation, ProgramFault, ProgramHost, Value

SECONDS_MAX = 86_400


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    (seconds,) = operands
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not 0 <= seconds <= SECONDS_MAX:
        raise ProgramFault(f"WAIT_SECONDS takes a number from 0 to {SECONDS_MAX:,}, not {seconds!r}.")
    await asyncio.sleep(seconds)


OPERATION = Operation("WAIT_SECONDS", _run, is_durable=True)
