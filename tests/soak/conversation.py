"""Whole turns of a model that follows a script, in this process: files are written, read and commands run.

Nothing of a turn is kept here, so that what grows is the program.
"""

import hashlib
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest, ConsentAnswer, Mode
from ragforge.domain.errors import UsageError
from ragforge.domain.events import AgentEvent, AnswerEnded, FinishReason, ModelEvent, TextDelta, UsageSeen
from ragforge.domain.messages import CallRequest, ModelMessage, TextPart, ToolMessage
from ragforge.domain.usage import Usage
from ragforge.providers.base import ModelLimits, ModelRequest
from ragforge.session.library import newest_session
from ragforge.session.open import close_session, close_workspace, new_session, open_workspace, resume_session
from ragforge.session.state import Session, Workspace
from ragforge.session.turn import submit

MODEL = "gemini:gemini-3.8-flash"
"""Named for its price; it is never reached."""
FILES = 24
"""A project's files are many, and finitely many."""
SYLLABLES = ("ka", "lo", "mi", "ren", "tas", "vo", "shu", "del", "pra", "quin", "zor", "bel")


class ScriptedProvider:
    """A model that makes the calls it is told to, one a step, and then says a sentence."""

    def __init__(self, calls: Callable[[int], Sequence[tuple[str, dict[str, object]]]]) -> None:
        self.name, self.model = MODEL.split(":")
        self.turns = 0
        self._calls = calls
        self._waiting: Iterator[tuple[str, dict[str, object]]] = iter(())

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """The next call of the turn, or its last words."""
        if not isinstance(request.messages[-1], ToolMessage):
            self._waiting = iter(self._calls(self.turns))
            self.turns += 1
        text, asked = f"Done with step {self.turns}: {words_of(self.turns, 12)}.", next(self._waiting, None)
        calls = () if asked is None else (CallRequest(f"call-{random.getrandbits(64):x}", *asked),)
        yield TextDelta(text)
        yield UsageSeen(Usage(input_tokens=2_000, output_tokens=50))
        message = ModelMessage(self.name, self.model, text, calls)
        yield AnswerEnded(message, FinishReason.CALLS if calls else FinishReason.STOP)

    async def limits(self) -> ModelLimits:
        """Those of a usual model."""
        return ModelLimits(context_tokens_max=200_000, output_tokens_max=8_000)

    async def prepare(self) -> None:
        """There is nothing to load."""

    async def verify(self) -> None:
        """Nothing can be wrong."""

    async def models(self) -> list[str]:
        """The one that there is."""
        return [self.model]

    async def close(self) -> None:
        """There is nothing to release."""


def words_of(number: int, count: int) -> str:
    """Words that are always the same for a number, and others for the next."""
    digest = hashlib.sha256(str(number).encode()).digest()
    chance = random.Random(digest)
    return " ".join("".join(chance.choices(SYLLABLES, k=3)) for _ in range(count))


def usual_calls(number: int) -> list[tuple[str, dict[str, object]]]:
    """What a turn of that number does: most write and read, some run a command, some only talk."""
    name = f"file{number % FILES}.txt"
    content = "".join(f"{words_of(number * 40 + at, 8)}\n" for at in range(30))
    calls: list[tuple[str, dict[str, object]]] = [
        ("read", {"path": name}),
        ("write", {"path": name, "content": content}),
    ]
    if number % 3 == 0:
        calls.append(("shell", {"command": f"echo {words_of(number, 3)} >> log{number % 5}.txt"}))
    if number % 7 == 0:
        calls.append(("grep", {"pattern": words_of(number, 1)}))
    return [] if number % 5 == 4 else calls


def environ_in(folder: Path) -> dict[str, str]:
    """An environment in which everything lies in the folder, and background work needs no model."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder / "home"),
        "RAGFORGE_DATA_DIR": str(folder / "data"),
        "RAGFORGE_CONFIG_DIR": str(folder / "config"),
        "RAGFORGE_MEMORY_MODEL": "local",
        "RAGFORGE_MODEL": MODEL,
        "RAGFORGE_BACKUP_DAILY": "false",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        "SSL_CERT_DIR": str(folder / "no-certificates"),
    }


@asynccontextmanager
async def conversation(
    folder: Path, provider: ScriptedProvider, *, is_new: bool = False, **env: str
) -> AsyncIterator[Session]:
    """The newest session of the folder's project, or a new one, which talks to the provider."""
    project = folder / "project"
    project.mkdir(parents=True, exist_ok=True)
    workspace = await open_workspace(cwd=project, flags={}, environ=environ_in(folder) | env)
    session = await (new_session if is_new else _newest)(workspace)
    session.live.consent.mode, session.live.provider = Mode.ALL, provider
    try:
        yield session
    finally:
        await close_session(session)
        await close_workspace(workspace)


async def _newest(workspace: Workspace) -> Session:
    """The newest session of the project, else a new one."""
    project, cwd = workspace.project.id, workspace.place.cwd
    try:
        record = await newest_session(workspace.store, project_id=project, cwd=cwd)
        return (await resume_session(workspace, record)).session
    except UsageError:
        return await new_session(workspace)


async def approve(request: ApprovalRequest) -> ApprovalAnswer:
    """No: everything may run in these sessions, but for what could not be undone."""
    return ApprovalAnswer(ConsentAnswer.NO)


async def say(session: Session, text: str) -> AgentEvent:
    """The last event of the turn that the text begins; the others are let go as they come."""
    last: AgentEvent | None = None
    async with aclosing(submit(session, (TextPart(text),), approve)) as events:
        async for event in events:
            last = event
    assert last is not None
    return last
