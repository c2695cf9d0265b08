"""Parse valid text, by one pattern per line; if it does not match, `parse` is used."""

import re

from ragforge.workflow.syntax import (
    Constant,
    Directive,
    FunctionCall,
    Instruction,
    LabelLine,
    LabelName,
    ListOperand,
    ObjectOperand,
    Operand,
    RegisterPath,
    Spot,
    Statement,
)

_TEXT = r"'(?:[^'\\\n]|\\[n'\\])*+'"
_SIMPLE = rf"""
    \$[A-Z_][A-Z0-9_]*+(?:\.[A-Za-z_][A-Za-z0-9_]*+)*+
    |{_TEXT}
    |-?\d++(?:\.\d++)?+(?:[eE][+-]?\d++)?+
    |[a-z_][a-z0-9_]*+
    |[A-Z][A-Z0-9_]*+\(\)"""
_INNER = rf"[^'{{}}\[\];]|{_TEXT}"
_NESTED = rf"[{{\[](?:{_INNER}|[{{\[](?:{_INNER})*+[}}\]])*+[}}\]]"
"""Brackets in brackets, once."""
_OPERAND = rf"({_SIMPLE}|{_NESTED})"
_FURTHER = rf"(?:[ \t]*,[ \t]*{_OPERAND}"
_STATEMENT = re.compile(
    rf"""([ \t]*+)(?:
        ([A-Z][A-Z0-9_]*+)(?:[ \t]++{_OPERAND}{_FURTHER}{_FURTHER}{_FURTHER})?)?)?)?
        |([a-z_][a-z0-9_]*+):
        |\.([A-Za-z_]++)[ \t]*([^;\n]*)
    )?[ \t]*+(?:;[^\n]*+)?\n
    |(?P<other>.)""",
    re.VERBOSE | re.ASCII,
)
_ENTRY = re.compile(
    rf"\s*+(?:([A-Za-z_][A-Za-z0-9_]*+)[ \t]*:\s*+)?({_SIMPLE}|{_NESTED})\s*+(?:,\s*+|$)|(.)",
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)")
_WORDS = {"null": Constant(None), "true": Constant(True), "false": Constant(False)}
_DIGITS = frozenset("-0123456789")


class _NotQuick(Exception):
    """There is something that `parse` must look at."""


class _Operands(dict[str, Operand]):
    """Operands by their text, each parsed once. A look-up raises _NotQuick."""

    def __missing__(self, text: str) -> Operand:
        made = self[text] = _operand(text, self)
        return made


def quick_statements(text: str) -> tuple[Statement, ...] | None:
    """Return the statements as `parse` would, their operands without places; None if uncertain."""
    rows: list[tuple[str, ...]] = _STATEMENT.findall(f"{text}\n")
    is_simple = len(rows) == text.count("\n") + 1
    known = _Operands(_WORDS)
    found: list[Statement] = []
    line = 0
    try:
        add = found.append
        for indent, name, one, two, three, four, label, directive, value, other in rows:
            line += 1
            if name:
                if three:
                    operands = tuple([known[each] for each in (one, two, three, four) if each])
                elif two:  # like most
                    operands = (known[one], known[two])
                else:
                    operands = (known[one],) if one else ()
                add(Instruction(name, operands, Spot(line, len(indent) + 1)))
                if not is_simple:  # brackets span several lines
                    line += sum(each.count("\n") for each in (one, two, three, four))
            elif label:
                add(LabelLine(label, Spot(line, len(indent) + 1)))
            elif directive:
                add(Directive(directive, value.strip(), Spot(line, len(indent) + 1)))
            elif other:
                return None
    except _NotQuick:
        return None
    return tuple(found)


def _operand(text: str, known: _Operands) -> Operand:
    match text[0]:
        case "$" if "." not in text:
            return RegisterPath(text[1:])
        case "$":
            name, *fields = text[1:].split(".")
            return RegisterPath(name, tuple(fields))
        case "'":
            return Constant(_ESCAPE.sub(_character, text[1:-1]) if "\\" in text else text[1:-1])
        case "{" | "[":
            return _bracket(text, known)
        case first if first in _DIGITS:
            return Constant(int(text) if text.lstrip("-").isdigit() else float(text))
        case _:
            return FunctionCall(text[:-2]) if text[-1] == ")" else LabelName(text)


def _bracket(text: str, known: _Operands) -> Operand:
    is_object = text[0] == "{"
    if text[-1] != ("}" if is_object else "]"):
        raise _NotQuick
    entries: list[tuple[str, Operand]] = []
    for key, value, other in _ENTRY.findall(text, 1, len(text) - 1):
        if other or is_object is not (key != ""):
            raise _NotQuick
        entries.append((key, known[value]))
    if not is_object:
        return ListOperand(tuple([operand for _, operand in entries]))
    if len(dict(entries)) < len(entries):
        raise _NotQuick
    return ObjectOperand(tuple(entries))


def _character(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]
