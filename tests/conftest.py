"""What holds for every test: nothing of the user who runs them is read or touched."""

import gc
import hashlib
import os
import signal

import pytest
from hypothesis import settings

from tests import scope

# A shell that starts this in the background lets it ignore Ctrl+C, `nohup` lets it ignore a hang-up, and the
# processes that tests start would inherit that. A handler is not inherited, unlike SIG_IGN: the run itself
# survives the hang-up that it was told to survive.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

# Examples are counted, not timed: the machines that run this are shared. `make test` tries the same ones each
# time, so what fails is what was changed; `make test-all` tries others in each run.
settings.register_profile("ragforge", deadline=None, derandomize=not scope.OTHERS_EACH_TIME)
settings.load_profile("ragforge")

pytest_plugins = ["tests.servers.plugin"]

SCRUBBED = (
    *("GOOGLE_", "GEMINI_", "OPENAI_", "OPENROUTER_", "RAGFORGE_", "SSL_CERT_"),
    *("NO_COLOR", "COLORFGBG", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"),
)


ID_CHARS_MAX = 200
"""Of the name of a test: a longer one does not fit into a command line, with which it would be run alone."""
VALUE_CHARS_MAX = 60


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: only `make test-all` runs it")
    config.addinivalue_line("markers", "long_on_servers: on servers, only `make test-all` runs it")
    config.addinivalue_line("markers", "each_server: depends on the version of Neo4j, so it runs on each")


def pytest_make_parametrize_id(val: object) -> str | None:
    """The name of a long text or of long bytes: their beginning, and a hash of the whole."""
    if not isinstance(val, str | bytes) or len(val) <= VALUE_CHARS_MAX:
        return None
    whole = val.encode("utf-8", "surrogatepass") if isinstance(val, str) else val
    begins = "".join(letter for letter in whole[:20].decode("ascii", "ignore") if letter.isprintable())
    return f"{begins}-{len(val)}-{hashlib.sha256(whole).hexdigest()[:8]}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if long := [item.nodeid[:ID_CHARS_MAX] for item in items if len(item.nodeid) > ID_CHARS_MAX]:
        raise pytest.UsageError(f"Longer names of tests than {ID_CHARS_MAX} characters: {long}")
    items[:], others = scope.kept(items)
    config.hook.pytest_deselected(items=others)
    scope.share_examples(items)


# Reading the tests makes much that stays, and little garbage.
gc.disable()

GARBAGE = (20_000, 20, 20)
"""How many new objects a collection of garbage waits for, and how many of those the next wider ones."""


def pytest_collection_finish() -> None:
    """What is loaded by now stays: to look for garbage in it took a sixth of the interface's tests' time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)
    gc.enable()


def pytest_sessionfinish() -> None:
    """What was left to the collector is found once: pytest looks five times, in all that has piled up."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _own_environment(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No keys and settings from outside, no keyring, no proxy, and no certificates: no test needs them."""
    for name in [name for name in os.environ if name.upper().startswith(SCRUBBED)]:
        del os.environ[name]
    os.environ["SSL_CERT_DIR"] = str(tmp_path_factory.mktemp("no-certificates"))
    os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
