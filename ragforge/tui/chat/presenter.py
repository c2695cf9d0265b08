"""The chat's behaviour, in named parts. Importing this loads all of them."""

from __future__ import annotations

from ragforge.domain.approvals import Mode
from ragforge.domain.go_ahead import goes_ahead
from ragforge.domain.inputs import Say, Shell, Slash, parse_input
from ragforge.memory.forget_request import forget_request
from ragforge.tui.chat.commands import ChatCommands
from ragforge.tui.chat.foresight import ChatForesight
from ragforge.tui.chat.frame import ChatFrame
from ragforge.tui.chat.hints import Hints
from ragforge.tui.chat.opening import open_conversation
from ragforge.tui.chat.own_shell import OwnShell
from ragforge.tui.chat.sessions import Sessions
from ragforge.tui.chat.turns import Turns
from ragforge.tui.launch import OpenSession


class ChatPresenter:
    """The parts of the chat: its turns, which session is in front, and what commands do.

    Each part knows the frame, and of the other parts those that it is made with.
    """

    def __init__(self, chat: ChatFrame) -> None:
        self._chat = chat
        self.hints = Hints(chat)
        self.shell = OwnShell(chat)
        self.foresight = ChatForesight(chat)
        self.turns = Turns(chat, self.hints, self.foresight)
        self.sessions = Sessions(chat, self.turns, self.hints, self.foresight)
        self.commands = ChatCommands(chat, self.turns, self.sessions)

    async def open(self, open_session: OpenSession) -> None:
        """Open what was requested in front; else leave. Runs in a worker."""
        await open_conversation(self._chat, self.sessions, open_session)

    async def submit(self, text: str) -> None:
        """Process the input: a message, a slash or shell command, or a session to resume."""
        if row := self._chat.start_list.enter(typed=True):
            self.sessions.start_going_to(row.session.id)
            return
        match parse_input(text):
            case Say(said) if self._is_in_plan_mode and goes_ahead(said):
                self.commands.start("do")
            case Say(said) if forget_request(said):
                self.commands.start_forgetting(said)
            case Say(said):
                await self.turns.say(said)
            case Slash(name, args):
                self.commands.start(f"{name} {args}")
            case Shell(command, for_model):
                self.shell.start(command, for_model=for_model)

    @property
    def _is_in_plan_mode(self) -> bool:
        conversation = self._chat.conversation
        return conversation is not None and conversation.session.live.consent.mode is Mode.PLAN

    def enter_on_empty(self) -> None:
        """Resume the chosen session, else send what waits."""
        if row := self._chat.start_list.enter(typed=False):
            self.sessions.start_going_to(row.session.id)
        elif self._chat.conversation and self._chat.conversation.session.live.queue and not self.turns.busy:
            self.turns.send_queue()
