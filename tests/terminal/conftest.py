"""A desk with a model, and one without."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flow.running import MODEL
from tests.standins.gemini import KEY
from tests.terminal.screen import Desk, stand_in

EDIT = {"name": "edit", "args": {"path": "greet.txt", "old": "Hello", "new": "Good day"}}
SCRIPT = {
    "when": [
        {"contains": "capital of France", "reply": [{"text": ["It is **Paris**, ", "on the Seine."]}]},
        {
            "contains": "more polite",
            "reply": [{"calls": [{"name": "read", "args": {"path": "greet.txt"}}]}],
        },
        {"contains": "Hello there", "reply": [{"calls": [EDIT]}]},
        {"contains": "dited", "reply": ["It is polite now."]},
        {"contains": "go on for ever", "reply": [{"text": ["I begin to count"]}, {"hang": True}]},
    ]
}


@pytest.fixture(scope="session")
def model_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    script = tmp_path_factory.mktemp("stand-in") / "script.json"
    script.write_text(json.dumps(SCRIPT))
    with stand_in(script) as url:
        yield url


@pytest.fixture
def desk(tmp_path: Path, model_url: str) -> Iterator[Desk]:
    desk = Desk(tmp_path, model=MODEL, env={"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": model_url})
    yield desk
    desk.close()


@pytest.fixture
def bare_desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.close()
