"""The prompts for the model, as Markdown files with fields in braces."""

from functools import cache
from importlib.resources import files


@cache
def load_prompt(name: str) -> str:
    """Return the text of `<name>.md`."""
    return files(__name__).joinpath(f"{name}.md").read_text("utf-8")
