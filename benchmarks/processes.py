"""The processor time of whole processes: `search`, `-p` and others, against another version and ripgrep.

All rows are measured alternately, so that a busy machine slows each; the others are compared with the first.
Time is processor time, of the process and its children. `-p` uses the stand-in for Gemini.

Run: python benchmarks/processes.py [--pairs 20] [--turns 100000] [--against TREE] [--rg PATH]
TREE is a checkout of another version; it runs in this environment, with a store and folders of its own.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import apsw

HERE = Path(__file__).parents[1]
WORDS = "ragforge bricle pladi"
TEXTS = """
SELECT user || char(10) || assistant FROM turn UNION ALL SELECT args || char(10) || result FROM tool_call
"""
SEEDING = """
import asyncio, sys
from pathlib import Path
from hybrid import filled, matrix_of
from seed import seeded
from ragforge.embedders.static import StaticEmbedder
store, turns, embedder = seeded(Path(sys.argv[1]), turns=int(sys.argv[2])), int(sys.argv[2]), StaticEmbedder()
asyncio.run(filled(store, matrix_of(turns, embedder.dimensions), embedder.name))
"""
TEXTS_A_FILE = 1_000
KEY = "stand-in-key"
COMMANDS: Mapping[str, Sequence[str]] = {
    "--version": ("--version",),
    "config": ("config",),
    "search": ("search", "--all", WORDS),
    "search --json": ("search", "--all", "--json", WORDS),
    "-p": ("-p", "Say a word."),
}


def cost_of(command: Sequence[str], environ: Mapping[str, str], folder: Path) -> tuple[float, float]:
    """Return the milliseconds of processor time, and the maximum of memory in MB."""
    script = 'cd "$1" && shift && exec "$@"'
    silent = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    arguments = ["/bin/sh", "-c", script, "sh", str(folder), *command]
    child = os.posix_spawn(arguments[0], arguments, environ, file_actions=silent)
    _, status, used = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):  # ripgrep exits with 1 if it finds nothing
        raise RuntimeError(f"{command} ended with {status}")
    return (used.ru_utime + used.ru_stime) * 1000, used.ru_maxrss / 1024


def compare(rows: Mapping[str, tuple[Sequence[str], Mapping[str, str], Path]], pairs: int) -> None:
    """Print the cost of each, and its ratio to the first."""
    for row in rows.values():
        cost_of(*row)  # once: files are in memory, bytecode is compiled, a store is migrated
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in rows}
    for _ in range(pairs):
        for name, row in rows.items():
            costs[name].append(cost_of(*row))
    first = [ms for ms, _ in next(iter(costs.values()))]
    for name, found in costs.items():
        times = [ms for ms, _ in found]
        print(
            f"  {name:<24} min {min(times):7.1f}  median {statistics.median(times):7.1f} ms  "
            f"{statistics.median(mb for _, mb in found):5.0f} MB  "
            f"ratio {min(times) / min(first):.2f}, {statistics.median(times) / statistics.median(first):.2f}"
        )


def environ_of(tree: Path, folder: Path, store: Path, url: str) -> dict[str, str]:
    """Return the variables of a run: data and settings of its own, and the stand-in for Gemini."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAGFORGE_", "PYTHON"))}
    return {
        **kept,
        "PYTHONPATH": str(tree),
        "RAGFORGE_STORE": f"sqlite://{store}",
        "RAGFORGE_DATA_DIR": str(folder / "data"),
        "RAGFORGE_CONFIG_DIR": str(folder / "config"),
        "RAGFORGE_MODEL": "gemini:gemini-3.8-flash",
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": url,
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
    }


def write_texts(store: Path, folder: Path) -> None:
    """Write the same text as files, for ripgrep."""
    folder.mkdir()
    rows = list(apsw.Connection(str(store), flags=apsw.SQLITE_OPEN_READONLY).execute(TEXTS))
    for start in range(0, len(rows), TEXTS_A_FILE):
        texts = [text for (text,) in rows[start : start + TEXTS_A_FILE]]
        (folder / f"{start}.txt").write_text("\n".join(texts))


def stand_in(folder: Path) -> tuple["subprocess.Popen[str]", str]:
    """Start the stand-in for Gemini in a process of its own; return it and its address."""
    script = folder / "script.json"
    always = {"when": [{"contains": "", "reply": {"text": ["Yes."]}}], "structured_always": {"json": {}}}
    script.write_text(json.dumps({"key": KEY, **always}))
    command = [sys.executable, "-m", "tests.standins.gemini", "--port", "0", "--script", str(script)]
    process = subprocess.Popen(command, cwd=HERE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().split()[-1]


def measure(folder: Path, given: argparse.Namespace) -> None:
    """Print a table for each command."""
    trees = {"this": HERE} | ({"other": Path(given.against).resolve()} if given.against else {})
    seed = folder / "seed.db"
    # By the other version, which may not be able to read what this one writes.
    oldest = list(trees.values())[-1]
    environ = {**os.environ, "PYTHONPATH": f"{oldest}:{oldest / 'benchmarks'}"}
    command = [sys.executable, "-P", "-c", SEEDING, str(seed), str(given.turns)]
    subprocess.run(command, env=environ, check=True)
    write_texts(seed, folder / "texts")
    process, url = stand_in(folder)
    project = folder / "project"
    project.mkdir()
    try:
        environs: dict[str, dict[str, str]] = {}
        for name, tree in reversed(trees.items()):
            (folder / name).mkdir()
            store = shutil.copyfile(seed, folder / name / "store.db")
            environs[name] = environ_of(tree, folder / name, store, url)
            run = [sys.executable, "-m", "ragforge", *COMMANDS["-p"]]
            cost_of(run, environs[name], project)  # after which the folder's project is known
        for title, arguments in COMMANDS.items():
            print(title)
            command = [sys.executable, "-m", "ragforge", *arguments]
            rows = {name: (command, environ, project) for name, environ in environs.items()}
            if title == "search" and given.rg:
                pattern = WORDS.replace(" ", "|")
                ripgrep = [given.rg, "-i", pattern, str(folder / "texts")]
                rows = {"ripgrep": (ripgrep, dict(os.environ), project), **rows}
            compare(rows, given.pairs)
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--turns", type=int, default=100_000)
    parser.add_argument("--against", default="", help="a checkout of another version")
    parser.add_argument("--rg", default=shutil.which("rg") or "", help="where ripgrep is")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), given)


if __name__ == "__main__":
    main()
