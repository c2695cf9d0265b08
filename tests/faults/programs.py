"""A program whose process is killed and which is resumed: it must come to what it comes to uncut."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults.children import Children
from tests.faults.shim import Fault
from tests.faults.trials import Verdict, met, unexpected
from tests.standins.gemini import KEY

NAME = "ledger.spu"
PROGRAM = """\
.program ledger
.needs tools, agents
SESSION_INIT $SESSION
WAIT_INPUT $ASKED
CONV_SAVE $SESSION, $ASKED, 'user_prompt'
LLM_EXEC $PLAN, 'planner', {prompt: $ASKED}
PARALLEL_START
    LLM_EXEC $ONE, 'first', {plan: $PLAN}
    LLM_EXEC $TWO, 'second', {plan: $PLAN}
    LLM_EXEC $THREE, 'third', {two: $TWO}
PARALLEL_END
TOOL_EXEC $MADE, 'write', {path: 'made.txt', content: $ONE}
AGENT_EXEC $LOOKED, {prompt: 'Look around', model: 'scout', tools: 'read'}
DOC_CREATE $NOTE, 'note'
DOC_UPDATE $NOTE, 'text', $TWO
DOC_STORE $NOTE
EDGE_CREATE $EDGE, $SESSION.id, $USER.id, 'created_by'
LOOP 2, again
again:
    LLM_EXEC $LAST, 'looped', {looked: $LOOKED.text, all: $ALL.length}
    APPEND $ALL, $LAST
    JMP again
CONV_SAVE $SESSION, {action: 'told'}, 'user_action'
DISPLAY $ALL
HALT
"""
ASKED = ["first", "looped", "looped", "planner", "scout", "second", "third"]


@contextmanager
def model_environ() -> Iterator[dict[str, str]]:
    """The environment in which a model of another process answers: it repeats what it is told."""
    command = [sys.executable, "-m", "tests.standins.gemini", "--port", "0"]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            yield {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url}
        finally:
            process.kill()


@dataclass
class ProgramGround:
    """A folder in which the program runs, as new for each trial. uncut: what it comes to."""

    children: Children
    folder: Path
    env: dict[str, str]
    uncut: Any = None
    calls: int = 0

    def begin(self) -> "ProgramGround":
        """Make the folder, with its databases, and let the program run there uncut."""
        project = self.folder / "project"
        project.mkdir(parents=True)
        (project / NAME).write_text(PROGRAM)
        self.children.run("look", self.folder)
        shutil.copytree(self.folder, self._new)
        whole = self._run(Fault(str(self.folder)))
        assert not whole.error, whole.error
        self.uncut, self.calls = whole.result, len(whole.calls)
        return self

    def kill(self, fault: Fault) -> Verdict:
        """The program is killed there and resumed."""
        shutil.rmtree(self.folder)
        shutil.copytree(self._new, self.folder)
        ended = self._run(fault)
        resumed = self._run(None)
        wrong = [*unexpected(ended, fault), *unexpected(resumed, None)]
        if not wrong:
            # What was shown before it was killed is not shown again.
            resumed.result["shown"] = resumed.result["shown"] or self.uncut["shown"]
            pairs = ((what, resumed.result[what], uncut) for what, uncut in self.uncut.items())
            wrong += [f"{what}: {found}, uncut {uncut}" for what, found, uncut in pairs if found != uncut]
        return Verdict(met(ended, fault), ended.calls, wrong, str(resumed.result))

    @property
    def _new(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}-new")

    def _run(self, fault: Fault | None) -> Any:
        return self.children.run("program", self.folder, fault, name=NAME, env=self.env)
