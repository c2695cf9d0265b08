"""What a sentence forbids, by rules: what must not be done, with what, and where."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from ragforge.domain.approvals import Deed, Prohibition
from ragforge.domain.file_kinds import CODE_WORDS, ENDINGS, KINDS, PROGRAMS
from ragforge.domain.language.base import AnyOf, acts, common_words, languages, stop_words, words_in
from ragforge.domain.products import KNOWN_NAMES

OBJECT_WORDS_MAX = 5
OBJECTS_MAX = 8

_FORBIDS = AnyOf(lambda language: language.forbids)
_BANS = AnyOf(lambda language: language.bans)
_FORBIDDEN = AnyOf(lambda language: language.forbidden)
_OVER = AnyOf(lambda language: language.over)
_UNCOMMITTED = AnyOf(lambda language: language.uncommitted)
_CONFINES = AnyOf(lambda language: language.confines)

_CLAUSE_END = re.compile(r"[;:!?]|[,.](?=\s|$)|\s[-–—]+\s|…")
_OR = re.compile(r"\s*(?:,|\b(?:or|nor|and|ou|ni|et)\b|/(?=\s))\s*", re.IGNORECASE)
_PATH = re.compile(
    r"(?<![\w@:/])(?:[\w.*?~+@-]+/[\w./*?+@-]*|/[\w./*?-]+|\.[a-z][\w.-]{1,30}|\*\.[\w.*-]+|"
    r"[\w*-]+(?:\.[\w*-]+)*\.[a-z][a-z0-9]{0,9})(?![\w/])"
)
_CODE = re.compile(
    r"[\w.]+\(\)|[A-Za-z_]\w*(?:(?:\.|::)\w+)+|[a-z]+(?:[A-Z]\w*)+|\w+_\w+|[A-Z]{2,}\b|\w+\+\+"
)
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_SETTING = re.compile(r"(?<![\w-])--[a-z][\w-]*[ =]([a-z][\w./-]*)")
_PIPED = re.compile(
    r"(?:pip(?:e|ing) ([a-z]\w*)|(curl|wget))\b[^.;,]{0,40}? (?:(?:in)?to|dans|\|) ?(?:a |the |un |le )?"
    r"(?:shell|sh|bash|zsh)\b",
    re.IGNORECASE,
)
_BY = re.compile(r"(?:with|via|by|through|avec|par)\s+(?=[`\w])", re.IGNORECASE)
"""Before what must not be used: "never with X"."""
_NAMES = KNOWN_NAMES | {name for name in KINDS if len(name) > 2}
WORD_CHARS_MAX = 256
_QUOTES = "`\"'«»“”"


def forbids_something(sentence: str) -> bool:
    """Whether it forbids anything, even if in words that no call can be checked against."""
    text = _straight(sentence)
    return any(each.search(text) for each in (_FORBIDS, _BANS)) or _FORBIDDEN.search(text) is not None


@lru_cache(1_024)  # the same rules are checked in every turn
def prohibitions_in(sentence: str) -> tuple[Prohibition, ...]:
    """Return what the sentence forbids, in order; nothing that names no object."""
    text = _straight(sentence)
    found = [Prohibition(Deed.CHANGE, ("**",), (), paths) for paths in _confined_to(text)]
    found += [Prohibition(Deed.RUN, (f"git commit {each}",)) for each in _uncommitted(text)]
    if found:
        return tuple(found)
    for start, verb, deed in _markers(text):
        found += _behind(text[start:], verb, deed)
    for each in _FORBIDDEN.finditer(text):
        found += _before(next(filter(None, each.groups()), ""))
    return tuple(dict.fromkeys(found))[:OBJECTS_MAX]


def names_in(sentence: str) -> tuple[str, ...]:
    """Return the paths, commands, identifiers and products that it names, as they are written."""
    text = _straight(sentence)
    spans = [_path_span(found) for found in _PATH.finditer(text)]
    spans += [found.span() for found in _CODE.finditer(text)]
    spans += [
        found.span()
        for found in re.finditer(r"[\w.+#-]*[\w+#]", text)
        if found[0].casefold() in _NAMES or _FLAG.fullmatch(found[0])
    ]
    spans += [found.span() for found in _SETTING.finditer(text) if found[1] not in words_in("object_ends")]
    spans += [(found.start(1), found.end(1)) for found in re.finditer(r"`([^`\n]{1,60})`", text)]
    kept = [one for one in spans if not any(_holds(other, one) for other in spans)]
    return tuple(dict.fromkeys(text[start:end] for start, end in sorted(kept)))


def _path_span(found: re.Match[str]) -> tuple[int, int]:
    """Return the span of the path, without the full stop of the sentence."""
    path = found[0] if found[0].endswith("/..") else found[0].rstrip(".")
    return found.start(), found.start() + len(path or found[0])


def used_in(sentence: str) -> tuple[str, ...]:
    """Return the things that the sentence speaks of using or running."""
    text = _straight(sentence)
    found = (each for each in _verb().finditer(text) if each.lastgroup == Deed.USE)
    return tuple(name for each in found for name in names_behind(text[each.end() :]))


def wanted_in(sentence: str) -> tuple[str, ...]:
    """Return the things that the sentence wants used or run, and the paths that it wants changed."""
    text = _straight(sentence)
    changed = (text[each.end() :] for each in _verb().finditer(text) if each.lastgroup == Deed.CHANGE)
    return (*used_in(sentence), *(name for words in changed for name in _paths(_clause(words))))


def contradict(sentence: str, other: str) -> bool:
    """Whether one of them wants to be used or changed what the other forbids."""

    def wants_forbidden(one: str, another: str) -> bool:
        wanted = {name.casefold() for name in wanted_in(one)} - _forbidden(one)
        return bool(wanted & _forbidden(another))

    return wants_forbidden(sentence, other) or wants_forbidden(other, sentence)


def _forbidden(sentence: str) -> set[str]:
    return {name.casefold() for each in prohibitions_in(sentence) for name in each.objects}


def names_behind(words: str) -> tuple[str, ...]:
    """Return the things that are named right after a verb."""
    return tuple(_objects(_clause(words).lstrip()))


def _holds(other: tuple[int, int], one: tuple[int, int]) -> bool:
    return other != one and other[0] <= one[0] and one[1] <= other[1]


def is_path(word: str) -> bool:
    """Whether it is a path or a pattern of paths, and no member of something, as `console.log`."""
    if _PATH.fullmatch(word) is None:
        return False
    return "/" in word or word.startswith((".", "*")) or word.rpartition(".")[2].casefold() in ENDINGS


def _straight(sentence: str) -> str:
    """Return the words separated by single spaces, with straight apostrophes; a long one is truncated,
    because no name is that long, and patterns for names take quadratic time in its length."""
    words = sentence.replace("’", "'").replace("‘", "'").split()
    return " ".join(word[:WORD_CHARS_MAX] for word in words)


def _markers(text: str) -> Iterator[tuple[int, str, Deed | None]]:
    """Yield where a prohibition begins, with the verb if that comes before, and the deed if none comes."""
    for found in _FORBIDS.finditer(text):
        yield found.end(), next(filter(None, found.groups()), ""), Deed.RUN
    for pattern in (_BANS, _OVER):
        for found in pattern.finditer(text):
            yield found.end(), "", None


def _behind(rest: str, verb: str, without_verb: Deed | None) -> list[Prohibition]:
    """Return what is forbidden in the words after the one that forbids."""
    rest = _clause(rest).lstrip()
    rest = _BY.sub("", rest, count=1) if _BY.match(rest) else rest
    if piped := _PIPED.match(rest):
        return [Prohibition(Deed.RUN, (f"{next(filter(None, piped.groups()))} |",))]
    deed = _deed_of(verb) if verb else None
    if deed is None and (told := _verb().match(rest)):
        deed = Deed(str(told.lastgroup))
        rest = rest[told.end() :].lstrip()
    if verb and deed is None and without_verb and verb.casefold() in acts():
        rest = f"{verb} {rest}"
    return _prohibitions(rest, deed or without_verb)


def _confined_to(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the only paths that may be changed."""
    for each in _CONFINES.finditer(text):
        if paths := _paths(_clause(text[each.end() :])):
            yield paths


def _uncommitted(text: str) -> Iterator[str]:
    for each in _UNCOMMITTED.finditer(text):
        yield next(filter(None, each.groups()))


def _before(words: str) -> list[Prohibition]:
    paths = [each for each in words.split() if is_path(each.strip(_QUOTES))]
    return _prohibitions(words, Deed.CHANGE if paths else None)


def _prohibitions(words: str, deed: Deed | None) -> list[Prohibition]:
    within, outside = _places(words)
    if deed is Deed.CHANGE or deed is Deed.DELETE:
        objects = _paths(words) or tuple(_objects(words))
        named = tuple(each for each in objects if each.casefold() not in words_in("determiners"))
        return [Prohibition(deed, named, (), outside)] if named else []
    if _first_words(words) & words_in("dependencies"):
        return [Prohibition(Deed.DEPEND, (), within, outside)]
    objects = tuple(map(_flag_of, _objects(words)))
    if objects and all(map(is_path, objects)) and deed is not Deed.USE:
        return [Prohibition(Deed.CHANGE, objects, (), outside)]
    objects = tuple(map(_code_of, objects))
    if deed is Deed.RUN and any(_is_of_code(name) for name in objects):
        deed = Deed.USE  # "never npm or yarn"
    return [Prohibition(deed or Deed.USE, objects, within, outside)] if objects else []


def _code_of(name: str) -> str:
    """Return a single word of code without the rest, if it is no command: "float" of "float math"."""
    words = [each for each in name.split() if each.casefold() in CODE_WORDS]
    return words[0] if len(words) == 1 and " " in name and not _is_command(name) else name


def _is_command(name: str) -> bool:
    first = name.split(maxsplit=1)[0].casefold()
    return first in PROGRAMS or first in acts() or name.casefold() in acts()


def _is_of_code(name: str) -> bool:
    known = name.casefold()
    return known in _NAMES or known in CODE_WORDS or _CODE.fullmatch(name) is not None


def _flag_of(name: str) -> str:
    """Return the flag alone, if it has one and names no program: "skip the hooks --no-verify"."""
    flag = next((each for each in name.split() if _FLAG.fullmatch(each)), "")
    return flag if flag and not is_name(name) else name


def _paths(words: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found[0] for found in _PATH.finditer(words) if is_path(found[0])))


def _clause(text: str) -> str:
    """Return the text up to the end of its clause, including brackets and enumerations of names."""
    for end in _CLAUSE_END.finditer(text):
        if end[0] == "," and _OR.split(text[end.end() :].lstrip(), maxsplit=1)[0].count(" ") < 1:
            continue
        return text[: end.start()]
    return text


def _objects(words: str) -> Iterator[str]:
    """Yield the names at the beginning of the words, before those that say where, when or why."""
    for part in _OR.split(words.strip())[:OBJECTS_MAX]:
        if quoted := re.match(r"(?:the |le |la |l')?`([^`]{1,60})`", part):
            yield quoted[1]  # as it is typed, whatever follows
            if word_ends(part):
                return
            continue
        name: list[str] = []
        for word in part.split(" "):
            bare = word.strip(_QUOTES).casefold()
            ends = bare in words_in("object_ends") or bare.startswith("n'")
            if word.startswith("(") or (ends and not _goes_on_with_flag(part, word)):
                break
            if bare and not ends:
                name.append(re.sub(r"^(?:d'|l'|qu')", "", word.strip(_QUOTES)))
        name = _without_determiners(name)
        if name and len(name) <= OBJECT_WORDS_MAX:
            yield " ".join(name)
        if word_ends(part):
            return


def _without_determiners(name: list[str]) -> list[str]:
    """Return the words without determiners around them; if nothing remains, the last one."""
    while len(name) > 1 and name[0].casefold() in words_in("determiners"):
        name = name[1:]
    while len(name) > 1 and name[-1].casefold() in words_in("determiners"):
        name = name[:-1]
    return name


def word_ends(part: str) -> bool:
    """Whether a word of the part ends the enumeration of names."""
    return any(word.strip(_QUOTES).casefold() in words_in("object_ends") for word in part.split())


def _goes_on_with_flag(part: str, word: str) -> bool:
    rest = part.partition(f"{word} ")[2]
    return rest.startswith("-")


def _first_words(words: str) -> set[str]:
    return {word.strip(_QUOTES + ",").casefold() for word in words.split()[:3]}


def _places(words: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return where it applies, and where it does not."""
    outside = _place_after("outside", words)
    within = () if outside else _place_after("within", words)
    return within, outside


def place_in(sentence: str) -> tuple[str, ...]:
    """Return the place that the sentence is limited to, in one word: "changelog" of "in the changelog"."""
    common = stop_words() | common_words() | words_in("places") | words_in("determiners")
    return tuple(
        each
        for each in _place_after("within", _straight(sentence))
        if " " not in each and each.isalpha() and each.casefold() not in common
    )


def _place_after(field: str, words: str) -> tuple[str, ...]:
    pattern = "|".join(each for language in languages() if (each := getattr(language, field)))
    found = re.search(rf"(?<![\w'-])(?:{pattern})\s+(.+)", words, re.IGNORECASE)
    if found is None:
        return ()
    brackets = re.search(r"\(([^)]+)\)", found[1])
    if brackets and is_path(brackets[1].strip(_QUOTES)):
        return (brackets[1].strip(_QUOTES),)
    named = _objects(re.sub(r"^(?:l'|d')", "", found[1]))
    places = tuple(each for each in named if each.casefold() not in words_in("determiners"))
    return places or tuple(_first_words(found[1]) & words_in("product"))  # "in the library"


@cache
def _verb() -> re.Pattern[str]:
    """Return a pattern for verbs of deeds with their endings; no file name that begins like one:
    "CHANGELOG.md"."""
    kinds = dict.fromkeys(name for language in languages() for name in language.deeds)
    verbs = {kind: "|".join(each.deeds[kind] for each in languages() if kind in each.deeds) for kind in kinds}
    parts = [rf"(?P<{kind}>(?:{pattern})\w*)" for kind, pattern in verbs.items()]
    return re.compile(rf"(?<!\w)(?:to |d'|de )?(?:{'|'.join(parts)})(?!\w|\.\w)", re.IGNORECASE)


def _deed_of(verb: str) -> Deed | None:
    found = _verb().fullmatch(verb)
    return Deed(str(found.lastgroup)) if found else None


def names_object(sentence: str) -> bool:
    """Whether it forbids something that is a name: a path, code, a program or a product."""
    return any(
        each.deed is Deed.DEPEND
        or each.outside
        or any(is_path(name) or is_name(name) for name in each.objects)
        for each in prohibitions_in(sentence)
    )


def is_name(name: str) -> bool:
    """Whether it begins with a product, a language, a program, a word of code or a git command; or a flag."""
    first = name.split(maxsplit=1)[0].casefold()
    known = (
        first in _NAMES
        or first in CODE_WORDS
        or first in PROGRAMS
        or acts().keys() & {first, name.casefold()}
    )
    return bool(known) or any(each.fullmatch(name) for each in (_CODE, _FLAG))
