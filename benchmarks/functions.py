"""Python's own library as neutral lines for `recall.py`: is source found by its description?

    python benchmarks/functions.py snake|camel > functions.jsonl

Each function is a turn in which it was shown, without its docstring; for some, the docstring is the question.
`camel` writes the names in the source as `maxResults` instead of `max_results`, and nothing else differs. The
lines are from the library of the Python that runs this.
"""

import ast
import json
import random
import re
import sys
import sysconfig
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

FOLDERS = ("", "asyncio", "email", "http")
TURNS, QUESTIONS, TURNS_A_SESSION = 2_500, 400, 25
QUESTION_CHARS = range(40, 200)
SOURCE_CHARS_MAX = 1_800
START, TURN_TAKES = datetime(2026, 3, 1, tzinfo=UTC), timedelta(minutes=7)


def functions() -> Iterator[tuple[str, str, str, str]]:
    """Yield the file, name, source without the docstring, and the docstring's first paragraph."""
    library = Path(sysconfig.get_paths()["stdlib"])
    for file in (file for folder in FOLDERS for file in sorted((library / folder).glob("*.py"))):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or len(node.body) < 2:
                continue
            said = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
            if len(said) >= QUESTION_CHARS.start:
                body = ast.unparse(ast.Module(node.body[1:], []))
                source = f"def {node.name}({ast.unparse(node.args)}):\n{body}"[:SOURCE_CHARS_MAX]
                yield file.name, node.name, source, said[: QUESTION_CHARS.stop]


def lines(*, camel: bool) -> Iterator[dict[str, Any]]:
    """Yield the turns, then the questions."""
    chance = random.Random(3)
    every = list(functions())
    shown = chance.sample(every, min(TURNS, len(every)))
    written = _camel if camel else str
    for number, (file, name, source, _) in enumerate(shown):
        yield {
            "type": "turn",
            "conversation": "library",
            "session": f"session {number // TURNS_A_SESSION}",
            "id": f"turn {number}",
            "at": (START + number * TURN_TAKES).isoformat(),
            "user": written(f"Show me {name} in {file}"),
            "assistant": written(f"```python\n{source}\n```"),
        }
    for number in chance.sample(range(len(shown)), min(QUESTIONS, len(shown))):
        yield {
            "type": "question",
            "conversation": "library",
            "text": shown[number][3],
            "gold": [f"turn {number}"],
            "category": "docstring",
        }


def _camel(text: str) -> str:
    return re.sub(r"(?<=[a-z])_([a-z])", lambda found: found[1].upper(), text)


if __name__ == "__main__":
    # `make bench` runs every file here; without an argument there is nothing to write.
    if len(sys.argv) > 1:
        if sys.argv[1:] not in (["snake"], ["camel"]):
            raise SystemExit(__doc__)
        for line in lines(camel=sys.argv[1] == "camel"):
            print(json.dumps(line, ensure_ascii=False))
