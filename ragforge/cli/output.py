"""Make others' text safe for the terminal: models, files, titles of sessions."""

import json
import re
import sys
from typing import Any

from ragforge.domain.printable import printable

# JSON only escapes the lower control characters. Half a character cannot be printed.
_COMMANDS = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def json_line(value: Any) -> str:
    """Return the value as JSON on one line."""
    text = json.dumps(value, ensure_ascii=False)
    return _COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def answer_text(text: str) -> str:
    """Return an answer for standard output: a file or another program gets exactly what was said."""
    return printable(text) if sys.stdout.isatty() else text
