"""Real Neo4j servers for tests, started from their jars: begin, kill, stop, continue, begin again, end.

    server = start("5.26.30", home)
    kill(server)            # as a power cut would
    start_again(server)     # the same data behind the same URL
    end(server)

Every server is on a leash: it ends with the process that started it, however that dies.
"""

import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString, cast
from urllib.parse import urlsplit

from neo4j import GraphDatabase, Query
from neo4j.exceptions import DriverError, Neo4jError

from tests.servers import jars
from tests.servers import java as javas
from tests.servers.leash import Leash, on_leash

VERSIONS: Mapping[str, str] = {"neo4j-5": "5.26.30", "neo4j-2026": "2026.08.1"}
"""The kinds of Neo4j that tests run on, and the version that stands for each."""

INITIAL_PASSWORD = "neo4j"
"""The one that a new server has; it answers every query with CredentialsExpired until it is changed."""

HEAP = "512m"
START_S_MAX = 900
END_S_MAX = 120
KEEP_S_MAX = 120
"""For the end of a server that writes its classes."""
CLASSES = "classes.jsa"
QUERY_S_MAX = 120
EMBEDDER = "static:minilm-256-2"
"""The embedder of all tests that share a server: that of the program."""
NOT_KEPT = "NOT n:RagforgeDatabase AND NOT n:RagforgeMigration"
"""True of a node `n` that is content: not of those that describe the database itself."""
FAILURES = (DriverError, Neo4jError)
DRIVER: Mapping[str, Any] = {
    "connection_timeout": 5,
    "connection_acquisition_timeout": 10,
    "telemetry_disabled": True,
    # Of a database whose schema is not there yet.
    "notifications_disabled_classifications": ["UNRECOGNIZED", "DEPRECATION"],
}
PORTS = range(20_000, 32_000)
"""Below those that systems give to whoever asks for any: a server that was killed finds its own free."""


@dataclass(slots=True)
class Neo4jServer:
    """A server to be used. An empty password stands for a server without users."""

    version: str
    url: str
    password: str = ""
    user: str = "neo4j"

    @property
    def port(self) -> int:
        """Where it listens."""
        port = urlsplit(self.url).port
        assert port is not None
        return port


@dataclass(slots=True, kw_only=True)
class OwnServer(Neo4jServer):
    """A server that was started here, and may be killed and stopped."""

    home: Path
    leash: Leash
    """Of the process that runs it now: another one after `start_again`."""
    archive: Path | None = None
    """Where the classes that it has loaded are to be kept when it ends, for servers that start later."""

    @property
    def log(self) -> str:
        """The end of what it said."""
        return (self.home / "console.log").read_text(encoding="utf-8", errors="replace")[-4000:]


class NoServer(Exception):
    """A server did not start; the text ends with its log."""


def kind_of(version: str) -> str | None:
    """Which of the kinds a version belongs to: 5.x is the old numbering, years are the new."""
    major = version.partition(".")[0]
    if not major.isdigit() or int(major) < 5:
        return None
    return "neo4j-5" if major == "5" else "neo4j-2026"


def java_majors(version: str) -> tuple[int, ...]:
    """The Java versions that it runs on. Source: Neo4j operations manual, "System requirements"."""
    return (17, 21) if kind_of(version) == "neo4j-5" else (21, 25)


def start(
    version: str,
    home: Path,
    *,
    password: str = "",
    settings: Sequence[str] = (),
    keep_classes: bool = False,
) -> OwnServer:
    """A server that answers, with its data in `home`.

    password: where not empty, users must log in. INITIAL_PASSWORD is left as it comes: expired. Another
    one has to be 8 characters or longer. settings: further lines of neo4j.conf. keep_classes: where none
    are kept for this version yet, those that this one has loaded are, by `end_for_good`.
    Raises NoJars or NoServer.
    """
    for folder in ("conf", "data", "logs", "run", "plugins", "import", "licenses"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    port = free_port()
    configuration = _configuration(port, with_users=bool(password), settings=settings)
    (home / "conf" / "neo4j.conf").write_text(configuration)
    url, first = f"bolt://127.0.0.1:{port}", INITIAL_PASSWORD if password else ""
    archive = _archive(version)
    lacking = archive if keep_classes and not archive.exists() else None
    leash = _launch(version, home, making_archive=lacking is not None)
    server = OwnServer(version, url, first, home=home, leash=leash, archive=lacking)
    _wait_for_answer(server)
    if password not in ("", INITIAL_PASSWORD):
        change = "ALTER CURRENT USER SET PASSWORD FROM $old TO $new"
        query(server, change, database="system", old=INITIAL_PASSWORD, new=password)
        server.password = password
    return server


def start_again(server: OwnServer, *, settings: Sequence[str] = ()) -> None:
    """Start the one that was killed or ended, over the same data and behind the same URL; it answers.

    settings: lines that neo4j.conf has as well from now on, such as
    `server.databases.default_to_read_only=true`.
    """
    assert server.leash.ended, "this server still runs"
    if settings:
        with (server.home / "conf" / "neo4j.conf").open("a") as file:
            file.writelines(f"{line}\n" for line in settings)
    server.leash = _launch(server.version, server.home)
    _wait_for_answer(server)


def kill(server: OwnServer) -> None:
    """End it at once, as a crash or a power cut would."""
    server.leash.send(signal.SIGKILL)
    assert server.leash.wait(END_S_MAX), "a killed server is still there"


def stop(server: OwnServer) -> None:
    """Let it stand still: connections stay open, nothing is answered."""
    server.leash.send(signal.SIGSTOP)
    deadline = time.monotonic() + END_S_MAX
    # The signal is sent at once, and each thread stops when it next would run.
    while not _is_stopped(server.leash.pid):
        assert time.monotonic() < deadline, "a stopped server still runs"
        time.sleep(0.005)


def go_on(server: OwnServer) -> None:
    """Let it continue after `stop`."""
    server.leash.send(signal.SIGCONT)


def end(server: OwnServer) -> None:
    """Shut it down properly, stopped or not; twice is harmless."""
    server.leash.send(signal.SIGCONT)
    server.leash.send(signal.SIGTERM)
    if not server.leash.wait(END_S_MAX):
        kill(server)


def end_for_good(server: OwnServer) -> None:
    """End it, and keep the classes that it has loaded if that was wanted of it."""
    if server.archive is None:
        # A proper shutdown takes ten seconds and saves what nobody reads again.
        kill(server)
        return
    server.leash.send(signal.SIGTERM)
    if not server.leash.wait(KEEP_S_MAX):
        kill(server)
        return
    part = server.archive.with_suffix(f".{os.getpid()}")
    # A cache that is full or for reading only costs time, and fails nobody's tests.
    with suppress(OSError):
        shutil.copyfile(server.home / CLASSES, part)
        part.rename(server.archive)
    with suppress(OSError):
        part.unlink(missing_ok=True)


def query(
    server: Neo4jServer, text: str, *, database: str | None = None, **parameters: object
) -> list[dict[str, Any]]:
    """The rows that one statement gives, within QUERY_S_MAX and without trying again."""
    user = (server.user, server.password) if server.password else None
    # Types are ours: the driver wants literals, because text that is put together may be an injection.
    asked = Query(cast("LiteralString", text), timeout=QUERY_S_MAX)
    with (
        GraphDatabase.driver(server.url, auth=user, **DRIVER) as driver,
        driver.session(database=database) as session,
    ):
        return [record.data() for record in session.run(asked, parameters)]


def version_of(server: Neo4jServer) -> str:
    """The version that it says it has."""
    components = "CALL dbms.components() YIELD name, versions WHERE name = 'Neo4j Kernel' RETURN versions"
    (kernel,) = query(server, components)
    return kernel["versions"][0]


def empty(server: Neo4jServer) -> dict[str, Any]:
    """Delete all that is stored; what describes the database, its schema and its indexes stay.

    What the database says of itself then, nothing where it has no schema.
    """
    rows = query(
        server,
        f"CALL () {{ MATCH (n) WHERE {NOT_KEPT} DETACH DELETE n }} "
        # What a test was embedded by is not used by a program that is embedded by another.
        "MATCH (d:RagforgeDatabase) REMOVE d.leftStale "
        f"SET d.embedder = CASE WHEN d.embedder IS NULL THEN NULL ELSE '{EMBEDDER}' END "
        "RETURN properties(d) AS d",
    )
    return rows[0]["d"] if rows else {}


def _launch(version: str, home: Path, *, making_archive: bool = False) -> Leash:
    return on_leash(_command(version, home, making_archive=making_archive), log=home / "console.log")


def _wait_for_answer(server: OwnServer) -> None:
    deadline = time.monotonic() + START_S_MAX
    try:
        while (why_not := silence(server)) is not None:
            if server.leash.ended:
                raise NoServer(f"Neo4j {server.version} ended while it started:\n{server.log}")
            if time.monotonic() > deadline:
                did_not = f"did not answer within {START_S_MAX} s ({why_not})"
                raise NoServer(f"Neo4j {server.version} {did_not}:\n{server.log}")
            time.sleep(0.1)
    except BaseException:
        kill(server)
        raise


def silence(server: Neo4jServer) -> Exception | None:
    """Why a server of this machine does not answer; None when it does."""
    port = int(server.url.rpartition(":")[2])
    try:
        # Asked before the driver is: it would wait and try again.
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        query(server, "RETURN 1")
    except Neo4jError as error:
        expired = error.code == "Neo.ClientError.Security.CredentialsExpired"
        return None if expired else error
    except (DriverError, OSError) as error:
        return error
    return None


def _command(version: str, home: Path, *, making_archive: bool) -> list[str]:
    java = _java(version)
    classes = jars.collect(version, jars.cache())
    old = kind_of(version) == "neo4j-5"
    return [
        str(java.command),
        # Given here because only Neo4j's own start script reads them from neo4j.conf.
        # Half the processor time and two thirds of the memory of Neo4j's own choice, in a short life.
        *(f"-Xms{HEAP}", f"-Xmx{HEAP}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        # With one compiler Java keeps 48 MB of compiled code, and goes on looking for some to drop.
        *("-XX:ReservedCodeCacheSize=256m", "-XX:-UseCodeCacheFlushing"),
        *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.nio", "java.io", "sun.nio.ch")),
        "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
        "--enable-native-access=ALL-UNNAMED",
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Dlog4j2.disable.jmx=true",
        "-Dorg.neo4j.shaded.lucene9.vectorization.upperJavaFeatureVersion=25",
        *("-Dfile.encoding=UTF-8", "-Djava.awt.headless=true"),
        *_sharing_classes(_archive(version), home / CLASSES if making_archive else None),
        *("-cp", f"{classes}/*"),
        "org.neo4j.server.CommunityEntryPoint" if old else "org.neo4j.server.Neo4jCommunity",
        *(f"--home-dir={home}", f"--config-dir={home / 'conf'}", "--console-mode"),
    ]


def _java(version: str) -> javas.Java:
    java = javas.suitable(java_majors(version), javas.installed(os.environ))
    if java is None:
        raise NoServer(f"Neo4j {version} needs Java {_either(java_majors(version))}.")
    return java


def _archive(version: str) -> Path:
    """Where classes of this version are kept as this machine's Java loads them; see `jars.archive`."""
    return jars.archive(version, jars.cache(), _java(version).build)


def _sharing_classes(archive: Path, made: Path | None) -> list[str]:
    """Java's options for starting from kept classes, or for writing them at its end."""
    quiet = "-Xlog:disable"  # of classes that cannot be kept, thousands of lines
    if made is not None:
        return [f"-XX:ArchiveClassesAtExit={made}", quiet]
    # Where it does not fit, as after an update of Java, it is passed over.
    return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", quiet] if archive.exists() else []


def _configuration(port: int, *, with_users: bool, settings: Sequence[str]) -> str:
    """The text of neo4j.conf: as small as a server can be, and seen by nobody else."""
    lines = [
        f"dbms.security.auth_enabled={str(with_users).lower()}",
        "server.default_listen_address=127.0.0.1",
        f"server.bolt.listen_address=127.0.0.1:{port}",
        f"server.bolt.advertised_address=127.0.0.1:{port}",
        "server.http.enabled=false",
        "server.memory.pagecache.size=64m",
        "db.tx_log.preallocate=false",
        "db.tx_log.rotation.size=16m",
        "dbms.usage_report.enabled=false",
        "internal.vm_pause_monitor.measurement_duration=10s",
        # Each test empties the database, and planning all anew for that costs more than the tests themselves.
        "dbms.cypher.min_replan_interval=1h",
        # Else each query is planned anew for every order of magnitude of each text and list among its values.
        "internal.cypher.use_parameter_size=false",
        *settings,
    ]
    return "".join(f"{line}\n" for line in lines)


def _is_stopped(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        # macOS has no /proc, and always has ps.
        command = ["ps", "-o", "state=", "-p", str(pid)]
        shown = subprocess.run(command, capture_output=True, text=True, check=True)
        state = shown.stdout.strip()
    return state.startswith("T")


def free_port() -> int:
    """A port that nobody listens on."""
    for port in random.sample(PORTS, 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise NoServer(f"No free port between {PORTS.start} and {PORTS.stop}.")


def _either(majors: Sequence[int]) -> str:
    return " or ".join(map(str, majors))
