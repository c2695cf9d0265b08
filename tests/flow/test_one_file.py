"""A provider and an embedder are one file each: a file that is added is found by its name."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragforge import embedders, providers
from ragforge.domain.errors import UsageError
from ragforge.embedders.registry import open_embedder
from ragforge.providers.registry import provider_names
from ragforge.session.model import choose_model
from tests.flow.running import ended, environ, opened, say
from tests.standins.gemini import GeminiStandIn

PARROT = '''
"""The provider that says what it was told."""

from ragforge.domain.events import AnswerEnded, FinishReason, TextDelta, UsageSeen
from ragforge.domain.messages import ModelMessage, text_of
from ragforge.domain.usage import Usage
from ragforge.providers.base import ModelLimits, OwnProtocol


class Parrot:
    def __init__(self, model):
        self.name, self.model = "parrot", model

    async def stream(self, request):
        text = f"{self.model}: {request.messages[-1].parts[-1].text}"
        yield TextDelta(text)
        yield UsageSeen(Usage())
        yield AnswerEnded(ModelMessage(self.name, self.model, text), FinishReason.STOP)

    async def limits(self):
        return ModelLimits(100_000, 1_000)

    async def verify(self):
        pass

    async def models(self):
        return ["grey"]

    async def close(self):
        pass


PROVIDER = OwnProtocol(lambda model, parts: Parrot(model))
'''
LENGTHS = '''
"""The embedder that knows how long a text is."""

from array import array

from ragforge.domain.usage import Usage
from ragforge.embedders.base import OwnEmbedder


class Lengths:
    name, dimensions, remote, usage = "lengths-2", 2, False, Usage()

    def __init__(self, unit):
        self._unit = float(unit)

    async def embed(self, texts):
        return [array("f", [1.0, 0.0]) for _ in texts]

    async def embed_query(self, text):
        return array("f", [1.0, 0.0])

    async def prepare(self):
        pass

    async def close(self):
        pass


EMBEDDER = OwnEmbedder(("lengths:UNIT",), lambda rest, parts: Lengths(rest))
'''


@pytest.fixture
def added(tmp_path: Path) -> Iterator[None]:
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "parrot.py").write_text(PARROT)
    (folder / "lengths.py").write_text(LENGTHS)
    for package in (providers, embedders):
        package.__path__.append(str(folder))
    yield
    for package in (providers, embedders):
        package.__path__.remove(str(folder))
    for name in ("ragforge.providers.parrot", "ragforge.embedders.lengths"):
        sys.modules.pop(name, None)


async def test_a_provider_is_a_file(tmp_path: Path, gemini: GeminiStandIn, added: None) -> None:
    assert "parrot" in provider_names()
    env = environ(tmp_path, gemini) | {"RAGFORGE_MEMORY_EMBEDDER": "lengths:3"}
    async with opened(tmp_path, env) as session:
        await choose_model(session, "parrot:grey")
        assert ended(await say(session, "Polly")).assistant == "grey: Polly"
        assert session.workspace.recall.embedder is not None
        assert session.workspace.recall.embedder.name == "lengths-2"


def test_an_embedder_is_a_file_and_named_where_another_is_unknown(added: None) -> None:
    def find(name: str, endpoints: dict[str, object] | None = None) -> object:
        return open_embedder(name, find_key=lambda _: None, endpoints={}, environ={})

    assert find("lengths:3").dimensions == 2
    for unknown in ("lengths", "static:x", "base", "registry:x", "no.such:x", ""):
        with pytest.raises(UsageError, match=r"lengths:UNIT, model2vec:FOLDER, static"):
            find(unknown)
