"""Print how well memories and constraints are found.

    python -m tests.extraction                              by rules, without a model
    python -m tests.extraction --model gemini:gemini-3.5-flash-lite     by a model, which costs what it costs
    python -m tests.extraction --mistakes                   with each mistake in words
    python -m tests.extraction FILE                         annotated messages, by rules (see statements.py)

A model's key is looked for where the program looks for it. With a real model this was never run: there was
no key where it was written. Against the stand-in server it runs (`tests/flow/test_extraction.py`).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path

from ragforge.config.secrets import find_key
from ragforge.domain.errors import RagforgeError, StoreUnavailable
from ragforge.domain.search import Hit
from ragforge.providers.base import Provider, ProviderParts
from ragforge.providers.registry import open_provider, parse_model
from tests.extraction.measure import SETS, Measured, load, measure_model, measure_offline
from tests.extraction.statements import measure_statements, read_statements


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.extraction", description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, help="a file of annotated messages")
    parser.add_argument("--model", help="provider:name; without it the rules are measured")
    parser.add_argument("--mistakes", action="store_true", help="print each mistake")
    given = parser.parse_args()
    if given.file:
        return _of_file(given.file, mistakes=given.mistakes)
    try:
        measured = asyncio.run(_with_model(given.model)) if given.model else _by_rules()
    except RagforgeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    for name, one in measured.items():
        print(f"## {name}: {len(load(name))} turns\n\n{one.table()}\n")
        if given.mistakes:
            print("\n".join([*one.mistakes, ""]))
    return 0


def _of_file(path: Path, *, mistakes: bool) -> int:
    try:
        items = read_statements(path)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    report = measure_statements(items)
    print(f"## {path.name}: {len(items)} messages\n\n{report.table()}")
    if mistakes:
        print("\n".join(["", *report.mistakes]))
    return 0


def _by_rules() -> dict[str, Measured]:
    return {name: measure_offline(load(name)) for name in SETS}


async def _with_model(name: str) -> dict[str, Measured]:
    provider = await asyncio.to_thread(_open, name)
    try:
        return {name: await measure_model(provider, load(name)) for name in SETS}
    finally:
        await provider.close()


def _open(name: str) -> Provider:
    def known_key(provider: str) -> tuple[str, str] | None:
        found = find_key(provider, os.environ)
        return (found.value, found.source) if found else None

    async def no_blob(digest: str) -> bytes:
        raise StoreUnavailable(f"There are no images here, so not {digest} either.")

    async def no_search(text: str, limit: int) -> list[Hit]:
        return []

    parts = ProviderParts(known_key, no_blob, no_search, environ=os.environ)
    return open_provider(parse_model(name), parts=parts)


if __name__ == "__main__":
    sys.exit(main())
