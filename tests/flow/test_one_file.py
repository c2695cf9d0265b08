"""A tool, a provider and an embedder are one file each, as docs/extending.md has them."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from ragforge import embedders, providers, tools
from ragforge.domain.errors import UsageError
from ragforge.domain.events import ToolEnded
from ragforge.domain.turns import CallStatus
from ragforge.domain.vectors import check_vector
from ragforge.embedders.base import Embedder
from ragforge.embedders.registry import open_embedder
from ragforge.providers.registry import provider_names
from ragforge.session.model import choose_model
from ragforge.session.state import Session
from tests.flow.examples import PAGE, example
from tests.flow.running import ended, environ, of_type, opened, say
from tests.standins.gemini import Call, Calls, GeminiStandIn, Text

FILES: dict[str, tuple[ModuleType, str]] = {
    "largest": (tools, "A tool"),
    "pipe": (providers, "A provider"),
    "hashing": (embedders, "An embedder"),
}


@pytest.fixture(autouse=True)
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The files of docs/extending.md are there."""
    for name, (package, heading) in FILES.items():
        folder = tmp_path / "more" / name
        folder.mkdir(parents=True)
        (folder / f"{name}.py").write_text(example(heading))
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    yield
    for name, (package, _) in FILES.items():
        sys.modules.pop(f"{package.__name__}.{name}", None)


async def test_a_tool_is_a_file(session: Session, gemini: GeminiStandIn) -> None:
    (session.cwd / "folder").mkdir()
    (session.cwd / "folder" / "b.txt").write_text("b" * 90_000)
    gemini.script(
        Calls(Call("largest", {"limit": 1})),
        Calls(Call("largest", {"path": "gone"})),
        Text("Delete b.txt."),
    )
    events = await say(session, "What takes the room?")
    found, failed = [event.call for event in of_type(events, ToolEnded)]
    assert found.result.split() == ["90000", "folder/b.txt"]
    assert (failed.status, "gone does not exist" in failed.result) == (CallStatus.FAILED, True)
    assert ended(events).assistant == "Delete b.txt."


async def test_a_provider_is_a_file(tmp_path: Path, gemini: GeminiStandIn) -> None:
    assert "pipe" in provider_names()
    env = environ(tmp_path, gemini) | {"RAGFORGE_MEMORY_EMBEDDER": "hashing:16"}
    async with opened(tmp_path, env) as session:
        await choose_model(session, "pipe:cat")
        assert ended(await say(session, "Polly")).assistant == "Polly"
        await choose_model(session, "pipe:no-such-program")
        assert "Cannot start no-such-program" in str((await say(session, "Polly"))[-1])
        assert session.workspace.recall.embedder is not None
        assert session.workspace.recall.embedder.name == "hashing-16-1"


async def test_an_embedder_is_a_file_and_named_where_another_is_unknown() -> None:
    def find(name: str) -> Embedder:
        made = open_embedder(name, find_key=lambda _: None, endpoints={}, environ={})
        assert made is not None
        return made

    one, same, other, empty = await find("hashing:64").embed(["a cat", "A CAT", "two dogs", ""])
    assert one == same != other
    check_vector(empty, of="nothing")
    with pytest.raises(UsageError, match=r"from 2 to 4096 dimensions, not 'many'"):
        find("hashing:many")
    for unknown in ("hashing", "static:x", "base", "registry:x", "no.such:x", ""):
        with pytest.raises(UsageError, match=r"e5, .*hashing:DIMENSIONS, minilm, model2vec:FOLDER, static"):
            find(unknown)


def test_what_the_page_says_to_look_at_is_there() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    for row in rows:
        *_, folder, _, look_at, _ = row.split("|")
        for name in re.findall(r"`([\w/]+\.py)`", look_at):
            found = [
                Path(place, name) for place in (*re.findall(r"`(ragforge/[\w/]+/)`", folder), "", "ragforge")
            ]
            assert any((PAGE.parents[1] / path).is_file() for path in found), name
