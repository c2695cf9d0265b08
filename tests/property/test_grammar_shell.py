"""The shell grammar against bash itself."""

import shlex

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragforge.shell.grammar import SimpleCommand, parse_command
from tests.bash_trace import trace

PIECES = [
    *("c0", "c1", "c2", " ", " ", " ", "  ", "\t", "\n", ";", "&&", "||", "|", "&", "(", ")", "{", "}"),
    *("'", '"', "\\", "$(", "`", "$", "#", "!", "~", "*", "?", "[", "]", "=", "<", ">", ">>", "2>&1"),
    *("<<E\n", "\nE\n", "$'", "\\n", "$((", "))", "a", "b", "-x", "/", "c0 'a b'", "'c1; c2'", '"c0 c1"'),
    *("x=1", "<(", ">(", "$x", "${x}", "${", "if", "then", "fi", "for", "in", "do", "done", "case", "esac"),
    *("[[", "]]", "function", "%", "^", ",", "..", "{a,b}", "é", "<<<", "&>", "|&", "-", "1", " c1 ", "; c2"),
    *("\\\n", "E", "<<-E\n", "<<'E'\n", "time "),
]
command_lines = st.builds("".join, st.lists(st.sampled_from(PIECES), min_size=1, max_size=10))


def can_be(ran: tuple[str, ...], command: SimpleCommand) -> bool:
    """Whether the command, as far as its words are literal, is what ran."""
    if command.literal:
        return ran == command.texts
    literal = next(index for index, word in enumerate(command.words) if not word.literal)
    return ran[:literal] == command.texts[:literal]


@settings(max_examples=250, deadline=None)
@given(command_lines)
@example("c0 -x>/dev/null c1")
@example("c0 a\\\nb")
@example("c0;!'c1; c2'2{")
@example("c1 do !E\n\\\nfunction! c1 ")
@example("c0 1\n c1  ||-2>&1")
@example(" c0 b\nE\n[]|-")
@example("c0c0\\n>$ E")
@example("c0 x\\\n;c1")
@example("[ -f a ]#|&~[ |&@")
@example("{ c0; }c1")
def test_whatever_bash_runs_was_told(text: str) -> None:
    parsed = parse_command(text)
    if parsed is None or parsed.strange:
        return
    for returns in (0, 1):
        seen = trace(text, returns=returns)
        for ran in seen.ran:
            assert any(can_be(ran, command) for command in parsed.commands), (ran, parsed)
        if all(redirection.harmless for redirection in parsed.redirections):
            assert seen.files == []


plain = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Zs", "Zl", "Zp"]), min_size=1, max_size=6
)
special = st.text(" \n\t'\"\\$`;&|<>(){}[]*?~#!=", max_size=6)
values = st.builds("".join, st.lists(plain | special, max_size=3))


def quoted_in_pieces(value: str, ways: list[int]) -> str:
    """The value as a shell word, each part of it quoted in another way."""
    parts: list[str] = []
    for index, char in enumerate(value):
        way = ways[index % len(ways)] if ways else 0
        if way == 0 or char == "\n":
            parts.append("'" + char + "'" if char != "'" else '"\'"')
        elif way == 1:
            parts.append('"' + (f"\\{char}" if char in '"\\$`' else char) + '"')
        else:
            parts.append(f"\\{char}")
    return "".join(parts) or "''"


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(values, st.lists(st.integers(0, 2), max_size=4)), min_size=1, max_size=5))
@example([("\n$", [2])])
@example([("00", [0, 2])])
def test_quoted_words_are_what_bash_passes_on(items: list[tuple[str, list[int]]]) -> None:
    text = "c0 " + " ".join(quoted_in_pieces(value, ways) for value, ways in items)
    expected = ("c0", *(value for value, _ in items))
    assert trace(text).ran == [expected]
    parsed = parse_command(text)
    if parsed is not None and not parsed.strange:  # the grammar stumbles over some backslashes, and says so
        assert [command.texts for command in parsed.commands] == [expected]
        assert parsed.commands[0].literal


@settings(max_examples=150, deadline=None)
@given(st.lists(values, min_size=1, max_size=5))
@example(["=="])
@example(["=~"])
@example(["==", "=="])
def test_shlex_quoting_is_undone(words: list[str]) -> None:
    parsed = parse_command("c0 " + shlex.join(words))
    if {"==", "=~"} & {*words} and (parsed is None or parsed.strange):
        return  # the grammar may take a bare one for the operator of a test: then the user is asked
    assert parsed is not None
    assert [command.texts for command in parsed.commands] == [("c0", *words)]


@settings(max_examples=500, deadline=None)
@given(st.text(max_size=60) | command_lines)
def test_any_text_is_parsed_or_not_but_never_fails(text: str) -> None:
    parse_command(text)
