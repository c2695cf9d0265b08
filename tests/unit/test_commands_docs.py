"""docs/commands.md says of every verb what the verb says of itself."""

import pytest

from ragforge.tui.screens.base import interface_verbs
from tests.documents import FILE, written


def test_the_document_is_as_the_verbs_are_now() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert text == written(text), "stale: run `make docs`"
    assert all(f"| `/{name}" in text for name in interface_verbs())


def test_a_document_without_a_part_is_told() -> None:
    with pytest.raises(ValueError, match="has no part 'subcommands'"):
        written("# Commands")
