"""The metrics of all runs on this machine, published for Prometheus.

Counts are stored before they are published, so a counter never goes down, whichever process is asked and
however it ends.
"""

import asyncio
import logging
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ragforge.domain import timeouts
from ragforge.domain.cancellation import undisturbed
from ragforge.domain.errors import StoreError, UsageError
from ragforge.domain.memories import WishCount, WishKind
from ragforge.domain.metrics import CACHE_REQUESTS, METRICS, NO_BOUND, SUM, TALLY, Metric, Sample
from ragforge.session.machine import Library
from ragforge.store.local.state import LocalState

if TYPE_CHECKING:  # loaded only to publish metrics
    from wsgiref.simple_server import WSGIServer
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric as Family

log = logging.getLogger(__name__)

METRICS_PATH = "/metrics"

HIT_RATE = Metric("memory_cache_hit_rate", "The share of look-ups of preferences that were cached.")
PREFERENCES_ACTIVE = Metric(
    "memory_preferences_active", "The user's wishes that hold in the project: type as extracted.", ("type",)
)


async def keep_counts(local: LocalState) -> None:
    """Add this process's counts to the stored totals. Raises StoreError, and loses nothing."""
    if counts := TALLY.take():
        # Not cancelled half-way: it might be stored nevertheless, and counted again.
        await undisturbed(_keep(local, counts), cancel_after=True)


async def _keep(local: LocalState, counts: Mapping[Sample, float]) -> None:
    try:
        await local.counts.add(counts)
    except BaseException:
        TALLY.add(counts)
        raise


async def all_counts(local: LocalState) -> dict[Sample, float]:
    """Return the totals of all runs, including this one up to now. Raises StoreError."""
    await keep_counts(local)
    return await local.counts.read()


async def all_samples(library: Library) -> dict[Sample, float]:
    """Return all counts, and how many wishes are valid here. Raises StoreError without counts."""
    return {**await all_counts(library.local), **await _wishes(library)}


async def _wishes(library: Library) -> dict[Sample, float]:
    """Return how many wishes of the user are valid in the project, by kind; none while the store is away."""
    try:
        found = await library.store.memories.count_wishes(
            project_id=library.project.id, person=library.person.id
        )
    except StoreError as error:
        log.warning("The wishes that hold are not counted: %s", error)
        return {}
    none = WishCount()
    return {(PREFERENCES_ACTIVE.name, (str(kind),), ""): found.get(kind, none).number for kind in WishKind}


def metrics_text(counts: Mapping[Sample, float]) -> str:
    """Return all of these in Prometheus' text format (version 0.0.4)."""
    from prometheus_client import generate_latest

    return generate_latest(_registry(lambda: counts)).decode()


class MetricsPublication:
    """Serves metrics and writes them to a file, according to the settings, during a run."""

    def __init__(self) -> None:
        self._listens: str = ""
        """The current address."""
        self._server: WSGIServer | None = None

    async def publish(self, workspace: Library) -> None:
        """Store the counts, and publish them according to the current settings.

        Raises StoreError if they cannot be stored, UsageError if they cannot be published.
        """
        settings = workspace.settings.metrics
        await self._keep(workspace)
        if settings.listen != self._listens:
            await self._stop()
            if settings.listen:
                await self._serve(settings.listen, workspace)
            self._listens = settings.listen

    async def close(self, workspace: Library) -> None:
        """Store and write the remaining counts, and stop serving. It never raises."""
        try:
            await self._keep(workspace)
        except (StoreError, UsageError) as error:
            log.warning("What was counted last is not kept: %s", error)
        finally:
            await self._stop()

    async def _keep(self, workspace: Library) -> None:
        await keep_counts(workspace.local)
        if textfile := workspace.settings.metrics.textfile:
            await _write(Path(textfile), metrics_text(await all_samples(workspace)))

    async def _serve(self, address: str, library: Library) -> None:
        from prometheus_client import start_http_server

        loop = asyncio.get_running_loop()

        def counts() -> Mapping[Sample, float]:
            """Called in a thread of the server."""
            asked = asyncio.run_coroutine_threadsafe(all_samples(library), loop)
            return asked.result(timeouts.METRICS_S_MAX)

        url, registry = urlsplit(f"//{address}"), _registry(counts)
        try:
            server, _ = await asyncio.to_thread(
                start_http_server, url.port or 0, url.hostname or "", registry=registry
            )
        except (OSError, ValueError, OverflowError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or error
            raise UsageError(
                f"Metrics cannot be served at {address} (metrics.listen): {why}. If another ragforge "
                "uses this port, its metrics include this run; otherwise choose another port."
            ) from error
        server.set_app(_only_metrics(server.get_app()))
        self._server = server

    async def _stop(self) -> None:
        server, self._server, self._listens = self._server, None, ""
        if server is not None:
            await asyncio.to_thread(server.shutdown)
            server.server_close()


def _only_metrics(metrics: "WSGIApplication | None") -> "WSGIApplication":
    """The page at its own path; the front page links to it, and there is nothing else."""

    def answer(environ: "WSGIEnvironment", start: "StartResponse") -> "Iterable[bytes]":
        path = environ.get("PATH_INFO", "")
        if path == METRICS_PATH and metrics is not None:
            return metrics(environ, start)
        found = path in ("", "/")
        words = f"The metrics of ragforge are at {METRICS_PATH}.\n"
        start("200 OK" if found else "404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
        return [words.encode()]

    return answer


async def _write(path: Path, text: str) -> None:
    def write() -> None:
        # The collector may read at any moment; of two processes, the later one has both counts.
        new = path.with_name(f"{path.name}.{os.getpid()}.new")
        new.write_text(text, encoding="utf-8")
        new.replace(path)

    try:
        await asyncio.to_thread(write)
    except OSError as error:
        raise UsageError(f"Metrics cannot be written to {path} (metrics.textfile): {error}.") from error


def _registry(counts: Callable[[], Mapping[Sample, float]]) -> "CollectorRegistry":
    """Return the library's output: our current counts, and nothing of its own."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.registry import Collector

    class Counts(Collector):
        """Yield our counts as the library's samples."""

        def collect(self) -> "Iterator[Family]":
            yield from _families(counts())

        def describe(self) -> "Iterable[Family]":
            return ()  # otherwise they would be counted when this is registered

    registry = CollectorRegistry()
    registry.register(Counts())
    return registry


def _families(counts: Mapping[Sample, float]) -> "Iterator[Family]":
    from prometheus_client.metrics_core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
    )

    found = defaultdict[str, dict[tuple[str, ...], dict[str, float]]](lambda: defaultdict(dict))
    for (name, labels, part), value in counts.items():
        found[name][labels][part] = value
    for metric in METRICS:
        if metric.buckets:
            histogram = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
            for labels, parts in found[metric.name].items():
                histogram.add_metric(labels, list(_cumulated(metric, parts)), parts.get(SUM, 0.0))
            yield histogram
        else:
            counter = CounterMetricFamily(metric.name, metric.help, labels=metric.labels)
            for labels, parts in found[metric.name].items():
                counter.add_metric(labels, parts[""])
            yield counter
    wishes = GaugeMetricFamily(PREFERENCES_ACTIVE.name, PREFERENCES_ACTIVE.help, labels=("type",))
    for labels, parts in found[PREFERENCES_ACTIVE.name].items():
        wishes.add_metric(labels, parts[""])
    yield wishes
    asked = {labels: parts[""] for labels, parts in found[CACHE_REQUESTS.name].items()}
    if asked:
        rate = asked.get(("hit",), 0.0) / sum(asked.values())
        yield GaugeMetricFamily(HIT_RATE.name, HIT_RATE.help, value=rate)


def _cumulated(metric: Metric, parts: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    total = 0.0
    for bound in (*map(str, metric.buckets), NO_BOUND):
        total += parts.get(bound, 0.0)
        yield bound, total
