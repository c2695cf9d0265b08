"""What holds for every test: nothing of the person who runs them is read or touched."""

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


@pytest.fixture(autouse=True, scope="session")
def _own_environment() -> None:
    """No keys and settings from outside, no keyring, no proxy."""
    for name in [name for name in os.environ if name.upper().startswith(SCRUBBED)]:
        del os.environ[name]
    os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"


@pytest.fixture(autouse=True)
def _patience(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that has just started plans its first queries for longer than a step may take."""
    if "faults" in request.node.nodeid:
        return  # these are about the deadline
    from ragforge.store.neo4j import carrier, nodes

    monkeypatch.setattr(carrier, "STEP_DEADLINE_S", 30.0)
    monkeypatch.setattr(carrier, "WARM_UP_DEADLINE_S", 60.0)
    monkeypatch.setattr(nodes, "SETTLE_S", 60.0)
    monkeypatch.setattr(nodes, "ANSWER_DEADLINE_S", 30.0)
