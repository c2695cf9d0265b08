"""Opening the conversation of the chat, with what to do where its store cannot be, and closing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.errors import RagforgeError
from ragforge.tui import foreign_git, link_watch, memory_watch, room_watch, trust
from ragforge.tui.launch import Leaving, NotOpened, OpenedChat
from ragforge.tui.prompt_history import StoredHistory
from ragforge.tui.screens.store_failure import FailureAnswer, NotOpenedScreen
from ragforge.tui.textual_types import app_of
from ragforge.tui.widgets.plain import PlainText

if TYPE_CHECKING:  # the chat imports this module
    from ragforge.tui.screens.chat import ChatScreen

STILL_OPENING = "Still opening: the store has not answered yet."


async def open_chat(chat: ChatScreen) -> None:
    """Make the chat whole and bring to the front what was asked for; else leave. Runs in a worker."""
    from ragforge.tui.chat_parts import mount_parts
    from ragforge.tui.outcomes import adopt_settings, front

    chat.take_parts(await mount_parts(chat))
    try:
        opened = await _opened(chat)
        if opened is None:
            app_of(chat).exit(Leaving(draft=chat.prompt.draft))
            return
        chat.take_conversation(opened.conversation)
        trust.watch(chat, opened.conversation)
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
    await chat.attempt(foreign_git.ask(chat, opened.conversation))
    chat.show_status()
    link_watch.start(chat)
    memory_watch.start(chat)
    if not await chat.attempt(front(chat, opened, first=True)) and opened.resume:
        await chat.attempt(front(chat, replace(opened, resume="", at=None), first=True))
    chat.show_status()
    room_watch.start(chat)
    _ = chat.commands  # loaded before the first key needs them
    if chat.sent_early and chat.prompt.draft == chat.sent_early:
        chat.prompt.action_submit()


async def _opened(chat: ChatScreen) -> OpenedChat | None:
    """What was asked for, from its own store or as the person chose; None to leave. Raises RagforgeError."""
    embedded = False
    while True:
        slow = chat.set_timer(timeouts.OPENING_TOLD_AFTER_S, lambda: _tell_that_it_takes_long(chat))
        try:
            opened = await chat.open_session(embedded=embedded)
        finally:
            slow.stop()
            await chat.query(".still-opening").remove()
        if not isinstance(opened, NotOpened):
            return opened
        if not opened.embedded:
            raise opened.failure
        chat.sent_early = ""  # it was for the store that is not there
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


def _tell_that_it_takes_long(chat: ChatScreen) -> None:
    """Below the prompt: it is no part of the conversation, and goes when the store is open."""
    line = PlainText(STILL_OPENING, classes="still-opening")
    line.styles.padding = (0, 2)
    chat.mount(line, after=chat.prompt)


async def close_chat(chat: ChatScreen) -> Leaving:
    """Keep the draft and how the turn ended, release everything; what to leave in the terminal."""
    conversation = chat.conversation
    if conversation is None or chat.is_closed:
        return Leaving(draft=chat.prompt.draft)
    chat.is_closed = True
    answer = draft = failure = waits = ""
    try:
        await conversation.keep_draft(chat.prompt.draft)
    except RagforgeError as error:
        draft, failure = chat.prompt.draft, str(error)
    try:
        closed = await conversation.close()
        answer, waits = closed.last_answer, closed.waits
    except RagforgeError as error:
        failure = str(error)
    return Leaving(answer, conversation.resume_command, 4 if failure else 0, failure, draft, waits)
