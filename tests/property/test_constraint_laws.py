"""Whatever the order in which rules are given, taken back, undone, done again and forgotten, a call is held
against what was said last on the path of the conversation.

The list is this file's, as in `test_holding_laws`.
"""

from typing import NamedTuple

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from ragforge.commands.base import run_command
from ragforge.domain.approvals import RunCommand
from ragforge.domain.memories import Memory, MemoryFilter
from ragforge.session.constraints import Constraints
from ragforge.session.moves import redo, undo
from ragforge.tools.base import Preview
from ragforge.tools.registry import find_tools
from tests.property.conversing import ConversingMachine
from tests.property.machines import run_machine

STEPS = 8
NAMES = ("pip", "docker")
BANS = ("Never use {} here.", "Don't ever run {} in this project.", "N'utilise jamais {} ici.")
WISHES = ("From now on, use {} here.", "Désormais, utilise toujours {}.")


class Said(NamedTuple):
    """One turn of the list. name: empty where it says nothing of any."""

    words: str
    name: str = ""
    is_ban: bool = False


class ConstraintMachine(ConversingMachine):
    """path: what was said and not undone. ahead: what a redo brings back, the next one last."""

    def __init__(self) -> None:
        super().__init__()
        self.path: list[Said] = []
        self.ahead: list[Said] = []
        self.forgotten: list[str] = []

    # What is done

    @rule(name=st.sampled_from(NAMES), words=st.sampled_from(BANS))
    def forbid(self, name: str, words: str) -> None:
        self.say(Said(words.format(name), name, is_ban=True))

    @precondition(lambda self: any(each.is_ban for each in self.path))
    @rule(data=st.data(), words=st.sampled_from(WISHES))
    def allow_again(self, data: st.DataObject, words: str) -> None:
        name = data.draw(st.sampled_from(sorted({each.name for each in self.path if each.is_ban})))
        self.say(Said(words.format(name), name))

    @rule()
    def say_nothing(self) -> None:
        self.say(Said("The label printer jams again, have a look."))

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

    @precondition(lambda self: any(each.name for each in self.holding()))
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        words = data.draw(st.sampled_from([each.words for each in self.holding() if each.name]))
        (chosen,) = [each.id for each in self.memories() if each.content == words]
        before = {each.id for each in self.memories()}
        self.run(run_command(self.session, "forget", chosen))
        note(f"forget {words}")
        gone = before - {each.id for each in self.memories()}
        about = next(each for each in self.path if each.words == words)
        same = [each.words for each in self.path if each[1:] == about[1:]]
        forgotten = [each.content for each in self.memories(forgotten=True) if each.id in gone]
        assert {words} <= {*forgotten} <= {*same}, (words, forgotten)
        self.forgotten += forgotten
        self.check()

    def memories(self, *, forgotten: bool = False) -> list[Memory]:
        wanted = MemoryFilter(forgotten=forgotten, replaced=True)
        return self.run(self.session.workspace.store.memories.find(wanted))

    def say(self, said: Said) -> None:
        self.tell(said.words)
        self.path.append(said)
        self.ahead.clear()
        self.forgotten = [each for each in self.forgotten if each != said.words]
        self.check()

    # What holds

    def holding(self) -> list[Said]:
        return [each for each in self.path if each.words not in self.forgotten]

    def check(self) -> None:
        shell = find_tools()["shell"]
        for name in NAMES:
            last = next((each for each in reversed(self.holding()) if each.name == name), Said(""))
            preview = Preview(RunCommand(f"{name} install left-pad"))
            hits = self.run(Constraints(self.session).hits(shell, preview))
            asked = [each.constraint.text for each in hits if each.binds]
            assert bool(asked) == last.is_ban, (name, last, hits)
            assert not last.is_ban or last.words in asked, (last, asked)


def test_a_call_is_held_against_what_was_said_last() -> None:
    run_machine(ConstraintMachine, examples=4, steps=STEPS)
