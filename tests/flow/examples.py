"""The code in docs/extending.md."""

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"


def example(heading: str, number: int = 0) -> str:
    """The code under the heading; number: which of several."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    code = "".join(section.split("```python\n")[number + 1 :][:1]).partition("```")[0]
    assert code, f"{PAGE} has no example of {heading}"
    return code
