"""What holds for every test."""

import os

import pytest

LEAKING = ("GOOGLE_", "GEMINI_", "RAGFORGE_", "OPENAI_", "SSL_CERT_")
PROXIES = {"http_proxy", "https_proxy", "all_proxy", "no_proxy"}


@pytest.fixture(autouse=True)
def nothing_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, endpoint or proxy of whoever runs the tests reaches them."""
    for name in tuple(os.environ):
        if name.startswith(LEAKING) or name.lower() in PROXIES:
            monkeypatch.delenv(name)
