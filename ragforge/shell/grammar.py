"""Parse a shell command with a real grammar: its simple commands, word by word.

Approval depends on this, so it is parsed twice: the grammar (tree-sitter-bash) says where the words are, and
a scanner of ours says what each of them means. If the two disagree, the command counts as unknown.
"""

import functools
import itertools
import re
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ragforge.shell.words import Word, read_word

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

CHARS_MAX = 20_000
DEPTH_MAX = 100


class SimpleCommand(Struct, frozen=True):
    """A program or builtin and its words.

    fed: it may read another command's output, so its effect depends on that too.
    """

    words: tuple[Word, ...]
    assigns: bool = False
    fed: bool = False

    @property
    def literal(self) -> bool:
        """Whether every word is exactly what is written."""
        return all(word.literal for word in self.words)

    @property
    def texts(self) -> tuple[str, ...]:
        """The words' texts; those of words that are not literal are as written."""
        return tuple(word.text for word in self.words)


class Redirection(Struct, frozen=True):
    """`2>file`: the operator with its descriptor, and the target (absent for here-documents)."""

    operator: str
    target: Word | None

    @property
    def harmless(self) -> bool:
        """Whether nothing is read or written: output discarded, or merged into the other output."""
        if self.target is None or not self.target.literal:
            return False
        if self.operator in {">", "1>", "2>", "&>", ">>", "1>>", "2>>", "<", "0<"}:
            return self.target.text == "/dev/null"
        return self.operator in {">&", "1>&", "2>&"} and self.target.text in {"1", "2"}


class Parsed(Struct, frozen=True):
    """A parsed command line.

    commands: all simple commands, however deep, also those inside `$(...)`.
    strange: whatever else it contains besides lists, pipelines, groups and substitutions of simple commands
    (a loop, an assignment, ...): these change the meaning of words, so they are reported but not judged.
    """

    commands: tuple[SimpleCommand, ...]
    redirections: tuple[Redirection, ...] = ()
    strange: tuple[str, ...] = ()


def parse_command(text: str) -> Parsed | None:
    """Return the parsed command, or None if it cannot be parsed reliably."""
    if len(text) > CHARS_MAX or any(not (char.isprintable() or char in "\n\t") for char in text):
        # Other control characters and foreign blanks: shells disagree whether they separate words.
        return None
    try:
        source = text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return None
    root = _parser().parse(source).root_node
    if root.has_error or not _covers(root, source):
        return None
    reading = _Reading(source)
    reading.visit(root, fed=False, depth=0)
    if reading.failed:
        return None
    return Parsed(tuple(reading.commands), tuple(reading.redirections), tuple(dict.fromkeys(reading.strange)))


@functools.cache
def _parser() -> "Parser":
    # Imported here: a search or --version never parses a shell command.
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


# Nodes that do not change the meaning of the words in them. All others count as strange.
_PLAIN = {
    "program",
    "list",
    "pipeline",
    "subshell",
    "compound_statement",
    "negated_command",
    "redirected_statement",
    "command",
    "command_name",
    "file_redirect",
    "file_descriptor",
    "comment",
    "word",
    "number",
    "string",
    "string_content",
    "raw_string",
    "concatenation",
    "simple_expansion",
    "variable_name",
    "special_variable_name",
    "command_substitution",
}
_WORDS = {
    "word",
    "number",
    "string",
    "raw_string",
    "ansi_c_string",
    "translated_string",
    "concatenation",
    "simple_expansion",
    "expansion",
    "command_substitution",
    "arithmetic_expansion",
    "process_substitution",
    "brace_expression",
    "test_operator",
    "extglob_pattern",
    "regex",
}
_BLANKS = frozenset((b" ", b"\t", b"\n"))
_SEPARATORS = _BLANKS | {b"", b";", b"&", b"|", b"(", b")"}
_OPENERS = {"negated_command", "compound_statement"}
_ONE_LINE = {"command", "redirected_statement", "file_redirect", "test_command", "negated_command"}
_RESERVED = frozenset(
    (
        *("if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "in"),
        *("select", "function", "time", "coproc", "{", "}", "!", "[[", "]]"),
    )
)
_STRANGE = {
    "variable_assignment": "an assignment",
    "variable_assignments": "an assignment",
    "declaration_command": "a declaration",
    "unset_command": "a declaration",
    "function_definition": "a function",
    "for_statement": "a loop",
    "c_style_for_statement": "a loop",
    "while_statement": "a loop",
    "if_statement": "a condition",
    "case_statement": "a condition",
    "test_command": "a test",
    "expansion": "${...}",
    "arithmetic_expansion": "arithmetic",
    "process_substitution": "a process substitution",
    "ansi_c_string": "$'...'",
    "translated_string": '$"..."',
    "brace_expression": "a brace expression",
    "heredoc_redirect": "a here-document",
    "herestring_redirect": "a here-string",
}


class _Reading(Struct):
    source: bytes
    commands: list[SimpleCommand] = field(default_factory=list[SimpleCommand])
    redirections: list[Redirection] = field(default_factory=list[Redirection])
    strange: list[str] = field(default_factory=list[str])
    failed: bool = False

    def visit(self, node: "Node", *, fed: bool, depth: int) -> None:
        """Read a node and all below it."""
        if depth > DEPTH_MAX:
            self.failed = True
        if self.failed:
            return
        if not self._well_spaced(node):
            self.strange.append("unusual blanks")
        match node.type:
            case "command":
                self._read_command(node, fed=fed)
            case "test_command" if node.children[0].type == "[":
                words = [self._word(leaf) for leaf in _tokens(node)]
                self.commands.append(SimpleCommand(tuple(words), fed=fed))
                self._visit_expansions(node, fed=fed, depth=depth)
                return
            case "file_redirect":
                self._read_redirection(node)
            case "heredoc_redirect" | "herestring_redirect":
                self.redirections.append(Redirection("<<", None))
            case "compound_statement" if node.children[0].type != "{":
                self.strange.append("arithmetic")
            case _:
                pass
        if node.is_named and node.type not in _PLAIN:
            self.strange.append(_STRANGE.get(node.type, node.type.replace("_", " ")))
        for index, child in enumerate(node.children):
            feeds = fed or (node.type == "pipeline" and index > 0)
            self.visit(child, fed=feeds, depth=depth + 1)

    def _well_spaced(self, node: "Node") -> bool:
        """Whether blanks are where the shell requires them; the grammar is more permissive."""
        parts = node.children
        before = self.source[: node.start_byte][-1:]
        after = self.source[node.end_byte : node.end_byte + 1]
        match node.type:
            case "file_descriptor":
                return _text(node).isdecimal() and before in _SEPARATORS
            case "comment":
                return before in _SEPARATORS
            case "!" | "{" if node.parent is not None and node.parent.type in _OPENERS:
                return after in _BLANKS
            case "test_command" | "compound_statement" if after not in _SEPARATORS:
                return False
            case _:
                pass
        if node.type not in _ONE_LINE:
            return True
        if node.type == "test_command":
            parts = _tokens(node)
        gaps = [
            self.source[left.end_byte : right.start_byte].replace(b"\\\n", b"")
            for left, right in itertools.pairwise(parts)
        ]
        return all(b"\n" not in gap and (gap or node.type != "test_command") for gap in gaps)

    def _visit_expansions(self, node: "Node", *, fed: bool, depth: int) -> None:
        for token in _tokens(node):
            if token.type in _WORDS - {"test_operator", "extglob_pattern", "regex"}:
                self.visit(token, fed=fed, depth=depth + 1)

    def _read_command(self, node: "Node", *, fed: bool) -> None:
        pieces: list[list[Node]] = []
        for child in node.children:
            name = child.children[0] if child.type == "command_name" and child.children else child
            if name.type not in _WORDS:
                if name.type not in {"variable_assignment", "file_redirect", "herestring_redirect"}:
                    self.strange.append(f"{name.type!r}")
            elif pieces and pieces[-1][-1].end_byte == name.start_byte:
                # Without a blank between them it is one word, whatever the grammar says.
                pieces[-1].append(name)
            else:
                pieces.append([name])
        words = [self._word(*nodes) for nodes in pieces]
        assigns = any(child.type == "variable_assignment" for child in node.children)
        if words and (words[0].text in _RESERVED or (words[0].literal and "=" in words[0].text)):
            self.strange.append(repr(words[0].text))
        self.commands.append(SimpleCommand(tuple(words), assigns=assigns, fed=fed))

    def _read_redirection(self, node: "Node") -> None:
        parts = node.children
        targets = [part for part in parts if part.type in _WORDS]
        operator = "".join(_text(part) for part in parts if part not in targets)
        if len(targets) != 1:  # the grammar takes the command's words after the target for more of it
            self.strange.append("words behind a redirection")
        self.redirections.append(Redirection(operator, self._word(targets[0]) if len(targets) == 1 else None))

    def _word(self, *nodes: "Node") -> Word:
        written = self.source[nodes[0].start_byte : nodes[-1].end_byte].decode()
        word = read_word(written)
        if word is None:
            self.failed = True
            return Word(written, literal=False)
        if word.literal and any(inner.type in _EXPANSIONS for node in nodes for inner in _below(node)):
            self.failed = True
        return word


_EXPANSIONS = {
    "simple_expansion",
    "expansion",
    "command_substitution",
    "arithmetic_expansion",
    "process_substitution",
}


def _text(node: "Node") -> str:
    return (node.text or b"").decode()


def _below(node: "Node") -> list["Node"]:
    found = [node]
    for inner in found:  # grows during the iteration
        found.extend(inner.children)
    return found


def _tokens(node: "Node") -> list["Node"]:
    """Return the words and operators below a node, in order."""
    if node.type in _WORDS or not node.children:
        return [node]
    return [token for child in node.children for token in _tokens(child)]


_BLANK = re.compile(rb"(?:[ \t\n]|\\\n)*")


def _covers(root: "Node", source: bytes) -> bool:
    """Whether the grammar's words and operators are the complete source, except blanks between them.

    An escaped newline alone is not a blank: the shell joins the text before and after it to one word.
    """
    position = 0
    for token in _tokens(root):
        if not _is_gap(source[position : token.start_byte]):
            return False
        position = max(position, token.end_byte)
    return _is_gap(source[position:])


def _is_gap(between: bytes) -> bool:
    return not between or bool(_BLANK.fullmatch(between) and between.replace(b"\\\n", b""))
