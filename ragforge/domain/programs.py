"""What is known of a program without assembling it."""

import re

SUFFIX = ".spu"
"""Ends the name of a program's file."""

PROGRAM_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
"""What `.program` can say, and so how a program's file can be called."""

_DESCRIPTION = re.compile(r"^[ \t]*\.description[ \t]+([^;\n]+)", re.MULTILINE)


def description_of(text: str) -> str:
    """What the program says of itself; empty where it says nothing."""
    found = _DESCRIPTION.search(text)
    return " ".join(found[1].split())[:200] if found else ""
