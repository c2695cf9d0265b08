"""What was counted in all runs, as Prometheus' own parser reads it."""

import asyncio
import json
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ragforge.domain import timeouts
from ragforge.domain.metrics import HINTS, TALLY
from ragforge.domain.urls import listens_words
from ragforge.session.background.model import Thinker
from ragforge.session.metrics import all_counts, keep_counts, metrics_text
from ragforge.session.state import Session
from ragforge.store.local.state import open_local_state
from ragforge.store.local.values import Counts
from tests.flow.beside import beside, done, until
from tests.flow.running import MODEL, environ, say
from tests.servers.neo4j import free_port
from tests.standins.gemini import Finish, GeminiStandIn, Text, Tokens

QUERIES = "memory_query_duration_seconds"
CHAT = ("output", MODEL, "chat")


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    TALLY.take()


def samples(text: str) -> dict[tuple[str, ...], float]:
    """Each sample by its name and the values of its labels, in the order of their names."""
    families = text_string_to_metric_families(text)
    return {
        (sample.name, *sample.labels.values()): sample.value for each in families for sample in each.samples
    }


async def ask(session: Session, gemini: GeminiStandIn) -> None:
    tokens = Tokens(prompt=100, cached=40, candidates=7, thoughts=2)
    gemini.script((Text("It is blue."), Finish(usage=tokens)))
    await say(session, "Which colour is the kiosk in Exeter?")
    await done(session)


async def counted(tmp_path: Path) -> dict[tuple[str, ...], float]:
    local = await open_local_state(tmp_path / "data")
    try:
        return samples(metrics_text(await all_counts(local)))
    finally:
        await local.close()


async def test_tokens_cost_and_queries_of_all_runs_are_added_up(tmp_path: Path, gemini: GeminiStandIn):
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local")
    for runs in (1, 2):
        async with beside(tmp_path, env) as session:
            await ask(session, gemini)
        found = await counted(tmp_path)
        assert found["llm_tokens_total", "input", MODEL, "chat"] == 60 * runs
        assert found["llm_tokens_total", "cached", MODEL, "chat"] == 40 * runs
        assert found["llm_tokens_total", "output", MODEL, "chat"] == 7 * runs
        assert found["llm_tokens_total", "thought", MODEL, "chat"] == 2 * runs
        assert found["llm_cost_usd_total", MODEL, "chat"] > 0
        assert found["memory_query_duration_seconds_count", "block"] == runs
        assert found["memory_query_duration_seconds_bucket", "block", "+Inf"] == runs
        bounds = [value for name, value in found.items() if name[:2] == (f"{QUERIES}_bucket", "search")]
        assert bounds == sorted(bounds)
        asked = [found.get(("memory_cache_requests_total", result), 0) for result in ("hit", "miss")]
        assert found["memory_cache_hit_rate",] == asked[0] / sum(asked)
    said = json.dumps(list(map(list, found)))
    assert not any(word in said for word in ("kiosk", "Exeter", "project", str(tmp_path)))


async def test_the_page_and_the_file_count_this_run_too(tmp_path: Path, gemini: GeminiStandIn):
    address, file = f"127.0.0.1:{free_port()}", tmp_path / "ragforge.prom"
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local")
    env |= {"RAGFORGE_METRICS_LISTEN": address, "RAGFORGE_METRICS_TEXTFILE": str(file)}

    def page() -> dict[tuple[str, ...], float]:
        with urlopen(f"http://{address}/metrics") as answer:
            return samples(answer.read().decode())

    async def written() -> bool:
        return file.is_file() and samples(file.read_text()).get(("llm_tokens_total", *CHAT)) == 7

    async with beside(tmp_path, env) as session:
        await ask(session, gemini)
        await until(written)
        assert (await asyncio.to_thread(page))["llm_tokens_total", *CHAT] == 7
        assert not session.workspace.loaded.notices
        assert "at /metrics" in await asyncio.to_thread(read, f"http://{address}/")
        for path in ("metrics/../etc", "metricsx", "favicon.ico", "api"):
            with pytest.raises(HTTPError, match="404"):
                await asyncio.to_thread(read, f"http://{address}/{path}")
        async with beside(tmp_path, env) as other:
            await ask(other, gemini)
            background = other.workspace.background
            note = await until(lambda: noted(background))
            assert f"cannot be served at {address} (metrics.listen): Address already in use." in note
            # Its counts are on the page of the first all the same.
        assert (await asyncio.to_thread(page))["llm_tokens_total", *CHAT] == 14
    with pytest.raises(OSError, match="refused"):
        await asyncio.to_thread(page)


async def test_the_file_has_what_was_counted_after_the_last_turn(tmp_path: Path, gemini: GeminiStandIn):
    """Its summary and what it taught are counted behind it, and a short run has no other turn."""
    file = tmp_path / "ragforge.prom"
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local", RAGFORGE_METRICS_TEXTFILE=str(file))
    async with beside(tmp_path, env) as session:
        await ask(session, gemini)

        async def written() -> bool:
            return file.is_file() and samples(file.read_text()).get(("llm_tokens_total", *CHAT)) == 7

        await until(written)
        TALLY.count(HINTS, "intent_followup")
    assert samples(file.read_text())["memory_proactive_hints_generated_total", "intent_followup"] == 1


async def test_a_store_that_is_slow_at_the_end_leaves_nothing_open(
    tmp_path: Path, gemini: GeminiStandIn, monkeypatch
):
    address, file = f"127.0.0.1:{free_port()}", tmp_path / "ragforge.prom"
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local")
    env |= {"RAGFORGE_METRICS_LISTEN": address, "RAGFORGE_METRICS_TEXTFILE": str(file)}
    closed: list[Thinker] = []
    close = Thinker.close

    async def noted_close(self: Thinker) -> None:
        await close(self)
        closed.append(self)

    async def slow(*_args: object, **_options: object) -> None:
        await asyncio.Event().wait()

    async def written() -> bool:
        return file.is_file()

    monkeypatch.setattr(timeouts, "BACKGROUND_CLOSE_S_MAX", 0.5)
    monkeypatch.setattr(Thinker, "close", noted_close)
    async with beside(tmp_path, env) as session:
        await ask(session, gemini)
        await until(written)
        monkeypatch.setattr(session.workspace.store.memories, "count_wishes", slow)
    assert closed
    with pytest.raises(OSError, match="refused"):
        await asyncio.to_thread(read, f"http://{address}/")


def read(url: str) -> str:
    with urlopen(url) as answer:
        return answer.read().decode()


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "192.0.2.7", "metrics.example.net"])
async def test_an_address_that_others_reach_is_told(tmp_path: Path, gemini: GeminiStandIn, host: str) -> None:
    env = environ(tmp_path, gemini, RAGFORGE_METRICS_LISTEN=f"{host}:{free_port()}")
    async with beside(tmp_path, env) as session:
        (told,) = session.workspace.loaded.notices
        assert f"Other computers may be able to read this run's metrics at {host}" in told


@pytest.mark.parametrize("address", ["", "127.0.0.1:9464", "127.1.2.3:1", "[::1]:9464", "localhost:9464"])
def test_an_address_of_this_computer_only_is_not(address: str) -> None:
    assert not listens_words(address)


async def noted(background) -> str:
    return background.progress.note


async def test_what_cannot_be_kept_now_is_kept_later(tmp_path: Path, gemini: GeminiStandIn, monkeypatch):
    (tmp_path / "data").mkdir()
    local = await open_local_state(tmp_path / "data")
    TALLY.add({("llm_cost_usd_total", (MODEL, "chat"), ""): 0.5})

    async def full(self: Counts, counts: object) -> None:
        raise OSError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Counts, "add", full)
        with pytest.raises(OSError, match="No space"):
            metrics_text(await all_counts(local))
    assert samples(metrics_text(await all_counts(local)))["llm_cost_usd_total", MODEL, "chat"] == 0.5
    await local.close()


async def test_what_is_being_kept_when_a_run_ends_is_counted_once(tmp_path: Path) -> None:
    local = await open_local_state(tmp_path / "data")
    try:
        TALLY.count(HINTS, "intent_followup")
        keeping = asyncio.ensure_future(keep_counts(local))
        await asyncio.sleep(0)  # it has begun
        keeping.cancel()
        await asyncio.wait({keeping})
        counted = samples(metrics_text(await all_counts(local)))
    finally:
        await local.close()
    assert sum(value for name, value in counted.items() if name[0] == HINTS.name) == 1
