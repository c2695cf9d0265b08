"""The words that a model is given to merge and to judge a merge, as Markdown files."""

from importlib.resources import files


def load_prompt(name: str) -> str:
    """The text of `<name>.md`."""
    return files(__name__).joinpath(f"{name}.md").read_text("utf-8")
