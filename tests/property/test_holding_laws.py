"""Whatever the order in which things are said, replaced, undone, done again and forgotten, what stands before
a message is what a plain list of these says holds.

The list is this file's: what was said of each subject on the path of the conversation, without what was
forgotten; the last of it holds. RAGFORGE_TEST_EXAMPLES=200 looks further than every run does.
"""

from itertools import count
from typing import NamedTuple

import pytest
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from ragforge.commands.base import run_command
from ragforge.domain.memories import MemoryFilter
from ragforge.domain.messages import TextPart
from ragforge.session.moves import redo, undo
from ragforge.session.next_call import next_call
from ragforge.session.open import close_session, new_session
from tests.property.conversing import ConversingMachine
from tests.property.machines import run_machine

STEPS = 8


class Subject(NamedTuple):
    """Something of which one value holds at a time."""

    says: str
    changes: str
    """With {old} and {new}."""
    asks: str
    values: tuple[str, ...] = ()
    """None of them where numbers will do, of which there is always another one."""
    returns: str = ""
    """With {old}, which holds again; empty where that is not said by itself."""


SUBJECTS = (
    Subject(
        "The gateway of the greenhouse listens on port {new}.",
        "Change the port of the gateway to {new} instead of {old}.",
        "On which port does the gateway of the greenhouse listen?",
    ),
    Subject(
        "We keep the readings of the meters in {new}.",
        "Use {new} instead of {old} for the readings of the meters.",
        "Where do we keep the readings of the meters?",
        ("MySQL", "DuckDB", "MongoDB", "Cassandra", "SQLite", "Oracle"),
        "Back to {old} for the readings of the meters.",
    ),
    Subject(
        "From now on the pumps are written in {new}.",
        "No, write the pumps in {new} instead of {old}.",
        "Which language are the pumps written in?",
        ("Haskell", "Erlang", "Fortran", "Kotlin", "Pascal", "Elixir"),
    ),
)
NUMBERS = st.integers(0, len(SUBJECTS) - 1)


class Said(NamedTuple):
    """One turn of the list.

    subject: None where it says nothing of any. by_name: it names what it replaces.
    """

    subject: int | None
    value: str
    by_name: bool = False


class HoldingMachine(ConversingMachine):
    """path: what was said and not undone. ahead: what a redo brings back, the next one last."""

    def __init__(self, **more: str) -> None:
        super().__init__(**more)
        self.path: list[Said] = []
        self.ahead: list[Said] = []
        self.ever: list[set[str]] = [set() for _ in SUBJECTS]
        self.forgotten: list[str] = []
        self.numbers = count(7001, 13)

    # What is done

    @rule(number=NUMBERS, data=st.data(), plainly=st.booleans())
    def state(self, number: int, data: st.DataObject, plainly: bool) -> None:
        subject, old = SUBJECTS[number], self.holds(number)
        left = [each for each in subject.values if each != old and each not in self.forgotten]
        new = data.draw(st.sampled_from(left)) if left else str(next(self.numbers))
        words = subject.says if plainly or not old or old in self.forgotten else subject.changes
        self.say(words.format(old=old, new=new), Said(number, new, by_name=words == subject.changes))

    @precondition(lambda self: any(map(self.may_return, range(len(SUBJECTS)))))
    @rule(data=st.data())
    def return_to_the_one_before(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(list(filter(self.may_return, range(len(SUBJECTS))))))
        old = self.values(number)[-2]
        self.say(SUBJECTS[number].returns.format(old=old), Said(number, old))

    def may_return(self, number: int) -> bool:
        """Whether the newest change, in words that name both, can be taken back."""
        values = self.values(number)
        is_known = len(values) > 1 and not {*values[-2:]} & {*self.forgotten}
        said = [each for each in self.path if each.subject == number]
        return bool(SUBJECTS[number].returns) and is_known and said[-1].by_name

    @rule()
    def state_nothing(self) -> None:
        self.say("The label printer jams again, have a look.", Said(None, ""))

    @precondition(lambda self: self.path)
    @rule()
    def undo(self) -> None:
        self.run(undo(self.session))
        note("undo")
        self.ahead.append(self.path.pop())
        self.check()

    @precondition(lambda self: self.ahead)
    @rule()
    def redo(self) -> None:
        self.run(redo(self.session))
        note("redo")
        self.path.append(self.ahead.pop())
        self.check()

    @precondition(lambda self: any(each.value not in self.forgotten for each in self.path if each.value))
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        said = [each.value for each in self.path if each.value and each.value not in self.forgotten]
        value = data.draw(st.sampled_from(said))
        if memory := self.run(self.memory_of(value)):
            self.run(run_command(self.session, "forget", memory))
            note(f"forget {value}")
            self.forgotten.append(value)
            self.check()

    @precondition(lambda self: self.forgotten)
    @rule()
    def remember_again(self) -> None:
        self.run(run_command(self.session, "forget", "--undo"))
        note(f"forget --undo {self.forgotten[-1]}")
        self.forgotten.pop()
        self.check()

    def say(self, words: str, said: Said) -> None:
        self.tell(words)
        self.path.append(said)
        self.ahead.clear()
        if said.subject is not None:
            self.ever[said.subject].add(said.value)
        self.check()

    async def memory_of(self, value: str) -> str:
        """The id of the newest memory that says it, if one does."""
        found = await self.session.workspace.store.memories.find(MemoryFilter())
        ids = [each.id for each in found if value in each.content and f"of {value}" not in each.content]
        return max(ids, default="")

    # What holds

    def values(self, number: int) -> list[str]:
        return [each.value for each in self.path if each.subject == number]

    def holds(self, number: int) -> str:
        """What was said last of what is not forgotten; empty where nothing is."""
        return next((each for each in reversed(self.values(number)) if each not in self.forgotten), "")

    def check(self) -> None:
        self.run(self.law())

    async def law(self) -> None:
        for number, subject in enumerate(SUBJECTS):
            if not self.ever[number]:
                continue
            lines = await self.lines(subject.asks)
            holding = self.holds(number)
            on_path = {each.value for each in self.path if each.subject == number}
            for line in lines:
                there = {each for each in self.ever[number] if each in line}
                assert not there & set(self.forgotten), (line, "was forgotten")
                assert there <= on_path or ", undone: " in line, (line, "was undone")
                if there - {holding}:
                    assert "(replaced" in line or holding in there, (line, f"{holding} holds")
            assert not holding or any(holding in line for line in lines), (lines, f"{holding} is missing")

    async def lines(self, message: str) -> list[str]:
        other = await new_session(self.session.workspace)
        block = (await next_call(other, (TextPart(message),))).block
        await close_session(other)
        return [item.text for item in block.items]


def test_what_stands_before_a_message_is_what_holds() -> None:
    run_machine(HoldingMachine, examples=5, steps=STEPS)


@pytest.mark.long
def test_what_stands_before_a_message_is_what_holds_with_a_graph(graph: dict[str, str]) -> None:
    run_machine(lambda: HoldingMachine(**graph), examples=2, steps=STEPS)
