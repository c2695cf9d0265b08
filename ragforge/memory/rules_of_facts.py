"""By what words a sentence is seen to tell what is, what happened or what was noticed."""

from ragforge.memory.patterns import AnyOf

NAMED = r"(?-i:[A-Z][\w.+#-]*|`)"
"""A name: with a capital, or quoted as code."""
_WHEN = (
    r"(?:yesterday|last (?:night|week|month|year|monday|tuesday|wednesday|thursday|friday|weekend|"
    r"sprint)|this morning|today|on (?:mon|tues|wednes|thurs|fri)day|(?:two|three|a few) (?:days|"
    r"weeks|months) ago|a (?:week|month) ago|in (?:january|february|march|april|may|june|july|"
    r"august|september|october|november|december)|on (?:\d{4}-\d\d-\d\d|\d{1,2} \w+|(?:january|february|"
    r"march|april|may|june|july|august|september|october|november|december) \d))"
)
_QUAND = (
    r"(?:avant-hier|hier(?: soir)?|ce matin|aujourd'hui|la semaine dernière|le mois dernier|l'an "
    r"dernier|(?:lundi|mardi|mercredi|jeudi|vendredi)(?: dernier)?|ce week-end|le (?:\d{1,2}|1er) "
    r"(?:janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre)|il y "
    r"a (?:\w+ ){1,2}(?:jours?|semaines?|mois))"
)
_HAPPENED = (
    r"(?:deployed|released|shipped|migrated|merged|launched|lost|crashed|broke|went (?:down|live)|"
    r"moved|upgraded|met|presented|switched|published|rolled (?:back|out)|joined|left|started|"
    r"deleted|removed|expired|leaked|(?:was|were) (?:down|offline|hacked)|finished|cut over|hired|"
    r"had (?:an|a) )"
)
_EST_ARRIVE = (
    r"(?:(?:on a|nous avons|j'ai|a été|a|ont|qui a)(?: tous| enfin)? (?:déployé|livré|sorti|publié|"
    r"migré|fusionné|mergé|lancé|perdu|planté|basculé|rencontré|présenté|mis (?:en prod|en ligne|à "
    r"jour)|rejoint|quitté|eu une|terminé|fini|commencé|supprimé|effacé|expiré|cassé|fuité)|(?:est|"
    r"sont) tombée?s?|a lâché|s'est arrêtée?)"
)
EVENT = AnyOf(
    rf"\b{_WHEN}\b.{{0,80}}\b{_HAPPENED}",
    rf"\b{_HAPPENED}.{{0,120}}\b{_WHEN}\b",
    rf"\b{_QUAND}\b.{{0,80}}\b{_EST_ARRIVE}",
    rf"\b{_EST_ARRIVE}.{{0,120}}\b{_QUAND}(?!\w)",
)
OBSERVATION = AnyOf(
    r"\bI(?:'ve| have)?(?: also| just)? (?:noticed|noted|observed|realised|realized)\b",
    r"\bj'ai(?: aussi| bien)? (?:remarqué|constaté|noté|observé)\b",
    r"\bje (?:remarque|constate|note) qu",
    r"^(?:that's |c'est )?(?:interesting(?:ly)?|curieux|curieusement|intéressant)\s*[:,] ",
    r"\bje me suis rendue? compte\b",
)
_VALUE = rf"(?:``|[\"']?(?:[~.]?/?[\w.-]+/[\w./-]*\w|https?://|localhost|v?\d|{NAMED}))"
_PLACES = (
    r"(?:production|staging|prod|preprod|préprod\w*|databases?|db|servers?|site|api|keys?|secrets?|"
    r"docs?|documentation|backups?|images?|assets|config\w*|data|logs?|ci|pipeline|frontend|backend|"
    r"infra\w*|cluster|repo\w*|dépôt|serveurs?|base|clés|queue|file d'attente|customer|clients?|"
    r"sauvegardes?|données)"
)
FACT = AnyOf(
    (
        r"\b(?:runs?|listens?|running|listening|served|exposed|available|reachable|deployed|hosted) "
        r"(?:on|at|under) (?:the )?(?:port )?(?:\d{2,5}\b|https?://|localhost|(?-i:[A-Z])|``)"
    ),
    (
        r"\b(?:the|our|my|[Aa]ll|this)\b(?: [\w'/-]+){1,5} (?:is|are|lives?|sits?|is located|are "
        r"located|is stored|are stored|goes?|resides?) (?:in|at|under|on|behind) (?:the )?(?:``|"
        r"[~.]?/?[\w.-]+/)"
    ),
    (
        rf"\b{_PLACES} (?:is|are|runs?|lives?|est|sont|tourne) (?:all )?(?:on|in|at|with|behind|hosted "
        rf"(?:on|by|at)|sur|chez|dans|derrière|hébergée?s? (?:chez|sur)) (?:the )?{NAMED}"
    ),
    (
        r"\b(?:branch|branche|table|bucket|queue|file|database|base|user|utilisateur|server|serveur|"
        r"cluster|schema|schéma)(?: [\w'-]+){0,2} (?:is called|is named|s'appelle|se nomme) \w"
    ),
    (
        r"\b(?:backup|sauvegarde|cron|job|build|deploy\w*|déploiement|import|export|sync\w*)\b.{0,60} "
        r"(?:at|à) \d{1,2}(?: ?h\b|:\d\d)"
    ),
    r"^(?:the |le )?port \d{2,5} (?:is|est|c'est)\b",
    (
        r"\b(?:our|the|notre|l')(?: ?)(?:team|équipe) (?:has|is|consists of|compte|fait|est composée de)"
        r" \w+ (?:people|personnes|dev)"
    ),
    (
        r"\bwe(?:'re| are)? (?:currently )?(?:use|using|run|running|target|targeting|support|on|deploy|"
        rf"host|depend on|test with)(?: on| to| with| at)? {NAMED}"
    ),
    (
        r"\b(?:the|our|my) (?:[\w-]+ ){0,3}?(?:database|DB|port|server|version|API|endpoint|timeout|"
        r"limit|deadline|branch|bucket|table|cluster|region|repo|repository|domain|URL|queue|schema|"
        rf"user|license|licence)(?: name)? (?:is|=|:|is called|is named) {_VALUE}"
    ),
    (
        r"\b(?:requires?|needs?) (?:at least )?(?:Python|Node|Java|Go|Rust|Ruby|PHP|Postgres\w*|glibc|"
        r"macOS|Linux)\b.{0,10}\d"
    ),
    (
        r"\b(?:tourne(?:nt)?|écoute(?:nt)?|est (?:disponible|exposée?|accessible|hébergée?|déployée?|"
        r"servie?)|répond)(?: aussi)? (?:sur|à|au|en|chez) (?:le |l'adresse )?(?:port )?(?:\d{2,5}\b|"
        r"https?://|localhost|(?-i:[A-Z])|``)"
    ),
    (
        r"\b(?:les?|la|notre|nos|mon|ma|mes|tous les|toutes les|l')(?: ?[\w'/-]+){1,5} (?:est|sont|se "
        r"trouve(?:nt)?|se situe(?:nt)?|vi(?:t|vent)|va|vont) (?:dans|sous|à|sur|derrière) (?:le "
        r"dossier |la branche )?(?:``|[~.]?/?[\w.-]+/)"
    ),
    (
        r"\b(?:on|nous) (?:utilis(?:e|ons)|tourn(?:e|ons)|déplo(?:ie|yons)|cibl(?:e|ons)|support(?:e|"
        r"ons)|héberge(?:ons)?|est|sommes|dépend(?:ons)?) (?:sur |en |avec |de |chez |tout sur |tout "
        rf"chez )?{NAMED}"
    ),
    (
        r"\b(?:le|la|l'|notre|mon|ma) ?(?:[\w'-]+ ){0,3}?(?:port|version|base(?: de données)?|serveur|"
        r"API|délai|limite|échéance|branche|bucket|table|cluster|région|dépôt|domaine|URL|file|schéma|"
        r"licence)(?: [\w'-]+){0,4}? (?:est|s'appelle|c'est|:|se nomme) (?:le |la |l'|en |au |à )"
        rf"?{_VALUE}"
    ),
    (
        r"\b(?:nécessite|exige|demande|requiert) (?:au moins )?(?:Python|Node|Java|Go|Rust|Ruby|PHP|"
        r"Postgres\w*|macOS|Linux)\b.{0,10}\d"
    ),
    (
        rf"\b{_PLACES}(?: [\w\'/-]+){{0,2}} (?:is|are|runs?|lives?|est|sont|tourne(?:nt)?|vit) (?:all |"
        r"\w+ed )?(?:on|in|at|with|behind|under|hosted on|sur|chez|dans|derrière|sous) (?:the |le |la )"
        rf"?(?:[a-z]+[-_]?\d|/\w|{NAMED})"
    ),
    (
        rf"\b{_PLACES}(?: [\w\'/-]+){{0,2}} (?:takes?|lasts?|prend|prennent|dure(?:nt)?) \D{{0,20}}\d+ ?(?:s|"
        r"ms|seconds?|secondes?|min|minutes?|h|hours?|heures?)\b"
    ),
    r"\b(?:is|are|est|sont) (?:at|on|under|sur|à) (?:the |le |la )?(?:https?://|localhost)",
    (
        rf"\b{_PLACES}(?: [\w\'/-]+){{0,2}} (?:is|are|lives?|est|sont) (?:in|at|under|dans|sous) "
        r"[~.]?[\w.-]*/[\w.-]"
    ),
    r"\b(?:default|main|release|stable) branch is \w",
    r"\bbranche (?:par défaut|principale|stable|de \w+) est \w",
    r"\b(?:limite?|timeout|délai|quota|maximum)\b[^.]{0,40} (?:is|est) (?:de |of )?\d",
)
