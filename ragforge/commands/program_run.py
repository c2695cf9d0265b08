"""A program's run as lines, questions and output, for either face."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING

from ragforge.commands.base import Followed, QuestionKind, Report, UserQuestion
from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest, ConsentAnswer
from ragforge.domain.errors import StoreError

if TYPE_CHECKING:
    from ragforge.workflow.execution import Execution, Front
    from ragforge.workflow.machine import RunState
    from ragforge.workflow.syntax import Instruction

STEP_KEYS = "Enter: run it, r: registers, NAME: one of them, c: go on, q: stop"
NO_REGISTERS = "No registers are set."
SHOWN_CHARS_MAX = 4_000
_CODE = (";", ".program", "--- ", "{\n", "[\n")
"""Start of output whose lines are kept: a program, a diff, objects."""


class RunFront:
    """Passes on what a run says and asks. yes: each question of the program is answered with yes."""

    def __init__(
        self, *, yes: bool = False, inputs: Sequence[str] | None = None, steps: bool = False
    ) -> None:
        """inputs: the program's input, if nobody is asked. steps: each operation waits for the user."""
        self._steps = steps
        self._said: asyncio.Queue[Followed | None] = asyncio.Queue()
        self._yes, self._inputs = yes, None if inputs is None else list(inputs)

    @property
    def front(self) -> "Front":
        """The run's end of it."""
        from ragforge.workflow.execution import Front

        return Front(
            self._display,
            self._read_input,
            self._said.put_nowait,
            confirm=self._confirm,
            choose=self._choose,
            approve=self._approve,
            watch=self._said.put_nowait,
            pause=self._pause if self._steps else None,
        )

    async def follow(self, execution: "Execution") -> AsyncGenerator[Followed, None]:
        """Yield the run from its start to its end. Raises what it raises."""
        task = asyncio.ensure_future(execution.go())
        task.add_done_callback(lambda _: self._said.put_nowait(None))
        try:
            while (said := await self._said.get()) is not None:
                yield said
            try:
                await task
            except StoreError:
                yield "The run stopped. Once the store can be used again, --resume continues it."
                raise
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def _pause(self, instruction: "Instruction", state: "RunState") -> None:
        """Wait until the user continues; they may look at registers before."""
        from ragforge.workflow.operation import RunOver, shown
        from ragforge.workflow.run_view import cut_line

        text = f"line {instruction.at.line}: {cut_line(instruction)}"
        while self._steps:
            answer = await self._ask(QuestionKind.STEP, f"{text}  [{STEP_KEYS}]")
            match answer.strip() if isinstance(answer, str) else "q":
                case "":
                    return
                case "c":
                    self._steps = False
                case "q":
                    raise RunOver("Stopped before this line. --resume continues here.")
                case "r":
                    lines = [f"${name} = {cut_line(shown(value))}" for name, value in state.registers.items()]
                    await self._said.put("\n".join(lines) or NO_REGISTERS)
                case said:
                    name = said.lstrip("$").upper()
                    if name in state.registers:
                        await self._said.put(shown(state.registers[name])[:SHOWN_CHARS_MAX])
                    else:
                        names = ", ".join(f"${each}" for each in state.registers)
                        known = f"Registers: {names}." if names else NO_REGISTERS
                        await self._said.put(f"There is no register ${name}. {known}")

    async def _display(self, text: str) -> None:
        await self._said.put(Report(exact=f"{text.rstrip()}\n", markdown=_as_markdown(text)))

    async def _read_input(self) -> str:
        from ragforge.workflow.operation import InputEnded

        if self._inputs is not None:
            if not self._inputs:
                raise InputEnded("There is no more input.")
            return self._inputs.pop(0)
        answer = await self._ask(QuestionKind.INPUT, "The program waits for your next line.")
        if not isinstance(answer, str):
            raise InputEnded("There is no more input.")
        return answer

    async def _confirm(self, text: str, detail: str) -> bool:
        if self._yes:
            return True
        return await self._ask(QuestionKind.CONFIRM, text, diff=detail) is True

    async def _choose(self, text: str, options: Sequence[str]) -> int:
        answer = await self._ask(QuestionKind.CHOOSE, text, options=tuple(options))
        return answer if isinstance(answer, int) else len(options) - 1

    async def _approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        answer = await self._ask(QuestionKind.APPROVE, "", request=request)
        nobody = ApprovalAnswer(ConsentAnswer.NO, "This run cannot ask questions.", by_user=False)
        return answer if isinstance(answer, ApprovalAnswer) else nobody

    async def _ask(
        self,
        kind: QuestionKind,
        text: str,
        *,
        diff: str = "",
        options: tuple[str, ...] = (),
        request: ApprovalRequest | None = None,
    ) -> object:
        asked = question(kind, text, diff=diff, options=options, request=request)
        await self._said.put(asked)
        return await asked.answer


def question(
    kind: QuestionKind,
    text: str,
    *,
    diff: str = "",
    options: tuple[str, ...] = (),
    request: ApprovalRequest | None = None,
) -> UserQuestion:
    """A question that waits for its answer."""
    return UserQuestion(kind, text, asyncio.get_running_loop().create_future(), diff, options, request)


def _as_markdown(text: str) -> str:
    """Return the text as shown; of a program each line as it is."""
    return f"```text\n{text.rstrip()}\n```" if text.lstrip().startswith(_CODE) else text
