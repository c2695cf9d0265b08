"""Choose a model, and set one up: a Gemini key, an endpoint, or none."""

from __future__ import annotations

import re
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option
from textual.worker import Worker

from ragforge.domain import timeouts
from ragforge.domain.errors import RagforgeError
from ragforge.tui.key_watch import key_watch_of
from ragforge.tui.screens.base import Chat, NamedScreen
from ragforge.tui.screens.dialog import Dialog
from ragforge.tui.textual_types import app_of
from ragforge.tui.widgets.key_hint import KeyHint
from ragforge.tui.widgets.plain import PlainText

if TYPE_CHECKING:  # loaded after the first frame
    from collections.abc import Sequence

    from ragforge.session.conversation import Conversation
    from ragforge.session.setup import FoundEndpoint

PASTE_KEY, LIST_GEMINI, OTHER, NONE = "paste-key", "list-gemini", "other", "none"
STORE = "store"
WELCOME = (
    "ragforge uses a model that reads files, edits them and runs commands in this folder with your "
    "approval. Choose one now, or later with /model:"
)
URL_EXAMPLE = "http://localhost:8080/v1"
URL_HINT = "The endpoint's URL, up to and with its version."
KEY_EXAMPLE = "Paste the key"
KEY_HINT = "Get one at https://aistudio.google.com/apikey."
KEYS = "Up and Down choose · Enter takes it · Esc closes"
LINE_KEYS = "Enter continues · Esc goes back"
LISTED_MAX = 20
"""Models of one server."""
_KEY = re.compile(r"[A-Za-z0-9_.-]{20,}")
"""What a pasted key looks like; all else is a message."""
FIRST_GEMINI = "gemini:gemini-3.8-flash"


class ModelScreen(Dialog[str | None]):
    """Returns a sentence on the choice, or None for none."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", show=False),
        Binding("enter", "end_message", show=False, priority=True),
    ]

    def __init__(self, conversation: Conversation, *, first: bool = False) -> None:
        super().__init__()
        self._conversation = conversation
        self._first = first
        self._is_typing = False
        """Whether the last key was part of a message, so that Enter ends it and chooses nothing."""
        self._prompt_key_s = float("-inf")
        """When the last key went to the prompt, before this appeared."""
        self._asks_for = ""
        self._url = ""
        self._lists_models = False
        self._asking: Worker[None] | None = None

    def compose(self) -> ComposeResult:
        """The choices; an input line if a key or a URL is requested."""
        with Vertical(classes="dialog wide"):
            yield PlainText("Welcome to ragforge" if self._first else "Model", classes="dialog-title")
            yield PlainText(WELCOME if self._first else self._present(), classes="dialog-detail")
            yield OptionList(markup=False)
            yield Input(classes="hidden", select_on_focus=False)
            yield KeyHint()

    def on_mount(self) -> None:
        """Show what is known at once, and local servers when they have answered."""
        self._prompt_key_s = key_watch_of(self).last_key_s
        self._menu()

    def _present(self) -> str:
        return f"Now: {self._conversation.session.live.record.model or 'no model'}"

    @work(exclusive=True, group="menu")
    async def _menu(self) -> None:
        self._ask_for("")
        self._lists_models = False
        options = self.query_one(OptionList)
        options.clear_options()
        source = await self._conversation.gemini_key_source()
        if source:
            options.add_option(Option(f"Gemini (key from {source}): list its models", LIST_GEMINI))
            options.add_option(Option("Paste another Gemini key", PASTE_KEY))
        else:
            options.add_option(Option("Paste a Gemini API key", PASTE_KEY))
        options.add_option(Option("Another OpenAI-compatible endpoint, by its URL", OTHER))
        options.add_option(Option("Continue without a model: answers are search results", NONE))
        if self._first:
            options.add_option(
                Option("Connect a Neo4j server for conversations first, then choose a model", STORE)
            )
        options.highlighted = 0
        options.focus()
        self._hint(f"Looking for model servers on this machine ...\n{KEYS}")
        found = await self._conversation.local_endpoints()
        self._list_local(found, are_first=not source)
        if not self._asks_for:
            self._hint(KEYS if found else f"No model server answers on this machine.\n{KEYS}")

    def _list_local(self, found: Sequence[FoundEndpoint], *, are_first: bool) -> None:
        """Add the models of servers on this machine: first if no key is known, since they need none."""
        options = self.query_one(OptionList)
        local = [
            Option(f"{endpoint.name} on this machine: {model}", f"model {endpoint.name}:{model}")
            for endpoint in found
            for model in endpoint.models[:LISTED_MAX]
        ]
        if not (local and are_first):
            options.add_options(local)
            return
        chosen = options.highlighted_option.id if options.highlighted and options.highlighted_option else None
        others = list(options.options)
        options.clear_options()
        options.add_options([*local, *others])
        # A chosen row stays chosen.
        options.highlighted = options.get_option_index(chosen) if chosen else 0

    def on_key(self, event: events.Key) -> None:
        """At the first start it appears by itself: input outside its own line was a message."""
        self._is_typing = self._first and not self._asks_for and event.is_printable
        if self._is_typing:
            event.stop()
            self.keep_typed(event)

    def on_paste(self, event: events.Paste) -> None:
        """Take a key or a URL that is pasted into the list to its line; keep all else for the prompt."""
        if self._asks_for:
            return  # the line takes it
        event.stop()
        pasted = event.text.strip()
        if self._is_typing or len(pasted.split()) != 1:
            self.keep_typed(event)
        elif pasted.startswith(("http://", "https://")):
            self._ask_for("url", URL_EXAMPLE, URL_HINT, typed=pasted)
        elif _KEY.fullmatch(pasted):
            self._ask_for("key", KEY_EXAMPLE, KEY_HINT, typed=pasted)
        else:
            self.keep_typed(event)

    def action_end_message(self) -> None:
        """End the message that is being typed; else Enter is the list's or the line's."""
        is_early = self._first and monotonic() - self._prompt_key_s < timeouts.APPROVAL_QUIET_S
        if not (self._is_typing or is_early):
            raise SkipAction
        self._is_typing = False
        self.keep_typed(events.Key("enter", "\r"))

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        chosen = event.option_id or ""
        match chosen.split(" ", 1):
            case ["paste-key"]:
                self._ask_for("key", KEY_EXAMPLE, KEY_HINT)
            case ["list-gemini"]:
                self._list_models("gemini")
            case ["other"]:
                self._ask_for("url", URL_EXAMPLE, URL_HINT)
            case ["none"]:
                self._asking = self._choose(
                    "local",
                    "Without a model, answers are search results. /model chooses one.",
                )
            case ["store"]:
                self._choose_store()
            case ["model", name]:
                self._asking = self._choose(name, f"Now using {name}.")
            case _:
                pass

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        if self._asks_for == "key":
            self._asking = self._try_key(event.value)
        elif self._asks_for == "url":
            self._url = event.value
            self._ask_for("endpoint-key", "its key, or nothing", "Press Enter if it needs no key.")
        elif self._asks_for == "endpoint-key":
            self._asking = self._add_endpoint(self._url, event.value)

    @work(exclusive=True, group="store")
    async def _choose_store(self) -> None:
        from ragforge.tui.screens.store import StoreScreen  # most never ask for it

        told = await app_of(self).push_screen_wait(StoreScreen(self._conversation))
        if told:
            self.query_one(".dialog-detail", PlainText).set_text(f"{told} Now choose a model:")

    @work(exclusive=True, group="model")
    async def _try_key(self, key: str) -> None:
        self._hint("Checking the key with Gemini ...")
        try:
            where = await self._conversation.save_gemini_key(key)
            name = await self._conversation.choose_model(FIRST_GEMINI)
        except RagforgeError as error:
            self._refuse(error)
            return
        self.dismiss(f"{where} Now using {name}; /model lists others.")

    @work(exclusive=True, group="model")
    async def _add_endpoint(self, url: str, key: str) -> None:
        self._hint(f"Asking {url} for its models ...")
        try:
            name = await self._conversation.add_endpoint(url, key)
        except RagforgeError as error:
            self._ask_for("url", URL_EXAMPLE, str(error), typed=url)
            return
        self._list_models(name, url=url)

    @work(exclusive=True, group="menu")
    async def _list_models(self, provider: str, *, url: str = "") -> None:
        """Show what it offers. url: requested again, to be corrected, if it does not answer."""
        self._ask_for("")
        self._hint(f"Asking {provider} for its models ...")
        try:
            models = await self._conversation.models_of(provider)
        except RagforgeError as error:
            if url:
                self._ask_for("url", URL_EXAMPLE, str(error), typed=url)
            else:
                self._refuse(error)
            return
        options = self.query_one(OptionList)
        options.clear_options()
        self._lists_models = True
        options.add_options([Option(model, f"model {model}") for model in models])
        options.highlighted = 0 if models else None
        options.focus()
        self._hint(
            "Enter chooses · Esc goes back" if models else f"{provider} lists no models.\nEsc goes back"
        )

    @work(exclusive=True, group="model")
    async def _choose(self, name: str, told: str) -> None:
        try:
            await self._conversation.choose_model(name)
        except RagforgeError as error:
            self._refuse(error)
            return
        self.dismiss(told)

    def _ask_for(self, what: str, placeholder: str = "", hint: str = "", *, typed: str = "") -> None:
        """Show the input line, or the list again if nothing is requested."""
        self._asks_for = what
        field, options = self.query_one(Input), self.query_one(OptionList)
        field.set_class(not what, "hidden")
        options.set_class(bool(what), "hidden")
        field.value, field.placeholder, field.password = typed, placeholder, what.endswith("key")
        field.cursor_position = len(typed)
        (field if what else options).focus()
        self._hint(f"{hint}\n{LINE_KEYS}" if what else hint)

    def _refuse(self, error: RagforgeError) -> None:
        """Show what went wrong, and still the keys."""
        self._hint(f"{error}\n{LINE_KEYS if self._asks_for else KEYS}")

    def _hint(self, words: str) -> None:
        self.query_one(KeyHint).set_text(words)

    def action_back(self) -> None:
        """Return to the list, or close. A pending request to a server is cancelled."""
        if self._asking:
            self._asking.cancel()
        if self._asks_for or self._lists_models:
            self._menu()
        else:
            self.dismiss(None)


async def _open(chat: Chat, _: str) -> None:
    if told := await chat.ask(ModelScreen(chat.ready())):
        chat.say(told)


SCREEN = NamedScreen("model", _open)
