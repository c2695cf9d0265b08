"""What a user reads is plain English: phrases of a translated dialect do not come back."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DIALECT = re.compile(
    r"""
    shall\ become | shall\ be\ (?:taken|stopped|forgotten) | for\ want\ of | had\ back
    | wants\ a\ (?:key|user) | and\ there\ is\ none\b | brings?\ (?:it\ )?again | bring\ again
    | lies\ (?:there|on\ the\ disk) | how\ it\ stands | holds\ from\ the\ next\ start
    | from\ the\ next\ start\ on | goes\ on\ from\ (?:here|there|it)\b | all\ the\ same,
    | (?:was|were|is)\ worked\ out | made\ good | stands\ half\ way | \bthe\ person\b | no\ person\ to\ ask
    | is\ no\ (?:text|JSON|date|address) | no\ whole\ answer | put\ back\ everywhere
    | no\ terminal\ to\ ask | wants\ to\ be\ paid | there\ is\ no\ command\ /
    | give\ only\ one\b | takes?\ (?:it|that|them)\ back | nobody\ can\ be\ asked | put\ together\ without
    | words\ alone | (?:chat|files)\ alone | on\ the\ way\ to\ it | words\ of\ before | gone\ on\ with
    | (?:made|built|listed|said)\ anew | cut\ or\ altered
    | \bare\ the\ most\b | what\ is\ owed
    | on\ the\ matter | goes?\ along | took\ its\ place | \blies\ in\b | no\ longer\ holds | without\ a\ word
    | to\ be\ had\b | carried\ to\b | what\ (?:holds|held)\b | as\ it\ stands
    | (?:otherwise|other)\ than\ foreseen | goes\ on\ (?:after|with)\b | model\ hears | which\ nobody\ types
    """,
    re.VERBOSE | re.IGNORECASE,
)


IN_CODE = re.compile(
    r"""
    \b(?:
    (?:lies?|lay|lying)\ (?:there|in|at|beside|below|within|behind|above|outside) | to\ be\ had | at\ hand
    | made\ good | (?:is|are|was|were)\ worked\ out | comes?\ to\ (?:nothing|its\ end|an\ end)
    | shall\ (?:be|become|lie|come|hold|have|not) | goes\ on\ (?:from|with|after|here|there)
    | had\ (?:back|again) | for\ want\ of | (?:made|built|begun|read|listed|asked)\ anew | as\ it\ stands
    | stands?\ (?:there|beside|behind|below) | of\ which\ (?:nobody|none) | hears?\ of | in\ the\ place\ of
    )\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""The same in docstrings and comments, beside code."""


def test_no_phrase_of_the_dialect_is_in_docstrings_and_comments() -> None:
    files = [file for file in sorted((ROOT / "ragforge").rglob("*.py")) if file.parent.name != "language"]
    assert len(files) > 800
    found = [
        f"{file.relative_to(ROOT)}:{number}: {match[0]}"
        for file in files
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if (match := IN_CODE.search(line))
    ]
    assert found == []


def test_no_phrase_of_the_dialect_is_in_what_a_user_reads() -> None:
    read = [*strings(), *pages()]
    assert len(read) > 5_000
    found = [f"{where}: {match[0]}" for where, text in read if (match := DIALECT.search(text))]
    assert found == []


def strings() -> Iterator[tuple[str, str]]:
    """Yield the string literals of the program, an f-string as one; users do not read docstrings."""
    for file in sorted((ROOT / "ragforge").rglob("*.py")):
        if not file.is_relative_to(ROOT / "ragforge" / "domain" / "language"):
            yield from _strings_of(file)


def _strings_of(file: Path) -> Iterator[tuple[str, str]]:
    within = set[int]()
    for node in ast.walk(ast.parse(file.read_bytes())):
        match node:
            case ast.Expr(value=ast.Constant() as docstring):
                within.add(id(docstring))
            case ast.JoinedStr(values=parts):
                within |= {id(part) for part in parts}
                texts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts]
                yield f"{file.relative_to(ROOT)}:{node.lineno}", "".join(texts)
            case ast.Constant(value=str() as text) if id(node) not in within:
                yield f"{file.relative_to(ROOT)}:{node.lineno}", text
            case _:
                pass


def pages() -> Iterator[tuple[str, str]]:
    """Yield each line of the pages and prompts with the start of the next, where a phrase may end."""
    prompts = (ROOT / "ragforge" / "agent").rglob("*.md")
    for file in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(prompts)):
        lines = file.read_text(encoding="utf-8").splitlines()
        for number, (line, after) in enumerate(zip(lines, [*lines[1:], ""], strict=True), 1):
            yield f"{file.relative_to(ROOT)}:{number}", f"{line} {after[:20]}"
