"""How well texts fit a message."""

import pytest

from ragforge.memory.recall import fit
from ragforge.memory.recall.fit import Fit


async def test_what_is_kept_of_texts_is_bounded_and_changes_no_measure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = ["The server listens on port 8443.", "Kittens sleep all day.", "The server listens on port 8443."]
    asked = Fit("which port does the server listen on?")
    first = await asked.measure(texts)
    monkeypatch.setattr(fit, "TEXTS_MAX", 1)
    again = await asked.measure(texts)
    assert [one.fits for one in first] == [True, False, True]
    assert again == first == await asked.measure(texts)
    assert len(fit._texts) == 1
