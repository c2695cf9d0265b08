"""The parts of docs/commands.md that are made of the verbs: `make docs` writes them anew."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ragforge.commands.base import Verb, find_verbs
from ragforge.domain.arguments import Face, usage
from ragforge.tui.screens.base import interface_verbs

FILE = Path(__file__).parents[1] / "docs" / "commands.md"
BEGIN, END = "<!-- {}: written by `make docs` -->\n", "<!-- end -->\n"
BAR = r"\|"
"""A bar inside a cell of a Markdown table."""


def parts() -> dict[str, str]:
    """Each part by its name."""
    return {
        "subcommands": _table(_subcommands()),
        "slash commands": _table(rows(interface_verbs().values(), "`")),
    }


def rows(verbs: Iterable[Verb[Any]], code: str = "") -> list[str]:
    """The verbs as rows of a Markdown table. code: what stands around each command."""
    return [
        f"| {code}/{f'{verb.name} {verb.usage}'.rstrip().replace('|', BAR)}{code} | {verb.help}"
        + (f" Also {', '.join(f'{code}/{alias}{code}' for alias in verb.aliases)}." if verb.aliases else "")
        + " |"
        for verb in verbs
    ]


def _table(rows: Iterable[str]) -> str:
    return "\n".join(["| command | does |", "| --- | --- |", *rows])


def _subcommands() -> list[str]:
    found: list[str] = []
    for verb in find_verbs().values():
        named = {verb.name: verb} if verb.opens or verb.shell else {}
        for each in verb.verbs_on(Face.SHELL):
            below = each.verbs_on(Face.SHELL)
            named |= {f"{verb.name} {each.name} {one.name}": one for one in below} or {
                f"{verb.name} {each.name}": each
            }
        for name, each in named.items():
            resume = "[-r ID]" if each.takes_session else ""
            words = " ".join(filter(None, [name, usage(each.args, Face.SHELL), resume])).replace("|", BAR)
            found.append(f"| `ragforge {words}` | {each.help} |")
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
