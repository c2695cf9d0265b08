"""Parse the text of a program to statements, reporting all faults at once."""

import re
from collections.abc import Iterator

from msgspec import Struct

from ragforge.workflow.syntax import (
    Constant,
    Directive,
    Fault,
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

BYTES_MAX = 1_000_000
NESTED_MAX = 32
"""How deep brackets may nest."""
FAULTS_MAX = 100

_TOKEN = re.compile(
    r"""[ \t]+|;[^\n]*
    |(?P<newline>\n)
    |(?P<text>'(?:[^'\\\n]|\\[^\n])*')
    |(?P<register>\$[A-Z_][A-Z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)
    |(?P<call>[A-Z][A-Z0-9_]*\(\))
    |(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![A-Za-z0-9_]))
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<mark>[{}\[\],:])
    |(?P<unclosed>'[^\n]*)
    |(?P<wrong>[^\s,{}\[\];']+|.)""",
    re.VERBOSE,
)
_DIRECTIVE = re.compile(r"[ \t]*\.([A-Za-z_]*)[ \t]*([^;\n]*)(?:;[^\n]*)?", re.ASCII)
_LABEL = re.compile(r"[a-z0-9_]+")
_OPERATION = re.compile(r"[A-Z][A-Z0-9_]*")
_ESCAPE = re.compile(r"\\(.)")
_WORDS = {"null": None, "true": True, "false": False}
OPERANDS = "a register, a text in quotes, a number, null, true, false, an object, a list or a label"


class _Token(Struct, frozen=True):
    kind: str
    text: str
    at: Spot


class _Wrong(Exception):
    def __init__(self, at: Spot, message: str) -> None:
        super().__init__(message)
        self.fault = Fault(at, message)


def read_text(content: bytes) -> tuple[str, list[Fault]]:
    """Return the text of a file, with one kind of line end and no byte order mark."""
    if len(content) > BYTES_MAX:
        return "", [Fault(Spot(), f"A program has at most {BYTES_MAX:,} bytes; this has more.")]
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return "", [Fault(Spot(line, 1), "This is not UTF-8 text.")]
    if "\0" in text:
        return "", [Fault(Spot(text.count("\n", 0, text.index("\0")) + 1, 1), "This is a binary file.")]
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text, []


def parse(text: str) -> tuple[tuple[Statement, ...], list[Fault]]:
    """Return the statements, and the faults of those left out."""
    reader = _Reader(list(_tokens(text)))
    statements: list[Statement] = []
    while len(reader.faults) < FAULTS_MAX and (statement := reader.statement()) is not None:
        statements.append(statement)
    return tuple(statements), reader.faults


def _tokens(text: str) -> Iterator[_Token]:
    """Yield the tokens; a directive is one."""
    line, start, position, at_start = 1, 0, 0, True
    while position < len(text):
        if at_start and (directive := _DIRECTIVE.match(text, position)):
            dot = text.index(".", position)
            yield _Token("directive", f"{directive[1]} {directive[2].strip()}", Spot(line, dot - start + 1))
            position = directive.end()
            at_start = False
            continue
        match = _TOKEN.match(text, position)
        assert match is not None  # the last alternative matches any character
        position = match.end()
        at_start = False
        if match.lastgroup:
            yield _Token(match.lastgroup, match[0], Spot(line, match.start() - start + 1))
        if match.lastgroup == "newline":
            line, start, at_start = line + 1, position, True
    yield _Token("newline", "", Spot(line, len(text) - start + 1))
    yield _Token("end", "", Spot(line, len(text) - start + 1))


class _Reader:
    """Builds statements from tokens; after a fault it continues with the next line."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.faults: list[Fault] = []
        self._tokens = tokens
        self._next = 0
        self._open: list[_Token] = []
        """Open brackets, innermost last."""

    def statement(self) -> Statement | None:
        """Return the next valid one; None at the end."""
        while len(self.faults) < FAULTS_MAX:
            token = self._take()
            if token.kind == "end":
                return None
            if token.kind == "newline":
                continue
            try:
                return self._statement(token)
            except _Wrong as wrong:
                self.faults.append(wrong.fault)
                self._skip()
        return None

    def _statement(self, token: _Token) -> Statement:
        if token.kind == "directive":
            name, _, value = token.text.partition(" ")
            self._end_line()
            return Directive(name, value, token.at)
        if self._peek().text == ":" and token.kind in ("word", "number"):
            if not _LABEL.fullmatch(token.text):
                raise _Wrong(
                    token.at, f"The label {token.text!r} may contain only lowercase letters, digits and _."
                )
            self._take()
            if self._peek().kind == "word":
                raise _Wrong(self._peek().at, f"The label {token.text} must be on its own line.")
            self._end_line()
            return LabelLine(token.text, token.at)
        if token.kind != "word":
            raise _Wrong(
                token.at, f"A line must start with an operation, a label or a directive, not {_shown(token)}."
            )
        if not _OPERATION.fullmatch(token.text):
            hint = f" Write {token.text.upper()}, or {token.text}: for a label."
            raise _Wrong(token.at, f"Operations are written in capitals, not {token.text!r}.{hint}")
        operands: list[Operand] = []
        if self._peek().kind != "newline":
            operands.append(self._operand())
            while self._peek().text == ",":
                self._take()
                operands.append(self._operand())
        self._end_line()
        return Instruction(token.text, tuple(operands), token.at)

    def _operand(self) -> Operand:
        token = self._take()
        match token.kind:
            case "register":
                name, *fields = token.text[1:].split(".")
                return RegisterPath(name, tuple(fields), token.at)
            case "text":
                return Constant(_unescaped(token), token.at)
            case "number":
                is_whole = token.text.lstrip("-").isdigit()
                return Constant(int(token.text) if is_whole else float(token.text), token.at)
            case "call":
                return FunctionCall(token.text[:-2], token.at)
            case "word" if token.text in _WORDS:
                return Constant(_WORDS[token.text], token.at)
            case "word" if _LABEL.fullmatch(token.text):
                return LabelName(token.text, token.at)
            case "mark" if token.text in "{[":
                return self._bracket(token)
            case _:
                raise self._unexpected(token)

    def _bracket(self, opening: _Token) -> Operand:
        if len(self._open) == NESTED_MAX:
            raise _Wrong(opening.at, f"Brackets can be nested {NESTED_MAX} deep.")
        self._open.append(opening)
        closing = "}" if opening.text == "{" else "]"
        entries: list[tuple[str, Operand]] = []
        while self._inner().text != closing:
            key = self._key() if closing == "}" else ""
            if key and any(key == known for known, _ in entries):
                raise _Wrong(opening.at, f"The object has the key {key!r} twice.")
            entries.append((key, self._operand()))
            if self._inner().text != ",":
                break
            self._take()
        self._inner()
        token = self._take()
        if token.text != closing:
            raise self._unexpected(token, f", or {closing!r}")
        self._open.pop()
        if closing == "}":
            return ObjectOperand(tuple(entries), opening.at)
        return ListOperand(tuple(value for _, value in entries), opening.at)

    def _key(self) -> str:
        token = self._take()
        if token.kind != "word" or self._breaks_off(token):
            raise self._unexpected(token, "a key, as in {key: value}")
        if self._inner().text != ":":
            raise _Wrong(token.at, f"The key {token.text!r} must be followed by a colon and a value.")
        self._take()
        self._inner()
        return token.text

    def _inner(self) -> _Token:
        """Return the next token within brackets, where line ends do not matter."""
        while self._peek().kind == "newline" and self._tokens[self._next + 1 :]:
            self._next += 1
        return self._peek()

    def _breaks_off(self, token: _Token) -> bool:
        """Whether another statement starts though a bracket is open."""
        is_first = self._next < 2 or self._tokens[self._next - 2].kind == "newline"
        is_operation = is_first and bool(_OPERATION.fullmatch(token.text)) and self._peek().text != ":"
        return token.kind in ("directive", "end") or is_operation

    def _unexpected(self, token: _Token, wanted: str = OPERANDS) -> _Wrong:
        if self._open and self._breaks_off(token):
            opening = self._open[-1]
            self._next -= 1  # it is a separate statement
            return _Wrong(opening.at, f"This {opening.text!r} is never closed.")
        if token.kind == "unclosed":
            return _Wrong(token.at, "This quote is never closed. Write \\n for a new line.")
        if token.text.startswith("$"):
            return _Wrong(
                token.at, f"{token.text!r} is not a register. Use capitals, digits and _, as in $NAME.field."
            )
        return _Wrong(token.at, f"Expected {wanted.removeprefix(', or ')}, not {_shown(token)}.")

    def _end_line(self) -> None:
        token = self._peek()
        if token.kind == "newline":
            return
        self._take()
        if token.kind == "unclosed":
            raise self._unexpected(token)
        raise _Wrong(token.at, f"The line should end here or continue with a comma, not {_shown(token)}.")

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._tokens[self._next]
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return token

    def _skip(self) -> None:
        """Go to the next statement, past the lines of open brackets."""
        depth = len(self._open)
        self._open.clear()
        while self._peek().kind not in ("end", "directive"):
            token = self._peek()
            is_first = self._next > 0 and self._tokens[self._next - 1].kind == "newline"
            follows = self._tokens[self._next + 1]
            if token.kind == "newline" and depth <= 0:
                return
            if is_first and token.kind == "word" and _OPERATION.fullmatch(token.text) and follows.text != ":":
                return
            depth += (token.text in ("{", "[")) - (token.text in ("}", "]"))
            self._next += 1


def _unescaped(token: _Token) -> str:
    def character(match: re.Match[str]) -> str:
        if match[1] not in "n\\'":
            raise _Wrong(token.at, f"\\{match[1]} is not a valid escape; use \\n, \\' or \\\\.")
        return "\n" if match[1] == "n" else match[1]

    return _ESCAPE.sub(character, token.text[1:-1])


def _shown(token: _Token) -> str:
    return {"newline": "the end of the line", "end": "the end of the program"}.get(
        token.kind, repr(token.text[:40])
    )
