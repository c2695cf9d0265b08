"""The language's reference as text: what a model needs to write programs, and a user to read them."""

from functools import cache
from importlib.resources import files


@cache
def reference() -> str:
    """Return the complete reference, in Markdown."""
    return files(__name__.rpartition(".")[0]).joinpath("reference.md").read_text("utf-8")
