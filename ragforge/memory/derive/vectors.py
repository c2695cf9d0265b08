"""Vectors: which text of each item is embedded, and embedding what lacks one, newest first.

The texts are short on purpose: a long answer would outweigh what the user said. So for a turn it is the
user's words, their result, and the names of what was touched.
"""

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence

from ragforge.domain import timeouts
from ragforge.domain.errors import ModelError, UsageError
from ragforge.domain.memories import Memory
from ragforge.domain.messages import text_of
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import ToolCall, Turn
from ragforge.domain.usage import Purpose, Usage
from ragforge.domain.vectors import Embedding, Owner, OwnerKind, Vector
from ragforge.embedders.base import Embedder, learn_dimensions, other_embedder
from ragforge.memory.derive.base import Derivation, Desk, Home, Limit, Moment
from ragforge.memory.forgotten import NOTHING, Forgotten, read_forgotten
from ragforge.memory.material import answer_of
from ragforge.providers.registry import ModelName
from ragforge.store.base import Store

log = logging.getLogger(__name__)

USER_CHARS_MAX = 4_000
ANSWER_CHARS_MAX = 300
"""For an answer that has no summary yet."""
SUMMARY_CHARS_MAX = 1_200
NAMES_CHARS_MAX = 400
RESULT_CHARS_MAX = 120
RESULTS_CHARS_MAX = 480
FINDINGS_CHARS_MAX = 1_000
MEMORY_CHARS_MAX = 2_000

AT_ONCE = 100
"""How many are loaded, embedded and stored together: completed chunks are kept if the rest fails."""
ROUNDS_MAX = 3
"""A text that changes again while it is embedded is left for the next time."""
LISTED_MAX = 2_000
"""How many are listed at once: enough to show the progress, few enough to include new ones soon."""
CHUNKS_A_STEP = 5
"""Afterwards the list is read again, newest first."""
GENTLY_AT_ONCE = 10
"""While a turn runs: a commit of many vectors would delay the turn's own."""


class Vectors(Derivation):
    """Embeds what lacks a vector, newest first. While it fails, search continues by words."""

    title = "Embedding"
    order = 9
    wakes_on = frozenset({Moment.OPENED, Moment.TURN_ENDED, Moment.UNDERSTOOD, Moment.WRITTEN})

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._in_use = ""
        self._seen = Usage()
        self._failures = 0
        self._last: list[Owner] = []

    async def step(self) -> float | None:
        """Embed what is listed; only a few while a turn runs. Raises StoreError."""
        homes = self.desk.homes
        home = list(homes.values())[-1] if homes else None
        embedder = home.recall.embedder if home else None
        if home is None or embedder is None or not await self._may_embed(home, embedder):
            return None if not self.note else self.desk.timing.final_s
        try:
            await self._use(home, embedder)
            owners = await self._list(homes, home, embedder)
            if owners == self._last:
                return timeouts.WORK_AGAIN_S if owners else None
            self._last = owners
            owners = owners[: CHUNKS_A_STEP * AT_ONCE if self.desk.idle.is_set() else GENTLY_AT_ONCE]
            for start in range(0, len(owners), AT_ONCE):
                chunk = owners[start : start + AT_ONCE]
                await embed_owners(home.store, embedder, chunk, project_id=home.project_id)
                await self._pay(home, embedder)
                self.waiting = max(0, self.waiting - len(chunk))
        except (ModelError, UsageError) as error:
            return self._failed(error)
        finally:
            await self._pay(home, embedder)
        self._failures, self.note = 0, ""
        return 0

    async def understood(self, home: Home, turn: Turn, owners: Sequence[Owner], *, own: bool) -> None:
        """Embed the results of a turn of this run now if possible; all else is embedded together."""
        embedder = home.recall.embedder
        if not own or embedder is None or self.note or not await self._may_embed(home, embedder):
            return
        try:
            await self._use(home, embedder)
            await embed_owners(home.store, embedder, owners, project_id=home.project_id)
        except (ModelError, UsageError) as error:
            self._failed(error)
        finally:
            await self._pay(home, embedder)

    async def _use(self, home: Home, embedder: Embedder) -> None:
        """Prepare the store for the embedder before anything is queried or stored.

        Raises UsageError if others share the store and it names another embedder.
        """
        if not home.person.alone:
            in_use = await home.store.vectors.in_use()
            if words := other_embedder(in_use, embedder.name):
                raise UsageError(words)
        if self._in_use != embedder.name:
            dimensions = await learn_dimensions(embedder)
            await home.store.vectors.use(embedder.name, dimensions)
            self._in_use = embedder.name

    async def _list(self, homes: Mapping[str, Home], home: Home, embedder: Embedder) -> list[Owner]:
        # What is free is embedded for all projects, as any may be searched; else only for those in use.
        projects = [*homes] if embedder.remote else [*homes, None]
        owners: dict[Owner, None] = {}
        for project_id in projects:
            if len(owners) < LISTED_MAX:
                lacking = await home.store.vectors.lacking(
                    embedder.name, project_id=project_id, limit=LISTED_MAX
                )
                owners |= dict.fromkeys(lacking)
        unfinished = self.desk.unfinished  # what costs money waits for their text
        listed = [
            owner for owner in owners if owner.kind is not OwnerKind.TURN or owner.id not in unfinished
        ][:LISTED_MAX]
        self.waiting = len(listed)
        return listed

    async def _may_embed(self, home: Home, embedder: Embedder) -> bool:
        settings = home.settings
        if not embedder.remote:
            return True
        name = _embedder_name(home)
        if not settings.memory.enabled:
            return False
        limit = await self.desk.limit(home, name, Usage(input_tokens=1))
        if limit is Limit.PRICE:
            self.note = (
                f"Nothing is embedded, and search uses words only: the price of {name} is unknown, so its "
                "cost could not be limited. Add it to prices.toml, or set memory.embedder to another."
            )
        elif limit is Limit.DAY:
            cap_usd = settings.memory.cost_usd_per_day_max
            self.note = (
                "Embedding waits until midnight UTC, and search uses words only: background work has "
                f"reached the {cap_usd:g} USD that memory.cost_usd_per_day_max allows for a day."
            )
        return limit is None

    async def _pay(self, home: Home, embedder: Embedder) -> None:
        """Store the embedder's usage since the last time, questions of searches included."""
        used, seen = embedder.usage, self._seen
        more = Usage(
            used.input_tokens - seen.input_tokens,
            used.cached_tokens - seen.cached_tokens,
            used.output_tokens - seen.output_tokens,
            used.thought_tokens - seen.thought_tokens,
        )
        if more == Usage():
            return
        self._seen = used
        await self.desk.pay(home, _embedder_name(home), more, Purpose.EMBEDDING)

    def _failed(self, error: ModelError | UsageError) -> float:
        """Record the failure; return the seconds until the next attempt."""
        self._failures += 1
        self._last = []
        self.note = f"Search uses words and existing vectors only. {error}"
        log.warning("Embedding waits: %s", error)
        if isinstance(error, UsageError):
            return self.desk.timing.final_s
        return self.desk.timing.pause_s(self._failures)


DERIVATION = Vectors


def _embedder_name(home: Home) -> ModelName:
    provider, _, model = home.settings.memory.embedder.partition(":")
    return ModelName(provider, model)


def turn_text(turn: Turn, *, summary: Summary | None, calls: Sequence[ToolCall]) -> str:
    """Return the text of a turn to embed; summary: its own of level 1, once it exists."""
    told = summary.text[:SUMMARY_CHARS_MAX] if summary else answer_of(turn)[:ANSWER_CHARS_MAX]
    files = [*(summary.files if summary else ()), *_paths(calls)]
    names = _line([*(call.name for call in calls), *files])
    return _joined([cut(text_of(turn.user), USER_CHARS_MAX), told, names, *_results(calls)])


def summary_text(summary: Summary) -> str:
    """Return the text of a summary to embed, of any level."""
    findings = " ".join(summary.findings)[:FINDINGS_CHARS_MAX]
    return _joined([summary.text[:SUMMARY_CHARS_MAX], _line(summary.files), findings])


def memory_text(memory: Memory) -> str:
    """Return the text of a memory to embed."""
    return memory.content[:MEMORY_CHARS_MAX]


def text_hash(text: str) -> str:
    """Return the key of a text: SHA-256 in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def cut(text: str, chars_max: int) -> str:
    """Return three quarters from the start, one from the end, which often has the question or the error."""
    if len(text) <= chars_max:
        return text
    tail = chars_max // 4
    return f"{text[: chars_max - tail - 1]}\n{text[-tail:]}"


async def texts_of(store: Store, owners: Sequence[Owner], forgotten: Forgotten = NOTHING) -> dict[Owner, str]:
    """Return the current texts of those that are stored, without what is forgotten. Raises StoreError."""
    ids = {kind: [each.id for each in owners if each.kind is kind] for kind in OwnerKind}
    texts = await _turn_texts(store, ids[OwnerKind.TURN], forgotten)
    for summary in map(forgotten.summary, await store.summaries.get(ids[OwnerKind.SUMMARY])):
        texts[Owner(OwnerKind.SUMMARY, summary.id)] = summary_text(summary)
    if ids[OwnerKind.MEMORY]:
        for memory in await store.memories.get(ids[OwnerKind.MEMORY]):
            texts[Owner(OwnerKind.MEMORY, memory.id)] = memory_text(memory)
    return texts


async def embed_owners(
    store: Store, embedder: Embedder, owners: Sequence[Owner], *, project_id: str = ""
) -> int:
    """Embed these, and return how many are stored and now have a vector of their current text.

    project_id: what is forgotten there is not embedded by any remote service.
    The same text is embedded once, whoever it belongs to, now and before. The cost is added to
    `embedder.usage`. Raises StoreError, and ModelError or UsageError of the embedder; stored ones remain.
    """
    done = 0
    forgotten = await read_forgotten(store, project_id) if embedder.remote else NOTHING
    for chunk in _chunks(list(dict.fromkeys(owners))):
        texts = await texts_of(store, chunk, forgotten)
        done += len(texts)
        for _ in range(ROUNDS_MAX):
            await _save_vectors(store, embedder, texts)
            # A text that changed meanwhile would count as embedded: the store cannot tell the old vector
            # from one of the new text.
            again = await texts_of(store, list(texts), forgotten)
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
    """Return the existing vectors of these texts; those of other dimensions were made by another version."""
    found = await store.vectors.same_text(embedder.name, hashes)
    return {digest: vector for digest, vector in found.items() if len(vector) == embedder.dimensions}


async def _turn_texts(store: Store, ids: Sequence[str], forgotten: Forgotten) -> dict[Owner, str]:
    if not ids:
        return {}
    turns = [forgotten.turn(turn) for turn in await store.turns.read(ids)]
    covering = await store.summaries.covering([turn.id for turn in turns])
    calls: dict[str, list[ToolCall]] = {}
    sessions = {turn.id: turn.session_id for turn in turns}
    for call in await store.calls.of_turns(list(sessions)):
        cleaned = forgotten.call(call, session=sessions[call.turn_id])
        calls.setdefault(call.turn_id, []).append(cleaned)
    return {
        Owner(OwnerKind.TURN, turn.id): turn_text(
            turn,
            summary=_own([each for each in covering.get(turn.id, ()) if each.id not in forgotten.summaries]),
            calls=calls.get(turn.id, ()),
        )
        for turn in turns
    }


def _own(summaries: Sequence[Summary]) -> Summary | None:
    """Return the one of level 1 among the summaries that cover a turn."""
    return next((summary for summary in summaries if summary.level == 1), None)


def _paths(calls: Sequence[ToolCall]) -> list[str]:
    paths = (call.args.get("path") for call in calls)
    return [path for path in paths if isinstance(path, str)]


def _line(names: Sequence[str]) -> str:
    """Return the names, each once, as many as fit."""
    return " ".join(dict.fromkeys(name for name in names if name))[:NAMES_CHARS_MAX]


def _results(calls: Sequence[ToolCall]) -> list[str]:
    """Return what the first tools returned, truncated; the names of all come before."""
    fitting = RESULTS_CHARS_MAX // RESULT_CHARS_MAX
    short = (" ".join(cut(call.result, RESULTS_CHARS_MAX).split()) for call in calls[:fitting])
    return [cut(text, RESULT_CHARS_MAX) for text in short]


def _joined(parts: Sequence[str]) -> str:
    return "\n".join(part for part in (part.strip() for part in parts) if part)


def _chunks(owners: Sequence[Owner]) -> Iterator[Sequence[Owner]]:
    for start in range(0, len(owners), AT_ONCE):
        yield owners[start : start + AT_ONCE]
