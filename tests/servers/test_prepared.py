"""What is kept of servers from run to run costs a run time where it is broken, and never its tests."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.store.neo4j import steps
from tests.servers import jars, java, neo4j, prepared

VERSION = neo4j.VERSIONS["neo4j-5"]
LONG_AGO = 1.0


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty one, but for the jars."""
    real = jars.cache()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    jars.cache().mkdir(parents=True)
    for name in (VERSION, f"{VERSION}.unsigned"):
        (jars.cache() / name).symlink_to(real / name)
    return jars.cache()


def entry(cache: Path, name: str, *, used_at: float) -> Path:
    made = cache / f"{VERSION}-{name}.data"
    (made / "databases").mkdir(parents=True)
    os.utime(made, (used_at, used_at))
    return made


def test_another_database_is_made_with_another_text_of_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    before = prepared.kept_at(VERSION)
    assert prepared.kept_at(VERSION) == before
    changed = (*steps.STEPS[:-1], replace(steps.STEPS[-1], data="MATCH (n) RETURN n;"))
    monkeypatch.setattr(steps, "STEPS", changed)
    assert prepared.kept_at(VERSION) != before


def test_what_nobody_used_for_long_is_removed_as_a_whole(cache: Path) -> None:
    old, new, own = (
        entry(cache, name, used_at=at) for name, at in (("a", LONG_AGO), ("b", time.time()), ("c", LONG_AGO))
    )
    prepared.remove_old(VERSION, but=own)
    assert [old.exists(), new.exists(), own.exists()] == [False, True, True]
    assert not list(cache.glob("*.part"))


def test_what_somebody_is_just_copying_is_not_removed(cache: Path) -> None:
    old = entry(cache, "a", used_at=LONG_AGO)
    with ThreadPoolExecutor(1) as thread:
        with jars.locked(old.with_suffix(".lock")):
            removing = thread.submit(prepared.remove_old, VERSION, but=cache / "other")
            with pytest.raises(TimeoutError):
                removing.result(0.2)
            assert (old / "databases").exists()
            os.utime(old)
        removing.result(30)
    assert (old / "databases").exists()


def test_nothing_is_copied_from_a_cache_that_cannot_be_used(cache: Path, tmp_path: Path) -> None:
    kept = entry(cache, "a", used_at=time.time())
    assert prepared.copied(VERSION, kept, tmp_path / "first")
    assert (tmp_path / "first" / "data" / "databases").is_dir()
    kept.with_suffix(".lock").unlink()
    kept.with_suffix(".lock").mkdir()  # as little use as a disk that is full
    assert not prepared.copied(VERSION, kept, tmp_path / "second")


@pytest.mark.long
def test_a_server_starts_though_not_from_what_is_kept(cache: Path, tmp_path: Path) -> None:
    if not jars.are_cached(VERSION, cache) or not java.suitable(
        neo4j.java_majors(VERSION), java.installed(os.environ)
    ):
        pytest.skip("a server of one's own needs its jars, and Java")
    kept = prepared.kept_at(VERSION)
    kept.mkdir()
    (kept / "databases").write_text("in the place of a folder")
    server = prepared.start_prepared(VERSION, tmp_path / "server")
    try:
        assert not kept.exists()
        assert neo4j.version_of(server) == VERSION
    finally:
        neo4j.kill(server)
