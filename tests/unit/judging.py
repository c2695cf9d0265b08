"""Shell commands judged by the rules of consent, for tests."""

from pathlib import Path

from ragforge.agent.permissions import Ask, Decision, decide
from ragforge.domain.approvals import Mode, RunCommand, parse_rule
from ragforge.tools import shell
from ragforge.tools.base import Preview


def judge(root: Path, command: str, *rules: str, mode: Mode = Mode.ASK) -> Decision:
    return decide(
        shell.TOOL,
        {"command": command},
        Preview(RunCommand(command)),
        mode=mode,
        rules=[parse_rule(rule) for rule in rules],
        root=root,
        cwd=root,
    )


def offered(decision: Decision) -> list[str]:
    assert isinstance(decision, Ask)
    return [str(rule) for rule in decision.rules]
