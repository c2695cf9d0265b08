"""Which decision or fact a new decision takes the place of, by its words alone; in doubt none."""

import re
from collections.abc import Sequence

from ragforge.domain.memories import Memory, MemoryType
from ragforge.memory.patterns import AnyOf
from ragforge.memory.rules import CHANGED_MIND, INSTEAD
from ragforge.memory.statements import plain
from ragforge.memory.topics import fields_in, terms_of

_ENDS = (
    r"(?=\s*(?:$|[,.;:!?)]|\b(?:for|in|on|as|from|here|everywhere|because|since|so|and|but|now|to|with|by|any|"
    r"pour|dans|sur|comme|ici|partout|car|parce|et|mais|désormais|à|vers|par|au|maintenant)\b))"
)
_THING = r"((?:[\w.+#-]+ ){0,3}?[\w.+#-]*[\w+#])" + _ENDS
_GOES = AnyOf(
    rf"\b(?:instead of|rather than|in place of|in lieu of) (?:using )?{_THING}",
    rf"\b(?:à la place|au lieu) d(?:e |u |es |')(?:l'|la |les )?{_THING}",
    rf"\bplutôt qu(?:e |')(?:d'|de |sur |avec |l'|l[ea]s? )?{_THING}",
    rf"\b(?:replac(?:e|es|ed|ing)) (?:the |our )?{_THING} (?:with|by)\b",
    rf"\bremplac\w+ (?:l'|l[ea]s? |notre |nos )?{_THING} par\b",
    rf"\b(?:switch|mov|migrat)\w* (?:\w+ ){{0,2}}?from {_THING} to\b",
    rf"\b(?:pass|migr|bascul)\w* (?:\w+ ){{0,2}}?d(?:e |')(?:l'|l[ea]s? )?{_THING} (?:à|vers)\b",
    rf", (?:and )?(?:not|et pas|pas) {_THING}[.!]?$",
)
_PURPOSE = re.compile(r"\b(?:for|pour) ([^,.;:!?]+)", re.IGNORECASE)
_PLACE = re.compile(r"\b(?:in|dans) (?!place|lieu|fav)([^,.;:!?]+)", re.IGNORECASE)
_NEGATED = re.compile(
    r"n't\b|\b(?:not|never|no longer|without|drop\w*|stop\w*|abandon\w*|remov\w+|pas|plus|jamais|sans|"
    r"arrêt\w+)\b",
    re.IGNORECASE,
)
# Of a fact: what the project is made with, not what is so about it.
_IN_USE = (
    r"(?:\b(?:we|I|project|app|application|api|backend|frontend|service|site|shop|on|nous|projet|appli|"
    r"boutique)\b(?: now| currently|'re| are)? (?:uses?|using|runs? on|deploys? (?:with|on|to)|utilise|"
    r"utilisons|tourne sur|déploie (?:avec|sur|chez)|déployons (?:avec|sur|chez))"
    r"|\b(?:our|notre|nos) [\w' -]{1,30}? (?:is|are|uses?|runs? on|est|sont|utilise|tourne sur))"
    r" (?:the |an? |l[ea] |une? )?"
)
_SHORT = {"postgres": "postgresql", "mongo": "mongodb", "k8s": "kubernetes", "node.js": "node"}


def replaced_by(
    decision: Memory, words: str, known: Sequence[Memory], *, changed_mind: bool
) -> Memory | None:
    """What of the known ones the decision takes the place of.

    words: its sentence, plain. changed_mind: in its turn the person said so.
    """
    if (gone := _what_goes(decision.content)) is not None:
        named = [old for old in known if old.id != decision.id and _names(old, gone, decision)]
        return max(named, key=lambda old: (old.type is MemoryType.DECISION, old.created_at), default=None)
    if not (INSTEAD.search(words) or changed_mind):
        return None
    return _about_the_same(decision, known, shared_min=1 if INSTEAD.search(words) else 2)


def has_changed_mind(words: str) -> bool:
    """Whether the plain sentence says that another one holds no longer."""
    return CHANGED_MIND.search(words) is not None


def _what_goes(content: str) -> frozenset[str] | None:
    """The words for what the sentence says is used no more; None where it names nothing."""
    found = _GOES.search(_readable(content))
    if found is None:
        return None
    return terms_of(next(filter(None, found.groups()))) or None


def _names(old: Memory, gone: frozenset[str], decision: Memory) -> bool:
    """Whether the old one plainly says that what goes now is used, and for the same."""
    if old.type not in (MemoryType.DECISION, MemoryType.FACT):
        return False
    content = _readable(old.content)
    if went := _GOES.search(content):
        content = content[: went.start()] + content[went.end() :]
    before = "" if old.type is MemoryType.DECISION else _IN_USE
    if _NEGATED.search(content) or not all(
        re.search(rf"{before}(?<![\w-]){name}[\d. ]{{0,6}}{_ENDS}", content, re.IGNORECASE)
        for name in map(_name, gone)
    ):
        return False
    new = _readable(decision.content)
    purposes = _terms_behind(_PURPOSE, new), _terms_behind(_PURPOSE, content)
    places = _terms_behind(_PLACE, new)
    return (not all(purposes) or bool(purposes[0] & purposes[1])) and (
        not places or bool(places & terms_of(content))
    )


def _name(term: str) -> str:
    """A pattern of it, of what it is short for and of what is short for it."""
    same = {term, _SHORT.get(term, term), *(short for short, long in _SHORT.items() if long == term)}
    return rf"(?:{'|'.join(sorted(map(re.escape, same)))})"


def _terms_behind(pattern: re.Pattern[str], text: str) -> frozenset[str]:
    return frozenset[str]().union(*(terms_of(found[1]) for found in pattern.finditer(text)))


def _readable(content: str) -> str:
    """The sentence without quotes, but with names that are written as code."""
    return plain(re.sub(r"`([\w.+#-]+)`", r"\1", content))


def _about_the_same(decision: Memory, known: Sequence[Memory], *, shared_min: int) -> Memory | None:
    """The decision that is most of the same, where it is not said what goes."""
    terms, fields = terms_of(decision.content), fields_in(decision.content)
    best: tuple[int, float] | None = None
    chosen = None
    for old in known:
        if old.type is not MemoryType.DECISION or old.id == decision.id:
            continue
        shared = len(terms & terms_of(old.content))
        same_field = bool(fields & fields_in(old.content))
        if not (same_field or shared >= shared_min):
            continue
        rank = (shared + 2 * same_field, old.created_at.timestamp())
        if best is None or rank > best:
            best, chosen = rank, old
    return chosen
