"""What a statement is about: the paths, commands, names and words in it, as the user wrote them."""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from ragforge.domain.file_kinds import CODE_WORDS, KINDS, PROGRAMS
from ragforge.domain.language.base import common_words, months, stop_words, weekdays, words_in
from ragforge.domain.products import KNOWN_NAMES, TOOLS
from ragforge.memory.prohibitions import is_name, names_in, place_in, prohibitions_in, used_in

SUBJECTS_MAX = 12
_SUBCOMMANDS_MAX = 2
_VERBS = frozenset({"find", "go", "make"})
"""Programs whose names are common words."""

_QUOTES = "`\"'«»“”()[],;:!?…"
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+]+://[^\s,;()<>\"'`]+[^\s,;()<>\"'`.]")
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_SUBCOMMAND = re.compile(r"[a-z][a-z-]{2,}")
_VERSION = re.compile(r"v?\d+(?:\.\d+)+|\d+")
_MIXED = re.compile(r"(?=\w*\d)[A-Za-z]{2,}\d\w*|[a-z]*[A-Z]{2,}s?|[A-Za-z][\w.-]*[a-z][A-Z]\w*")
_CAPITAL = re.compile(r"[A-ZÀ-Þ][\w.+#-]*\w")
_ELISION = re.compile(r"^[dlDL]['’]|['’]s$")
_ENDS = ".,;!?:…)"


def applies_to_in(sentence: str, *, said: str = "", named: Sequence[str] = ()) -> tuple[str, ...]:
    """Return what a wish is about: what it names, forbids or wants used, and the kinds of work it governs.

    said: the user's words, if the sentence is a model's. named: what else it is said to be about.
    """
    forbidden = [
        each for one in prohibitions_in(sentence) for each in (*one.objects, *one.within, *one.outside)
    ]
    first = (each.split(maxsplit=1)[0] for each in forbidden if is_name(each))
    found = (
        *(*named, *names_in(sentence), *forbidden, *first, *used_in(sentence), *place_in(sentence)),
        *(*_commands_in(sentence), *_names_in(sentence), *_work_in(sentence)),
    )
    return _written(found, said or sentence)


def names_of(sentence: str, *, said: str = "", named: Sequence[str] = ()) -> tuple[str, ...]:
    """Return what a statement that is no wish names: paths, addresses, commands, products, identifiers."""
    return _written(
        (*named, *names_in(sentence), *_commands_in(sentence), *_names_in(sentence)), said or sentence
    )


def _written(found: Sequence[str], user: str) -> tuple[str, ...]:
    """Return those that occur in the user's words and mean something, without duplicates."""
    user = " ".join(user.split())
    stand = (each for each in found if each.strip() and each in user and not _is_empty(each))
    return tuple(dict.fromkeys(stand))[:SUBJECTS_MAX]


def _is_empty(name: str) -> bool:
    """Whether it is a common word; "Go" is a language, and "go" is none."""
    word = name.casefold()
    means = word in CODE_WORDS or word in KNOWN_NAMES or word in words_in("kinds_of_work")
    return word in _everyday() and not means and (word not in KINDS or name == word)


def _commands_in(sentence: str) -> Iterator[str]:
    """Yield each program with its subcommand, or its version: `terraform apply`, `rm -rf`, `gcc 4.9`."""
    words = sentence.split()
    for at, word in enumerate(words):
        if word.strip(_QUOTES).casefold() not in _tools():
            continue
        told = [word.lstrip(_QUOTES)]
        for behind in words[at + 1 : at + 1 + _SUBCOMMANDS_MAX]:
            if told[-1] != told[-1].rstrip(_QUOTES) or not _is_told(behind.strip(_QUOTES)):
                break
            told.append(behind)
        for length in range(len(told), 1, -1):
            yield " ".join(told[:length]).rstrip(f"{_QUOTES}.")


def _is_told(word: str) -> bool:
    """Whether the word after a program may be its argument."""
    if _FLAG.fullmatch(word) or _VERSION.fullmatch(word.rstrip(".")):
        return True
    is_plain = word in stop_words() or word in words_in("determiners") or word in words_in("object_ends")
    return _SUBCOMMAND.fullmatch(word) is not None and not is_plain


def _names_in(sentence: str) -> Iterator[str]:
    """Yield addresses, tools in lower case, and what is written as a name: "Windows 11", "Shared Health"."""
    yield from (found[0] for found in _ADDRESS.finditer(sentence))
    name: list[str] = []
    begins = True
    for word in sentence.split():
        bare = _ELISION.sub("", word.strip(_QUOTES).rstrip("."))
        known = bare.casefold()
        is_proper = _CAPITAL.fullmatch(bare) is not None and not begins and known not in _everyday()
        if is_proper or (name and bare.isdigit()):
            name.append(bare)
        elif known in _tools() or _MIXED.fullmatch(bare):
            yield bare
        if name and (not is_proper or word[-1] in _ENDS):
            yield " ".join(name)
            name = []
        begins = word[-1] in _ENDS
    if name:
        yield " ".join(name)


def _work_in(sentence: str) -> Iterator[str]:
    """Yield the kinds of work that it names, as "comments" and "commit messages"."""
    kinds = words_in("kinds_of_work")
    before = ""
    for each in sentence.split():
        word = _ELISION.sub("", each.strip(_QUOTES).rstrip("."))
        if word.casefold() in kinds:
            if before and before.casefold() not in _everyday():
                yield f"{before} {word}"
            yield word
        before = word if each.isalpha() else ""


@cache
def _tools() -> frozenset[str]:
    return (KNOWN_NAMES | PROGRAMS | TOOLS) - _everyday() - _VERBS


@cache
def _everyday() -> frozenset[str]:
    """Return common words, and days and months."""
    of_sentences = stop_words() | common_words() | words_in("determiners") | words_in("object_ends")
    return of_sentences | frozenset((*weekdays(), *months()))
