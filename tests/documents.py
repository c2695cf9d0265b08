"""The parts of docs/commands.md that are made of the verbs: `make docs` writes them anew."""

from collections.abc import Iterable
from pathlib import Path

from ragforge.commands.base import Opens, find_verbs
from ragforge.commands.help import BAR, rows

FILE = Path(__file__).parents[1] / "docs" / "commands.md"
BEGIN, END = "<!-- {}: written by `make docs` -->\n", "<!-- end -->\n"


def parts() -> dict[str, str]:
    """Each part by its name."""
    return {"subcommands": _table(_subcommands()), "slash commands": _table(rows("`"))}


def _table(rows: Iterable[str]) -> str:
    return "\n".join(["| command | does |", "| --- | --- |", *rows])


def _subcommands() -> list[str]:
    found: list[str] = []
    for verb in find_verbs().values():
        if verb.opens:
            resume = "" if verb.opens is Opens.NONE else "[-r ID]"
            words = " ".join(filter(None, [verb.name, verb.usage, resume])).replace("|", BAR)
            found.append(f"| `ragforge {words}` | {verb.help} |")
    return found


def written(text: str) -> str:
    """The document with every part as it is now."""
    for name, part in parts().items():
        before, begin, rest = text.partition(BEGIN.format(name))
        _, end, after = rest.partition(END)
        if not end:
            raise ValueError(f"{FILE} has no part {name!r}")
        text = f"{before}{begin}{part}\n{end}{after}"
    return text


if __name__ == "__main__":
    FILE.write_text(written(FILE.read_text(encoding="utf-8")), encoding="utf-8")
