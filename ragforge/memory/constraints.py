"""What the person demands, found by rules in English and French."""

import re

from ragforge.memory.material import CONSTRAINT_CHARS_MAX, CONSTRAINTS_MAX
from ragforge.memory.patterns import AnyOf
from ragforge.memory.sentences import cut_words
from ragforge.memory.statements import is_report, is_wondering, said_by

# Where a clause begins, so that "it never returns" is no order and "Never return None" is one.
_CLAUSE = (
    r"(?:^|[,;:—–(]\s*|\b(?:and|but|so|then|also|please|that|et|mais|donc|alors|puis|surtout|s'il "
    r"(?:te|vous) plaît|stp|svp|remember|important|note|règle|rule|ici|here)[,:]?\s+)"
)
_NOT_TOLD = r"(?!\w+(?:(?<!e)ed|(?<![su])s|ought|ound|ade|ent)\b)"
"""The verb of an order has no ending of a tale: "never worked", "always fails"."""

STANDING = AnyOf(
    rf"{_CLAUSE}(?:always|never),? (?!mind\b){_NOT_TOLD}\w+",
    r"\byou (?:must|should) (?:always|never)\b",
    r"\bfrom now on\b",
    r"\bunder no circumstances\b",
    r"\bat all times\b",
    rf"{_CLAUSE}(?:don't|do not) ever\b",
    r"\bmust (?:always|never)\b",
    rf"{_CLAUSE}(?:toujours|jamais) (?:de |d'|un|\w+(?:er|ir|re)\b)",
    rf"{_CLAUSE}(?:ne |n')(?:\w+ )?jamais\b",
    rf"{_CLAUSE}(?:ne |n')\w+(?: \w+)? jamais\b",
    (
        rf"{_CLAUSE}(?!ça|il|elle|on|je|c'|qui\b)\w+(?:e|s|z|ons)(?:-\w+)? toujours\b(?! (?:pas|le même|"
        r"la même|une?|des))"
    ),
    (
        r"\b(?:il (?:ne )?faut|(?:on|tu|vous) (?:ne )?d(?:oit|ois|evez)|d(?:oit|oivent)) (?:toujours|"
        r"jamais)\b"
    ),
    r"\b(?:désormais|dorénavant|à partir de maintenant|en aucun cas|sous aucun prétexte)\b",
    r"\bunder any circumstances?\b",
)
"""Demands that hold beyond the turn: rules, and as such preferences of the person."""

_DEMANDS = AnyOf(
    (
        rf"{_CLAUSE}(?:do not|don't|don't ever) (?!know|think|understand|see|worry|get\b|have|remember|"
        r"mind|hesitate|forget|care|like|want|need|bother|panic)\w+"
    ),
    (
        r"\b(?:must|mustn't|must not)\b(?! (?:say|admit|confess|be (?:because|a |an |some|due|wrong|the "
        r"|related|caused|something|missing|that|broken|coming)|have (?:been|had|\w+(?:ed|en|wn|ne|ght|"
        r"st))\b))"
    ),
    (
        r"\b(?:you|they|it|this|that|we|everything|\w+s) (?:can't|cannot|may not|are not allowed to|is "
        r"not allowed to) (?:use|add|change|touch|break|depend|exceed|install|modify|rely|require)\b"
    ),
    rf"{_CLAUSE}(?:make sure|be sure to|ensure)\b",
    rf"{_CLAUSE}only use\b",
    r"\buse only\b",
    r"\bonly ever\b",
    r"\bat all costs\b",
    rf"{_CLAUSE}(?:avoid|évite[zr]?) (?!\w+é)",
    r"^(?:every|each|all) .{1,80}? (?:needs?|should|has to|have to) (?!we\b|to do)",
    (
        r"\b(?:need|ha)s? to (?:stay|remain|keep|be compatible|work (?:on|with|without|in|offline)|run "
        r"(?:on|in|offline)|support|fit)\b"
    ),
    (
        rf"{_CLAUSE}no (?!problem|worries|idea|need|rush|wait|luck|way|one|doubt|change yet|errors?\b|"
        r"longer|it|that|thanks|matter|i\b|we\b|error|\w+ed\b)(?:new |more |extra |external |"
        r"third-party |global )?\w+s?\b(?=[^.]{0,60}$|[^.]{0,80}[,;.])(?=.{0,120}$)(?! (?:is|was|were|"
        r"are|works?|happens?|appears?|found|shows?)\b)"
    ),
    (
        r"\bwithout (?:adding|updating|upgrading|removing|using|changing|touching|breaking|modifying|"
        r"introducing|(?:any )?(?:\w+ )?(?:downtime|dependenc\w+|librar\w+|regressions?|frameworks?))\b"
    ),
    (
        r"\b(?:at most|no more than|not more than|max(?:imum)?) \d[\d,. ]*\s?(?:ms|s|seconds?|minutes?|"
        r"kb|mb|gb|lines?|characters?|columns?|%|percent|requests?)(?!\w)"
    ),
    r"\bI (?:do not|don't) want (?:you to|any|to see)\b",
    r"\bleave .{1,60} (?:alone|as (?:it is|they are)|untouched)\b",
    (
        r"\b(?:is|are) (?:off[- ]limits|forbidden|not allowed|mandatory|required|not negotiable|"
        r"non-negotiable)\b"
    ),
    (
        rf"{_CLAUSE}(?:ne |n')(?!importe|est|a |ai |oublie)(?:\w+ )?(?:pas|plus|rien|aucun\w*|\w+(?:e|s|"
        r"z|ons)(?:-\w+)? (?:pas|plus|rien|aucun\w*|que|surtout pas))\b"
    ),
    r"\bil (?:ne )?faut (?:que (?!je\b|j')|qu'|pas\b|surtout|absolument|impérativement)",
    (
        r"\b(?:tu|vous) (?:ne )?d(?:ois|evez) (?:pas|absolument|impérativement|uniquement|rester|garder|"
        r"utiliser)\b"
    ),
    (
        r"(?<!ça )(?<!ce )\bd(?:oit|oivent) (?:absolument |impérativement |pouvoir )?(?:rester|tenir|"
        r"fonctionner|tourner|passer|marcher|respecter|utiliser|être (?:compatible|en |accessible|testé|"
        r"typé|documenté|idempotent|rétro)\w*|supporter|répondre|avoir)\b"
    ),
    (
        r"\b(?:l[ea]s?|l'|chaque|tou(?:t|s|tes)|une?|notre|nos|ces?|mon|ma|mes)\b[^.?!,;]{1,80}? "
        r"d(?:oit|oivent) (?!être|venir|y |avoir (?:été|un problème)|dire)\w+(?:er|ir|re)\b"
    ),
    (
        r"\bne d(?:oit|oivent) (?:pas|jamais|plus)\b(?! être (?:bien|très|si|trop|loin|compliqué|"
        r"difficile))"
    ),
    (
        rf"{_CLAUSE}(?:pas de|pas d'|aucune?) (?!souci|problème|panique|idée|soucis|mal\b|quoi|chance|"
        r"erreur|changement|doute|résultat|retour|nouvelles?$)\w+"
    ),
    r"\bsurtout pas\b",
    r"\b(?:est|sont) (?:interdite?s?|obligatoires?|non négociables?|proscrite?s?)\b",
    r"\binterdiction de\b",
    r"\b(?:impérativement|obligatoirement)\b",
    (
        r"\bsans (?:toucher|mettre à jour|supprimer|changer|modifier|casser|ajouter|utiliser|rien|"
        r"aucune?|introduire|(?:\w+ )?(?:dépendance|bibliothèque|librairie|framework|coupure|"
        r"interruption|régression)s?)\b"
    ),
    rf"{_CLAUSE}utilise[zr]? (?:uniquement|seulement)\b",
    rf"{_CLAUSE}uniquement\b",
    r"\bje ne veux (?:pas|plus|aucun\w*|surtout pas)\b",
    rf"{_CLAUSE}(?:assure-toi|assurez-vous|veille|veillez|fais en sorte|faites en sorte)\b",
    (
        r"\b(?:au maximum|au plus|maximum|max) \d[\d,. ]*\s?(?:ms|s|secondes?|minutes?|ko|mo|go|lignes?|"
        r"caractères?|colonnes?|%|requêtes?)(?!\w)"
    ),
    (
        r"\blaisse[zr]? .{1,60} (?:tels? quels?|telles? quelles?|tranquilles?|comme (?:il|elle)s? "
        r"(?:est|sont))\b"
    ),
    (
        r"\b(?:ça|il|elle|cela) doi(?:t|vent) (?:aussi |absolument )?(?:marcher|fonctionner|rester|"
        r"tenir|tourner|passer) (?!maintenant|normalement)"
    ),
    r"\bd(?:oit|oivent) être (?:du|de la|des|valides?|au|sous|uniques?|écrite?s? en|en) ",
    (
        r"(?<!we )(?<!I )(?<!you )\b(?:has|needs) to be (?!an? (?:bug|problem|reason|mistake)|some|"
        r"because|the |done|fixed)"
    ),
    rf"{_CLAUSE}(?:stay|stick|keep) (?:within|to|below|under|inside|out of)\b",
    r"(?:,|\bbut|\band) nothing (?:in|outside|else|from|under)\b",
    r"(?:,|\bmais|\bet) rien (?:dans|hors|en dehors|d\'autre|sous)\b",
)


def is_standing(words: str) -> bool:
    """Whether it is a rule for all that comes. `words` is plain."""
    return STANDING.search(words) is not None


def is_demand(words: str) -> bool:
    """Whether it demands or forbids something, for now or for good."""
    return is_standing(words) or _DEMANDS.search(words) is not None


def constraints_in(person: str) -> tuple[str, ...]:
    """What the person demands, word for word, each at most `CONSTRAINT_CHARS_MAX` characters."""
    found = (
        sentence
        for sentence, words in said_by(person)
        if is_demand(words) and not is_report(words) and not is_wondering(words)
    )
    return tuple(dict.fromkeys(cut_words(each, CONSTRAINT_CHARS_MAX) for each in found))[:CONSTRAINTS_MAX]


def word_for_word(quote: str, person: str) -> str:
    """The words of the person that the quote repeats, as the person wrote them but for spacing, at most
    `CONSTRAINT_CHARS_MAX` characters; empty where the person did not say so."""
    said = " ".join(person.split())
    same = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})
    for attempt in (quote, quote.strip(" \"'“”«»"), quote.replace("&lt;", "<")):
        wanted = " ".join(attempt.split()).translate(same)
        found = (
            re.search(re.escape(wanted), said.translate(same), re.IGNORECASE) if len(wanted) >= 4 else None
        )
        if found:
            return cut_words(said[found.start() : found.end()], CONSTRAINT_CHARS_MAX)
    return ""
