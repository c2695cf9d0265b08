"""The provider without a model: it answers with stored passages, and says so."""

from collections.abc import AsyncGenerator

from ragforge.domain.commands import is_in_shell
from ragforge.domain.errors import AnswerUnusable
from ragforge.domain.events import AnswerEnded, FinishReason, ModelEvent, TextDelta, UsageSeen
from ragforge.domain.ids import short_id
from ragforge.domain.messages import ModelMessage, TextPart, UserMessage
from ragforge.domain.search import Hit, what
from ragforge.domain.usage import Usage
from ragforge.domain.words import moment_words
from ragforge.providers.base import ModelRequest, OwnProtocol, Search, WithoutService

FIRST_LINE = "No model configured: search results, not generated text"
HOW_TO_GET_A_MODEL = "To talk to a model, choose one with /model, or start with --model PROVIDER:NAME."
IN_SHELL = "To talk to a model, add --model PROVIDER:NAME."
HITS_MAX = 5
HITS_ASKED = 15
"""More than are shown, because the question itself and earlier answers like this one are found too."""

QUOTE_CHARS_MAX = 600
MODEL = "search"


class LocalProvider(WithoutService):
    """Search in place of a model. It never asks for tools and costs nothing."""

    def __init__(self, search: Search) -> None:
        self.name = "local"
        self.model = MODEL
        self._search = search

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield what is stored about the newest message, quoted.

        Raises StoreUnavailable if it cannot search, AnswerUnusable if a schema is requested.
        """
        if request.json_schema is not None:
            raise AnswerUnusable(
                "Structured answers need a model. Choose one with /model, or add --model PROVIDER:NAME."
            )
        question = _question(request)
        found = await self._search(question, HITS_ASKED) if question else []
        text = _answer(question, [hit for hit in found if not _is_echo(hit, question)][:HITS_MAX])
        yield TextDelta(text)
        yield UsageSeen(Usage())
        yield AnswerEnded(ModelMessage(self.name, self.model, text), FinishReason.STOP)


def _question(request: ModelRequest) -> str:
    """Return the text of the user's newest message; images cannot be searched for."""
    for message in reversed(request.messages):
        if isinstance(message, UserMessage):
            return "\n".join(part.text for part in message.parts if isinstance(part, TextPart)).strip()
    return ""


def _is_echo(hit: Hit, question: str) -> bool:
    """Whether the hit is only the question, which is stored before it is answered, or an answer of ours."""
    words = " ".join(hit.text.replace("…", " ").split())
    return words in " ".join(question.split()) or FIRST_LINE in words


def _how_to_get_a_model() -> str:
    return IN_SHELL if is_in_shell() else HOW_TO_GET_A_MODEL


def _answer(question: str, hits: list[Hit]) -> str:
    if not question:
        return f"{FIRST_LINE}\n\nEnter words to search for. {_how_to_get_a_model()}"
    if not hits:
        return (
            f"{FIRST_LINE}\n\nNo results. Try fewer or other words, or search every project with `ragforge "
            f"search --all`. {_how_to_get_a_model()}"
        )
    quoted = "\n\n".join(_quote(number, hit) for number, hit in enumerate(hits, 1))
    return f"{FIRST_LINE}\n\n{quoted}\n\n{_how_to_get_a_model()}"


def _quote(number: int, hit: Hit) -> str:
    """Return the hit as Markdown: its source, its words, and the command that opens it."""
    text = hit.text.strip()
    cut = text[:QUOTE_CHARS_MAX].rstrip() + (" …" if len(text) > QUOTE_CHARS_MAX else "")
    # Four spaces make it code: a quotation must not become headings, links or open fences.
    lines = "\n".join(f"    {line}" for line in cut.splitlines())
    nameless = "Untitled session" if hit.session_id else "Changed" if hit.version_id else "Remembered"
    title = " ".join(hit.session_title.split()) or nameless
    command = _command(hit)
    when = moment_words(hit.at)
    return f"{number}. {title} · {what(hit)} · {when} · `ragforge {command}`\n\n{lines}"


def _command(hit: Hit) -> str:
    """Return what opens it: its session, else the memory or the version by itself."""
    if hit.session_id and hit.turn_id:
        return f"-r {short_id(hit.session_id)}"
    version = hit.version_id and short_id(hit.version_id)
    return f"diff {version}~ {version}" if version else f"memory show {hit.id}"


PROVIDER = OwnProtocol(lambda _, parts: LocalProvider(parts.search))
