"""This repository's own history replayed as edits and commands, with rules that were kept in it."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import Any

from ragforge.agent.constraint_hits import hits_of
from tests.constraints.measure import constraints_from, counted, effects, shown

CALLS = 1_000
SEED = 7
LINES_MAX = 400
KEPT = (
    "never use pip, we use uv",
    "no npm in this project",
    "no poetry, no conda",
    "never force-push",
    "no sudo on this machine",
    "don't run docker compose down with -v",
    "never run terraform apply",
    "never edit files under vendor/",
    "never touch third_party/",
    "don't edit anything in generated/",
    "never write to data/raw/",
    "don't ever touch .env",
    "leave infra/prod/ alone",
    "never delete anything in archive/",
    "no pandas, ever",
    "don't add django",
    "never import flask",
    "no eval() in the code",
    "never use os.system",
    "no pickle, json is enough",
    "no unittest.mock in the tests",
    "no time.sleep() in the tests",
    "no tabs in the python files",
    "no goto",
    "pas de console.log dans le code",
    "jamais de curl dans les scripts",
    "ne modifie jamais les fichiers dans migrations/",
    "pas de lodash ici",
    "n'utilise jamais yarn",
    "on ne touche jamais à config/prod.yml",
)


def measure_history(root: Path = Path()) -> list[str]:
    """How many of the calls go against a rule. Raises OSError where git is missing."""
    rules = [each for rule in KEPT for each in constraints_from(rule)]
    calls = sample(root)
    hits = [(call, found) for call in calls if (found := hits_of(rules, effects(call)))]
    told = [f"{found[0].constraint.text}  <-  {shown(call)}  ({found[0].found})" for call, found in hits]
    return [
        f"rules kept                 {len({each.id for each in rules})} of {len(KEPT)}",
        f"false hits in the history  {counted(len(hits), len(calls))}",
        *told,
    ]


def sample(root: Path) -> list[dict[str, Any]]:
    """As many calls as CALLS: the changes of single files, and the commands that commit them."""
    log = _git(root, "log", "--no-merges", "--format=%H %s", "-n", "600").splitlines()
    chosen = random.Random(SEED)
    calls: list[dict[str, Any]] = []
    for line in chosen.sample(log, len(log)):
        commit, _, subject = line.partition(" ")
        for path in _git(root, "show", "--format=", "--name-only", commit).split():
            old, new = _content(root, f"{commit}~", path), _content(root, commit, path)
            if new is None:
                calls.append({"tool": "shell", "command": f"git rm {path}"})
            elif old is None or max(old.count("\n"), new.count("\n")) > LINES_MAX:
                calls.append({"tool": "write", "path": path, "content": new})
            else:
                calls.append({"tool": "edit", "path": path, "old": old, "new": new})
        quoted = subject.replace("'", "'\\''")
        calls.append({"tool": "shell", "command": f"make check && git add -A && git commit -m '{quoted}'"})
        if len(calls) >= CALLS:
            break
    return calls[:CALLS]


def _content(root: Path, commit: str, path: str) -> str | None:
    try:
        return _git(root, "show", f"{commit}:{path}")
    except (subprocess.CalledProcessError, UnicodeDecodeError):
        return None


def _git(root: Path, *words: str) -> str:
    ran = subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)
    return ran.stdout.decode()
