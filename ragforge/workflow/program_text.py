"""Programs as texts: their names, whether a text is one, and the header."""

import re

from ragforge.domain.programs import PROGRAM_NAME
from ragforge.workflow.check import assemble
from ragforge.workflow.parse import parse
from ragforge.workflow.syntax import Directive

_NAME = re.compile(r"^[ \t]*\.program[ \t]+([^\s;]+)", re.MULTILINE)


def name_of(text: str) -> str:
    """Return the value of `.program`; empty if there is none."""
    found = _NAME.search(text)
    return found[1] if found and PROGRAM_NAME.fullmatch(found[1]) else ""


def is_program(text: str) -> bool:
    """Whether the text is meant as a program in SPU."""
    return bool(_NAME.search(text)) or assemble(text.encode()).program is not None


def with_header(text: str) -> str:
    """Return the program with a comment on top about it and its inputs, unless it starts with one."""
    text = text if text.endswith("\n") else f"{text}\n"
    if text.lstrip().startswith(";"):
        return text
    statements, _ = parse(text)
    directives = [each for each in statements if isinstance(each, Directive)]
    title = next((each.value for each in directives if each.name == "description"), "") or name_of(text)
    inputs = [each.value for each in directives if each.name == "input"]
    lines = [f"; {title}", *(f"; Input {each}" for each in inputs)]
    return "\n".join([*lines, text])
