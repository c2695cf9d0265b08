"""Where conversations are stored, and connecting to a server for them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option
from textual.worker import Worker

from ragforge.config.store_address import DEFAULT_USER
from ragforge.domain.arguments import rest
from ragforge.domain.errors import RagforgeError, StoreForeign
from ragforge.session import server_connection, servers
from ragforge.session.servers import Server
from ragforge.tui.screens.base import Chat, NamedScreen
from ragforge.tui.screens.dialog import Dialog
from ragforge.tui.widgets.fact_columns import FactColumns
from ragforge.tui.widgets.key_hint import KeyHint
from ragforge.tui.widgets.plain import PlainText

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.session.conversation import Conversation

KEYS = "Up and Down choose · Enter takes it · Esc closes"
NARROW = 60


class StoreChoice(StrEnum):
    """The choices, at one time or another."""

    CONNECT = "connect"
    EMBEDDED = "embedded"
    CLOSE = "close"
    ADOPT = "adopt"
    COPY = "copy"
    START_EMPTY = "start-empty"
    BACK = "back"


class Asked(StrEnum):
    """What the input line is for."""

    NOTHING = ""
    URL = "url"
    USER = "user"
    PASSWORD = "password"


class StoreScreen(Dialog[str | None]):
    """Returns a sentence on the change, or None for none."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "back", show=False)]

    def __init__(self, conversation: Conversation, url: str = "") -> None:
        super().__init__()
        self._conversation = conversation
        self._url = url
        self._asked = Asked.NOTHING
        self._server: Server | None = None
        self._told = ""
        self._at_menu = False
        self._working: Worker[None] | None = None

    def compose(self) -> ComposeResult:
        """The facts, the choices, and an input line if something is requested."""
        with Vertical(classes="dialog wide"):
            yield PlainText("Where conversations are kept", classes="dialog-title")
            yield FactColumns("Looking ...", id="facts", classes="dialog-detail")
            yield OptionList(markup=False)
            yield Input(classes="hidden", select_on_focus=False)
            yield KeyHint()

    def on_mount(self) -> None:
        """Show the state; with an address, connect to it."""
        if self._url:
            self._show_facts()
            self._take_url(self._url)
        else:
            self._menu()

    @work(exclusive=True, group="facts")
    async def _show_facts(self) -> None:
        workspace = self._conversation.workspace
        try:
            status = await workspace.store.status()
            facts = servers.facts_of(status, self._conversation.link)
            lines: list[str] = []
        except RagforgeError as error:
            link = self._conversation.link
            # The error says it already.
            facts = servers.link_facts(replace(link, away="") if link.away == str(error) else link)
            lines = [str(error), ""]
        shown = [*(("", words) for words in lines), *((fact.name, fact.words) for fact in facts)]
        if mentioned := servers.applications_server(workspace.environ):
            shown += [("", ""), ("", mentioned)]
        self.query_one(FactColumns).show(shown)

    def on_resize(self) -> None:
        """Leave out decoration if there is little room."""
        self.set_class(self.size.width < NARROW, "-narrow")

    # The list

    def _menu(self, hint: str = "") -> None:
        """Show the store in use and what can be done with it."""
        self._show_facts()
        choices = {StoreChoice.CONNECT: "Connect to a Neo4j server"}
        if not server_connection.is_embedded(self._conversation.workspace):
            choices[StoreChoice.EMBEDDED] = "Keep them on this machine again, in the built-in store"
        self._offer({**choices, StoreChoice.CLOSE: "Close"}, f"{hint}\n{KEYS}".strip())
        self._at_menu = True

    def _offer(self, choices: dict[StoreChoice, str], hint: str) -> None:
        self._ask_for(Asked.NOTHING, hint)
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options([Option(words, choice) for choice, words in choices.items()])
        options.highlighted = 0
        options.focus()

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        match StoreChoice(event.option_id or StoreChoice.CLOSE):
            case StoreChoice.CONNECT:
                self._ask_url(self._server.url if self._server else "")
            case StoreChoice.EMBEDDED:
                self._working = self._go_back_to_embedded()
            case StoreChoice.ADOPT:
                self._working = self._connect(adopt=True)
            case StoreChoice.COPY:
                self._working = self._copy()
            case StoreChoice.START_EMPTY:
                self.dismiss(self._told)
            case StoreChoice.BACK:
                self._menu()
            case StoreChoice.CLOSE:
                self.dismiss(None)

    # Naming a server

    def _ask_url(self, value: str, hint: str = "The server's address.") -> None:
        self._ask_for(Asked.URL, hint, placeholder="bolt://localhost:7687", value=value)

    def _take_url(self, typed: str) -> None:
        try:
            self._server = servers.server_of(typed)
        except RagforgeError as error:
            self._ask_url("" if "@" in typed else typed, str(error))
            return
        if self._server.password:
            self._working = self._connect()
        else:
            hint = "The user name, or empty if the server needs none."
            self._ask_for(Asked.USER, hint, value=self._server.user or DEFAULT_USER)

    @on(Input.Submitted)
    async def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        match self._asked:
            case Asked.URL:
                self._take_url(event.value)
            case Asked.USER:
                await self._take_user(event.value)
            case Asked.PASSWORD:
                await self._take_password(event.value)
            case Asked.NOTHING:
                pass

    async def _take_user(self, user: str) -> None:
        self._server = servers.logged_in(self._named, user, "")
        if not user.strip():
            self._working = self._connect()
            return
        kept = await server_connection.kept_password(self._conversation.workspace, self._server)
        hint = "Press Enter to use the saved one." if kept else "It is saved in the system keyring."
        self._ask_for(Asked.PASSWORD, hint, placeholder="password")

    async def _take_password(self, password: str) -> None:
        server = self._named
        password = password or await server_connection.kept_password(self._conversation.workspace, server)
        self._server = servers.logged_in(server, server.user, password)
        self._working = self._connect()

    @property
    def _named(self) -> Server:
        """The server that is being connected to. Raises RuntimeError before one was named."""
        if self._server is None:
            raise RuntimeError("No server has been named yet.")
        return self._server

    # Connecting

    @work(exclusive=True, group="store")
    async def _connect(self, *, adopt: bool = False) -> None:
        workspace, server = self._conversation.workspace, self._named
        self._work(f"Connecting to {server.url} ...")
        try:
            there = await server_connection.try_server(workspace, server, adopt=adopt)
            self._told = await server_connection.use_server(workspace, server)
            here = await server_connection.to_copy(workspace, server)
        except StoreForeign as error:
            self._say(str(error))
            self._offer(
                {StoreChoice.BACK: "No, go back", StoreChoice.ADOPT: "Yes, keep them next to that data"},
                "Keep conversations there anyway?",
            )
            return
        except RagforgeError as error:
            self._ask_url(server.url, str(error))
            return
        if not here:
            self.dismiss(self._told)
            return
        holds = servers.counts_words(there.counts)
        self._say(f"Connected to {there.kind}, which contains {holds}. {self._told}")
        self._offer(
            {
                StoreChoice.COPY: f"Copy the history of this machine: {here}",
                StoreChoice.START_EMPTY: "Do not copy it",
            },
            "Copying does not change the data on this machine.",
        )

    @work(exclusive=True, group="store")
    async def _copy(self) -> None:
        def tell(words: str) -> None:
            self._work(f"{words} What was copied so far is kept; copy again to continue.\nEsc stops it")

        tell("Copying ...")
        try:
            told = await server_connection.copy_history(self._conversation.workspace, self._named, tell=tell)
        except RagforgeError as error:
            self._offer(
                {StoreChoice.COPY: "Continue copying", StoreChoice.START_EMPTY: "Leave it"},
                f"{error} Copy again to continue; nothing is copied twice.",
            )
            return
        self.dismiss(f"{told} {self._told}")

    @work(exclusive=True, group="store")
    async def _go_back_to_embedded(self) -> None:
        try:
            self.dismiss(await server_connection.use_embedded(self._conversation.workspace))
        except RagforgeError as error:
            self._menu(str(error))

    # What is shown

    def _say(self, sentence: str) -> None:
        """Show it in place of the facts."""
        self.query_one(FactColumns).show([("", sentence)])

    def _work(self, words: str) -> None:
        """Something is in progress: no choices and no input."""
        self._ask_for(Asked.NOTHING, words)
        self.query_one(OptionList).clear_options()

    def _ask_for(self, what: Asked, hint: str, *, placeholder: str = "", value: str = "") -> None:
        """Show the input line, or the list if nothing is requested."""
        self._asked, self._at_menu = what, False
        field, options = self.query_one(Input), self.query_one(OptionList)
        field.set_class(not what, "hidden")
        options.set_class(bool(what), "hidden")
        field.password = what is Asked.PASSWORD
        field.value, field.placeholder = value, placeholder
        field.cursor_position = len(value)
        (field if what else options).focus()
        self.query_one(KeyHint).set_text(f"{hint}\nEsc goes back" if what else hint)

    def action_back(self) -> None:
        """Return to the list, or close. A pending request to a server, or a copy, is stopped."""
        if self._working:
            self._working.cancel()
            self._working = None
        if self._at_menu or self._told:
            self.dismiss(self._told or None)
        else:
            self._menu()


async def _open(chat: Chat, url: str) -> None:
    if told := await chat.ask(StoreScreen(chat.ready(), url)):
        chat.say(told)


SCREEN = NamedScreen(
    "store",
    _open,
    "Show where conversations are kept; connect to a Neo4j server.",
    rest("URL", "Of a server."),
)
