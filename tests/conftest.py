"""What holds for every test: nothing of the person who runs them is read or touched."""

import gc
import os

import pytest
from hypothesis import settings

# Examples are counted, not timed: the machines that run this are shared.
settings.register_profile("ragforge", deadline=None)
settings.load_profile("ragforge")

pytest_plugins = ["tests.servers.plugin"]

SCRUBBED = (
    *("GOOGLE_", "GEMINI_", "OPENAI_", "OPENROUTER_", "RAGFORGE_", "SSL_CERT_"),
    *("NO_COLOR", "COLORFGBG", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"),
)


GARBAGE = (20_000, 20, 20)
"""How many new objects a collection of garbage waits for, and how many of those the next wider ones."""


def pytest_collection_finish() -> None:
    """What is loaded by now stays: to look for garbage in it took a sixth of the interface's tests' time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)


@pytest.fixture(autouse=True, scope="session")
def _own_environment(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No keys and settings from outside, no keyring, no proxy, and no certificates: no test needs them."""
    for name in [name for name in os.environ if name.upper().startswith(SCRUBBED)]:
        del os.environ[name]
    os.environ["SSL_CERT_DIR"] = str(tmp_path_factory.mktemp("no-certificates"))
    os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
