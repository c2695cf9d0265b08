"""Sentences by which a person states something, told from those that only ask, wonder or report."""

from ragforge.memory.patterns import AnyOf
from ragforge.memory.sentences import QUOTED, sentences

STATEMENTS_MAX = 80
STATEMENT_CHARS_MAX = 500
"""Longer ones are lists or pasted text, and no rule reads them well."""


_ASKS = AnyOf(
    (
        r"(?:(?:and|but|so|then|also|hey|hi|hello|ok|okay|et|mais|donc|alors|salut|bonjour)[ ,]+)"
        r"*(?:why|how|who|whose|(?:what|which|where|when) (?:is|are|was|were|do|does|did|can|could|"
        r"would|should|happens|if)|(?:do|don't|have|haven't) (?:I|you|we|they|any\w*)|(?:is|are|was|"
        r"were|does|did|can|could|would|should|shall|will|has|isn't|aren't|doesn't|won't|can't) (?:I|"
        r"you|we|they|he|she|it|this|that|there|the|our|my|your|any\w*|some\w*)|qu(?:el(?:le)?s?|oi)|"
        r"qu'est|est-ce|pourquoi|comment|combien|peux-tu|pouvez-vous|pourrais-tu|pourriez-vous|faut-il|"
        r"dois-je|doit-on|devrait-on|peut-on|as-tu|avez-vous|sais-tu|y a-t-il|existe-t-il)\b"
    ),
)
_WONDERS = AnyOf(
    (
        r"\b(?:what if|maybe|perhaps|might|suppose|supposing|imagine|let's say|let's imagine|say we|for "
        r"example|e\.g\.|for instance|not sure|unsure|(?:I )?wonder(?:ing)?|thinking (?:of|about)|"
        r"considering|hypothetically|could (?:use|also|switch|go|move|be)|we could|I could|one could|"
        r"would it|if we|if I|in case we|unless we|in theory|whether|I (?:don't|do not) (?:know|"
        r"understand|see)|je (?:ne )?(?:comprends|sais|vois) pas|hesitat\w+|torn between|either|et si|"
        r"si (?:on|nous|je|jamais)|peut-être|pourrai(?:t|ent|s)|pourrions|imagin(?:ons|e|ez)|"
        r"suppos(?:ons|e|ez)|admettons|disons qu|mettons qu|par exemple|me demande|j'hésite|hésit\w+|"
        r"pas (?:encore )?(?:sûr|certain|décidé)\w*|éventuellement|en théorie|not decided|haven't "
        r"decided|undecided|soit .{1,60} soit)\b"
    ),
    r"\bmust have (?:been|had|\w+(?:ed|en|wn|ne|ght|st))\b",
    r"\b(?:j\'ai|on a) dû \w+(?:er|ir|re)\b",
)
_REPORTS = AnyOf(
    (
        r"\b(?:docs?|documentation|readme|errors?|logs?|message|article|stack ?overflow|blog|linter|"
        r"compiler|output|tutorial|tool|warning|they|he|she|colleague|coworker|someone|somebody|people|"
        r"wikipedia|chatgpt|copilot|changelog|comment|ticket|issue|story|requirement|reviewer|post|page|"
        r"spec)\b(?: \w+){0,2}? (?:says?|said|states?|stated|tells?|told|suggests?|suggested|"
        r"recommends?|recommended|claims?|claimed|proposed|proposes?|mentions?|mentioned|reads|"
        r"complains?|advises?|asks?)\b"
    ),
    (
        r"\b(?:according to|apparently|supposedly|we used to|I used to|previously,? we|the old (?:code|"
        r"version|team))\b"
    ),
    (
        r"\b(?:la doc|documentation|l'erreur|le message|l'article|le linter|le compilateur|le tuto\w*|"
        r"le ticket|le readme|le log|les logs|la sortie|le commentaire|il|elle|ils|on m'|quelqu'un|"
        r"(?:mon|ma|un|une) collègue|tu|vous|copilot|chatgpt)\b(?: \w+){0,2}? (?:dit|disent|disait|"
        r"indique\w*|recommand\w+|conseill\w+|affirm\w+|suggér\w+|suggèr\w+|propos\w+|préconis\w+|"
        r"mentionn\w+|prétend\w*|as dit|avez dit|a dit|demandent?|exigent?)\b"
    ),
    (
        r"\b(?:selon|d'après|apparemment|soi-disant|avant,? on|autrefois|à l'époque|l'ancien(?:ne)? "
        r"(?:code|version))\b"
    ),
    r"\b(?:you|we|I) (?:said|told|suggested|recommended|claimed|proposed|mentioned)\b",
)


def plain(sentence: str) -> str:
    """The sentence as the rules read it: straight apostrophes, and nothing of what is quoted in it."""
    return QUOTED.sub("``", sentence.replace("’", "'").replace("‘", "'"))


def is_question(words: str) -> bool:
    """Whether it asks. `words` is plain."""
    return words.rstrip(" \"'»”)").endswith("?") or _ASKS.match(words) is not None


def is_wondering(words: str) -> bool:
    """Whether it is a hypothesis or an example."""
    return _WONDERS.search(words) is not None


def is_report(words: str) -> bool:
    """Whether it tells what somebody else says, or what was so before."""
    return _REPORTS.search(words) is not None


def said_by(person: str) -> list[tuple[str, str]]:
    """The sentences of the person that do not ask, each with its plain form."""
    found = [(s, plain(s)) for s in sentences(person) if len(s) <= STATEMENT_CHARS_MAX]
    return [(s, words) for s, words in found[:STATEMENTS_MAX] if not is_question(words)]
