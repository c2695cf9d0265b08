"""What languages tell: every pattern can be compiled, and a language is one file."""

import re
import subprocess
import sys
from pathlib import Path

from msgspec.structs import asdict

from ragforge.domain.language.base import Language, filled, languages, stop_words
from ragforge.domain.memories import MemoryType

GERMAN = """
from ragforge.domain.language.base import Language
from ragforge.domain.memories import MemoryType

LANGUAGE = Language(
    stop_words="der die das und ist",
    days={"gestern": -1},
    slots={"openings": "und|aber", "nehmen": "nehmen|verwenden"},
    asks=(r"(?:warum|wieso)\\b",),
    memories={MemoryType.DECISION: (r"\\bwir <nehmen> <name>",)},
    demands=(r"<clause>(?:kein|keine) \\w+",),
)
"""
PROGRAM = """
import sys
from datetime import datetime
import ragforge.domain.language as package
package.__path__.append(sys.argv[1])
from ragforge.domain.language.base import stop_words
from ragforge.memory.constraints import is_demand
from ragforge.memory.extract import type_of
from ragforge.memory.sentences import with_dates
from ragforge.memory.statements import is_question
print(type_of("Ab jetzt gilt: wir nehmen PostgreSQL."), type_of("We decided on PostgreSQL."))
print("und" in stop_words())
print(is_demand("Schnell, aber keine Abkürzungen."), is_question("Warum nehmen wir PostgreSQL"))
print(with_dates("Das war gestern.", datetime(2026, 3, 4)))
"""


def patterns_of(language: Language) -> list[str]:
    values = [value for value in asdict(language).values() if isinstance(value, tuple)]
    return [pattern for value in (*values, *language.memories.values()) for pattern in value]


def test_every_pattern_of_every_language_can_be_compiled_and_knows_its_slots() -> None:
    assert len(languages()) == 2
    for language in languages():
        patterns = patterns_of(language)
        assert len(patterns) > 100
        for pattern in patterns:
            assert not re.search(r"<\w+>", filled(pattern))
            re.compile(filled(pattern))
        assert set(language.memories) == set(MemoryType)


def test_words_of_all_languages_count() -> None:
    assert {"the", "because", "parce", "été"} <= stop_words()
    assert not {"car", "son", "or", "main"} <= stop_words()


def test_a_third_language_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "german.py").write_text(GERMAN, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={"PYTHONUTF8": "1"},
    )
    assert ran.stdout.splitlines() == [
        "decision decision",
        "True",
        "True True",
        "Das war gestern (2026-03-03).",
    ]
