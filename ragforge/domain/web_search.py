"""What a provider's own web search found for an answer, in words."""

import re

from ragforge.domain.messages import WebSearch, WebSource
from ragforge.domain.printable import one_line


def as_markdown(search: WebSearch) -> str:
    """Return a line with links."""
    links = [f"[{_escaped(_title(source))}](<{source.url}>)" for source in search.sources]
    return _sentence([_escaped(query) for query in search.queries], links, between=" · ")


def as_lines(search: WebSearch) -> str:
    """Return the same as plain lines, each page on one."""
    pages = [f"\n  {_title(source)} {source.url}" for source in search.sources]
    return _sentence([one_line(query) for query in search.queries], pages, between="")


def _sentence(queries: list[str], pages: list[str], *, between: str) -> str:
    asked = ", ".join(f"“{query}”" for query in queries)
    searched = f"Searched the web for {asked}" if asked else "Searched the web"
    return f"{searched}: {between.join(pages)}" if pages else f"{searched}."


def _title(source: WebSource) -> str:
    return one_line(source.title) or source.url


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", one_line(text))
