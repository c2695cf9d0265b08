"""The prompts for merging and for judging a merge, as Markdown files."""

from importlib.resources import files


def load_prompt(name: str) -> str:
    """Return the text of `<name>.md`."""
    return files(__name__).joinpath(f"{name}.md").read_text("utf-8")
