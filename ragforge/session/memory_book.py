"""Operations on memories in an open session: list, explain, edit, forget, restore."""

from collections.abc import Sequence

from msgspec import Struct

from ragforge.domain.errors import UsageError
from ragforge.domain.ids import now
from ragforge.domain.memories import PERSONAL, Memory, MemoryFilter, MemorySort, memory_id
from ragforge.domain.messages import text_of
from ragforge.domain.turns import ConversationSession, Turn
from ragforge.domain.words import moment_words
from ragforge.memory import forgotten, memories
from ragforge.memory.memories import Story
from ragforge.session.state import Workspace

LISTED_MAX = 2_000


class Edited(Struct, frozen=True):
    """A memory with its new words. was_known: another memory had them already, so the two are one now."""

    memory: Memory
    was_known: bool


class TurnPlace(Struct, frozen=True):
    """A session and one of its turns, counted from 1."""

    session_id: str
    turn: int


class TurnText(Struct, frozen=True):
    """A turn to read. place: when and where it was said. command: what opens it."""

    place: str
    user: str
    answer: str
    command: str


class MemoryBook(Struct, frozen=True):
    """The memories of the open project and the global ones. Every method may raise RagforgeError."""

    workspace: Workspace

    async def list(self, *, sort: MemorySort, forgotten: bool) -> list[Memory]:
        """Return all of the user's and everybody's, including replaced ones and those of abandoned turns."""
        return await self.workspace.store.memories.find(
            MemoryFilter(
                project_id=self.workspace.project.id,
                person=self.workspace.person.id,
                forgotten=forgotten,
                replaced=True,
                abandoned=True,
                sort=sort,
                limit=LISTED_MAX,
            )
        )

    async def story(self, memory: Memory) -> Story:
        """Return its origin and its relations."""
        return await memories.why(self.workspace.store, memory)

    async def edit(self, memory: Memory, words: str) -> Edited:
        """Change the words of the memory; the old ones can be restored."""
        store = self.workspace.store
        words = self.workspace.redactor.text(words)
        new_id = memory_id(
            " ".join(words.split()),
            scope=memory.scope,
            project_id=memory.project_id,
            session_id=memory.session_id,
            owner=memory.owner if memory.type in PERSONAL else "",
        )
        standing = [old for old in await store.memories.get([new_id]) if old.forgotten_at is None]
        edited = await memories.edit(store, memory, content=words, at=now())
        self.workspace.background.wake()
        return Edited(edited, bool(standing))

    async def hand_over(self, memory: Memory) -> Memory:
        """Make the memory everybody's, or the user's if it was everybody's."""
        owner = "" if memory.owner else self.workspace.person.id
        return await memories.change(self.workspace.store, memory, owner=owner, at=now())

    async def forget(self, memory: Memory) -> Sequence[Memory]:
        """Forget it, and return what was forgotten along with it because it says the same."""
        return await forgotten.forget(self.workspace.store, memory)

    async def restore(self, memory: Memory) -> None:
        """Restore it, and what was forgotten along with it."""
        (memory,) = await self.workspace.store.memories.get([memory.id])
        await forgotten.restore(self.workspace.store, memory)
        self.workspace.background.wake()

    async def place_of(self, turn_id: str) -> TurnPlace:
        """Return where the turn can be seen. Raises UsageError if it is no longer on its session's path."""
        turn, session = await self._turn_and_session(turn_id)
        path = await self.workspace.store.turns.path(session.head)
        if turn.index >= len(path) or path[turn.index].id != turn.id:
            raise UsageError("This turn was undone. Search still finds it.")
        return TurnPlace(session.id, turn.index + 1)

    async def read_turn(self, turn_id: str) -> TurnText:
        """Return the turn, its place, and the command that opens it. Raises UsageError."""
        turn, session = await self._turn_and_session(turn_id)
        return TurnText(
            f"{moment_words(turn.started_at)}, {session.title}, turn {turn.index + 1}",
            text_of(turn.user),
            turn.assistant,
            f"ragforge -r {session.id} --at {turn.index + 1}",
        )

    async def open_evidence(self, memory: Memory) -> TurnPlace:
        """Return the newest turn it is based on that can be seen. Raises UsageError if there is none."""
        if not memory.turns:
            raise UsageError(
                "It is not based on a stored turn: you stated it with a command, or its session was deleted."
            )
        await self.workspace.store.memories.touch([memory.id], now())
        for turn_id in reversed(memory.turns[1:]):
            try:
                return await self.place_of(turn_id)
            except UsageError:
                continue
        return await self.place_of(memory.turns[0])

    async def _turn_and_session(self, turn_id: str) -> tuple[Turn, ConversationSession]:
        store = self.workspace.store
        turn = await store.turns.get(turn_id)
        session = await store.sessions.get(turn.session_id) if turn else None
        if turn is None or session is None:
            raise UsageError("The session of this turn was deleted.")
        return turn, session
