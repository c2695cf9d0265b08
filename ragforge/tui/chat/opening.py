"""Open the conversation of the chat, or offer what to do if its store is unavailable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.errors import RagforgeError, UsageError
from ragforge.tui import keys, terminal
from ragforge.tui.chat import folder_questions
from ragforge.tui.chat.watch import Watch
from ragforge.tui.launch import Leaving, NotOpened, OpenedChat, OpenSession
from ragforge.tui.screens.store_failure import FailureAnswer, NotOpenedScreen
from ragforge.tui.textual_types import app_of
from ragforge.tui.theme import ThemedApp
from ragforge.tui.widgets.history import StoredHistory
from ragforge.tui.widgets.plain import PlainText

if TYPE_CHECKING:  # loaded by opening it
    from ragforge.session.conversation import Conversation
    from ragforge.tui.chat.frame import ChatFrame
    from ragforge.tui.chat.sessions import Sessions

STILL_OPENING = "Still opening: waiting for the store to answer."


async def open_conversation(chat: ChatFrame, sessions: Sessions, open_session: OpenSession) -> None:
    """Open what was requested in front; else leave. Runs in a worker."""
    try:
        opened = await _opened(chat, open_session)
        if opened is None:
            app_of(chat).exit(Leaving(draft=chat.prompt.draft))
            return
        chat.take_conversation(opened.conversation)
        folder_questions.let_turns_ask(chat, opened.conversation)
        adopt_settings(chat, opened.conversation)
        earlier = reversed(chat.prompt.sent.entries())
        chat.prompt.sent = StoredHistory(await opened.conversation.prompts(), chat.remember)
        for text in earlier:
            chat.prompt.sent.add(text)
    except RagforgeError as error:
        app_of(chat).exit(Leaving(exit_code=error.exit_code, failure=str(error), draft=chat.prompt.draft))
        return
    for notice in opened.notices:
        chat.say(notice)
    await chat.attempt(folder_questions.ask_about_repositories(chat))
    await chat.attempt(folder_questions.ask_about_person(chat))
    chat.show_status()
    watch = Watch(chat)
    watch.start()
    if not await chat.attempt(sessions.bring(opened, first=True)) and opened.resume:
        await chat.attempt(sessions.bring(replace(opened, resume="", at=None), first=True))
    chat.show_status()
    watch.look_at_room()
    _ = chat.commands  # loaded before the first key needs them
    await chat.load_own_commands()
    if opened.message:
        chat.prompt.send(opened.message)
    if chat.sent_early and chat.prompt.draft == chat.sent_early:
        chat.prompt.action_submit()


async def _opened(chat: ChatFrame, open_session: OpenSession) -> OpenedChat | None:
    """Return what was requested, from its store or the user's choice; None to leave. Raises RagforgeError."""
    embedded = False
    while True:
        slow = chat.set_timer(timeouts.OPENING_TOLD_AFTER_S, lambda: _tell_that_it_takes_long(chat))
        try:
            opened = await open_session(embedded=embedded)
        finally:
            slow.stop()
            await chat.query(".still-opening").remove()
        if not isinstance(opened, NotOpened):
            return opened
        if not opened.embedded:
            raise opened.failure
        chat.sent_early = ""  # it was for the missing store
        question = NotOpenedScreen(opened)
        match await chat.ask(question):
            case FailureAnswer.PASSWORD:
                from ragforge.config.secrets import use_store_password  # loaded after the first frame

                use_store_password(opened.ask_for, question.password)
            case FailureAnswer.AGAIN:
                continue
            case FailureAnswer.EMBEDDED:
                embedded = True
            case FailureAnswer.LEAVE | None:
                return None


def _tell_that_it_takes_long(chat: ChatFrame) -> None:
    """Below the prompt: it is not part of the conversation, and disappears when the store is open."""
    line = PlainText(STILL_OPENING, classes="still-opening")
    line.styles.padding = (0, 2)
    chat.mount(line, after=chat.prompt)


def adopt_settings(chat: ChatFrame, conversation: Conversation) -> None:
    """Apply the user's keys, theme and mouse from now on. Raises UsageError for unknown keys."""
    loaded = conversation.workspace.loaded
    settings = loaded.settings
    try:
        bound = keys.bindings(settings.keys)
    except UsageError as error:
        where = {str(source) for name, source in loaded.sources.items() if name.startswith("keys.")}
        raise UsageError(f"{', '.join(sorted(where))}: {error}") from error
    app = app_of(chat)
    app.set_keymap(keys.keymap(bound))
    env = conversation.workspace.child_env
    chat.prompt.use(bound=bound, env=env, pasted=conversation.pasted_dir, vim=settings.ui.keys == "vim")
    chat.parts.approval.use(bound=bound, env=env)
    chat.hint.use_keys(bound)
    chat.parts.live.use_keys(bound)
    if isinstance(app, ThemedApp):
        app.use_theme(settings.theme)
    terminal.use_mouse(app, is_ours=settings.mouse)
    terminal.part_escape(app, is_on=settings.ui.keys == "vim")
