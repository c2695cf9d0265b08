"""A Neo4j server's jars, collected by Maven once and kept in this user's cache."""

import fcntl
import hashlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from tests.servers.leash import on_leash

POM = Path(__file__).with_name("pom.xml")
SIGNED = "eclipse-collections*.jar"
"""Java verifies them at each start, and shares no classes of theirs: without their signatures a server starts
in three fifths of the processor time."""
SIGNATURE = (".SF", ".RSA", "MANIFEST.MF")
DOWNLOAD_S_MAX = 900
"""123 to 152 MB, which a slow line takes minutes for."""


class NoJars(Exception):
    """They could not be had; the text says why."""


def cache() -> Path:
    return platformdirs.user_cache_path("ragforge-tests") / "neo4j"


def are_cached(version: str, folder: Path) -> bool:
    return (folder / version).is_dir()


def collect(version: str, folder: Path) -> Path:
    """The folder with the jars of this version, downloaded if they are not in the cache.

    They arrive under another name and are renamed when complete, so a download that was interrupted is
    never taken for a server. Raises NoJars.
    """
    whole, unsigned = folder / version, folder / f"{version}.unsigned"
    folder.mkdir(parents=True, exist_ok=True)
    # Two runs at once: the second waits for the first's download. The kernel frees a dead one's lock.
    with locked(folder / f"{version}.lock"):
        if not whole.is_dir():
            part = folder / f"{version}.part"
            shutil.rmtree(part, ignore_errors=True)
            _download(version, part)
            part.rename(whole)
        if not unsigned.exists():
            for jar in whole.glob(SIGNED):
                _remove_signature(jar)
            unsigned.touch()
    return whole


def archive(version: str, folder: Path, java: str) -> Path:
    """The file for the classes of this version as this Java (`Java.build`) loads them.

    With it a server starts in two thirds of the processor time. Source: java(1), "Class data sharing".
    """
    name = hashlib.sha256(f"{folder}\0{java}\0unsigned".encode()).hexdigest()[:16]
    return folder / f"{version}-{name}.jsa"


def _download(version: str, into: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise NoJars("Maven (`mvn`) is not on the PATH")
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "maven.log"
        arguments = ["-B", "-q", "-f", str(POM), f"-Dneo4j.version={version}", f"-Djars={into}"]
        leash = on_leash([maven, *arguments, "dependency:copy-dependencies"], log=log)
        if not leash.wait(DOWNLOAD_S_MAX):
            leash.let_go()
            raise NoJars(f"Maven did not collect Neo4j {version} within {DOWNLOAD_S_MAX} s")
        if leash.holder.returncode != 0:
            said = log.read_text(encoding="utf-8", errors="replace")[:1000]
            raise NoJars(f"Maven could not collect Neo4j {version}: {said}")


def _remove_signature(jar: Path) -> None:
    part = jar.with_suffix(".part")
    with zipfile.ZipFile(jar) as signed, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as plain:
        for entry in signed.infolist():
            if not (entry.filename.startswith("META-INF/") and entry.filename.endswith(SIGNATURE)):
                plain.writestr(entry, signed.read(entry))
    part.rename(jar)


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold the lock of this file; the kernel frees a dead process's."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
