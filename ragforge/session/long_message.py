"""A message so long that it may have been pasted by mistake, and what it would cost."""

from ragforge.domain.usage import Usage
from ragforge.memory.context import text_tokens
from ragforge.session.model import NO_MODEL, model_of, pricing_of
from ragforge.session.state import Session

ASKED_TOKENS = 50_000
"""About 150 KB: what a person types never comes near, and what is pasted on purpose seldom."""


def question_of(session: Session, text: str) -> str:
    """What to ask before the message goes, or "" where it is short or there is no model that is paid."""
    tokens = text_tokens(text)
    if tokens < ASKED_TOKENS or model_of(session).provider == NO_MODEL:
        return ""
    cost = pricing_of(session).cost(Usage(input_tokens=tokens))
    price = f", about ${cost:.2f} each time that it is sent" if cost else ""
    return f"Send this message of up to {tokens // 1000:,}k tokens{price}?"
