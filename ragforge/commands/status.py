"""`/status`: what is in use here."""

from typing import TYPE_CHECKING

from ragforge import __version__
from ragforge.commands.base import NoArguments, Outcome, Tell, Verb
from ragforge.domain.commands import is_in_shell, typed
from ragforge.domain.ids import short_id
from ragforge.domain.printable import one_line
from ragforge.domain.words import cost_words, counted

if TYPE_CHECKING:
    from ragforge.session.state import Session


async def _run(session: "Session", args: NoArguments) -> Outcome:
    from ragforge.session.model import web_search_words

    workspace, live = session.workspace, session.live
    path = await workspace.store.turns.path(live.record.head)
    link, cost = workspace.store.link, cost_words(live.spending.cost_usd)
    rows = {
        "ragforge": __version__,
        "model": live.record.model
        or f"none chosen; {'--model PROVIDER:NAME' if is_in_shell() else '/model'} chooses one",
        "mode": live.consent.mode,
        "folder": str(session.cwd),
        "project": f"{workspace.project.name} ({workspace.place.root})",
        "session": f"{short_id(session.id)}, {counted(len(path), 'turn')}, {cost}",
        "conversation": f"about {tokens:,} tokens are sent word for word; {typed('context')} shows more"
        if (tokens := live.view.window.tokens)
        else "nothing to send yet",
        "store": workspace.store.url,
        "server": f"away: {link.away}" if link.away else "",
        "web search": web_search_words(session),
        "memory": "on" if workspace.recalls and workspace.settings.memory.enabled else "off",
        "settings": workspace.loaded.origin(),
    }
    lines = [f"- **{name}**: {one_line(str(value))}" for name, value in rows.items() if value]
    return Tell("\n".join([*lines, "", "To check all of this, run `ragforge doctor` in a shell."]))


VERB = Verb("status", "Show what is in use: model, mode, project, session, store.", NoArguments, _run)
