"""Which files a word means, by the file extensions of each language; and which files are generated."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

_KINDS: Mapping[str, str] = {
    "python py": "py pyi",
    "typescript ts": "ts tsx mts cts",
    "javascript js": "js jsx mjs cjs",
    "java": "java",
    "kotlin": "kt kts",
    "scala": "scala",
    "go golang": "go",
    "rust": "rs",
    "c": "c h",
    "c++ cpp": "cpp cc cxx hpp hh h",
    "c# csharp": "cs",
    "swift": "swift",
    "ruby": "rb rake",
    "php": "php",
    "perl": "pl pm",
    "lua": "lua",
    "r": "r",
    "julia": "jl",
    "elixir": "ex exs",
    "erlang": "erl",
    "haskell": "hs",
    "ocaml": "ml mli",
    "dart": "dart",
    "gdscript": "gd",
    "shell bash sh": "sh bash zsh",
    "sql": "sql",
    "css": "css scss sass less",
    "html": "html htm",
    "vue": "vue",
    "svelte": "svelte",
    "terraform": "tf tfvars",
    "yaml": "yaml yml",
    "json": "json",
    "toml": "toml",
    "xml": "xml",
    "markdown": "md mdx",
    "latex": "tex",
}
KINDS: Mapping[str, frozenset[str]] = {
    name: frozenset(endings.split()) for names, endings in _KINDS.items() for name in names.split()
}
"""The extensions by the name of the language, in lower case."""
_PROSE = "md mdx rst txt adoc org pdf csv tsv jsonl ndjson"
PROSE: frozenset[str] = frozenset(_PROSE.split())
"""Of documents and collected data: statements in them are content, not code."""
_CODE = """
any async assert await break case cast catch class const continue default del delete double eval exec except
float for free global goto import int lambda let malloc new nil none null panic print printf public private
raise require return sleep static switch throw try unsafe var void while with yield
"""
CODE_WORDS: frozenset[str] = frozenset(_CODE.split())
"""Words of code that are meant literally, not as a part of a name."""
_PROGRAMS = """
apt awk bash brew bundle cargo chmod chown composer conda cp curl dd docker find gh git go gradle grep
helm java kubectl ln make mv mvn node npm npx perl php pip pipx pnpm podman poetry python rails rake rm
rsync ruby scp sed sh sqlite3 ssh sudo systemctl tar tee terraform uv wget xargs yarn
"""
PROGRAMS: frozenset[str] = frozenset(_PROGRAMS.split())
"""Programs that users name when they say what must not be run."""
_OTHER = "lock xlsx xls db sqlite ini cfg conf png svg ipynb proto graphql mod sum tmpl"
ENDINGS: frozenset[str] = PROSE.union(*KINDS.values(), _OTHER.split())
"""Extensions that make a word with a full stop a file name."""

_LOCK_FILES = """
package-lock.json npm-shrinkwrap.json pnpm-lock.yaml bun.lockb go.sum gradle.lockfile packages.lock.json
Package.resolved deno.lock
"""
LOCK_FILES: frozenset[str] = frozenset(_LOCK_FILES.split())
"""Files that name exact versions of dependencies, besides those that end in `.lock`."""
_GENERATED_PATH = re.compile(
    r"\.(?:min\.(?:js|css)|bundle\.js|map|snap|ipynb)$|(?:_pb2(?:_grpc)?\.pyi?|\.pb\.(?:go|cc|h)|\.g\.dart)$"
    r"|(?:^|/)(?:dist|__generated__|__snapshots__)/"
)
_GENERATED_TEXT = re.compile(
    r"@generated\b|\bdo not (?:edit|modify)\b.{0,80}\bgenerated\b"
    r"|\bgenerated\b.{0,80}\bdo not (?:edit|modify)\b|\bauto-?generated (?:by|file|from|code)\b",
    re.IGNORECASE,
)
HEAD_CHARS = 1_000


def is_generated(path: str, text: str) -> bool:
    """Whether the file is generated: a lock file, or one whose name or first lines say so."""
    name = PurePosixPath(path).name
    return (
        name in LOCK_FILES
        or name.endswith(".lock")
        or _GENERATED_PATH.search(path) is not None
        or _GENERATED_TEXT.search(text[:HEAD_CHARS]) is not None
    )
