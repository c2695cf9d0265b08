"""Where a shared Neo4j server for the tests comes from: the one that was named, else jars, else Docker."""

import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlsplit, urlunsplit

from ragforge.domain.redact import hide_url_passwords
from tests.servers import jars, neo4j
from tests.servers import java as javas
from tests.servers.jars import NoJars
from tests.servers.leash import Leash, on_leash
from tests.servers.neo4j import Neo4jServer, NoServer
from tests.servers.prepared import start_prepared

NAMED = "RAGFORGE_TEST_NEO4J_URI"
"""`bolt://[user:password@]host:port` of an empty server, which counts for the version that it has."""

DOCKER_S_MAX = 600
"""For an image that must be downloaded first."""


@dataclass(frozen=True, slots=True)
class Named:
    """A server that somebody runs for the tests."""

    server: Neo4jServer

    def __str__(self) -> str:
        return f"{self.server.version} at {hide_url_passwords(self.server.url)} ({NAMED})"


@dataclass(frozen=True, slots=True)
class Jars:
    """A server started from Maven's jars."""

    version: str
    java: javas.Java
    cached: bool

    def __str__(self) -> str:
        state = "" if self.cached else ", which are downloaded first"
        return f"{self.version} from Maven's jars{state}, on Java {self.java.major}"


@dataclass(frozen=True, slots=True)
class Docker:
    """A server in a container."""

    version: str

    def __str__(self) -> str:
        return f"{self.version} in Docker"


@dataclass(frozen=True, slots=True)
class Missing:
    """There is none, and this is why."""

    why: str
    named: bool = False
    """One was named that cannot be used: whoever names a server wants that one, so nothing is skipped."""

    def __str__(self) -> str:
        return f"not tested: {self.why}"


Source: TypeAlias = Named | Jars | Docker | Missing


@dataclass(frozen=True, slots=True)
class Started:
    """A server for the run, and what ends it where it is ours."""

    server: Neo4jServer
    leash: Leash | None = None


def source_of(kind: str, environ: Mapping[str, str]) -> Source:
    """Where the server of this kind comes from on this machine."""
    if address := environ.get(NAMED):
        try:
            server = named_server(address)
        except NoServer as error:
            return Missing(str(error), named=True)
        if neo4j.kind_of(server.version) == kind:
            return Named(server)
    version = neo4j.VERSIONS[kind]
    source = jars_of(version, environ)
    if isinstance(source, Missing) and docker_answers():
        return Docker(version)
    return source


def jars_of(version: str, environ: Mapping[str, str]) -> Jars | Missing:
    """The jars that can be had for a server of one's own."""
    majors = neo4j.java_majors(version)
    found = javas.installed(environ)
    java = javas.suitable(majors, found)
    cached = jars.are_cached(version, jars.cache())
    if java is not None and (cached or shutil.which("mvn")):
        return Jars(version, java, cached)
    if java is None:
        others = ", ".join(str(java.major) for java in found) or "none"
        return Missing(f"it needs Java {majors[0]} or {majors[1]} (found: {others}), or Docker")
    return Missing("it needs Maven (`mvn`) on the PATH, or Docker")


def begin(source: Source, home: Path) -> Started:
    """The server, answering. Raises NoServer or NoJars."""
    match source:
        case Named(server):
            return Started(server)
        case Jars(version, _, cached):
            try:
                # Where the cache is kept from run to run, what it takes to keep classes, and a database with
                # the schema, is paid once.
                start = start_prepared if cached else neo4j.start
                own = start(version, home, keep_classes=cached)
            except NoJars:
                if not docker_answers():
                    raise
                return _in_docker(version, home)
            return Started(own, own.leash)
        case Docker(version):
            return _in_docker(version, home)
        case Missing(why):
            raise NoServer(why)


def named_server(address: str) -> Neo4jServer:
    """The server with its version. Raises NoServer where it does not answer, or holds anything.

    Tests empty what they are given, so it has to be empty already: nobody's data goes by mistake.
    """
    parts = urlsplit(address)
    url = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    server = Neo4jServer("", url, unquote(parts.password or ""), unquote(parts.username or "neo4j"))
    shown = hide_url_passwords(address)
    try:
        version = neo4j.version_of(server)
        (rest,) = neo4j.query(server, f"MATCH (n) WHERE {neo4j.NOT_KEPT} RETURN count(n) AS nodes")
    except neo4j.FAILURES as error:
        raise NoServer(f"The server that {NAMED} names, {shown}, does not answer: {error}") from error
    if rest["nodes"]:
        raise NoServer(
            f"The database that {NAMED} names, {shown}, holds {rest['nodes']} nodes. "
            "The tests empty the database that they are given: name an empty one."
        )
    return replace(server, version=version)


def docker_answers() -> bool:
    """Whether there is the command, and its daemon."""
    docker = shutil.which("docker")
    if docker is None:
        return False
    try:
        asked = subprocess.run([docker, "version"], capture_output=True, timeout=10, check=False)
    except subprocess.TimeoutExpired:
        return False
    return asked.returncode == 0


def _in_docker(version: str, home: Path) -> Started:
    """A container that lasts as long as this process: the client is on the leash, and ends it."""
    home.mkdir(parents=True, exist_ok=True)
    port = neo4j.free_port()
    log = home / "console.log"
    options = ["--rm", "-p", f"127.0.0.1:{port}:7687", "-e", "NEO4J_AUTH=none"]
    memory = ["-e", f"NEO4J_server_memory_heap_max__size={neo4j.HEAP}"]
    leash = on_leash(["docker", "run", *options, *memory, f"neo4j:{version}"], log=log)
    server = Neo4jServer(version, f"bolt://127.0.0.1:{port}")
    deadline = time.monotonic() + DOCKER_S_MAX
    while (why_not := neo4j.silence(server)) is not None:
        if leash.ended or time.monotonic() > deadline:
            leash.let_go()
            said = log.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise NoServer(f"Neo4j {version} did not start in Docker ({why_not}):\n{said}")
        time.sleep(0.2)
    return Started(server, leash)
