"""The rules of `intents`: patterns over plain words (lower case, no accents, no punctuation).

In a pattern, line breaks and the indentation after them are ignored; blanks within a line are not.
"""

import re
from collections.abc import Sequence
from functools import cache

from msgspec import Struct


class Around(Struct, frozen=True):
    """Compiled: what may precede and follow the request."""

    preface: re.Pattern[str]
    ending: re.Pattern[str]


class Commands(Struct, frozen=True):
    """Compiled: complete messages that ask for a command."""

    undo: re.Pattern[str]
    redo: re.Pattern[str]
    alternatives: re.Pattern[str]


# Compiling takes tens of milliseconds, so an interface makes the first call in a thread.


@cache
def around() -> Around:
    """The rules for words that do not count."""
    return Around(_rule(_PREFACE_EN, _PREFACE_FR, behind=r" (?=\S)"), _rule(_ENDING, before=" ", behind="$"))


@cache
def commands() -> Commands:
    """The rules for what the program does."""
    return Commands(
        undo=_rule(*_UNDO_EN, *_UNDO_FR),
        redo=_rule(*_REDO_EN, *_REDO_FR),
        alternatives=_rule(*_OTHERS_ASKED_EN, *_OTHERS_ASKED_FR),
    )


def _rule(*parts: str, before: str = "", behind: str = "") -> re.Pattern[str]:
    return re.compile(f"{before}{_any(parts)}{behind}")


def _any(parts: Sequence[str]) -> str:
    """Return one of the parts, as a pattern."""
    each = (re.sub(r"\n\s*", "", part) for part in parts)
    return f"(?:{'|'.join(f'(?:{part})' for part in each)})"


_PREFACE_EN = r"""
    no|nope|oh|ah|ugh|argh|hm+|oops|ok|okay|well|wait|stop|sorry|actually|hey|hi|so|now|and|then|just|please
    |quick(?:ly)?|never ?mind|damn|great|good|thanks|thank you|yes|yeah
    |(?:can|could|would|will) (?:you|we|i)|let's|lets|let us|i(?:'d| would) (?:like|love) (?:you )?to
    |i (?:want|need) (?:you )?to|you (?:can|should|must|need to)|we (?:should|need to|must)|go ahead and
    |why (?:don't|not) (?:you|we)|how (?:do|can) (?:i|we|you)
    |(?:that|this|it)(?:'s| is| was) (?:all )?(?:wrong|bad|worse|a mistake|broken)
    |(?:that|this|it)(?:'s| is| was) not (?:it|right|good|better|what i (?:wanted|meant|asked(?: for)?))
    |(?:that|this|it) (?:broke|breaks|ruined) (?:it|everything|all|the (?:build|tests?))
    |(?:that|this|it) (?:did not|didn't|does not|doesn't) (?:work|help)
    |i changed my mind|wrong (?:file|one|place|answer)|i (?:don't|do not) want (?:it|that|this)
    |i (?:don't|do not|didn't) like (?:it|that|this)|i liked it better before
    |it was better before
"""
_PREFACE_FR = r"""
    non|oups|mince|zut|euh|bon|ben|bah|alors|attends?|attendez|pardon|desolee?|en fait|finalement|merci
    |oui|stop
    |s'il (?:te|vous) plait|stp|svp|maintenant|et|puis
    |(?:est ce que )?(?:tu|vous|on|nous|je) (?:peux|pouvez|peut|pourrais|pourriez|pourrait|pouvons|dois|doit)
    |(?:peux|pourrais) (?:tu|je)|(?:pouvez|pourriez) vous|(?:peut|pourrait) on|il (?:faut|faudrait)
    |je (?:veux|voudrais|souhaite)(?: que (?:tu|vous))?|j'aimerais(?: que (?:tu|vous))?|veuillez|comment
    |pourquoi ne pas|ce n'est pas (?:ca|bon|ce que je (?:voulais|demandais))
    |c'est (?:pas (?:ca|bon)|faux|rate|pire|nul|moins bien|une erreur)|c'etait (?:mieux avant|une erreur)
    |ca (?:ne )?marche pas|ca a tout casse|j'ai change d'avis|je n'aime pas(?: ca)?|je preferais avant
"""
_ENDING = r"""
    please|now|right now|right away|immediately|thanks|thank you|for me|again|if you can|then|first
    |s'il (?:te|vous) plait|stp|svp|merci|maintenant|tout de suite|immediatement|alors|quand meme
    |pour moi|d'abord
"""

_NUMBER = r"(?:\d{1,2}|one|two|three|four|five|six|couple of|few|deux|trois|quatre|cinq|six)"

# What was done last, in words that cannot mean a file, a commit or an object of the program.
_DONE = r"""(?:change|edit|modification|modif|turn|step|action|update|message|request|prompt|answer
    |response|thing)s?"""
_YOU_DID = r"""(?:that )?you(?:'ve| have)? (?:just |last )?
    (?:did|done|made|changed|wrote|written|edited|added|removed|created|deleted)(?: just now| last
    | so far)?"""
_IT = _any(
    (
        r"(?:all (?:of )?)?(?:it|this|that|these|those|them)(?: all)?|all|everything|your work",
        rf"""(?:all (?:of )?)?(?:the|your|my|these|those|this|that|all)
        (?: very)?(?: last| latest| previous| recent)?(?: {_NUMBER})?(?: file)? {_DONE}""",
        rf"(?:the )?last (?:{_NUMBER} )?{_DONE}|{_NUMBER} {_DONE}|(?:the |that )?last one|\d{{1,2}}",
        rf"(?:everything|all) (?:from|of|in|since) (?:the|your|my) (?:last|previous) {_DONE}",
        rf"(?:everything|all|what(?:ever)?|the last thing) {_YOU_DID}",
        rf"(?:all )?(?:the |those |these )?(?:changes|edits) {_YOU_DID}",
    )
)
_FAIT = (
    r"(?:changement|modification|modif|edition|etape|action|tour|demande|message|requete|reponse|operation)s?"
)
_TU_AS_FAIT = r"""ce que (?:tu|vous) (?:(?:viens|venez) de (?:faire|modifier|changer|ecrire|ajouter|supprimer)
    |(?:as|avez) (?:fait|modifie|change|ecrit|ajoute|supprime))(?: jusqu'ici| depuis tout a l'heure)?"""
_CA = _any(
    (
        rf"ca|cela|tout|tout (?:ca|cela)|le|la|les|(?:tout )?{_TU_AS_FAIT}|{_NUMBER} {_FAIT}|\d{{1,2}}",
        rf"""(?:toutes? )?(?:le|la|les|ta|ton|tes|ma|mon|mes|ce|cette|ces)
        (?: {_NUMBER})?(?: dern\w+| preced\w+)?(?: {_NUMBER})? {_FAIT}(?: precedent\w*)?""",
    )
)
_BEFORE = r"""(?:(?:the way|how|as|what) (?:it|things|everything|that|they|we) (?:was|were
    |had it)(?: before)?|before
    |the (?:previous|last|earlier) (?:state|version)
    |(?:the state )?before (?:that|this|your (?:last )?changes?)|where we were)"""
_AVANT = r"""(?:comme (?:avant|c'etait(?: avant)?|(?:il|elle)s? eta\w+(?: avant)?|au debut)
    |(?:a )?l'etat (?:precedent|d'avant|anterieur)|(?:a )?la version (?:precedente|d'avant)
    |avant (?:ca|cela|ta (?:derniere )?modification|tes modifications))"""
_FILES = r"(?:it|this|that|everything|things|all|them|the (?:files?|code))"

_UNDO_EN = (
    r"ctrl ?\+? ?z",
    rf"(?:undo|revert|roll ?back|unwind|cancel|discard|scratch|take back|get rid of)(?: {_IT})",
    r"un ?do|revert|roll ?back",
    rf"(?:remove|delete) (?:everything |all |what ){_YOU_DID}",
    rf"(?:undo|revert) (?:{_FILES} |your changes )?(?:back )?to {_BEFORE}",
    rf"roll (?:{_FILES} )?back(?: {_IT})?(?: to {_BEFORE})?",
    rf"(?:take|roll) {_IT} back|(?:throw|take) {_IT} (?:away|out)|throw away {_IT}",
    rf"forget (?:everything |all |what |the last thing ){_YOU_DID}",
    rf"go back(?: (?:a|{_NUMBER}) (?:step|turn|change|message)s?)?(?: to {_BEFORE})?|back to {_BEFORE}",
    r"step back|(?:one|a) (?:step|turn) back|back up (?:a|one) (?:step|turn)",
    rf"(?:put|set|reset|get|bring|change|turn|restore|return) {_FILES}(?: all)?(?: back)?(?: to)? {_BEFORE}",
    rf"restore {_BEFORE}",
)
_UNDO_FR = (
    rf"(?:annule[rz]?|defais|defaire|defaites|undo|revert)(?: {_CA})?",
    rf"""(?:(?:on )?revien[st]|revenir|revenons|revenez|retour|remonte[rz]?|fais marche|faire marche
    |marche|fais un retour)
    (?: en)? arriere(?: (?:d'une?|de {_NUMBER}) (?:tours?|etapes?|pas|crans?|modifications?))?""",
    rf"""(?:(?:on )?revien[st]|revenir|revenons|revenez|retour|retourne[rz]?|remets|remettre|remettez
    |retablis|restaure[rz]?)
    (?: (?:ca|cela|tout|tout ca|les fichiers|le fichier|le code|la|le|les))? {_AVANT}""",
    rf"""(?:enleve|retire|supprime|jette|abandonne|oublie|efface)[rz]?
    (?:(?: tout)? {_TU_AS_FAIT}| (?:ta|tes) (?:dern\w+ )?{_FAIT})""",
)

_UNDONE = r"""(?:what|everything|all|the changes?|those changes) (?:that )?
    (?:you|i|we|was|were)(?: just| have)? (?:undid|undone|took back|reverted|rolled back)"""
_ANNULE = _any(
    (
        r"""(?:tout )?ce (?:que (?:tu as|vous avez|j'ai|on a) (?:annule|defait)
        |que (?:tu viens|je viens|vous venez) (?:d'annuler|de defaire)|qui (?:a ete|vient d'etre) annule)""",
        rf"(?:la |les |le )?(?:dern\w+ )?{_FAIT} (?:annule\w*|defait\w*)",
        rf"""(?:la |les |le )?(?:dern\w+ )?{_FAIT} que (?:(?:tu as|vous avez|j'ai) annule\w*
        |tu viens d'annuler)""",
    )
)
_REDO_EN = (
    rf"""redo(?: (?:the )?last (?:{_NUMBER} )?(?:undone )?(?:{_DONE}|undo)| {_UNDONE}
    | the undone (?:change|turn)s?)?""",
    r"""(?:undo|revert|cancel) (?:the|that|your|my|this|the last|last) (?:last )?(?:undo|revert|rollback)
    |redo (?:my|the|your) (?:last )?undo""",
    rf"(?:redo|re ?apply|bring back|restore|put back|reinstate) {_UNDONE}",
    r"bring the (?:changes?|edits?) back(?: that (?:you|we|i) (?:undid|reverted|took back))?",
    r"(?:un ?undo|re ?apply)(?: (?:it|that|this|them))?",
    r"""(?:re ?apply|bring back|put back|reinstate) (?:the|your|my|those|these) (?:last |undone |reverted )?
    (?:change|edit|turn)s?""",
    r"i want (?:the undone|my undone|the reverted|those) (?:change|edit|turn)s? back",
)
_REDO_FR = (
    rf"""(?:refais|refaire|refaites|retablis|retablir|retablissez|remets|remettre|restaure[rz]?
    |reapplique[rz]?)
    {_ANNULE}""".replace("\n    ", " "),
    rf"""(?:retablis|retablir|retablissez|reapplique[rz]?)
    (?: (?:ca|cela|tout)| (?:la|les|le|ta|tes) (?:dern\w+ )?{_FAIT})?""",
    r"""(?:annule[rz]?|defais|defaire) (?:l'annulation|(?:cette|ton) annulation|la derniere annulation
    |l'undo|le (?:dernier )?undo)""",
)

_OTHERS = r"(?:versions|variants|variations|approaches|solutions|options|ways|proposals|attempts)"
_AUTRES = r"(?:versions?|variantes?|approches?|solutions?|options|facons|manieres|propositions?|essais?)"
_SEE = r"""(?:show(?: me| us)?|see|view|list|display|let (?:me|us) (?:see|compare)|compare|look at|give me|get
    |suggest|propose|offer|do you have|have you(?: got)?)"""
_VOIR = r"""(?:(?:montre|affiche|donne|propose|liste|presente|fais)[rsz]?(?: (?:moi|nous))?|voir|compare[rz]?
    |(?:fais|faites|laisse) (?:moi |nous )?voir|essaie|essayer|as tu|tu as|avez vous
    |(?:me|nous) (?:montrer|proposer|donner|afficher|faire voir))"""
_SOME = rf"(?:(?:all|some|any|a few|several|more|{_NUMBER}) )?(?:of )?(?:the |your |my )?(?:{_NUMBER} )?"
_OTHERS_ASKED_EN = (
    rf"{_SEE} {_SOME}(?:other|different|alternative) (?:{_NUMBER} )?{_OTHERS}(?: of (?:it|that|this))?",
    rf"{_SEE} {_SOME}alternatives(?: (?:to|for) (?:it|that|this))?",
    rf"{_SEE} {_SOME}(?:versions|variants|proposals) (?:that )?you (?:made|tried|came up with|wrote)",
    rf"(?:what|which)(?:'s| are| is| were) (?:the |your )?(?:alternatives?|(?:other|alternative) {_OTHERS})",
    rf"""(?:what|which) (?:alternatives|other {_OTHERS}) (?:are there|do you have|did you (?:try|make
    |come up with))""",
    r"what else did you (?:try|come up with|make|propose)",
    rf"(?:are|were) there (?:any )?(?:(?:other|alternative|different) {_OTHERS}|alternatives)",
    rf"""any (?:alternatives|other {_OTHERS})|(?:the )?(?:other|alternative) {_OTHERS}
    |(?:{_NUMBER} )?alternatives""",
    rf"""(?:do|try|solve|make|write|build) (?:it|this|that)(?: out)?(?: in)?
    (?: {_NUMBER}| several| some| a few| multiple| many)(?: other| different)? (?:ways|versions
    |approaches|variants)""",
    r"""(?:go|switch|move|cycle) (?:to|through) (?:the )?(?:other|next|alternative) (?:version
    |alternative|variant)s?""",
)
_LES = rf"(?:toutes )?(?:les |tes |des |d'|quelques |plusieurs )?(?:{_NUMBER} )?"
_OTHERS_ASKED_FR = (
    rf"{_VOIR} {_LES}autres {_AUTRES}(?: possibles)?",
    rf"""{_VOIR} {_LES}(?:alternatives|variantes|(?:versions|solutions|approches|propositions)
    (?: differentes| alternatives))""",
    rf"""(?:quelles (?:sont|etaient) )?(?:les |des |d')?(?:autres {_AUTRES}|alternatives
    |variantes)(?: possibles)?""",
    rf"""quelles (?:autres {_AUTRES}|alternatives|variantes) (?:as tu|avez vous|y a t il|sont possibles
    |proposes tu)""",
    rf"""(?:(?:est ce qu')?(?:il )?y a(?: t il)?|il existe|existe t il) (?:d'autres {_AUTRES}
    |des (?:alternatives|variantes))(?: possibles)?""",
    rf"""(?:fais|essaie|ecris|resous|propose|donne)(?: (?:le|la|ca|moi|cela))?(?: de| en)?
    (?: {_NUMBER}| plusieurs| differentes)(?: autres)?
    (?: facons| manieres| versions| variantes| alternatives)(?: differentes)?""",
)
