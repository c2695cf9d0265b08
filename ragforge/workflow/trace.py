"""What a run heard and showed, from which an example of the program can be made."""

import msgspec
from msgspec import Struct, field

from ragforge.workflow.examples import Example
from ragforge.workflow.rehearsal import ScriptedAnswer

EXAMPLE_BYTES_MAX = 200_000
DISPLAYS_MAX = 20
WORDS_MAX = 80
"""How much of what was shown must be shown again."""


class AnsweredCall(Struct, frozen=True):
    """A model call with its answer."""

    task: str
    message: str
    answer: str


class RunTrace(Struct):
    """A run's input from outside, in order."""

    inputs: list[str] = field(default_factory=list[str])
    calls: list[AnsweredCall] = field(default_factory=list[AnsweredCall])
    displayed: list[str] = field(default_factory=list[str])

    def example(self, given: list[str]) -> str:
        """Return the run as a line of `NAME.spu.test`; empty if it showed nothing or is too long.

        given: its `.input`s.
        """
        answers = [
            ScriptedAnswer(call.task, call.answer, self._words(call))
            for call in dict.fromkeys(self.calls)  # the same question has one answer
        ]
        shown = [first for text in self.displayed[:DISPLAYS_MAX] if (first := _first_line(text))]
        if not shown:
            return ""
        line = msgspec.json.encode(Example([*given, *self.inputs], answers, list(dict.fromkeys(shown))))
        return line.decode() if len(line) <= EXAMPLE_BYTES_MAX else ""

    def _words(self, call: AnsweredCall) -> str:
        """Return a line of the message that no other call of the task has; empty if there is none."""
        others = [each.message for each in self.calls if each.task == call.task and each != call]
        if not others:
            return ""
        lines = (line.strip() for line in call.message.splitlines())
        own = (line for line in lines if line and not any(line in other for other in others))
        return next(own, "")


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:WORDS_MAX]
