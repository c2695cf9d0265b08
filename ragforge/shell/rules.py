"""Rules for shell commands: which commands a rule matches, and which rule "always" would add.

`shell(git add)` matches every simple command that begins with these whole words; `shell(= rm -r build)`
matches that command exactly. What the tables of programs and their flags do not leave open is only
matched exactly.
"""

import functools
import shlex

from ragforge.domain.approvals import Rule
from ragforge.shell.grammar import SimpleCommand, parse_command
from ragforge.shell.open_words import Surroundings, are_open, depth_of

PATTERN_CHARS_MAX = 300
EXACT = "= "


def matches(rule: Rule, command: SimpleCommand, place: Surroundings) -> bool:
    """Whether the rule allows this command."""
    read = _read_pattern(rule.pattern) if rule.tool == "shell" else None
    if read is None or command.assigns or len(command.words) < len(read[0]) or place.protected:
        return False
    words, exact = read
    if any(not word.literal for word in command.words[: len(words)]):
        return False
    if command.texts[: len(words)] != words:
        return False
    if place.elsewhere and "/" in words[0]:
        return False
    is_open = are_open(command, len(words), place, exact=exact)
    if is_open and not exact:
        return True
    # The same words mean something else in another folder.
    is_same = command.literal and command.texts == words and not place.elsewhere
    return is_same and (is_open or not command.fed)


def propose(command: SimpleCommand, place: Surroundings, *, exact: bool = False) -> Rule | None:
    """Return the narrowest sensible rule that matches the command, or None if none would be safe.

    exact: only this command, even if its first words would otherwise be enough.
    """
    texts = command.texts
    count = None if exact else depth_of(texts)
    if count is not None and not are_open(command, count, place):
        count = None
    chosen = texts if count is None else texts[:count]
    pattern = (EXACT if count is None else "") + shlex.join(chosen)
    if len(pattern) > PATTERN_CHARS_MAX or not pattern.isprintable():
        return None
    rule = Rule("shell", pattern)
    return rule if matches(rule, command, place) else None


@functools.lru_cache(maxsize=512)
def _read_pattern(pattern: str) -> tuple[tuple[str, ...], bool] | None:
    """Return the words of a rule, and whether they are the whole command; None if it is not a shell rule."""
    exact = pattern.startswith(EXACT)
    parsed = parse_command(pattern.removeprefix(EXACT))
    if parsed is None or len(parsed.commands) != 1 or parsed.redirections or parsed.strange:
        return None
    command = parsed.commands[0]
    words = command.words
    if words and words[-1].text == "*" and not words[-1].literal and not exact:
        words = words[:-1]
    if not words or command.assigns or any(not word.literal for word in words):
        return None
    return tuple(word.text for word in words), exact
