"""By what words a sentence is seen to be a memory, and of which type, in English and French."""

import re
from collections.abc import Sequence

from ragforge.domain.memories import MemoryType
from ragforge.memory.patterns import AnyOf
from ragforge.memory.rules_of_facts import EVENT, FACT, NAMED, OBSERVATION
from ragforge.memory.topics import KNOWN_NAMES

_ROLES = (
    r"(?:developer|dev|engineer|student|designer|scientist|admin|sysadmin|administrator|researcher|"
    r"manager|founder|freelancer|teacher|analyst|architect|beginner|maintainer|programmer|"
    r"consultant|physicist|biologist|lead|cto|intern|newcomer|owner|author|data scientist|devops|"
    r"sre|développeu(?:r|se)|doctorante?|ingénieure?|étudiante?|freelance|cherch(?:eur|euse)|médecin|prof|"
    r"professeure?|enseignante?|responsable|chef|cheffe|débutante?|architecte|stagiaire|alternante?|"
    r"administrat(?:eur|rice)|indépendante?|biologiste|physicienne?|graphiste|mainteneu(?:r|se)|"
    r"auteure?|data scientist)"
)
_IDENTITY = AnyOf(
    r"\bmy name is \w",
    r"\b(?:please )?call me (?-i:[A-Z])",
    rf"\b(?:I'm|I am|I work as) (?:an?|the|one of the|your|their) (?:[\w/-]+ ){{0,4}}{_ROLES}\b",
    r"\bI work (?:at|for|in the|as an?) \w",
    r"\bI(?:'m| am) (?:colou?r[- ]?blind|dyslexic|left-handed|deaf|blind|new to (?-i:[A-Z]))",
    r"\bje suis (?:daltonien|malvoyant|dyslexique|gauch|sourd|aveugle|seule? (?:sur|à))",
    r"\bje (?:débute|commence) (?:en|avec) (?-i:[A-Z])",
    r"\b(?:I live in|I'm based in|I am based in) \w",
    r"\bmy (?:pronouns|job) (?:are|is)\b",
    (
        r"\b(?:this|our) (?:project|repo|repository|app|application|service|library|package|codebase|"
        r"tool) is (?:an?|our|the) (?!mess|pain|bit|joke|disaster|nightmare|lot|little|problem|same|"
        r"reason|only)\w"
    ),
    r"\bje m'appelle \w",
    r"\bmon (?:nom|prénom) est \w",
    r"\bmoi c'est (?-i:[A-Z])",
    rf"\bje suis (?:une? |le |la |l'|en )?(?:[\w'/-]+ ){{0,3}}{_ROLES}\b",
    r"\bje (?:travaille|bosse) (?:chez|pour|comme|à|dans|en tant que) \w",
    r"\bj'habite\b",
    (
        r"\b(?:ce|notre|mon) (?:projet|dépôt|outil|logiciel|service|site|paquet|appli\w*)(?: est| sert|"
        r", c'est) (?:une?|l[ea]|à|notre)\b"
    ),
    r"\bcette (?:appli\w*|bibliothèque) est une?\b",
    r"\bI (?:maintain|run|lead|own) (?:the|this|our|a)\b",
    r"\bI(?:\'m| am) (?:in charge of|responsible for)\b",
    r"\bje (?:m\'occupe d|maintiens|gère|dirige) ?(?:u |e |es |l|c)",
    r"^(?:(?:hi|hello|hey|salut|bonjour)[,! ]+)?I\'m (?-i:[A-Z][a-zà-ÿ]+)[,.]",
    r"\bce dépôt (?:contient|est) ",
    r"\bthis repo(?:sitory)? (?:contains|holds) ",
)
_TAKE = (
    r"(?:use|go with|go for|switch|move (?:to|over)|stick with|stay with|keep|adopt|migrate|drop|"
    r"replace|store|deploy|build (?:it|this|on)|support|write (?:it|this|the \w+) in|base|target|"
    r"standardi[sz]e|settle|pick|choose|rely|host|ship|run on|name|call)"
)
_PREND = (
    r"(?:utiliser|partir|prendre|passer|garder|rester|adopter|migrer|abandonner|remplacer|stocker|"
    r"déployer|basculer|héberger|choisir|conserver|supprimer|écrire|nommer|appeler|retenir|opter|se "
    r"baser|s'appuyer)(?! (?:un peu|le temps|une pause|\w+ minutes?))"
)
_DECISION = AnyOf(
    (
        r"\b(?:we|I)(?:'ll| will|'re going to| are going to|'m going to| am going to|'ve decided to)(?: "
        rf"not| only| now)? {_TAKE}\b"
    ),
    rf"\bwe (?:won't|will not|no longer|are not going to|aren't going to) (?:\w+ )?{_TAKE}\b",
    rf"\blet's (?:just |not |rather |all |actually )?{_TAKE}\b(?!.*\bhere\b)",
    (
        r"\b(?:we|I|the team)(?:'ve| have)?(?: finally| now| all)? (?:decided|chose|chosen|settled on|"
        r"picked|opted|agreed)\b"
    ),
    r"^(?:final )?(?:decision|decided)\s*:",
    r"\bit's decided\b",
    r"\bdecision made\b",
    r"\bthe plan is (?:settled|fixed|final)\b",
    rf"\bI want us to {_TAKE}\b",
    r"\bwe're going with\b",
    r"\bthe decision is\b",
    (
        r"^(?:(?:ok|okay|yes|yeah|right|fine|alright|good|no|actually|then|so|hmm|wait)[,. ]+)*(?:go|"
        rf"going) with {NAMED}"
    ),
    (
        r"\bon (?:va|ne va|ne va pas|va plutôt|va donc|va finalement|part|reste|passe|prend|garde|"
        r"utilisera|n'utilisera|partira|abandonne|choisit|retient|adopte|bascule|migrera|remplacera|"
        r"stockera|déploiera|passera|gardera|prendra|restera)\b(?: pas| plus| plutôt| donc| finalement)"
        rf"? ?(?:{_PREND}|sur|avec|à|en|{NAMED}|l[ea]s? |un|l'|plus|du|des|de)"
    ),
    rf"\b(?:nous allons|nous n'allons pas|je vais|nous n'allons plus)(?: plutôt| donc)? {_PREND}\b",
    (
        r"\b(?:partons|utilisons|gardons|restons|passons|prenons|adoptons|abandonnons|choisissons|"
        r"remplaçons|optons)(?: plutôt| donc)? (?:sur|à|avec|pour|l[ea]s?|un|une|l'|en|du|`|(?-i:[A-Z]))"
    ),
    (
        r"\b(?:j'ai|nous avons|on a|l'équipe a)(?: finalement| enfin| tous)? (?:décidé|choisi|opté|"
        r"tranché|retenu|convenu)\b"
    ),
    r"\bc'est (?:décidé|tranché|acté|réglé)\b",
    r"\bje (?:pars|reste|passe) (?:plutôt |donc |finalement )?(?:sur|avec|à) (?-i:[A-Z`])",
    r"\bon (?:laisse tomber|arrête|oublie|vire) (?:l[ea]s? |l')?(?-i:[A-Z`])",
    (
        r"\bnous (?:n')?(?:utiliser|prendr|garder|adopter|passer|partir|stocker|déploier|migrer|rester)"
        r"ons\b"
    ),
    r"^décision\s*:",
    r"\bla décision est\b",
    r"\bje retiens\b",
    r"\bfinalement (?:on|je pars)\b",
    r"^(?:\w+[.,!] ){0,2}(?:scrap|ditch|drop|dump) (?-i:[A-Z])",
    r"\bj\'(?:abandonne|arrête|oublie) (?:l[ea]s? )?(?-i:[A-Z])",
    (
        r"\bwe(?:\'re| are) (?:now )?(?:moving|switching|migrating|dropping|adopting|keeping|sticking|"
        r"standardi[sz]ing)\b"
    ),
    r"\bwe go (?:with|for)\b",
    r"\bwe(?:'re| are) (?:now )?using [\w.+#-]+ (?:now )?(?:instead of|rather than) ",
    r"^(?:décision|decision)\b[^:.]{1,40}: ",
    r"\b[\w.+#-]{2,} it is[.,]",
    (
        r"(?:^|[,:] |\bfinalement |\bdonc )ce sera (?!bon|fait|tout|mieux|plus|long|difficile|compliqué|"
        r"simple|rapide)\w"
    ),
    r"\b(?:change of plans?|changement de plan|on reflection|tout compte fait|après réflexion)\b",
    (
        r"\b(?:switch|move|migrate) (?:everything|all of it|the (?:whole )?project|us) (?:to|over|from)"
        r"\b"
    ),
)
_KNOWN = "|".join(sorted(map(re.escape, KNOWN_NAMES)))
_SWAP = AnyOf(
    (
        r"^(?:\W*\w+,? ){0,3}?(?:use|utilise[rz]?|switch to|passe[rz]? à|prends|prenez) (?!an? |the |"
        r"this |that |it |une? |l[ea] |ce|my )`{0,2}[\w.+#-]*`{0,2},? (?:instead of|rather than|not|au "
        r"lieu de|à la place de|plutôt que) (?:de )?(?!an? |the |une? |l[ea] )"
    ),
    (rf"\b(?:on|nous) (?:a |avons )?remplac(?:e|é|ons) (?:{_KNOWN})\b[ \d.]{{0,8}} ?par (?:{_KNOWN})\b"),
    (
        rf"^(?:(?:ok|okay|please|then|stp)[, ]+)?(?:use|utilise[rz]?) (?:{_KNOWN})\b[ \d.]{{0,8}} "
        r"?(?:for|as|pour|comme) (?:the|our|all|storage|every|l[ea]s? |l'|notre|nos|tou)"
    ),
)
_LATER = (
    r"(?:later|next (?:week|month|time|sprint|quarter)|tomorrow|at some point|eventually|afterwards|"
    r"soon|another day|before we (?:go live|ship|release|launch|merge|deploy)|after the release|"
    r"before the release|one day)"
)
_PLUS_TARD = (
    r"(?:plus tard|demain|la semaine prochaine|le mois prochain|la prochaine fois|un jour|ensuite|"
    r"après (?:la|cette|ça)|avant la (?:mise en (?:prod|ligne|service)|release|sortie|livraison)|au "
    r"prochain sprint)"
)
_TODO = AnyOf(
    r"^\W*(?:TODO|to-?do|à faire)\b[^:]{0,40}:",
    (
        rf"\b{_LATER}[, ]+(?:\w+ ){{0,3}}?(?:we|I)(?:'ll)? (?:will |still |also )?(?:need|have|should|must|"
        r"add|do|fix)\b"
    ),
    (
        r"\b(?:we|I)(?:'ll| will)? (?:still |also )?(?:need to|have to|should|must|add|fix|do|write|"
        rf"handle|come back|look|clean|revisit|migrate|rename|remove)\b.{{0,120}}\b{_LATER}\b"
    ),
    r"\b(?:remind me to|don't forget to|do not forget to|remember to|need to remember to)\b",
    r"\b(?:we|I) still (?:need|have) to\b",
    r"\bstill needs? to be\b",
    r"\b(?:is|are) still missing\b",
    r"\bleft to do\b",
    r"\bto-do\b",
    r"\b(?:for|on the list for) later\s*:",
    r"\b(?:pour )?plus tard\s*:",
    r"\bil (?:nous |me )?faudra\b",
    r"\bil (?:nous |me )?reste à\b",
    r"\breste à faire\b",
    r"\bà faire\s*:",
    r"\bpenser à\b",
    (
        r"\b(?:n'oublie|n'oublions|n'oubliez|ne pas oublier|rappelle-moi|pensons|pense|pensez)(?: pas)? "
        r"(?:à|de|d')"
    ),
    (
        rf"\b{_PLUS_TARD}[, ]+(?:\w+ ){{0,3}}?(?:il faut|on doit|je dois|on devra|je devrai|on fera|on "
        r"ajoutera|faudra)\b"
    ),
    (
        r"\b(?:on|je|nous) (?:devr|fer|ajouter|verr|s'occuper|reprendr|corriger|nettoier|écrir|migrer|"
        rf"traiter|renommer|reviendr|gérer|supprimer)(?:a|ai|ons)\b.{{0,120}}\b{_PLUS_TARD}"
    ),
    r"\b(?:je|on|nous) d(?:ois|oit|evons) encore\b",
    r"\bil (?:nous |me )?reste (?:encore )?à\b",
)
_DEADLINE = (
    r"(?:the end of|next (?:month|quarter|year)|q[1-4]\b|summer|christmas|january|february|march|april|"
    r"may\b|june|july|august|september|october|november|december)"
)
_BEFORE = (
    r"(?:la fin|fin|l'été|noël|l'an prochain|janvier|février|mars|avril|mai\b|juin|juillet|août|septembre|"
    r"octobre|novembre|décembre|\w+ (?:mois|semaines))"
)
_GOAL = AnyOf(
    (
        r"\b(?:my|our|the) (?:\w+[- ]){0,2}?(?:goal|aim|objective|ambition)\b(?= (?:is|was|will|for|of|"
        r"with|here|behind|this|now)\b|:)[^.?]{0,60}?(?:\bis\b|\bwill be\b|:)"
    ),
    r"\b(?:we|I)(?:'re| are|'m| am) aiming (?:to|for|at)\b",
    r"\b(?:we|I) aim (?:to|for)\b",
    (
        r"\b(?:we|I) (?:want|plan|hope|intend) (?:to|for this to|this to|the \w+ to|it to) (?:\w+ )"
        r"?(?:ship|launch|release|reach|publish|open[- ]source|replace|become|go live|get (?:to|rid|"
        r"under|below)|have .{1,80} (?:by|before) |migrate|support|be able)\b"
    ),
    r"\b(?:in the end|ultimately|long[- ]term),? (?:we|I) want\b",
    (
        r"\b(?:mon|notre|l[ea]s?|l') ?(?:objectif|but|ambition|visée)\b[^.?]{0,60}?(?:\best\b|c'est|:|"
        r"\bserait\b|\bsont\b)"
    ),
    (
        r"\b(?:on|nous|je) (?:veu[tx]|voulons|vise|visons|compte|comptons|souhaite|souhaitons|cherche à|"
        r"cherchons à|espère|espérons)(?: à)? (?:sortir|lancer|livrer|publier|atteindre|migrer|ouvrir|"
        r"supporter|remplacer|descendre|passer (?:sous|en)|être (?:prêts?|en prod)|mettre en (?:prod|"
        r"ligne)|réduire|diviser)\b"
    ),
    r"\bà terme,? (?:on|nous|je|l)",
    (
        r"\bwhat (?:I'm after|I want|we want|we're after) (?:in the (?:long run|end)|long[- ]term|"
        r"eventually|ultimately)\b"
    ),
    rf"\bby {_DEADLINE}.{{0,30}}\b(?:we|I) (?:want|need|plan|aim|hope|must)\b",
    rf"\b(?:we|I) (?:want|plan|aim|hope|need) to .{{1,120}} by {_DEADLINE}",
    rf"\bd'ici {_BEFORE}.{{0,30}}\b(?:on|nous|je) (?:veu[tx]|voulons|vis|dev|doit|compt|souhait)",
    rf"\b(?:on|nous|je) (?:veu[tx]|voulons|vise|visons|compte|souhaite)\b.{{1,120}} d'ici {_BEFORE}",
    r"\b(?:that\'s|that is) (?:our|my|the) (?:goal|aim|objective)\b",
    (
        r"\b(?:je|on|nous) (?:veux|veut|voulons|souhaite|souhaitons) que .{1,80} soi(?:t|ent) (?:prêt|"
        r"fini|en ligne|livré|public)"
    ),
    r"\b(?:c\'est|voilà) (?:notre|mon|le) (?:objectif|but)\b",
)
_PREFERENCE = AnyOf(
    (
        r"\bI(?:'d| would)? (?:really |much |strongly |always |generally |usually |personally )"
        r"?(?:prefer(?! not to)|rather (?:have|use|keep|see|not|you))\b"
    ),
    (
        r"\bI (?:really |generally |usually |absolutely )?(?:like|love|hate|dislike|can't stand|don't "
        r"like|do not like)\b(?! (?:it\b|this|that\b|the (?:idea|first|second|third|new|look|sound)|"
        r"your|where|how (?:you|it)|what))"
    ),
    r"\bmy preference\b",
    r"^can't stand\b",
    (
        r"^(?:all )?(?:code )?(?:comments|commits|commit messages|commentaires|messages de commit|docs|"
        r"docstrings) (?:in|en|à) (?:the )?\w+"
    ),
    r"\bI'm (?:not )?a (?:big )?fan of\b",
    r"\bmy favou?rite\b",
    (
        r"^(?:please )?(?:answer|reply|respond|write|speak)(?: to)?(?: me)? in (?:English|French|"
        r"Spanish|German|bullet)"
    ),
    (
        r"(?:^|, |\band )(?:please )?keep (?:your|the) (?:answers?|replies|explanations?|comments?|"
        r"commits?|commit messages?) "
    ),
    r"\bje (?:préfère|préférerais|préfèrerais)\b",
    r"\bj'aime(?:rais)? (?:mieux|pas)\b",
    r"\bje n'aime pas\b",
    r"\bje déteste\b(?! (?:ce|cette|ça|quand ça)\b)",
    (
        r"\bj'(?:adore|aime bien|aime)\b(?! (?:bien )?(?:l'idée|ça|cette|ce |ta |ton |votre|la "
        r"(?:première|deuxième|nouvelle)))"
    ),
    r"^(?:\w+,? )?(?:réponds|répondez|écris|parle)(?:-moi)?(?: toujours)? en (?:français|anglais)\b",
    r"\btutoie-moi\b",
    r"\bmon préféré\b",
    r"\bma préférence\b",
    r"^(?:please )?(?:answer|reply|respond|explain)(?: to)?(?: me)? (?:in|with|briefly)\b",
    r"\bI (?:hate|dislike|can\'t stand|love) it when\b",
    r"\bj\'ai horreur d",
)
RULES: Sequence[tuple[MemoryType, AnyOf]] = (
    (MemoryType.IDENTITY, _IDENTITY),
    (MemoryType.TODO, _TODO),
    (MemoryType.DECISION, _DECISION),
    (MemoryType.DECISION, _SWAP),
    (MemoryType.GOAL, _GOAL),
    (MemoryType.PREFERENCE, _PREFERENCE),
    (MemoryType.EVENT, EVENT),
    (MemoryType.OBSERVATION, OBSERVATION),
    (MemoryType.FACT, FACT),
)
"""In the order in which they are asked: the first that fits says the type."""

INSTEAD = AnyOf(
    (
        r"\b(?:instead of|rather than|in place of|no longer|over to|away from|replac\w+|drop(?:ping)?|à "
        r"la place d\w*|au lieu d\w*|plutôt que?|remplac\w+|abandonn\w+|ne .{1,40} plus)\b"
    ),
    r"\bn'\w+ .{0,40}plus\b",
    r"\bà la place\b",
    r"\binstead\b",
)
CHANGED_MIND = AnyOf(
    (
        r"\b(?:chang(?:ed|e|ing) (?:my|our) minds?|on second thoughts?|scrap that|forget (?:that|about)|"
        r"actually|no,? wait|on reflection|change of plans?|changement de plan|après réflexion|after "
        r"all|scratch that|finally,? let's|chang\w+ d'avis|finalement|en fait|tout compte fait|"
        r"réflexion faite|oublie|non,? attends)\b"
    ),
)
