"""Which text of what is embedded, and embedding it.

The texts are short on purpose: a long answer would drown what the person said. So of a turn it is the
person's words, what they came to, and the names of what was touched.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from ragforge.domain.memories import Memory
from ragforge.domain.messages import text_of
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import ToolCall, Turn
from ragforge.domain.vectors import Embedding, Owner, OwnerKind, Vector
from ragforge.embedders.base import Embedder
from ragforge.memory.material import answer_of
from ragforge.store.base import Store

USER_CHARS_MAX = 4_000
ANSWER_CHARS_MAX = 300
"""Of an answer that has no summary yet."""
SUMMARY_CHARS_MAX = 1_200
NAMES_CHARS_MAX = 400
RESULT_CHARS_MAX = 120
RESULTS_CHARS_MAX = 480
FINDINGS_CHARS_MAX = 1_000
MEMORY_CHARS_MAX = 2_000

AT_ONCE = 100
"""So many are loaded, embedded and stored together: what is done stays done when the rest fails."""
ROUNDS_MAX = 3
"""A text that changes again while it is embedded stays for the next time."""


def turn_text(turn: Turn, *, summary: Summary | None, calls: Sequence[ToolCall]) -> str:
    """A turn as it is embedded; summary: its own of level 1, as soon as there is one."""
    told = summary.text[:SUMMARY_CHARS_MAX] if summary else answer_of(turn)[:ANSWER_CHARS_MAX]
    files = [*(summary.files if summary else ()), *_paths(calls)]
    names = _line([*(call.name for call in calls), *files])
    return _joined([cut(text_of(turn.user), USER_CHARS_MAX), told, names, *_results(calls)])


def summary_text(summary: Summary) -> str:
    """A summary as it is embedded, of whatever level."""
    findings = " ".join(summary.findings)[:FINDINGS_CHARS_MAX]
    return _joined([summary.text[:SUMMARY_CHARS_MAX], _line(summary.files), findings])


def memory_text(memory: Memory) -> str:
    """A memory as it is embedded."""
    return memory.content[:MEMORY_CHARS_MAX]


def text_hash(text: str) -> str:
    """What a text is known by: SHA-256 in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def cut(text: str, chars_max: int) -> str:
    """Three quarters from the start, one from the end, where the question or the error often stands."""
    if len(text) <= chars_max:
        return text
    tail = chars_max // 4
    return f"{text[: chars_max - tail - 1]}\n{text[-tail:]}"


async def texts_of(store: Store, owners: Sequence[Owner]) -> dict[Owner, str]:
    """The present texts of those that are stored. Raises StoreError."""
    ids = {kind: [each.id for each in owners if each.kind is kind] for kind in OwnerKind}
    texts = await _turn_texts(store, ids[OwnerKind.TURN])
    for summary in await store.summaries.get(ids[OwnerKind.SUMMARY]):
        texts[Owner(OwnerKind.SUMMARY, summary.id)] = summary_text(summary)
    if ids[OwnerKind.MEMORY]:
        for memory in await store.memories.get(ids[OwnerKind.MEMORY]):
            texts[Owner(OwnerKind.MEMORY, memory.id)] = memory_text(memory)
    return texts


async def embed_owners(store: Store, embedder: Embedder, owners: Sequence[Owner]) -> int:
    """How many of them are stored and have a vector of their present text now.

    The same text is embedded once, whoever it belongs to, now and before. What it cost stands in
    `embedder.usage`. Raises StoreError, and ModelError or UsageError of the embedder; what came before stays.
    """
    done = 0
    for chunk in _chunks(list(dict.fromkeys(owners))):
        texts = await texts_of(store, chunk)
        done += len(texts)
        for _ in range(ROUNDS_MAX):
            await _save_vectors(store, embedder, texts)
            # A text that changed meanwhile would pass as embedded: the store cannot tell the old vector from
            # one of the new text.
            again = await texts_of(store, list(texts))
            texts = {owner: text for owner, text in again.items() if text != texts[owner]}
            if not texts:
                break
    return done


async def _save_vectors(store: Store, embedder: Embedder, texts: Mapping[Owner, str]) -> None:
    if not texts:
        return
    hashes = {owner: text_hash(text) for owner, text in texts.items()}
    by_hash = {hashes[owner]: text for owner, text in texts.items()}
    vectors = await _known_vectors(store, embedder, list(by_hash))
    missing = [digest for digest in by_hash if digest not in vectors]
    made = await embedder.embed([by_hash[digest] for digest in missing]) if missing else []
    vectors |= dict(zip(missing, made, strict=True))
    await store.vectors.save(
        [Embedding(owner, embedder.name, digest, vectors[digest]) for owner, digest in hashes.items()]
    )


async def _known_vectors(store: Store, embedder: Embedder, hashes: Sequence[str]) -> dict[str, Vector]:
    """Vectors that there are of these texts; those of other dimensions were made by another version."""
    found = await store.vectors.same_text(embedder.name, hashes)
    return {digest: vector for digest, vector in found.items() if len(vector) == embedder.dimensions}


async def _turn_texts(store: Store, ids: Sequence[str]) -> dict[Owner, str]:
    if not ids:
        return {}
    # One after the other: a queue of reads would keep a search of the person's waiting.
    found = [await store.turns.get(identifier) for identifier in ids]
    turns = [turn for turn in found if turn is not None]
    covering = await store.summaries.covering([turn.id for turn in turns])
    calls: dict[str, list[ToolCall]] = {}
    for call in await store.calls.of_turns([turn.id for turn in turns]):
        calls.setdefault(call.turn_id, []).append(call)
    return {
        Owner(OwnerKind.TURN, turn.id): turn_text(
            turn, summary=_own(covering.get(turn.id, ())), calls=calls.get(turn.id, ())
        )
        for turn in turns
    }


def _own(summaries: Sequence[Summary]) -> Summary | None:
    """The one of level 1 among those that stand for a turn."""
    return next((summary for summary in summaries if summary.level == 1), None)


def _paths(calls: Sequence[ToolCall]) -> list[str]:
    paths = (call.args.get("path") for call in calls)
    return [path for path in paths if isinstance(path, str)]


def _line(names: Sequence[str]) -> str:
    """The names, each once, as many as fit."""
    return " ".join(dict.fromkeys(name for name in names if name))[:NAMES_CHARS_MAX]


def _results(calls: Sequence[ToolCall]) -> list[str]:
    """What the first tools answered, cut; the names of all stand before."""
    fitting = RESULTS_CHARS_MAX // RESULT_CHARS_MAX
    short = (" ".join(cut(call.result, RESULTS_CHARS_MAX).split()) for call in calls[:fitting])
    return [cut(text, RESULT_CHARS_MAX) for text in short]


def _joined(parts: Sequence[str]) -> str:
    return "\n".join(part for part in (part.strip() for part in parts) if part)


def _chunks(owners: Sequence[Owner]) -> Iterator[Sequence[Owner]]:
    for start in range(0, len(owners), AT_ONCE):
        yield owners[start : start + AT_ONCE]
