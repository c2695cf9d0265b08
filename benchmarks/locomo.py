"""LoCoMo as neutral lines for `recall.py`: a dialogue turn per line, the evidence of a question as its gold.

    python benchmarks/locomo.py locomo10.json > locomo.jsonl

The data set is Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents" (2024),
CC BY-NC 4.0: get it from its authors; it is for measuring only, and no part of this project.
"""

import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
SESSION = re.compile(r"session_(\d+)")
TURN = re.compile(r"D\d+:\d+")
TURN_TAKES = timedelta(minutes=1)
"""Only the beginning of a session is dated."""


def neutral(sample: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a conversation's turns, then its questions; those without evidence are left out."""
    name, parts = sample["sample_id"], sample["conversation"]
    known: set[str] = set()
    for number in sorted(int(found[1]) for key in parts if (found := SESSION.fullmatch(key))):
        began = datetime.strptime(parts[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
        for index, turn in enumerate(parts[f"session_{number}"]):
            known.add(turn["dia_id"])
            yield {
                "type": "turn",
                "conversation": name,
                "session": f"session {number}",
                "id": turn["dia_id"],
                "at": (began.replace(tzinfo=UTC) + index * TURN_TAKES).isoformat(),
                "user": f"{turn['speaker']}: {turn['text']}",
                "assistant": "",
            }
    for question in sample["qa"]:
        # Some name several turns in one string, some a turn that does not exist.
        named = [turn for text in question["evidence"] for turn in TURN.findall(text)]
        if gold := [turn for turn in dict.fromkeys(named) if turn in known]:
            yield {
                "type": "question",
                "conversation": name,
                "text": question["question"],
                "gold": gold,
                "category": CATEGORIES[question["category"]],
            }


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    for sample in json.loads(Path(sys.argv[1]).read_text("utf-8")):
        for line in neutral(sample):
            print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    # `make bench` runs every file here; without a path there is nothing to convert.
    if len(sys.argv) > 1:
        main()
