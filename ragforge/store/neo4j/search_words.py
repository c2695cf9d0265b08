"""The words of the graph: split by SQLite's own tokenizer, so that both stores find the same.

Neo4j's analyzers split and stem in their own ways. So the index contains stems that were computed here,
separated by spaces, and its `whitespace` analyzer only splits them again. All of this is pure: no server.
"""

import hashlib
import re
from collections.abc import Collection, Iterable

from ragforge.domain.search import INDEXED_KINDS, HitKind
from ragforge.store.index_text import IndexText
from ragforge.store.json_text import storable
from ragforge.store.neo4j.rows import Props
from ragforge.store.text import Cut

WEIGHTS = (
    ("searchUser", 1.0),
    ("searchReply", 0.1),
    ("searchNear", 0.3),
    ("searchTools", 0.5),
    ("searchDate", 0.5),
)
"""The searched properties with the weights of SQLite's columns (see `store/index_text.py`)."""

KIND_TOKENS = {
    HitKind.TURN: "kt",
    HitKind.TOOL_CALL: "kc",
    HitKind.SUMMARY: "ks",
    HitKind.MEMORY: "km",
    HitKind.VERSION: "kv",
}
EVERYWHERE = "pg"
"""The scope of what is useful in all projects, instead of a project's."""

STEM_CHARS_MAX = 100
# Lucene cuts tokens at 255 UTF-16 units, of which a character may take two. A piece that was cut off would be
# a word of its own: found by searches in which SQLite, which compares the whole, finds nothing.
FTS5_TOKEN_BYTES_MAX = 32_768
"""SQLite compares no more than this of a word."""

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def index_props(text: IndexText, *, scope: str, cut: Cut) -> Props:
    """Return the `search...` properties of a node; scope: `scope_tokens`."""
    return {
        "searchUser": _stems(text.user, cut),
        "searchReply": _stems(text.reply, cut),
        "searchNear": _stems(text.near, cut),
        "searchTools": _stems(text.tools, cut),
        "searchDate": _stems(text.date, cut),
        "searchScope": scope,
    }


def scope_tokens(project_id: str, session_id: str, kind: HitKind) -> str:
    """Return what a search is narrowed by: `p<project> s<session> k<t|c|s|m|v>`, the ids without hyphens.

    Without a project it is useful in all, without a session it was made in none.
    """
    project = _id_token("p", project_id) if project_id else EVERYWHERE
    session = f" {_id_token('s', session_id)}" if session_id else ""
    return f"{project}{session} {KIND_TOKENS[kind]}"


def lucene(stems: Iterable[str], *, scope: str) -> str:
    """Return the query in Lucene's language: any of the stems, within the scope (`lucene_scope`)."""
    # A stem contains only letters and digits, and quotes keep AND, OR and NOT from being operators.
    wanted = _quoted(map(indexed, stems))
    searched = " ".join(f"{name}:({wanted})^{weight}" for name, weight in WEIGHTS)
    return f"{scope} +({searched})".lstrip()


def lucene_scope(
    *, project_id: str | None, session_id: str | None, kinds: Collection[HitKind] = INDEXED_KINDS
) -> str:
    """Return what narrows a query in Lucene's language, empty for everything; empty ids mean everywhere."""
    within = [
        *([[_id_token("p", project_id), EVERYWHERE]] if project_id else []),
        *([[_id_token("s", session_id)]] if session_id else []),
        *([[KIND_TOKENS[kind] for kind in kinds]] if set(kinds) != set(INDEXED_KINDS) else []),
    ]
    # Required, but without weight: what is rare in a project must not outweigh the words.
    return " ".join(f"+searchScope:({_quoted(tokens)})^0" for tokens in within)


def _quoted(words: Iterable[str]) -> str:
    return " ".join(f'"{word}"' for word in words)


def _stems(text: str, cut: Cut) -> str:
    return " ".join(indexed(stem) for _, _, stem in cut(storable(text).encode()))


def indexed(stem: str) -> str:
    """Return the form of a stem in the index: itself, or a hash for a long one."""
    if len(stem) <= STEM_CHARS_MAX:
        return stem
    whole = stem.encode()[:FTS5_TOKEN_BYTES_MAX]
    return f"{stem[: STEM_CHARS_MAX // 4]}{hashlib.sha256(whole).hexdigest()}"


def _id_token(letter: str, identifier: str) -> str:
    """Return one word for an id, whatever a user typed or another program wrote as one."""
    if UUID.fullmatch(identifier):
        return letter + identifier.replace("-", "")
    return f"{letter}x{hashlib.sha256(storable(identifier).encode()).hexdigest()}"
