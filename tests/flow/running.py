"""Whole turns in tests: a workspace on real files, a real store, the real client against the stand-in."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ragforge.agent.parts import TurnLimits
from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest, ConsentAnswer
from ragforge.domain.events import AgentEvent, TurnEnded
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import Turn
from ragforge.session.open import close_session, close_workspace, new_session, open_workspace
from ragforge.session.state import Session
from ragforge.session.turn import retry, submit
from tests.new_stores import make_data
from tests.standins.gemini import GeminiStandIn

MODEL = "gemini:gemini-3.8-flash"


def environ(tmp_path: Path, server: GeminiStandIn | None = None, **more: str) -> dict[str, str]:
    """An environment of its own: nothing of the user who runs the tests is seen or touched."""
    if tmp_path.exists() and "RAGFORGE_STORE" not in more:
        make_data(tmp_path / "data")
    found = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(tmp_path / "home"),
        "RAGFORGE_DATA_DIR": str(tmp_path / "data"),
        "RAGFORGE_CONFIG_DIR": str(tmp_path / "config"),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        # What is backed up is tested in files of their own.
        "RAGFORGE_BACKUP_DAILY": "false",
        # To read the machine's certificates takes a fifth of a short run, and the stand-ins have none.
        "SSL_CERT_DIR": str(tmp_path / "no-certificates"),
    }
    if server:
        found |= {"GEMINI_API_KEY": server.key, "GOOGLE_GEMINI_BASE_URL": server.url, "RAGFORGE_MODEL": MODEL}
    return found | more


@dataclass
class User:
    """Answers approvals, and remembers what was asked."""

    answers: Callable[[ApprovalRequest], ApprovalAnswer] = lambda _: ApprovalAnswer(ConsentAnswer.ONCE)
    asked: list[ApprovalRequest] = field(default_factory=list)

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        return self.answers(request)


def says_no(reason: str = "") -> User:
    return User(lambda _: ApprovalAnswer(ConsentAnswer.NO, reason))


@asynccontextmanager
async def opened(
    tmp_path: Path, env: dict[str, str], *, flags: dict[str, object] | None = None
) -> AsyncIterator[Session]:
    """A new session in a project folder."""
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    workspace = await open_workspace(cwd=project, flags=flags or {}, environ=env)
    session = await new_session(workspace)
    try:
        yield session
    finally:
        await close_session(session)
        await close_workspace(workspace)


async def say(
    session: Session, text: str, user: User | None = None, *, limits: TurnLimits | None = None
) -> list[AgentEvent]:
    """All events of the turn that the text begins."""
    approve = (user or User()).approve
    async with aclosing(submit(session, (TextPart(text),), approve, limits=limits)) as events:
        return [event async for event in events]


async def say_retry(session: Session, user: User | None = None) -> list[AgentEvent]:
    async with aclosing(retry(session, (user or User()).approve)) as events:
        return [event async for event in events]


def ended(events: Sequence[AgentEvent]) -> Turn:
    """The turn as it ended last."""
    last = events[-1]
    assert isinstance(last, TurnEnded)
    return last.turn


def of_type(events: Sequence[AgentEvent], kind: type) -> list:
    return [event for event in events if isinstance(event, kind)]
