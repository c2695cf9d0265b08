"""Which constraints a call violates. Pure functions: no model, store or file is used."""

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath

from ragforge.agent.call_effects import AddedLine, CallEffects, words_of
from ragforge.domain.approvals import Constraint, ConstraintHit, Deed, Prohibition
from ragforge.domain.file_kinds import CODE_WORDS, KINDS
from ragforge.domain.language.base import AnyOf, acts, words_in
from ragforge.domain.language.words import stem
from ragforge.shell.readonly_commands import find_reads

FOUND_CHARS_MAX = 120
SAME_FLAGS = {"--force": ("-f", "--force-with-lease"), "-f": ("--force",), "-r": ("--recursive", "-R")}
EVERYTHING = frozenset({"*", "**", "**/*", ".", "./", "/", "*.*"})
_TESTS = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__)(?:/|$)|(?:^|/)test_|_test\.|\.(?:test|spec)\.|Tests?\.\w+$"
)
_ASIDE = re.compile(r"(?:^|/)(?:scripts?|tools?|docs?|examples?|bench\w*|host)(?:/|$)")

_ACT = re.compile(r"[a-zà-ÿ]{3,}(?:tion|men[t]|ing)s?")
"""A noun for an action."""
STEM_CHARS_MIN = 4
_TABS = AnyOf(lambda language: language.tabs)

Finder = Callable[[CallEffects], str]
"""The part of a call that violates a prohibition; empty if none does."""


def hits_of(constraints: Sequence[Constraint], effects: CallEffects) -> list[ConstraintHit]:
    """Return the violated constraints, newest first, each with the newest that demands the opposite."""
    found: list[ConstraintHit] = []
    for each in constraints:
        part = next(filter(None, (finder(one)(effects) for one in each.prohibitions)), "")
        if part:
            other = _contrary(each, constraints)
            is_newer = other is not None and other.said_at > each.said_at
            since, before = (other, None) if is_newer else (None, other)
            found.append(ConstraintHit(each, part[:FOUND_CHARS_MAX], since, before))
    return sorted(found, key=lambda hit: hit.constraint.said_at, reverse=True)


def matches_everything(constraint: Constraint) -> bool:
    """Whether it applies to every call that changes something."""
    return any(EVERYTHING & set(each.objects) and not each.outside for each in constraint.prohibitions)


def _contrary(constraint: Constraint, others: Sequence[Constraint]) -> Constraint | None:
    """Return the newest constraint that demands what this one forbids."""
    forbidden = {name.casefold() for each in constraint.prohibitions for name in each.objects}
    contrary = (each for each in others if forbidden & {name.casefold() for name in each.wants})
    return max(contrary, key=lambda each: each.said_at, default=None)


@lru_cache(16_384)  # what is rebuilt for each call costs more than all the rest
def finder(prohibition: Prohibition) -> Finder:
    """Return a function that finds violations, built once."""
    match prohibition.deed:
        case Deed.CHANGE:
            paths = [_path(each) for each in prohibition.objects]
            excepted = [_path(each) for each in prohibition.outside]
            return lambda effects: _first_path((*effects.written, *effects.deleted), effects, paths, excepted)
        case Deed.DELETE:
            paths = [_path(each) for each in prohibition.objects]
            return lambda effects: _first_path(effects.deleted, effects, paths, [])
        case Deed.DEPEND:
            return lambda effects: (
                (_in_place(prohibition, effects) and next(iter(effects.packages), "")) or ""
            )
        case Deed.RUN | Deed.USE:
            return _use(prohibition)


# Paths


def _path(name: str) -> re.Pattern[str]:
    """Return what matches the path and everything below it, at any depth; a plain word is a folder or file
    name."""
    bare = name.strip("/").removeprefix("./").removesuffix("/**")
    if name in EVERYTHING:
        return re.compile("")
    parts = re.split(r"(\*\*/?|\*|\?)", bare)
    inside = {"**": ".*", "**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    # A path from the top is one of the project, or of the machine.
    start = r"(?:^|/)" if not name.startswith("/") else "^/?"
    return re.compile(start + "".join(inside.get(each, re.escape(each)) for each in parts) + r"(?:/|$)")


def _first_path(
    paths: Sequence[str],
    effects: CallEffects,
    wanted: Sequence[re.Pattern[str]],
    excepted: Sequence[re.Pattern[str]],
) -> str:
    for path in paths:
        if any(each.search(path) for each in excepted):
            continue
        if any(each.search(path) for each in wanted):
            return path
        # Deleting a folder deletes its contents.
        if path in effects.deleted and any(
            each.pattern.startswith(rf"(?:^|/){re.escape(path)}/") for each in wanted
        ):
            return path
    return ""


# Commands, packages and words


def _use(prohibition: Prohibition) -> Finder:
    finders = [_one_use(each, prohibition) for each in prohibition.objects]
    return lambda effects: next(filter(None, (one(effects) for one in finders)), "")


def _one_use(name: str, prohibition: Prohibition) -> Finder:
    if prohibition.within and name.casefold() in words_in("determiners") - CODE_WORDS:
        return lambda effects: _at_place(prohibition, effects)
    if _TABS.match(name):
        return lambda effects: _indented(effects.added, prohibition)
    command = _command_of(name)
    keys = [_forms(each) for each in words_of(command[0]) or [command[0]]]
    text = None if prohibition.deed is Deed.RUN else _text(name)
    is_act = _ACT.fullmatch(name) is not None

    def find(effects: CallEffects) -> str:
        if is_act and (done := _done(name, prohibition, effects)):
            return done
        if any(key.isdisjoint(effects.words) for key in keys):
            return ""
        ran = _ran(command, prohibition, effects.commands)
        if ran or name in effects.packages:
            return ran or name
        if text is None or (len(command) == 1 and not text.search(effects.code)):
            return ""
        return next((line.text.strip() for line in effects.added if _stands(text, line, prohibition)), "")

    return find


def _at_place(prohibition: Prohibition, effects: CallEffects) -> str:
    """Return the first command that names one of the places: "never run anything against db-2"."""
    places = [re.compile(rf"(?<![\w-]){re.escape(each)}(?![\w-])") for each in prohibition.within]
    commands = map(" ".join, effects.commands)
    return next((each for each in commands if any(place.search(each) for place in places)), "")


def _command_of(name: str) -> list[str]:
    """Return the words of the command with this name: "commit --no-verify" is one of git."""
    first, _, rest = name.partition(" ")
    return acts().get(name.casefold(), f"{acts().get(first.casefold(), first)} {rest}").split()


def _done(name: str, prohibition: Prohibition, effects: CallEffects) -> str:
    """Return the first command that does what the noun says, such as `rails db:migrate` for migrations."""
    if prohibition.within and not any(_is_meant(place, effects) for place in prohibition.within):
        return ""
    wanted = stem(name)
    for words in effects.commands:
        if find_reads(words) is None and any(_alike(wanted, each) for each in words_of(" ".join(words))):
            return " ".join(words)
    return ""


def _is_meant(place: str, effects: CallEffects) -> bool:
    """Whether the command names the place, as in `RAILS_ENV=production`; "here" is everywhere."""
    words = [each for each in words_of(place) if each not in words_in("determiners")]
    return any(
        word in words_in("places") or any(_alike(stem(word), each) for each in effects.words)
        for word in words
    )


def _alike(wanted: str, word: str) -> bool:
    """Whether the word has this stem, or one is the beginning of the other."""
    other = stem(word)
    shorter, longer = sorted((wanted, other), key=len)
    return len(shorter) >= STEM_CHARS_MIN and longer.startswith(shorter)


def _indented(lines: Sequence[AddedLine], prohibition: Prohibition) -> str:
    """Return the first line that starts with a tab, in a file that does not need tabs."""
    found = (line for line in lines if line.text.lstrip(" ").startswith("\t") and not _wants_tabs(line.path))
    return next((line.text.strip() or "a tab" for line in found if _holds_at(prohibition, line)), "")


def _forms(word: str) -> frozenset[str]:
    return frozenset({word, word.removesuffix("s"), f"{word}s"})


def _ran(command: Sequence[str], prohibition: Prohibition, commands: Sequence[tuple[str, ...]]) -> str:
    """Return the first command that matches."""
    branch = ""
    for words in commands:
        if words[:2] in (("git", "checkout"), ("git", "switch")) and len(words) == 3:
            branch = words[2]
        if not _is_command(command, words):
            continue
        if command[0] == "git" and prohibition.within and not _on_branch(prohibition.within, branch, words):
            continue
        return " ".join(words)
    return ""


def _is_command(wanted: Sequence[str], words: Sequence[str]) -> bool:
    """Whether it is the command, any that has the flag, or one that takes the path into a commit."""
    if wanted[0].startswith("-"):
        return _has_flag(wanted[0], words[1:])
    if tuple(wanted[:2]) == ("git", "commit") and len(wanted) > 2 and not wanted[2].startswith("-"):
        takes = words[0] == "git" and words[1:2] and words[1] in ("add", "stage", "commit")
        return bool(takes) and any(_path(wanted[2]).search(each) for each in words[2:])
    return words[0] == wanted[0] and _holds_words(wanted[1:], words[1:])


def _on_branch(branches: Sequence[str], branch: str, words: Sequence[str]) -> bool:
    """Whether it concerns one of these branches. The branch checked out before is not known here."""
    named = {branch, *(part for word in words[2:] for part in word.split(":"))}
    is_named = any(fnmatchcase(each, branch) for each in named for branch in branches)
    return is_named or bool(words_in("places") & {each.casefold() for each in branches})


def _holds_words(wanted: Sequence[str], given: Sequence[str]) -> bool:
    """Whether the flags are present, in any form, and the other words come first and in this order."""
    plain = [each for each in given if not each.startswith("-")]
    words = [each for each in wanted if not each.startswith("-")]
    flags = [each for each in wanted if each.startswith("-")]
    return plain[: len(words)] == words and all(_has_flag(each, given) for each in flags)


def _has_flag(flag: str, given: Sequence[str]) -> bool:
    forms = (flag, *SAME_FLAGS.get(flag, ()))
    if any(each == form or each.startswith(f"{form}=") for each in given for form in forms):
        return True
    if re.fullmatch(r"-[A-Za-z]+", flag) is None:
        return False
    clusters = "".join(each[1:] for each in given if re.fullmatch(r"-[A-Za-z]+", each))
    return all(letter in clusters for letter in flag[1:])


def _text(name: str) -> re.Pattern[str]:
    """Return what finds the words in code."""
    if name.endswith("()"):
        return re.compile(rf"(?<!\w){re.escape(name[:-2])}\s*\(")
    if len(name.split()) > 1:
        parts = sorted(_singular(each) for each in words_of(name))
        return re.compile(r"\b" + r"\W+".join(rf"{re.escape(each)}e?s?" for each in parts) + r"\b")
    if name.casefold() in CODE_WORDS:
        return re.compile(rf"(?<![\w.$-]){re.escape(name)}(?![\w-])")
    if not name.isalpha() or not name.islower():
        return re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")
    word = re.escape(_singular(name))
    large = word[0].upper() + word[1:]
    return re.compile(rf"(?:(?<![A-Za-z]){word}|{large})(?:s|\d+)?(?![a-z_])")


def _singular(word: str) -> str:
    """Return the singular as it appears in code; a stem would match too much."""
    return word.lower().removesuffix("s") if len(word) > 3 else word.lower()


def _stands(pattern: re.Pattern[str], line: AddedLine, prohibition: Prohibition) -> bool:
    found = pattern.search(line.code) or pattern.search(_in_order(line.code, pattern))
    return found is not None and _holds_at(prohibition, line)


def _in_order(code: str, pattern: re.Pattern[str]) -> str:
    """Return the words in alphabetical order, so that either order of two words matches."""
    if r"\W+" not in pattern.pattern:
        return ""
    words = words_of(code)
    return " ; ".join(" ".join(sorted(pair)) for pair in pairwise(words))


def _wants_tabs(path: str) -> bool:
    name = PurePosixPath(path).name
    return name.lower().startswith(("makefile", "gnumakefile")) or name.endswith((".go", ".mk", ".tsv"))


# Places


def _in_place(prohibition: Prohibition, effects: CallEffects) -> bool:
    lines = effects.added
    return not lines or any(_holds_at(prohibition, line) for line in lines)


def _holds_at(prohibition: Prohibition, line: AddedLine) -> bool:
    """Whether the prohibition applies to this line of this file."""
    if any(_is_at(place, line) for place in prohibition.outside):
        return False
    return not prohibition.within or any(_is_at(place, line) for place in prohibition.within)


def _is_at(place: str, line: AddedLine) -> bool:
    """Whether the line is at the place: a path, a language, the tests, or a word of the path or line."""
    if "/" in place or place.startswith((".", "*")):
        return _path(place).search(line.path) is not None
    words = [each for each in words_of(place) if each not in words_in("determiners")]
    ending = PurePosixPath(line.path).suffix[1:].lower()
    known = [KINDS[each] for each in (*words, place.casefold()) if each in KINDS]
    if known:
        return any(ending in each for each in known)
    if any(_singular(each) in ("test", "spec") for each in words):
        return _TESTS.search(line.path) is not None
    if set(words) & words_in("places"):
        return True
    if set(words_of(place)) & words_in("product"):
        return not (_TESTS.search(line.path) or _ASIDE.search(line.path))
    there = {_singular(each) for each in (*words_of(line.path), *words_of(line.text))}
    return bool({_singular(each) for each in words} & there)
