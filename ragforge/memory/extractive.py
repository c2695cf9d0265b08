"""Summaries without a model: sentences of the text itself, chosen by rules."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from ragforge.domain.json import JsonValue
from ragforge.domain.language.base import AnyOf, common_words, stop_words
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.turns import TurnStatus
from ragforge.memory.constraints import constraints_in
from ragforge.memory.material import (
    FILES_MAX,
    FINDING_CHARS_MAX,
    FINDINGS_MAX,
    SUMMARY_CHARS_MAX,
    TOPIC_CHARS_MAX,
    TOPICS_MAX,
    Material,
    summary_id,
)
from ragforge.memory.sentences import SCANNED_CHARS_MAX, cut_sentence, one_line, sentences, with_dates

USER_CHARS_MAX = 500
"""The user's part of a summary: the request comes first and must not crowd out the result."""

SENTENCES_MAX = 400
ARG_CHARS_MAX = 4_000

_ENDINGS = (
    r"py|pyi|ipynb|js|mjs|cjs|jsx|ts|tsx|vue|svelte|css|scss|html|json|jsonl|toml|yaml|yml|ini|cfg|"
    r"conf|env|md|rst|txt|csv|sql|sh|bash|zsh|ps1|rs|go|c|h|cc|cpp|hpp|java|kt|swift|rb|php|cs|lua|"
    r"r|ex|exs|hs|ml|scala|zig|tf|proto|graphql|lock|xml|svg|dockerfile|mk|cypher|db|sqlite|log|"
    r"patch|diff"
)
_FILE = re.compile(
    rf"(?<![\w/.@:-])(?:~|\.{{1,2}})?/?(?:[\w.+@-]{{1,80}}/){{0,15}}[\w.+@-]{{0,80}}\.(?:{_ENDINGS})"
    r"(?![\w/-]|\.\w)"
    r"|(?<![\w/.-])(?:Dockerfile|Makefile|Justfile|Procfile|CODEOWNERS)(?![\w/-])",
    re.IGNORECASE,
)
_URL = re.compile(r"\w{2,10}://\S+")
_ANSWERS_THAT_ARE_NO_FILES = frozenset(
    {"node.js", "next.js", "vue.js", "express.js", "three.js", "d3.js", "asp.net"}
)
_TELLS = AnyOf(lambda language: language.tells)
_FINDS = AnyOf(lambda language: language.finds)
_FILLS = AnyOf(lambda language: language.fills)
_WORD = re.compile(r"[^\W\d_][\w+#.-]{1,40}")


def summary_of(material: Material) -> Summary:
    """Return the turn's summary: the user's words first, then the most informative part of the answer."""
    turn = material.turn
    return Summary(
        id=summary_id(1, [turn.id]),
        project_id=material.project_id,
        session_id=turn.session_id,
        level=1,
        text=summary_text(material),
        covers=(turn.id,),
        at=turn.started_at,
        method=SummaryMethod.EXTRACTIVE,
        files=files_of(material),
        findings=_findings(with_dates(material.assistant, turn.started_at)),
        tools=material.tools,
        topics=topics_of(material.user, material.assistant),
        constraints=constraints_in(material.user),
    )


def summary_text(material: Material) -> str:
    """Return at most `SUMMARY_CHARS_MAX` characters of the turn, never none."""
    wanted = " ".join(sentences(material.user)) or one_line(material.user[:SCANNED_CHARS_MAX])
    at = material.turn.started_at
    user = cut_sentence(with_dates(wanted, at), USER_CHARS_MAX)
    ending = _ending(material)
    room = SUMMARY_CHARS_MAX - len(user) - len(ending) - 2
    text = "\n".join(filter(None, (user, _most_telling(with_dates(material.assistant, at), room), ending)))
    return text or "Nothing was said."


def _ending(material: Material) -> str:
    """Return how the turn ended, unless it just finished."""
    turn = material.turn
    match turn.status:
        case TurnStatus.FAILED | TurnStatus.INTERRUPTED | TurnStatus.STOPPED:
            return cut_sentence(one_line(f"({turn.status}) {turn.error}"), 200)
        case _:
            return ""


def _most_telling(answer: str, room: int) -> str:
    """Return the most informative sentences of the answer, in order, as many as fit."""
    said = sentences(answer)[:SENTENCES_MAX]
    chosen: list[int] = []
    for at in sorted(range(len(said)), key=lambda at: (-_telling(said[at], at, len(said)), at)):
        sentence = said[at]
        if len(sentence) + 1 <= room:
            chosen.append(at)
            room -= len(sentence) + 1
    if said and not chosen:
        return cut_sentence(said[0], room)
    return " ".join(said[at] for at in sorted(chosen))


def _telling(sentence: str, at: int, count: int) -> float:
    """Return how informative the sentence is: by its position, files, numbers, and words for findings."""
    score = (1.0 if at in {0, count - 1} else 0.0) + 0.5 * min(4, sum(1 for _ in _TELLS.finditer(sentence)))
    score += 1.0 if _FILE.search(sentence) else 0.0
    score += 0.5 if re.search(r"\d", sentence) else 0.0
    score -= 2.0 if _FILLS.match(sentence) else 0.0
    score -= 1.0 if sentence.endswith("?") else 0.0
    return score - (0.5 if len(sentence) < 25 else 0.0)


def _findings(answer: str) -> tuple[str, ...]:
    found = (s for s in sentences(answer)[:SENTENCES_MAX] if _FINDS.search(s) and not _FILLS.match(s))
    told = (s for s in found if not s.endswith("?") and len(s) >= 20)
    return tuple(dict.fromkeys(cut_sentence(s, FINDING_CHARS_MAX) for s in told))[:FINDINGS_MAX]


def files_of(material: Material) -> tuple[str, ...]:
    """Return paths that the calls worked on, then those that were mentioned, without duplicates."""
    found: dict[str, None] = {}
    for call in material.calls:
        for name in ("path", "file", "file_path"):
            if isinstance(value := call.args.get(name), str) and one_line(value):
                found.setdefault(one_line(value)[:ARG_CHARS_MAX].removeprefix("./")[:300])
        found.update(dict.fromkeys(_files_in(" ".join(_strings(call.args))[:ARG_CHARS_MAX])))
    found.update(dict.fromkeys(_files_in(material.user[:SCANNED_CHARS_MAX])))
    found.update(dict.fromkeys(_files_in(material.assistant[:SCANNED_CHARS_MAX])))
    return tuple(found)[:FILES_MAX]


def _files_in(text: str) -> Iterable[str]:
    for found in _FILE.finditer(_URL.sub(" ", text)):
        path = found[0].removeprefix("./")
        if path.lower() not in _ANSWERS_THAT_ARE_NO_FILES and path.strip("./~"):
            yield path


def _strings(args: dict[str, JsonValue]) -> Iterable[str]:
    """Return short arguments: a path or a command, not the text of a file to be written."""
    return (value for value in args.values() if isinstance(value, str) and len(value) <= 1_000)


def topics_of(user: str, assistant: str = "") -> tuple[str, ...]:
    """Return the terms that are mentioned most and are not common words."""
    spelled: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for text, weight in ((user, 3), (assistant, 1)):
        for found in _WORD.finditer(_URL.sub(" ", " ".join(sentences(text)[:SENTENCES_MAX]))):
            word = found[0].strip(".-")
            if is_telling(word):
                spelled.setdefault(word.lower(), word)
                counts[word.lower()] += weight
    ranked = sorted(
        counts, key=lambda word: (-counts[word] * _rareness(spelled[word]), list(spelled).index(word))
    )
    return tuple(spelled[word][:TOPIC_CHARS_MAX] for word in ranked if counts[word] > 1)[:TOPICS_MAX]


def is_telling(word: str) -> bool:
    """Whether the word says what a text is about."""
    low = word.lower()
    return len(low) > 2 and low not in stop_words() and low not in common_words()


def _rareness(word: str) -> float:
    """Return a weight: names and identifiers count more than plain words, long ones more than short ones."""
    named = any(c in "_.#+" or c.isdigit() for c in word) or not word[1:].islower()
    return (1.6 if named else 1.0) + min(len(word), 12) / 24


def rolled_up(children: Sequence[Summary]) -> Summary:
    """Return the summary a level above the children: an equal share of each one's text, and everything that
    is stored beside the text."""
    return replace(above(children), text=_shares([child.text for child in children]))


def above(children: Sequence[Summary]) -> Summary:
    """Return everything but the text of the summary a level above: what the children contain is kept.

    Raises ValueError without children.
    """
    if not children:
        raise ValueError("a summary of no summaries")
    newest = max(children, key=lambda child: child.at)
    covers = tuple(child.id for child in children)
    level = max(child.level for child in children) + 1
    return Summary(
        id=summary_id(level, covers),
        project_id=newest.project_id,
        session_id=newest.session_id,
        level=level,
        text="",
        covers=covers,
        at=newest.at,
        turn_count=sum(child.turn_count for child in children),
        method=SummaryMethod.EXTRACTIVE,
        files=_united([child.files for child in children], FILES_MAX),
        findings=_united([child.findings for child in children], FINDINGS_MAX),
        tools=_united([child.tools for child in children], FILES_MAX),
        topics=_united([child.topics for child in children], TOPICS_MAX),
        # All of them: a demand stays valid however long ago it was said.
        constraints=tuple(dict.fromkeys(c for child in children for c in child.constraints)),
    )


def _united(lists: Sequence[Sequence[str]], limit: int) -> tuple[str, ...]:
    """Return the items of all lists in order without duplicates; if they are too many, those in most lists
    first, then those near the beginning of theirs, of newer lists before older ones."""
    counts = Counter(item for items in lists for item in dict.fromkeys(items))
    places = {item: at for items in reversed(lists) for at, item in enumerate(items)}
    chosen = set(sorted(places, key=lambda item: (-counts[item], places[item]))[:limit])
    return tuple(item for item in counts if item in chosen)


def _shares(texts: Sequence[str]) -> str:
    """Return the texts, each truncated so that all fit; what a short one does not use goes to the others."""
    room = SUMMARY_CHARS_MAX - (len(texts) - 1)
    kept = dict[int, str]()
    for left, at in enumerate(sorted(range(len(texts)), key=lambda at: len(texts[at]))):
        kept[at] = cut_sentence(one_line(texts[at]), max(2, room // (len(texts) - left)))
        room -= len(kept[at])
    return "\n".join(kept[at] for at in range(len(texts)))[:SUMMARY_CHARS_MAX]
