"""What `benchmarks/foresight.py` counts."""

import json
import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).parents[2] / "benchmarks" / "foresight.py"
CAME = ("The parser reads dates.", "Nobody came to the harbour.", "The cat sleeps.", "Five boats sank.")
TODO = "todo: write the harbour list and count the boats"


def test_both_measures_over_files_of_their_form(tmp_path: Path) -> None:
    pairs, turns = tmp_path / "pairs.jsonl", tmp_path / "turns.jsonl"
    told = [
        {"predicted": CAME[0], "happened": CAME[n], "rating": 10 - n, "scope": "individual"} for n in range(4)
    ]
    said = [TODO, "count the boats now, and write the harbour list", *CAME]
    pairs.write_text("\n".join(map(json.dumps, told)))
    turns.write_text("\n".join(json.dumps({"turn": n, "user": text}) for n, text in enumerate(said)))
    command = [sys.executable, str(FILE), str(turns), "--pairs", str(pairs)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    by_words = float(lines[1].split()[2])
    assert by_words > 0.7
    assert lines[2].startswith("individual")
    assert lines[-2].startswith("5 turns with a next message, something expected of")
    assert 0 < float(lines[-1].split()[-1]) <= 1
