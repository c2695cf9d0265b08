"""French: its words, and the phrases by which sentences are understood without a model."""

from ragforge.domain.language.base import Language
from ragforge.domain.memories import MemoryType

LANGUAGE = Language(
    spellings="""
        accès après arrête arrêter arrêtez aujourd'hui bientôt c'est clé clés compléter créer d'accord déjà
        dépendance dépendances déployé déployer dernière désormais données écrire écris écrit écrivez équipe
        étaient était été êtes être évite éviter évitez français générer intérêt j'ai modèle modèles numéro
        plutôt préfère préférer préfères première problème problèmes qu'il qu'on règle règles répond répondez
        répondre réponds requête requêtes succès système très vérifie vérifiez
        """,
    stop_words="""
        ai aie ainsi alors as au aucun aussi autre aux avait avec avez avoir avons c ce ceci cela celle
        celui ces cet cette ceux chaque ci comme comment d dans de depuis des donc du elle elles en encore
        entre es est et étaient était été êtes être eu eux fait fut il ils j je jusque l la là le les leur
        leurs lui m ma mais me même mes moi mon n ne ni nos notre nous on ont où ou par parce pas peu peut
        plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se sera ses si sommes
        sont sous suis sur t ta tandis te tes toi ton tous tout toute toutes très tu un une vers voici
        voilà vos votre vous y à
    """,
    common_words="""
        ajoute ajouter besoin bien bon ça change changer chose code corrige corriger dit dois erreur faire
        fais faut fichier fichiers fonction jamais lance ligne mets mettre montre non nouveau nouvelle oui
        pense problème projet regarde sais toujours utilise utiliser va vais vas veut veux voir vérifie
        c'est j'ai qu'il d'un d'une n'est s'il hier demain aujourd'hui préfère aime nom appelle décidé
        convenu retenu choisi
        tourne écoute combien maintenant finalement déjà plutôt aujourd hui chez
    """,
    courtesies="""
        accord allez bien bientôt bonjour bonne bonnes bonsoir cool coucou demain désolé désolée excellent
        génial journée matin merci nickel nuit ok oui ouais parfait plaît salut soir soirée stp super svp top
        tchao va voilà week-end week end
    """,
    decision_words="""
        utiliser utilise utilisons partir prendre prend prends prenons garder garde gardons passer
        rester remplacer abandonner finalement
        plutôt place lieu avis changé décidé décision fait projet tout c'est j'ai
        change changez changer passe passez remplace remplacez mets mettez mettre monte baisse non
        fixé fixe fixer réglé règle régler doit doivent devra être est sont laisse tomber oublie
        migre migrer bascule prenez utilisez n'utilise
    """,
    abbreviations=r"etc|cf|p\. ?ex|ex|env|M|Mme",
    days={
        "avant-hier": -2,
        "hier": -1,
        "aujourd'hui": 0,
        "ce matin": 0,
        "ce soir": 0,
        "demain": 1,
        "après-demain": 2,
    },
    weekdays="lundi mardi mercredi jeudi vendredi samedi dimanche",
    coming_day=(
        r"<weekday> prochain",
        r"(?:ce|d'ici|avant|pour|jusqu'à|dès|à (?:partir|compter) de) <weekday>(?! (?:dernier|prochain))",
    ),
    past_day=(r"<weekday> dernier",),
    months="janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    until=(r"\bjusqu'(?:au|à) (?:la )?(?:fin )?(?:de |d')?<date>",),
    since=(r"\b(?:à (?:partir|compter) (?:du|de|d')|dès|depuis) ?(?:le )?(?:début )?<date>",),
    due=(
        r"\b(?:avant|pour|d'ici|au plus tard|le) (?:le |la |au )?(?:fin (?:de )?)?<date>",
        r"\b(?=(?:aujourd'hui|demain|ce soir) \()<date>",
    ),
    away={
        "day": (r"dans <count> jours?",),
        "week": (r"dans <count> semaines?", r"la semaine prochaine"),
        "month": (r"dans <count> mois", r"le mois prochain"),
    },
    counts={"un": 1, "une": 1, "deux": 2, "trois": 3, "quatre": 4, "six": 6},
    small_numbers="""
        deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize
    """,
    tens="vingt trente quarante cinquante soixante",
    large_numbers={"vingts": 20, "cent": 100, "cents": 100, "mille": 1_000},
    ones="un une",
    joins_numbers="et",
    amounts={
        r"une demi-heure": "30 minutes",
        r"une heure et demie": "90 minutes",
        r"un quart d'heure": "15 minutes",
        r"trois quarts d'heure": "45 minutes",
        r"une?(?= et demie?\b|e? \w+ suffi(?:t|ra)\b)": "1",
        r"une? (?=(?:seconde|minute|heure|journée|semaine|mois|année|an)\b)": "1 ",
        r"neuf(?! \w+[sx]\b)": "nouveau",
    },
    begins_amounts="neuf trois un une",
    halves="et demie?",
    slots={
        "person": "utilisateur|utilisatrice|personne",
        "wills": ("préférence|préfère|préféré|veut|veux|demande|demandé|approuve|autorise|souhaite|objectif"),
        "asking": (
            r"(?:non|ok|bon|en fait|finalement|désolée?|attends|ah|oh|et|stp|s'il te plaît|"
            r"(?:tu peux|peux-tu|vous pouvez|pouvez-vous|il faut))\b,?"
        ),
        "joins": "et|mais|puis|plutôt|maintenant|juste|jusqu'à|quand|pendant|pour",
        "roles": (
            "développeu(?:r|se)|doctorante?|ingénieure?|étudiante?|freelance|cherch(?:eur|euse)|médecin|"
            "prof|professeure?|enseignante?|responsable|chef|cheffe|débutante?|architecte|stagiaire|"
            "alternante?|administrat(?:eur|rice)|indépendante?|biologiste|physicienne?|graphiste|"
            "mainteneu(?:r|se)|auteure?"
        ),
        "prend": (
            "(?:utiliser|partir|prendre|passer|garder|rester|adopter|migrer|abandonner|remplacer|stocker|"
            "déployer|basculer|héberger|choisir|conserver|supprimer|écrire|nommer|appeler|retenir|opter|"
            r"se baser|s'appuyer)(?! (?:un peu|le temps|une pause|\w+ minutes?))"
        ),
        "plus_tard": (
            "plus tard|demain|la semaine prochaine|le mois prochain|la prochaine fois|un jour|ensuite|"
            "après (?:la|cette|ça)|avant la (?:mise en (?:prod|ligne|service)|release|sortie|livraison)|"
            "au prochain sprint"
        ),
        "avant": (
            r"la fin|fin|l'été|noël|l'an prochain|janvier|février|mars|avril|mai\b|juin|juillet|août|"
            r"septembre|octobre|novembre|décembre|\w+ (?:mois|semaines)"
        ),
        "quand": (
            "avant-hier|hier(?: soir)?|ce matin|aujourd'hui|la semaine dernière|le mois dernier|l'an "
            r"dernier|(?:lundi|mardi|mercredi|jeudi|vendredi)(?: dernier)?|ce week-end|le (?:\d{1,2}|1er) "
            "(?:janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre)|il "
            r"y a (?:\w+ ){1,2}(?:jours?|semaines?|mois)"
        ),
        "est_arrive": (
            "(?:on a|nous avons|j'ai|a été|a|ont|qui a)(?: tous| enfin)? (?:déployé|livré|sorti|publié|"
            "migré|fusionné|mergé|lancé|perdu|planté|basculé|rencontré|présenté|mis (?:en prod|en ligne|"
            "à jour)|rejoint|quitté|eu une|terminé|fini|commencé|supprimé|effacé|expiré|cassé|fuité)|"
            "(?:est|sont) tombée?s?|a lâché|s'est arrêtée?"
        ),
        "places": r"préprod\w*|dépôt|serveurs?|base|clés|file d'attente|sauvegardes?|données",
        "named_things": "branche|utilisateur|serveur|schéma",
        "routines": "sauvegarde|déploiement",
        "users": "on|nous|projet|appli|boutique",
        "propositions": (
            "(?:je |j'|moi |on |nous |tu |t'|vous |il |elle |ils |elles |c'est |ça |ce |y a |les? |la |"
            "l'|nos |notre |mon |"
            "ma |mes |tout |tous |rien |plus |personne |faut |stp |jamais |toujours |pas |n'|si |quand )"
        ),
        "openings": "et|mais|donc|alors|puis|surtout|s'il (?:te|vous) plaît|stp|svp|règle|ici",
        "followers": "pour|dans|sur|comme|ici|partout|car|parce|et|mais|désormais|à|vers|par|au|maintenant",
    },
    asks=(
        (
            "(?:(?:et|mais|donc|alors|salut|bonjour|ok|okay)[ ,]+)*(?:qu(?:el(?:le)?s?|oi(?! qu))|qu'est|"
            "est[- ]ce|"
            "c'est quoi|o[uù] (?:est|sont|se)|"
            "pourquoi|comment(?! (?:only|on|in|your|every|each|the|code)\\b)|combien|peux-tu|pouvez-vous|"
            "pourrais-tu|pourriez-vous|faut-il|dois-je|"
            r"doit-on|devrait-on|peut-on|as-tu|avez-vous|sais-tu|y a-t-il|existe-t-il|"
            r"(?:on est|on était|est-on|sommes-nous) obligés?|c'est quand|(?:tu|vous) (?:préfère[sz]?|"
            r"préférez|"
            r"prendrais|penses|pensez|ferais|crois|sais|savez)\b(?! que je)|on (?:avait|a) dit quoi)\b"
        ),
    ),
    asks_for=(
        "(?:(?:et|mais|donc|alors|salut|bonjour|ok|okay|stp|dis)[ ,]+)*(?:(?:est-ce que )?(?:tu (?:peux|"
        "pourrais|"
        "veux bien)|vous (?:pouvez|pourriez|voulez bien))|peux-tu|pouvez-vous|pourrais-tu|pourriez-vous|"
        "(?:c'est|ce serait|serait-il) possible|ça te (?:dérange|gêne)|je peux (?:avoir|te demander))\\b",
    ),
    asks_to_add=(
        (
            r"(?:<clause>|\b(?:et|il faut|il faudrait|je voudrais|on voudrait|on veut|peut-on|"
            r"pourrait-on) )"
            r"(?:accept(?:er|e)|affich(?:er|e)|ajout(?:er|e)|brancher|cré(?:er|e)|document(?:er|e)|donner|"
            r"écri(?:re|s)|envoyer|export(?:er|e)|génér(?:er|e)|imprim(?:er|e)|installer|intégr(?:er|e)|lister|"
            r"mettre|mets|montr(?:er|e)|perme(?:ttre|ts)|prévoir|propos(?:er|e)|publi(?:er|e)|rédig(?:er|e))\b"
        ),
        (
            r"\bdevraient? aussi\b|\bil (?:faudrait|nous faut|me faut)\b|"
            r"\b(?:je|on) (?:voudrais|voudrait|veut|veux)\b"
        ),
    ),
    asks_behind=(
        (
            r"(?:,| [-–—]|(?= (?:et|mais|donc|du coup|alors) )) (?=(?:(?:et|mais|donc|du coup|alors|ou) )*"
            r"(?:est-ce qu|qu'est-ce qu|(?:tu peux|tu pourrais|vous pouvez|vous pourriez|tu saurais) |"
            r"(?:comment|où|quand|pourquoi|que|quoi|quels?|quelles?) (?:est-ce|je|tu|on|vous|nous)\b|"
            r"(?:peux|pourrais|pouvez|pourriez|connais|sais|as|aurais|penses|crois)-(?:tu|vous)\b))"
        ),
    ),
    asks_behind_marked=(
        (
            r"(?:,| [-–—]) (?=(?:(?:et|mais|donc|du coup|alors|ou) )*(?:(?:que|qu'|quoi|quel\w*|comment|où|"
            r"quand|pourquoi|par (?:où|quoi)|combien|lequel|laquelle|lesquels|lesquelles)\b|\w+-(?:tu|vous|"
            r"on|nous|il|elle|ce|je|t-il|t-elle|t-on)\b|(?:tu|vous) (?:me |m'|nous )?(?:as|avez|aurais|"
            r"auriez|connais|connaissez|sais|savez|penses|pensez|crois|croyez|vois|voyez|conseill\w+|"
            r"recommand\w+|propos\w+|ferais|feriez|prendrais|prendriez|mettrais)\b|"
            r"t'en penses\b|(?:une|des) (?:idées?|pistes?|suggestions?)\b|(?:il )?y a\b|c'est quoi\b|"
            r"on (?:fait|peut|pourrait|va|prend)\b))"
        ),
    ),
    of_oneself=(
        (
            r"(?:(?:salut|bonjour|ok|bon|alors|donc|et|aussi|euh|perso|personnellement|comme|vu que|"
            r"puisque|au fait),? )*(?:je|j'\w+|moi,?|mon|ma|mes|nous|on|notre|nos)\b"
        ),
    ),
    keeps=(
        r"(?:<asking> )*(?:souviens-toi|souvenez-vous|rappelle-toi|rappelez-vous|retiens|retenez|garde en "
        r"tête|gardez en tête|n'oublie pas|n'oubliez pas)"
        r"(?:(?: bien)?(?: ceci| cela| ça| ca)?\s*[:,]\s*|(?: bien)? (?:que |qu'))(?=\S|$)",
    ),
    habits=(
        r"(?:on|nous) (?:utilis|gard|déplo|écri|stock|constru|livr|support|cibl|reste|restons|part sur|"
        r"partons sur)",
    ),
    forgets=(
        r"(?:<asking> )*(?:oublie[rz]?[ -](?:ça|ca|cela|ceci)|oublie[rz]? ce que (?:je viens|tu viens|vous "
        r"venez) de (?:te |vous )?(?:dire|retenir|noter|garder)|ne (?:retiens|retenez|garde|gardez) pas "
        r"(?:ça|ca|cela))(?:,? (?:stp|svp|s'il (?:te|vous) pla[iî]t))?[.! ]*$",
    ),
    forgets_that=(r"(?:<asking> )*oublie[rz]? (?:le fait )?(?:que |qu')<clause_only>",),
    resumes=(
        (
            r"\b(?:où (?:en )?(?:étions|était|étais|sommes|est)[- ](?:nous|on|je)|où (?:en |on en |on |"
            r"nous en )"
            r"(?:était|étions|est|sommes|s'est arrêtés?|s'était arrêtés?)|(?:^|[,;:.!?–—-] ?|\b(?:on|je|tu|"
            r"nous|vous|et|alors|donc|bon|allez|hop|ok|salut|bonjour|peut|faut|va|veux|voudrais|de|pour|à|"
            r"sinon) )reprend(?:s|re|ons)?(?: là| ?[?.!]*$|[ ,.!](?:où|le travail|la suite))|"
            r"là où (?:on|nous|je)|(?:il |qu'est-ce qu'il |que |qu'il |ce qu'il )rest(?:e|ait)"
            r"(?:-t-il)?\b|qu'est-ce qui reste|"
            r"(?:c'est quoi )?la suite\b(?: du (?:programme|plan))?"
            r"|(?:^|[,;:.!?–—-] ?|\b(?:on|je|tu|nous|vous|et|alors|donc|bon|allez|hop|ok|salut|bonjour) )"
            r"continu(?:e|ons)(?:$|[.!,?]| (?:là|avec|sur|où|ce))|prochaines? (?:étapes?|tâches?)|"
            r"laissé (?:en plan|ouvert|en suspens)|en suspens|à faire encore)"
        ),
    ),
    goes_ahead=(
        r"^\s*(?:(?:ok|oui|bien|d'accord),? )?(?:fais[- ]le|faites[- ]le|vas[- ]y|allez[- ]y|"
        r"mets[- ]le en œuvre)[.! ]*$",
    ),
    either=(r",? \bou(?: bien| alors)?\b ",),
    ordinals=(
        r"\b(?:premi(?:er|ère)|1(?:er|re|ère))\b",
        r"\b(?:deuxième|seconde?|2e|2ème)\b",
        r"\b(?:troisième|3e|3ème)\b",
        r"\b(?:quatrième|4e)\b",
    ),
    breaks=(
        (
            r",? (?=(?:(?:mais|donc|car|du coup|sinon|alors|comme ça|d'ailleurs|par contre) |parce qu[e'] ?|"
            r"vu qu[e'] ?|puisqu[e'] ?)[\w'/.-]+ \S)"
        ),
        r"(?:,|,? et(?= )) (?=<propositions> ?\S+ \S)",
        r",? (?=(?:désormais|dorénavant|à partir de maintenant|au fait|pour info)\b(?! ?[,.;!)]|$))",
    ),
    cues={
        "one_off": (
            r"\b(?:cette fois|pour (?:cette|une) fois|juste (?:pour|cette|là|une)|pour (?:le moment|"
            r"l'instant|ce coup|"
            r"aujourd'hui|cet aprem|ce (?:commit|test|lancement|cas))|là (?:tout de suite|maintenant)|"
            r"temporairement|"
            r"provisoirement|en attendant|deux (?:minutes|secondes)|vite fait|jetable|que je puisse|le "
            r"temps (?:de|que|d'))\b",
        ),
        "irony": (
            r"\b(?:mdr|lol|ptdr|haha+|ben voyons|mais (?:oui|bien sûr)|bien sûr|super,|génial|bravo|"
            r"j'adore|parfait,|"
            r"formidable|magnifique|exactement ce (?:que|qu')|tant qu'on y est|mon rêve|trop bien)\b",
        ),
        "polite": (
            r"\b(?:stp|svp|s'il te plaît|s'il vous plaît|tu peux(?! tout\b)|peux[- ]tu|pourrais|merci)\b",
        ),
        "order": (
            r"^(?:(?:ok|stp|bon|maintenant|ensuite|et|alors|puis|tu peux|tu pourrais|peux[- ]tu|donc),? )*"
            r"(?:ajoute|corrige|renomme|lance|écris|montre|fais|déplace|refactore|regarde|supprime|mets|"
            r"mettre|complète|"
            r"génère|convertis|fusionne|vérifie|traduis|change|annule|réessaie|continue|crée|explique|dis|"
            r"trouve|liste|"
            r"affiche|ouvre|teste|installe|commite|pousse|réécris|extrais|découpe|trie|cherche|compare|"
            r"relis|débogue|"
            r"nettoie|commence|arrête|termine|donne|aide|lis|prépare|documente|résume|ajouter|corriger|"
            r"regarder|vérifier|"
            r"faire|écrire|supprimer|renommer|lancer)\b",
        ),
        "set": (
            r"^(?:(?:ok|stp|bon|et|alors|donc|non|en fait|plutôt|hm+),? )*(?:mets?|passe|change|monte|"
            r"baisse|descends|"
            r"augmente|réduis|renomme|appelle|nomme|utilise|remplace|garde|vire|enlève|prends|limite|fixe|"
            r"laisse|règle)\b",
        ),
        "we": (r"\b(?:on|nous|notre|nos|chez nous)\b",),
        "me": (r"\b(?:je|j'|moi|mon|ma|mes|me|m')\b",),
        "you": (r"\b(?:tu|t'|toi|ton|ta|tes|te|vous|votre)\b",),
        "is": (
            r"\b(?:est|sont|c'est|a|ont|y a|prend|tourne|vit|vient|faut|veut dire|utilise|contient|attend|"
            r"met)\b",
        ),
        "past": (r"\b(?:était|étaient|avait|a été|ai|as|avons|avez|\w{2,}é(?:e|s|es)?)\b",),
        "will": (r"\b(?:va|vais|allons|vont|ira|sera|seront|fera|\w+era(?:i|s|it)?|\w+erons)\b",),
        "always": (
            r"\b(?:toujours|jamais|chaque|tout|tous|toute|toutes|aucun|aucune|rien|que|uniquement|partout|"
            r"plus)\b",
        ),
        "when": (r"^(?:quand|lorsque|si|avant|après|une fois|dès|à chaque fois|tant que)\b",),
        "prohibits": (r"\b(?:pas|plus|jamais|aucun\w*|interdi\w+|évite\w*|arrête\w*|sans|ne|n')\b",),
        "likes": (
            r"\b(?:aime\w*|préfère\w*|adore|déteste|horreur|veux|voudrais|aimerais|souhaite|fan|mieux|"
            r"plutôt|supporte|"
            r"gêne|énerve|convient)\b",
        ),
        "style": (
            r"\b(?:réponses?|réponds|commentaires?|noms?|nommage|style|indent\w*|docstrings?|ton|langue|"
            r"format\w*|"
            r"commits?|messages?|tests?|diffs?|exemples?|explications?|imports?|fonctions?|lignes?|écris)\b",
        ),
        "settled": (
            r"\b(?:décid\w+|décision|tranché|d'accord|choisi|retenu|on (?:part|prend|garde|reste|passe|va|"
            r"vire|abandonne)|"
            r"ce sera|finalement|désormais|dorénavant|au lieu|à la place|plutôt que?|ne \w+ plus|"
            r"remplac\w+|acté|validé)\b",
        ),
        "later": (
            r"\b(?:plus tard|demain|semaine prochaine|mois prochain|prochaine fois|rappelle|oublie\w*|"
            r"penser à|reste à|"
            r"reste|manque|avant (?:de|la|le|l')|après (?:la|le|l')|d'ici|faudra|devra|à faire|un jour|"
            r"une fois)\b",
        ),
        "aim": (
            r"\b(?:objectif|but|vise\w*|cible|ambition|espère|à terme|au final|essaie de|atteindre|d'ici)\b",
        ),
        "who": (
            r"\b(?:je suis|moi c'est|je m'appelle|je (?:bosse|travaille)|je débute|on est (?:une|deux|"
            r"trois|quatre)|"
            r"ce (?:dépôt|projet)|ma boîte|notre (?:boîte|entreprise|équipe))\b",
        ),
        "broken": (
            r"\b(?:erreur|plante\w*|échoue\w*|cassé\w*|bug|bogue|faux|fausse|bizarre|marche (?:pas|plus)|"
            r"rouge|bloqu\w+|"
            r"exception|manque|lent\w*|rame|page blanche)\b",
        ),
        "said": (
            r"\b(?:dit|disent|disait|répète|prétend|d'après|selon|conseille|recommande|écrit|demande|"
            r"raconte)\b",
        ),
        "reason": (r"\b(?:parce qu[e']|car|vu qu[e']|puisqu[e']|sinon|trop|à cause|comme ça)\b",),
        "greets": (r"^(?:salut|bonjour|coucou|merci|cool|super|nickel|parfait|ok|oui|non|ouais|d'accord)\b",),
    },
    wonders=(
        (
            r"\b(?:je (?:ne )?(?:comprends|sais|vois) pas|et si|si (?:on|nous|je|jamais)|peut-être|"
            "pourrai(?:t|ent|s)|pourrions|imagin(?:ons|e|ez)|suppos(?:ons|e|ez)|admettons|disons qu|"
            r"mettons qu|par exemple|me demande|j'hésite|hésit\w+|pas (?:encore )?(?:sûr|certain|"
            r"décidé)\w*|éventuellement|en théorie|soit .{1,60} soit)\b"
        ),
        r"\b(?:j'ai|on a) dû \w+(?:er|ir|re)\b",
    ),
    not_so=(
        r"\b(?:s(?:i|'ils?)|quand|avant|lorsqu\w*|dès qu\w*|une fois|au cas où|tant qu\w*|"
        r"jusqu'à|pour que)\b",
        r"\b(?:n'|qu'|(?:ne|pas|jamais|ils|elles|que|qui|comment|devrait|pourrait|voudrait|veu(?:t|lent)|dit|"
        r"disent|prétend|affiche)\b)[^,;:.!?]*$",
    ),
    on_trial=(r"\b(?:en local|sur ma (?:machine|branche)|dans ma branche|pour (?:tester|essayer|voir))\b",),
    asides=(
        r"^(?:(?:et|mais|donc|oh|ah|ok|bon|sinon|aussi),? )*(?:au passage|au fait|d'ailleurs|aussi|"
        r"tant qu'on y est|pendant que j'y (?:pense|suis)|avant que j'oublie)[,:]? (?=\w)",
    ),
    conjunctions=(r"^(?:et|mais|donc|alors) (?!que\b)",),
    leads_in=(
        (
            r"^(?:(?:salut|bonjour|coucou|bon|bien|alors|donc|euh|ah|oh|au fait),\s*|(?:et|donc|alors) "
            r"(?=(?:ne|on|nous|tu|je|le|la|les|il faut)\b))+(?=\w)"
        ),
    ),
    unreal=(
        (
            r"^(?:<openings>,? )*s(?:i (?:on|je|tu|nous|vous|ça|c')|'ils?) ?(?:n'|ne )?(?:y )?"
            r"(?:av(?:ais|ait|ions|iez|aient)|étai(?:s|t|ent)|étions|étiez)\b"
        ),
        r"^(?:<openings>,? )*(?:supposons|imaginons|imagine|admettons|mettons que|dans l'hypothèse)\b",
        r"\b(?:dans un monde (?:idéal|parfait|parallèle)|simple exercice de pensée|pour rêver)\b",
    ),
    works=(
        r"\b(?:est|sont|était|étaient) (?!approuv|attend|demand|exig|ordonn|préfér|réclam|souhait)"
        r"\w+ée?s? par (?:une?|le|la|les|notre|nos) \w",
    ),
    assents=(
        r"(?<!\best)(?<!\bsont)(?<!\bc'est)(?<!\btout),? (?:ok|compris|entendu|d'accord|hein|vu)\s*\?+$",
    ),
    reports=(
        r"^(?:écris|écrivez|ajoute|ajoutez|insère|affiche|imprime|tape) ``",
        (
            r"\b(?:la doc|documentation|l'erreur|le message|l'article|le linter|le compilateur|le tuto\w*|"
            "le ticket|le readme|le log|les logs|la sortie|le commentaire|il|elle|ils|on m'|quelqu'un|"
            r"(?:mon|ma|un|une) collègue|tu|vous|copilot|chatgpt)\b(?: \w+){0,2}? (?:dit|disent|disait|"
            r"indique\w*|recommand\w+|conseill\w+|affirm\w+|suggér\w+|suggèr\w+|propos\w+|préconis\w+|"
            r"mentionn\w+|prétend\w*|as dit|avez dit|a dit|demandent?|exigent?)\b"
        ),
        r"\b(?<!\bje )(?<!\bon )(?:affiche(?:nt)?|dit|disent|indique(?:nt)?|répond|avertit|renvoie) ?:",
        r"\b(?:il|elle|ils|elles) (?:ne |n')?(?:veut|veulent|aime|aiment) (?:pas|plus|jamais)\b",
        (
            r"\b(?:selon|d'après|apparemment|soi-disant|avant,? on|autrefois|à l'époque|l'ancien(?:ne)? "
            r"(?:code|version))\b"
        ),
    ),
    ironic=(
        (
            r"^(?:(?:oh|ah|oui|ouais|bon|ok|haha|mais|bien sûr|super|génial|bravo|parfait|formidable|"
            r"magnifique|évidemment|carrément)[,! ]+)+.*\b(?:j'adore|on adore|j'en rêvais|"
            r"(?:tout le monde|le public|le client) (?:va |vont )?ador\w+|(?:exactement|juste) ce qu'il "
            r"(?:me|nous) (?:faut|fallait)|qui en a besoin|tant qu'on y est|mdr|ptdr|lol|haha+)\b"
        ),
        r"\bje (?:plaisante|rigole|déconne|blague)\b|\bc'est une blague\b",
        r"\b(?:mon|notre) (?:sport|passe-temps|loisir|activité) (?:favori|préférée?)\b|\bque du bonheur\b|"
        r"\bj'adore quand (?:il|elle|ça|tout|on)\b|\b(?:rien|quoi) de (?:tel|mieux) (?:que|qu'|pour)\b|"
        r"\b(?:le meilleur|le clou) (?:moment )?de (?:ma|la) (?:journée|semaine)\b|\bdix sur dix\b",
    ),
    memories={
        MemoryType.IDENTITY: (
            r"\bje suis (?:daltonien|malvoyant|dyslexique|gauch|sourd|aveugle|seule? (?:sur|à))",
            r"\bje (?:débute|commence) (?:en|avec) (?-i:[A-Z])",
            r"\bje m'appelle \w",
            r"\bmon (?:nom|prénom) est \w",
            r"\bmoi c'est (?-i:[A-Z])",
            r"\bje suis (?:une? |le |la |l'|en )?(?:[\w'/-]+ ){0,3}<roles>\b",
            r"\bje (?:travaille|bosse) (?:chez|pour|comme|à|dans|en tant que) \w",
            r"\bj'habite\b",
            (
                r"\b(?:ce|notre|mon) (?:projet|dépôt|outil|logiciel|service|site|paquet|appli\w*)(?: est| "
                r"sert|, c'est) (?:une?|l[ea]|à|notre)\b"
            ),
            r"\bcette (?:appli\w*|bibliothèque) est une?\b",
            r"\bje (?:m'occupe d|maintiens|gère|dirige) ?(?:u |e |es |l|c)",
            "^(?:(?:salut|bonjour)[,! ]+)I'm (?-i:[A-Z][a-zà-ÿ]+)[,.]",
            r"\bce dépôt (?:contient|est) ",
        ),
        MemoryType.TODO: (
            r"^\W*à faire\b[^:]{0,40}:",
            r"\b(?:pour )?plus tard\s*:",
            r"\bil (?:nous |me )?faudra\b",
            r"\bil (?:nous |me )?reste à\b",
            r"\breste à faire\b",
            r"\bà faire\s*:",
            r"\bpenser à\b",
            (
                r"\b(?:n'oublie|n'oublions|n'oubliez|ne pas oublier|rappelle-moi|pensons|pense|pensez)(?: "
                "pas)? (?:à|de|d')"
            ),
            (
                r"\b<plus_tard>[, ]+(?:\w+ ){0,3}?(?:il faut|on doit|je dois|on devra|je devrai|on fera|"
                r"on ajoutera|faudra)\b"
            ),
            (
                r"\b(?:on|je|nous) (?:devr|fer|ajouter|verr|s'occuper|reprendr|corriger|nettoier|écrir|"
                r"migrer|traiter|renommer|reviendr|gérer|supprimer)(?:a|ai|ons)\b.{0,120}\b<plus_tard>"
            ),
            r"\b(?:je|on|nous) d(?:ois|oit|evons) encore\b",
            r"\bil (?:nous |me )?reste (?:encore )?à\b",
        ),
        MemoryType.DECISION: (
            (
                r"\bon (?:va|ne va|ne va pas|va plutôt|va donc|va finalement|part|reste|passe|prend|garde|"
                "utilisera|n'utilisera|partira|abandonne|choisit|retient|adopte|bascule|migrera|"
                r"remplacera|stockera|déploiera|passera|gardera|prendra|restera)\b(?: pas| plus| plutôt| "
                "donc| finalement)? ?(?:<prend>|sur|avec|à|en|<name>|l[ea]s? |un|l'|plus|du|des|de)"
            ),
            r"\b(?:nous allons|nous n'allons pas|je vais|nous n'allons plus)(?: plutôt| donc)? <prend>\b",
            (
                r"\b(?:partons|utilisons|gardons|restons|passons|prenons|adoptons|abandonnons|choisissons|"
                "remplaçons|optons)(?: plutôt| donc)? (?:sur|à|avec|pour|l[ea]s?|un|une|l'|en|du|`|"
                "(?-i:[A-Z]))"
            ),
            (
                r"\b(?:j'ai|nous avons|on a|l'équipe a)(?: finalement| enfin| tous)? (?:décidé|choisi|"
                r"opté|tranché|retenu|convenu)\b"
            ),
            r"\bc'est (?:décidé|tranché|acté|réglé)\b",
            r"\bje (?:pars|reste|passe) (?:plutôt |donc |finalement )?(?:sur|avec|à) (?-i:[A-Z`])",
            r"\bon (?:laisse tomber|arrête|oublie|vire) (?:l[ea]s? |l')?(?-i:[A-Z`])",
            (
                r"\bnous (?:n')?(?:utiliser|prendr|garder|adopter|passer|partir|stocker|déploier|migrer|"
                r"rester)ons\b"
            ),
            r"^décision\s*:",
            r"\bla décision est\b",
            r"\bje retiens\b",
            r"\bfinalement (?:on|je pars)\b",
            r"\bj'(?:abandonne|arrête|oublie) (?:l[ea]s? )?(?-i:[A-Z])",
            r"^décision\b[^:.]{1,40}: ",
            (
                r"(?:^|[,:] |\bfinalement |\bdonc )ce sera (?!bon|fait|tout|mieux|plus|long|difficile|"
                r"compliqué|simple|rapide)\w"
            ),
            r"\b(?:changement de plan|tout compte fait|après réflexion)\b",
            (
                r"^(?:\W*\w+,? ){0,3}?(?:utilise[rz]?|passe[rz]? à|prends|prenez) (?!une? |l[ea] |"
                r"ce)`{0,2}[\w.+#-]*`{0,2},? (?:au lieu de|à la place de|plutôt que) (?:de )?(?!une? |"
                "l[ea] )"
            ),
            r"\b(?:on|nous) (?:a |avons )?remplac(?:e|é|ons) <known>\b[ \d.]{0,8} ?par <known>\b",
            (
                r"^(?:(?:ok|okay|stp)[, ]+)?utilise[rz]? <known>\b[ \d.]{0,8} ?(?:pour|comme) (?:l[ea]s? |"
                "l'|notre|nos|tou)"
            ),
        ),
        MemoryType.GOAL: (
            (
                r"\b(?:mon|notre|l[ea]s?|l') ?(?:objectif|but|ambition|visée)\b[^.?]{0,60}?(?:\best\b|"
                r"c'est|:|\bserait\b|\bsont\b)"
            ),
            (
                r"\b(?:on|nous|je) (?:veu[tx]|voulons|vise|visons|compte|comptons|souhaite|souhaitons|"
                "cherche à|cherchons à|espère|espérons)(?: à)? (?:sortir|lancer|livrer|publier|atteindre|"
                "migrer|ouvrir|supporter|remplacer|descendre|passer (?:sous|en)|être (?:prêts?|en prod)|"
                r"mettre en (?:prod|ligne)|réduire|diviser)\b"
            ),
            r"\bà terme,? (?:on|nous|je|l)",
            r"\bd'ici <avant>.{0,30}\b(?:on|nous|je) (?:veu[tx]|voulons|vis|dev|doit|compt|souhait)",
            r"\b(?:on|nous|je) (?:veu[tx]|voulons|vise|visons|compte|souhaite)\b.{1,120} d'ici <avant>",
            (
                r"\b(?:je|on|nous) (?:veux|veut|voulons|souhaite|souhaitons) que .{1,80} soi(?:t|ent) "
                "(?:prêt|fini|en ligne|livré|public)"
            ),
            r"\b(?:c'est|voilà) (?:notre|mon|le) (?:objectif|but)\b",
        ),
        MemoryType.PREFERENCE: (
            r"^(?:commentaires|commits|messages de commit|docs|docstrings) (?:en|à) \w+",
            r"\bje (?:préfère|préférerais|préfèrerais)\b",
            r"\bj'aime(?:rais)? (?:mieux|pas)\b",
            r"\bje n'aime pas\b",
            r"\bje déteste\b(?! (?:ce|cette|ça|quand ça)\b)",
            (
                r"\bj'(?:adore|aime bien|aime)\b(?! (?:bien )?(?:l'idée|ça|cette|ce |ta |ton |votre|la "
                "(?:première|deuxième|nouvelle)))"
            ),
            (
                r"^(?:\w+,? )?(?:réponds|répondez|écris|parle)(?:-moi)?(?: toujours)? en (?:français|"
                r"anglais)\b"
            ),
            r"\btutoie-moi\b",
            r"\bmon préféré\b",
            r"\bma préférence\b",
            r"\bj'ai horreur d",
        ),
        MemoryType.EVENT: (
            r"\b<quand>\b.{0,80}\b<est_arrive>",
            r"\b<est_arrive>.{0,120}\b<quand>(?!\w)",
        ),
        MemoryType.OBSERVATION: (
            r"\bj'ai(?: aussi| bien)? (?:remarqué|constaté|noté|observé)\b",
            r"\bje (?:remarque|constate|note) qu",
            r"^(?:c'est )?(?:curieux|curieusement|intéressant)\s*[:,] ",
            r"\bje me suis rendue? compte\b",
        ),
        MemoryType.FACT: (
            r"\b<places> (?:est|sont|tourne) (?:sur|chez|dans|derrière|hébergée?s? (?:chez|sur)) <name>",
            r"\b<named_things>(?: [\w'-]+){0,2} (?:s'appelle|se nomme) \w",
            r"\b<routines>\b.{0,60} à \d{1,2}(?: ?h\b|:\d\d)",
            r"^(?:le )?port \d{2,5} (?:est|c'est)\b",
            r"\b(?:notre |l')équipe (?:compte|fait|est composée de) \w+ (?:personnes|dev)",
            (
                r"\b(?:tourne(?:nt)?|écoute(?:nt)?|est (?:disponible|exposée?|accessible|hébergée?|"
                "déployée?|servie?)|répond)(?: aussi)? (?:sur|à|au|en|chez) (?:le |l'adresse )?(?:port "
                r")?(?:\d{2,5}\b|https?://|localhost|(?-i:[A-Z])|``)"
            ),
            (
                r"\b(?:les?|la|notre|nos|mon|ma|mes|tous les|toutes les|l')(?: ?[\w'/-]+){1,5} (?:est|"
                "sont|se trouve(?:nt)?|se situe(?:nt)?|vi(?:t|vent)|va|vont) (?:dans|sous|à|sur|"
                r"derrière) (?:le dossier |la branche )?(?:``|[~.]?/?[\w.-]+/)"
            ),
            (
                r"\b(?:on|nous) (?:utilis(?:e|ons)|tourn(?:e|ons)|déplo(?:ie|yons)|cibl(?:e|ons)|"
                "support(?:e|ons)|héberge(?:ons)?|est|sommes|dépend(?:ons)?) (?:sur |en |avec |de |chez |"
                "tout sur |tout chez )?<name>"
            ),
            (
                r"\b(?:le|la|l'|notre|mon|ma) ?(?:[\w'-]+ ){0,3}?(?:port|version|base(?: de données)?|"
                "serveur|API|délai|limite|échéance|branche|bucket|table|cluster|région|dépôt|domaine|URL|"
                r"file|schéma|licence)(?: [\w'-]+){0,4}? (?:est|s'appelle|c'est|:|se nomme) (?:le |la |l'|"
                "en |au |à )?<value>"
            ),
            (
                r"\b(?:nécessite|exige|demande|requiert) (?:au moins )?(?:Python|Node|Java|Go|Rust|Ruby|"
                r"PHP|Postgres\w*|macOS|Linux)\b.{0,10}\d"
            ),
            (
                r"\b<places>(?: [\w'/-]+){0,2} (?:est|sont|tourne(?:nt)?|vit) (?:sur|chez|dans|derrière|"
                r"sous) (?:le |la )?(?:[a-z]+[-_]?\d|/\w|<name>)"
            ),
            (
                r"\b<places>(?: [\w'/-]+){0,2} (?:prend|prennent|dure(?:nt)?) \D{0,20}\d+ ?(?:s|ms|"
                r"secondes?|min|minutes?|h|heures?)\b"
            ),
            r"\b(?:est|sont) (?:sur|à) (?:le |la )?(?:https?://|localhost)",
            r"\b<places>(?: [\w'/-]+){0,2} (?:est|sont) (?:dans|sous) [~.]?[\w.-]*/[\w.-]",
            r"\bbranche (?:par défaut|principale|stable|de \w+) est \w",
            r"\b(?:limite|timeout|délai|quota|maximum)\b[^.]{0,40} est (?:de )?\d",
        ),
    },
    first_person=(r"\b(?:je|j'|moi|mon)\b",),
    momentary=(
        r"\b(?:à l'époque|dans le temps|en ce temps-là)\b",
        r"^(?:donc |du coup |hier |ce matin )*(?:j'ai|on a|nous avons) (?:\w+ )?(?:perdu|essayé|vu|attendu|"
        r"redémarré|"
        r"relancé|poussé|passé \w+ (?:heures?|minutes?|jours?))\b",
        r"\b(?:tests?|builds?|CI|pipeline)\b(?: \w+){0,3} (?:est|sont|était|étaient|reste|restent) (?:\w+ )?"
        r"(?:verts?|rouges?|instables?|cassée?s?|bloquée?s?)\b",
        r"\battend .{1,30} et (?:obtient|reçoit|renvoie)\b",
        r"\b(?:première?|deuxième|seconde?|troisième|dernière?|autre) de (?:tes|vos|ces|les) (?:\w+ )?"
        r"(?:propositions?|suggestions?|versions?|options?|idées?|réponses?)\b",
        r"\b(?:ta|votre) (?:première|deuxième|seconde|dernière|autre) "
        r"(?:proposition|suggestion|version|option|idée|réponse)\b",
        r"\b(?:fais vite|dépêche|je suis (?:sur mon|au|dans le|en) (?:téléphone|train|bus|réunion)|"
        r"mon (?:portable|téléphone|ordi) est)\b",
    ),
    excepts=(
        r"(?:mais |et )?(?:pas (?:dans|pour|sur|en|quand|si|avec)|sauf|excepté|hormis|à part|à moins)\b",
    ),
    at_times=(
        r"\ble (?:<weekday>|week-end)\b(?! \d)|\bles (?:<weekday>s|week-ends|jours fériés)\b|\bla nuit\b|"
        r"\ben (?:hiver|été|semaine|(?:haute|basse|pleine) saison)\b|\bpendant (?:la |le |les |l')|"
        r"\bpour la (?:démo|foire|migration)\b|\baux heures de pointe\b|\bseulement (?:quand|si|le|la|en)\b",
    ),
    for_once=(
        r"^(?:<openings>,? )*attend(?:s|ez) (?:que|qu')",
        r"\b(?:(?:pour )?cette fois|juste une fois|pour (?:le moment|l'instant|aujourd'hui|cette réponse)|"
        r"exceptionnellement|temporairement|provisoirement)\b",
        r"\bpendant (?:les )?(?:\w+ )?prochaine?s? (?:minutes?|heures?)\b|\b(?:dans|pour) (?:ce seul|cette "
        r"seule|ce|cette) \w+(?:-ci)? (?:seulement|uniquement)\b|\bpour une seule fois\b",
        r"\b(?:ce coup-(?:ci|là)|juste là|pour l'heure|le temps (?:que|qu'|de|d')|tant que (?:je|j'|on|ça)|"
        r"pendant qu(?:e|'))",
        r"\b(?:jusqu'à (?:ce soir|demain|\w+di)|ce (?:soir|matin)|cet après-midi|demain)\b|"
        r"\b(?:pour|avant|après) (?:la|cette|ma|le|mon) (?:démo|réunion|capture|présentation|photo|"
        r"week-end)\b",
        r"^(?:ok |non |bon |alors |mais )?(?:ne |n')?\w+(?:e|s|z)[- ](?:\w+ )?(?:pas|rien|"
        r"plus)\b.*\blà(?:[,.!]|$)",
        r"^(?:<asking> )*(?:expliqu|décri|détaill|répond|montr|résum|développ|repren)\w+\b.*"
        r"\b(?:en détails?|dans le détail|plus longuement|étape par étape|pas à pas|"
        r"à nouveau|de nouveau|encore une fois)\b",
    ),
    corrects=(
        r"^(?:(?:ah|oh|eh),? )?(?:non|nan|faux|c'est faux|pas (?:ça|comme ça|celui-là|celle-là))"
        r"(?:\s*[,.!;:–—-]+\s*|$)(?:non[,.!]+ )?",
    ),
    faults=(
        (
            r"\b(?:ça|cela|c'|ce|il|elle|ils|elles|on|qui|tout|rien|personne|maintenant|l[ea] \w+|"
            r"les \w+|l'\w+)"
            r"(?: ?(?:ne|n'|a|ont|est|sont|était|l'|le|la|les|se|s'))*"
            r" ?(?:cass\w+|plant\w+|échou\w+|bloqu\w+|fuit|perd\w*|doubl\w+|cach\w+|ignor\w+|écras\w+|"
            r"supprim\w+|efface\w*|explos\w+|ralenti\w*|trop|faux|fausse|pire|fragile|illisible|dangereux|"
            r"périm\w+|marche pas|fonctionne pas|passe plus|marche plus|fonctionne plus)\b"
        ),
        r"\b(?:parce qu|puisqu|car |vu qu|à cause|du coup)",
        r"\btrop (?:lent|compliqu|complexe|long|gros|lourd|fragile|cher|risqu|dangereux|de )",
        r"\b(?:interblocages?|fuites? (?:de )?mémoire|régressions?|perte de données)\b",
        r"\b(?:ne|n')(?: ?\w+){1,3} (?:pas|plus|rien|jamais)\b",
        r"\b(?:échoue(?:nt)?|a échoué|casse(?:nt)?|pire qu)\b",
    ),
    chooses=(r"\b(?:utilis(?:e|es|ez|ons|er)|préfèr\w+|on prend|prends|prenez) (?:plutôt |juste )?",),
    standing=(
        r"<clause>(?:toujours|jamais) (?!un (?:plaisir|bonheur)\b)(?:de |d'|un|\w+(?:er|ir|re)\b)",
        r"<clause>(?:ne |n')(?:\w+ )?jamais\b",
        r"<clause>(?:ne |n')\w+(?: \w+)? jamais\b",
        (
            r"^(?:en|dans|sur|pour|sous) (?:(?:le|la|les|un|une|ce|cette|ces|nos|notre) |l')?[\w./-]+ "
            r"(?:ne |n')\w+ jamais\b"
        ),
        (
            r"<clause>(?!ça|il|elle|on|je|c'|qui\b)\w+(?:e|s|z|ons)(?:-\w+)? toujours\b(?! (?:pas|le même|"
            "la même|une?|des))"
        ),
        (
            r"\b(?:il (?:ne )?faut|(?:on|tu|vous) (?:ne )?d(?:oit|ois|evez)|d(?:oit|oivent)) (?:toujours|"
            r"jamais)\b"
        ),
        r"\b(?:désormais|dorénavant|à partir de maintenant|en aucun cas|sous aucun prétexte)\b",
    ),
    experiences=(
        (
            r"\b(?:ai|as|a|avons|avez|ont|avais|avait|avaient|est|était|suis|sommes|sont) "
            r"(?:presque )?(?:toujours|jamais) (?!(?:aimé|voulu|préféré|détesté|adoré)\b)"
            r"(?:eu|\w+(?:é|i|u|is|it|ert)e?s?)\b"
        ),
        r"\btoujours (?:un (?:plaisir|bonheur)|agréable|sympa) (?:de |d'|quand )",
    ),
    own_habits=(
        r"\bj(?:e |')(?:ne |n')?(?!veux\b|accepte)\w+ (?:presque |quasiment )?(?:toujours|jamais)\b",
    ),
    demands=(
        r"<clause>évite[zr]? (?!\w+é)",
        r"(?:<clause>|\b(?:donc|et|mais|alors) )rien (?:qui|que|d'autre|en dehors)\b",
        (
            r"<clause>(?:ne |n')(?!importe|est|a |ai |oublie)(?:\w+ )?(?:pas|plus|rien|aucun\w*|\w+(?:e|s|"
            r"z|ons)(?:-\w+)? (?:pas|plus|rien|aucun\w*|que|surtout pas))\b"
        ),
        r"\bil (?:ne )?faut (?:que (?!je\b|j')|qu'|pas\b|surtout|absolument|impérativement)",
        (
            r"\b(?:tu|vous) (?:ne )?d(?:ois|evez) (?:pas|absolument|impérativement|uniquement|rester|"
            r"garder|utiliser)\b"
        ),
        (
            r"(?<!ça )(?<!ce )\bd(?:oit|oivent) (?:absolument |impérativement |pouvoir )?(?:rester|tenir|"
            "fonctionner|tourner|passer|marcher|respecter|utiliser|être (?:compatible|en |accessible|"
            r"testé|typé|documenté|idempotent|rétro)\w*|supporter|répondre|avoir)\b"
        ),
        (
            r"\b(?:l[ea]s?|l'|chaque|tou(?:t|s|tes)|une?|notre|nos|ces?|mon|ma|mes)\b[^.?!,;]{1,80}? "
            r"d(?:oit|oivent) (?!être|venir|y |avoir (?:été|un problème)|dire)\w+(?:er|ir|re)\b"
        ),
        (
            r"\bne d(?:oit|oivent) (?:pas|jamais|plus)\b(?! être (?:bien|très|si|trop|loin|compliqué|"
            "difficile))"
        ),
        (
            r"<clause>(?:pas de|pas d'|aucune?) (?!souci|problème|panique|idée|soucis|mal\b|quoi|chance|"
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
        r"<clause>utilise[zr]? (?:uniquement|seulement)\b",
        r"<clause>uniquement\b",
        r"\bje ne veux (?:pas|plus|aucun\w*|surtout pas)\b",
        r"<clause>(?:assure-toi|assurez-vous|veille|veillez|fais en sorte|faites en sorte)\b",
        (
            r"\b(?:au maximum|au plus|maximum|max) \d[\d,. ]*\s?(?:ms|s|secondes?|minutes?|ko|mo|go|"
            r"lignes?|caractères?|colonnes?|%|requêtes?)(?!\w)"
        ),
        (
            r"\blaisse[zr]? .{1,60} (?:tels? quels?|telles? quelles?|tranquilles?|comme (?:il|elle)s? "
            r"(?:est|sont))\b"
        ),
        (
            r"\b(?:ça|il|elle|cela) doi(?:t|vent) (?:aussi |absolument )?(?:marcher|fonctionner|rester|"
            "tenir|tourner|passer) (?!maintenant|normalement)"
        ),
        r"\bd(?:oit|oivent) être (?:du|de la|des|valides?|au|sous|uniques?|écrite?s? en|en) ",
        r"(?:,|\bmais|\bet) rien (?:dans|hors|en dehors|d'autre|sous)\b",
    ),
    who_since=(
        r"\b(?:c'est|ce sera|ça sera|avec) (?-i:[A-ZÀ-Þ][\w-]+)(?: \w+){0,4} "
        r"(?:à partir de maintenant|désormais|dorénavant)\b",
        r"\b(?:à partir de maintenant|désormais|dorénavant),? (?:c'est|ce sera) (?-i:[A-ZÀ-Þ][\w-]+)",
    ),
    requires=(
        r"^(?:pas|aucune?) (?:d(?:e |'))?((?:[\w'-]+ ){1,4}?)"
        r"(?:(?:à )?(?:moins|plus) d(?:e |')|avant|après|au-delà de|en dessous de) ?\d",
        r"[,;:] ()doi(?:t|vent) (?:aussi |encore )?(?:être|durer|fonctionner|gérer|marcher|rester|supporter|"
        r"tenir|tourner)\b",
        r"^(?:(?:<openings>|et|mais|donc|alors|bon|ok),? )*((?:(?:[\w-]+'){0,2}[\w-]+[:,]? ){1,6}?)(?:ne )?"
        r"(?:d(?:oit|oivent|evra|evront|evrait|evraient)|p(?:eut|euvent) (?:pas|plus)|a besoin)\b",
    ),
    rule_subjects="""
        je tu vous nous on il ça chaque tous toute toutes aucun aucune personne branche branches changement
        changements classe classes code commentaire commentaires commit commits diff diffs doc docs
        documentation explication explications fichier fichiers fonction fonctions import imports ligne
        lignes message messages migration migrations module modules nom noms plan plans rien réponse
        réponses résumé résumés script scripts test tests tout type types variable variables
    """,
    of_talking=(
        r"\b(?:(?:tes|vos) (?:réponses|explications|résumés|phrases)|réponses?|explications?|émojis?|blabla|"
        r"réponds(?:-moi)?|tutoie-moi|vouvoie-moi|jargon|puces|messages? de commit|docstrings?|"
        r"commentaires|noms de (?:variables|fonctions))\b",
    ),
    releases=(r"\b(?:plus|pas) (?:la peine|besoin|obligé\w*|nécessaire)\b",),
    kinds_of_work="""
        api assertions branche branches cache changelog changelogs ci code commentaire commentaires commit
        commits composant composants couverture dates dépendance dépendances déploiement déploiements
        diagramme diagrammes diff diffs docs docstring docstrings documentation emojis endpoint endpoints
        erreur erreurs exceptions exports émojis figures fixtures fonctions graphiques identifiants imports
        indentation interfaces journaux linter log logs macros merge messages méthodes migration migrations
        mock mocks module modules nombres nommage notebook notebooks pipeline plan plans pr prod production
        prs readme release releases requêtes schéma schémas script scripts secrets service tableaux tags
        test tests ticket tickets traductions types unités variables
    """,
    of_working=(
        r"\b(?:expli(?:que\w*|cations?)|résum\w+|raisonnement)\b",
        r"\b(?:code|commentaires?|docstrings?|identifiants?|variables?|fonctions?|méthodes?|annotations?|"
        r"imports?|globales?|indent\w*|tabulations?|points?-virgules?|nommage|exceptions?|print|"
        r"flottants?|floats?|entiers?|décimaux|decimal|utc|horodatages?|sql|orm|doc|documentation|"
        r"readme|changelog|config\w*|secrets?)\b",
        r"<clause>(?:hache|masque|chiffre|caviarde|cache|efface)[rz]? (?:[\w'-]+ ){0,3}"
        r"(?:mots? de passe|jetons?)\b",
        r"\b(?:tests?|teste[rz]?|mocks?|bouchons?|fixtures?|lint\w*|typage|couverture|ci|pipeline|"
        r"suite)\b",
        r"\b(?:commits?|commite[rz]?|branches?|prs?|pull requests?|merge[rz]?|fusionne[rz]?|fusion|"
        r"rebase\w*|squash\w*|push\w*|pousse[rz]?|diffs?|git|déploi\w+|déploy\w+|mise en prod|"
        r"migrations?|scripts?|commandes?|reboots?)\b",
        r"\b(?:dépendances?|paquets?|bibliothèques?|librairies?|frameworks?|plugins?|logs?|journaux|"
        r"fichiers?|dossiers?|répertoires?|dépôt|tickets?|préprod|prod|production|base)\b",
    ),
    addresses=(
        r"\b(?:tu|vous) (?:ne |n'|me |m'|y |nous |les? |la |l')?(?:dois|devez|demandes?|demandez|poses?|"
        r"préviens|prévenez|touches?|lances?|écris|ouvres?|laisses?|gardes?|utilises?|modifies?|crées?|"
        r"fais|proposes?|attends|arrêtes?|passes?|commites?|pousses?|vérifies?|mets|travailles?|"
        r"n'\w+|peux pas|pouvez pas|peux que)\b",
        r"\b(?:demande|préviens|montre|dis|avertis|propose|demandez|prévenez|montrez|dites)[rz]?"
        r"-(?:moi|nous)\b|\b(?:me|nous) (?:demander|prévenir|montrer|le dire)\b",
        r"\b(?:mon|notre) (?:accord|aval|feu vert|autorisation|ok|avis)\b|\bsans (?:moi|demander)\b",
        r"\b(?:sans|avant) que (?:je|j')|\btant que je\b|\bje veux (?:que tu|toujours)\b",
        r"\b(?:intouchables?|en lecture seule|pas touche)\b",
    ),
    prefers=(
        r"\bje (?:n')?(?:préfère|aime|adore|déteste|supporte)\b(?! (?:bien )?(?:ça|ce|cette|cet|l'idée)\b)|"
        r"\bj'(?:aime|adore|ai horreur)\b(?! (?:bien )?(?:ça|ce|cette|cet|l'idée)\b)",
    ),
    orders_always=(
        r"<clause>(?:désormais|dorénavant|à partir de maintenant),? (?!l[ea]s?\b|l'|c'est\b|ils?\b|elles?\b|"
        r"on (?:a|est)\b|nous\b|une?\b|ça\b)\w+",
        r"<clause>(?:toujours|jamais) (?!un (?:plaisir|bonheur)\b)(?:de |d'|un|\w+(?:er|ir|re)\b)",
        r"<clause>(?:on |tu |vous )?(?:ne |n')(?:\w+ )?(?:jamais|pas|plus)\b(?! problème| souci)",
        r"\b(?:on|tu|vous) (?:ne |n')?(?:l[ea]s? |l'|y |me )?\w+ (?:JAMAIS|jamais|toujours)\b",
    ),
    in_general=(
        r"\b(?:toujours|jamais|chaque|tous|toutes|aucune?|partout|systématiquement|rien|personne|"
        r"uniquement|seulement|en général|par défaut|désormais|dorénavant|à partir de maintenant)\b",
    ),
    all_done=(
        (
            r"\b(?:derni(?:er|ère) (?:point |chose |tâche )?|la fin |le reste )(?:de |sur )"
            r"(?:la |ma |notre )?(?:\w+ )?liste\b"
        ),
        r"\btout(?:e la| ce qui était sur la) liste est (?:faite?|finie?|terminée?)\b",
        r"\bderni(?:er|ère) des (?:deux|trois|quatre|cinq|six|tâches|points)\b",
    ),
    leaves_open=(
        r"\breste(?:nt|ra)?(?: encore| donc| plus que)? ([^.!?]+)",
        r"\bencore à faire ?: ([^.!?]+)",
    ),
    to_do=(r"\bà faire\b|\bsur (?:la|ma|notre) liste\b",),
    makes=(
        r"\b(?:fai[st]|faites|ajoute[rz]?|écri[st]|construi[st]|code[rz]?|passe à|passons à|on|allez|vas-y|"
        r"bon|ok|alors|maintenant|ensuite)\b",
    ),
    done=(
        r"^(?:voilà,? )?(?:c'est )?fait\b(?= ?[.,:;!–—-])",
        (
            r"\b(?:c'est|c'était|ça fait) (?:le |la |l')?(?:premi(?:er|ère)|second|seconde|deuxième|"
            r"troisième|derni(?:er|ère)|suivante?|numéro \w+|point \w+)\b[^.?!]{0,20}\bliste\b"
        ),
        r"\b(?:raye|barre|coche)[rz]?-(?:l[ea]s?|ça)\b|\b(?:est|sont) parti(?:e|s|es)?\b(?! (?:en|de)\b)",
        r"\b(?:livrée?s?|envoyée?s?|distribuée?s?)\b",
        r"\b(?:cochée?s?|c'est fait|est faite?|terminée?s?|rayée?s?|finie?s?)\b",
    ),
    binds=(
        (
            r"\b(?:toujours|jamais|dois|doit|doivent|désormais|dorénavant|à partir de maintenant|interdit|"
            r"obligatoire|à chaque)\b"
        ),
    ),
    obliges=(
        r"\b(?:il )?faut\b(?! que je\b)|\b(?:on est|nous sommes|c'est) (?:tenus?|obligés?|impératif)\b",
        r"\bil est (?:impératif|obligatoire|exclu|hors de question)\b|\bhors de question\b",
        r"\b(?:pas|jamais|plus) le droit\b|\bont? le droit\b|\bréservée?s? (?:à|aux?)\b",
        r"\bseule?s? (?:l[ea]s? |l')?\w+ (?:\w+ )?(?:peut|peuvent|a le|ont le|fait|font|touche)\b",
        r"\b(?:rien|personne|aucune?|nul|ni \w+ ni)\b(?: [^\s,;.]+){0,5} (?:ne |n')",
        r"\b(?:rien|personne) (?:ne |n')?\w+(?:e|t|ent)\b(?! (?:d'autre|de plus))",
        r"\b(?:ne|n')(?: ?[^\s,;.]+){1,4} (?:aucune?|ni|que si|qu'aux?|que pour)\b",
        r"(?:^|[,:;] |\bici )(?:que|uniquement|seulement) (?:d\w+ |l\w+ |avec )?\w",
        r"\b(?:tout(?:e|es)?|tous|chaque|n'importe quel(?:le)?)\b.{1,60}\b(?:a besoin|ont besoin|exige|"
        r"nécessite|demande|passe par|passent par)\b",
        r"\b(?:strict\w*|sans exception|aucune exception|c'est la (?:règle|loi)|par contrat|la loi|"
        r"gelée?s?)\b|"
        r", point(?:[.!]|$)",
        r"\breste(?:nt)? (?:hors|en dessous|sous|inchangée?s?|dans|tels? quels?|privée?s?)\b",
        r"\b(?:au moins|au plus|pas plus de|maximum|max) (?:une?|deux|trois|quatre|\d)",
        r"\b(?:sinon|ou alors|ou bien) (?:on|ça|ils|elle|il|l[ea]s? \w+|nous)\b",
        r"(?:^|[,:;] )seule?s? (?!les?\b|la\b)",
        r"\b(?:interdi\w+|défendue?s?|proscrite?s?|intouchables?|chasse gardée|taboue?s?|inacceptables?|"
        r"(?:pas|non) négociables?|(?:pas|jamais) une option|tolérance zéro|nulle part ailleurs|"
        r"quoi qu'il arrive|quoi qu'on fasse|à l'octet près|au plus tard)\b",
        r"\bje (?:refuse|exige|n'accepte|n'accepterai)\b",
        r"\b(?:rien|pas) à (?:y )?(?:faire|voir|toucher)\b",
        r"\bsans (?:(?:mon|notre) (?:accord|aval|feu vert|autorisation)|(?:me|nous) (?:demander|prévenir)|"
        r"demander)\b|(?<!de )\bdemande(?:s|z|r)? (?:\w+ )?avant\b|"
        r"\bavant (?:de |d')[^,;.]+?,? (?:tu|vous) (?:me |nous )?demande[sz]\b",
        r"\b(?:tolérée?s?|zéro (?!ou\b|à\b)\w+ (?:dans|sur|sous)|nous impose(?:nt)?)\b",
        r"\b(?:tu|vous) p(?:eux|ouvez) tout \w+(?:er|ir|re) .{0,60}\bsauf\b",
        r"\b(?:loi|règlement\w*|rgpd|norme|contrat|conformité|sécurité|auditeurs?) (?:nous )?"
        r"(?:impose|exige|oblige|interdit|veut)\b",
        r"\b(?:tu|vous|on) (?:ne )?p(?:eux|eut|ouvez) (?:pas|plus)\b(?! (?:reproduire|trouver|voir))|"
        r"\bne peu(?:t|vent) (?:pas |plus )?(?:être|changer|bouger|contenir|dépendre|quitter|sortir)\b",
        r"\b(?:on|tu|vous) (?:ne |n')?y \w+ (?:pas|plus|jamais|rien)\b",
        r"\b(?:on|tu|vous|t') ?(?:ne |n')?(?!a |as |est |es |sait |sais |comprend)\w+ rien\b",
        r"\b(?:on|tu|vous|l[ea]s? \w+) (?:ne |n')\w+ que\b",
    ),
    of_the_user=(
        r"\b<person> (?:a )?<wills>\b",
        r"\b<person> est <name>",
        r"\b(?:<wills>|but) de (?:l'|la )<person>\b",
        r"^\W*(?:je|j'\w+|mon|ma|mes|merci de|veuillez)\b",
        r"\b(?:règle|consigne|instruction)s? permanentes?\b",
        r"\b(?:mainteneu(?:r|se)|responsable|propriétaire|administrat(?:eur|rice)|chef)s? "
        r"(?:d.{2,40} )?(?:est|sont) <name>",
    ),
    condition=(
        r"^(?:et |mais |donc |attention,? )*(?:quand|lorsqu(?:e |')|si |s'|chaque fois qu(?:e |')|dès "
        r"qu(?:e |')|avant|"
        r"après|pour|dans|en|sur|avec) ?(?!(?:général|fait|bref|tout|tous|aucun|principe)\b)([^,;:.]{3,80}?)"
        r"(?: ?[,:] | (?=(?:toujours|jamais|ne |n'|il faut|on doit|utilise|mets)\b))",
        r"\b(?:quand |lorsqu(?:e |')|si |chaque fois qu(?:e |'))([^,;:.]{3,80})[.!]?$",
    ),
    softens=(
        r"\b(?:préfère|préférence|aime(?:rais)?|mieux|si possible|si tu peux|plutôt que|idéalement|essaie)\b",
    ),
    manners=(
        r"\b(?:réponses?|expli(?:que\w*|cations?)|excuse\w*|émojis?|emojis?|humour|blagues?|politesses?|"
        r"flatte\w*|"
        r"résumé\w*|puces?|extraits?|abréviations?|abrège\w*|alias|graphiques?|titres?|phrases?|paragraphes?|"
        r"ton|style|blabla|commentaires?|noms de|les noms|gants|tordue?s?|j'arrive pas à|formules?|"
        r"j'ai pas demandée?s?|je n'ai pas demandée?s?|c'est moi qui maintiens)\b",
        r"(?:<clause>|\b(?:stp|svp|tu peux) )arrête[rz]? (?:de |d')|\bpas la peine de\b",
    ),
    forbids=(
        r"\b(pouss\w+|push\w*|commit\w*) (?:jamais|pas|plus)\b(?: (?:jamais|plus)\b)?(?= sur\b)",
        r"\b\w{3,} (?:plus |jamais |pas )?(?:rien|quoi que ce soit|de paquets?) (?:avec|via) ",
        r"(?<!\by )(?<!\ble )(?<!\bla )(?<!\bles )(?<!\bl')\b(?!est\b|sont\b|suis\b|dérange|gêne|petits?\b|"
        r"bien\b|"
        r"arrive|connais|sais\b|comprends\b|"
        r"(?:être|sois|soyez|soit|rend\w*|semble\w*|para[iî]\w+|nettement|beaucoup|encore|peu) plus\b"
        r"(?! (?:jamais|aucune?|rien|une?|de|du|des|l[ea]s?)\b| [dl]'))"
        r"(\w{3,}) (?:jamais|pas|plus|en aucun cas)\b(?! qu[e'])"
        r"(?: (?:plus|jamais))?(?: (?:aucune?|de|du|des|au|aux|à|sur)\b| d')?"
        r"(?: (?:la|le|les)\b| l')?",
        r"\bfaut (?:surtout )?(?:jamais|pas|plus) que (?:tu|vous|on) (?=\w)",
        r"\brien (?:ne |n')(?=(?:supprim|efface|modifi|touch|écri|chang)\w* )",
        r"\b(?:ne|surtout) (?:jamais|pas|plus) (?:faire (?:de |d'|du |des )?)?(?=\w)",
        r"\b(?:interdi(?:t|s|ts|ction|ctions)|défense|hors de question|évite[rz]?|arrête[rz]?)(?: "
        r"formelle| absolue)? "
        r"(?:de |d')",
        r"\bpersonne (?:ne |n')?(?=(?:y )?(?:touch|édit|modifi|chang|supprim|efface|pouss|déploi|lance|"
        r"installe)\w* )",
        r"(?:^|[,:;] )seule?s? (?:l[ea]s? |l')?\w+ (?:peut |peuvent |a le droit de )?"
        r"(?=(?:touch|édit|modifi|chang|supprim|efface|pouss|déploi|lance|installe)\w* )",
        r"(?<!de )\bdemande(?:s|r|z)?(?:-moi|-nous)? (?:\w+ )?avant (?:de |d')",
        r"\bsans (?=(?:utiliser|ajouter|toucher|modifier|changer)\b)",
    ),
    bans=(
        r"(?:^|[,;:.(—–]\s*|\b(?:et|mais|donc|surtout|alors) )(?:surtout )?"
        # "plus clair" compares, "plus de Java" ends something.
        r"(?:jamais|pas|plus(?= (?:jamais|aucune?|une?|de|du|des|<known>)\b| d')|aucune?|z[ée]ro)"
        r"(?! besoin\b| la peine\b| de (?:souci|problème))(?: aucune?)?(?: (?:de|du|des)\b| d')? ?",
        r"\by a (?:pas|plus) (?:de |d')(?=<known>\b)",
    ),
    forbidden=(
        r"^(?:l[ea]s? |l')?(.{1,60}?),? (?:c'est (?:non|interdit|hors de question|chasse gardée)|"
        r"(?:est|sont) (?:interdite?s?|proscrite?s?|intouchables?|hors de question|"
        r"(?:inter|réser)\w+ (?:à|aux?))|n'(?:a|ont) rien à (?:y )?faire)\b",
        r"^(.{0,20}\b(?:dépendance|bibliothèque|librairie|paquet)s?)\b[^.]{0,20} (?:a besoin de|demande|"
        r"exige|"
        r"passe(?:nt)? par) (?:moi|mon|notre|nous|une?)\b",
        r"[,;:] (?:l[ea]s? |l'|tout |toute )?([^\s,;]+(?: [^\s,;]+)?) (?:est|sont) (?:strictement )?"
        r"(?:exclue?s?|proscrite?s?|interdite?s?|bannie?s?|prohibée?s?)\b",
        r"^(?:l[ea]s? |l')?([^\s,;]+(?: [^\s,;]+)?) (?:est |sont )?(?:strictement )?(?:exclue?s?|"
        r"interdite?s?|bannie?s?|prohibée?s?)\b(?! d[e'])",
        r"<path>,? c'?est (?:\w+ )?(?:read[- ]only|en lecture seule|gelée?|figée?|sacrée?)\b",
        r"\btu laisses (.{1,60}?) (?:tels? quels?|telles? quelles?|tranquilles?)\b",
        r"^(?!dans\b)(?:l[ea]s? |l')?(?:fichiers? |dossiers? )?(\S{1,60}).{0,60} on (?:n')?(?:y |les? |la |"
        r"l')?"
        r"(?:touche|édite|modifie|change)\w* (?:pas|jamais|plus)\b",
        r"\blaisse[rz]? (.{1,60}?) (?:tels? quels?|telles? quelles?|tranquilles?)\b",
        r"\brien (?:ne |n')?(?:bouge|change|se modifie)\w* (?:dans|sous) <path>",
        r"\bdans <path> (?:tu|on|vous) (?:lis|lit|lisez|regarde|ajoute)\w*,? (?:mais |et )?(?:(?:tu|on|"
        r"vous) )?"
        r"(?:ne |n')?\w+ (?:pas|jamais|rien)\b",
        r"<path> doi(?:t|vent) rester (?:intacte?s?|tels? quels?|telles? quelles?|inchangée?s?|comme)\b",
        r"\b(?:ne |n')?(?:modifie|touche|édite|change)\w* (?:à |au )?<path> que (?:si|quand)\b",
        r"<path> (?:ne )?se (?:modifie|touche|change|édite)\w* (?:pas|jamais)\b",
        r"<path> (?:est|sont) (?:générée?s?|gelée?s?|figée?s?|verrouillée?s?|en lecture seule)\b",
        r"\bpas touche (?:à |au )<path>",
        r"^(?:l[ea]s? |l')?(.{1,40}?) est réservée? aux (?:humains|admins?)\b",
    ),
    uncommitted=(
        r"\b(?:jamais|pas|aucun) (?:de |d'|le |les )?<path> dans (?:git|le dépôt)\b",
        r"<path> (?:ne |n')?(?:va|vont|entrent?|a|ont|doi(?:t|vent)) (?:pas|jamais|rien à faire)(?: être)? "
        r"(?:(?:aller |entrer )?dans (?:git|le dépôt)|(?:commité|versionné)e?s?)\b",
    ),
    confines=(
        r"\b(?:tu|on|vous) (?:ne |n')?(?:modifi|touch|écri|travaill|édit|chang)\w+ que (?:dans|sous) "
        r"(?:le )?(?=\S*/)",
        r"\bne (?:modifi|touch|écri|travaill|édit|chang)\w+ (?:(?:à )?rien )?(?:que |qu'|(?:en de)?hors )"
        r"(?:dans |sous |à |de )?(?=\S*/)",
        r"\b(?:uniquement|seulement) (?:dans|sous) (?=\S*/)",
        r"\breste[sz]? dans (?=\S*/)",
    ),
    over=(
        r"\b(?:au lieu (?:de |d')|plutôt (?:que |qu')(?:de |d')?|à la place (?:de |d'|du ))(?:utiliser )?",
        r", (?:et )?pas (?!de\b|d'|du\b|des\b)(?=\S)",
    ),
    deeds={
        "change": r"touch|édit|modifi|chang|écri|réécri|reformat|renomm|déplac",
        "delete": r"supprim|effac|vide|enlev|rm\b",
        "use": (
            r"utilis|veux\b|lanc|exécut|appel|install|import|ajout|met(?:s|tre|tez|tons)?\b|pass(?:e|er|ez)\b"
        ),
    },
    object_ends="""
        dans sur sous en hors pour depuis avec sans par avant après car parce puisque sinon c'est on tu
        vous il elle ça mais qui que quand si stp svp ici partout même directement jusque chez est sont
        y jamais toi moi dedans là-dedans direct
    """,
    quantifiers="chaque tout toute tous toutes moindre",
    determiners="""
        le la les l un une des de du d au aux à ce cet cette ces ton ta tes votre vos notre nos mon ma
        mes nouveau nouvelle nouveaux nouvelles autre autres fichier fichiers dossier dossiers
        répertoire répertoires toujours plutôt seulement uniquement branche
    """,
    within=r"dans|sur|sous|en|pour",
    acts={
        "push": "git push",
        "push --force": "git push --force",
        "force push": "git push --force",
        "push forcé": "git push --force",
        "pusher": "git push",
        "pousser": "git push",
        "pousse": "git push",
        "committe": "git commit",
        "commite": "git commit",
        "committer": "git commit",
        "commiter": "git commit",
        "commits": "git commit",
        "rebaser": "git rebase",
    },
    tabs=(r"tab(?:ulation)?s?$",),
    places="ici machine dépôt projet serveur repo poste",
    product="bibliothèque appli application production prod",
    outside=r"en dehors d(?:e|es|u)|hors d(?:e|es|u)|sauf (?:dans|pour)|excepté dans",
    dependencies="dépendance dépendances librairie librairies bibliothèque bibliothèques",
    instead=(
        r"\b(?:à la place d\w*|au lieu d\w*|plutôt que?|remplac\w+|abandonn\w+|ne .{1,40} plus)\b",
        r"\bn'\w+ .{0,40}plus\b",
        r"\bà la place\b",
    ),
    changed_mind=(
        (
            r"\b(?:changement de plan|après réflexion|chang\w+ d'avis|finalement|en fait|tout compte fait|"
            r"réflexion faite|oublie|non,? attends)\b"
        ),
    ),
    goes=(
        r"\b(?:à la place|au lieu) d(?:e |u |es |')(?:l'|la |les )?<thing>",
        r"\bplutôt qu(?:e |')(?:d'|de |sur |avec |l'|l[ea]s? )?<thing>",
        r"(?<!pas )(?<!jamais )\bremplac\w+ (?:l'|l[ea]s? |notre |nos )?<thing> par\b",
        r"(?<!pas )(?<!jamais )\b(?:troque[rz]?|échange[rz]?|(?:on a|nous avons) (?:troqué|échangé)) "
        r"(?:l'|l[ea]s? |notre |nos )?<thing> (?:contre|pour)\b",
        r"\b(?:pass|migr|bascul)\w* (?:\w+ ){0,2}?d(?:e |')(?:l'|l[ea]s? )?<thing> (?:à|vers)\b",
        r"\b(?:pass|migr|bascul|chang)\w* (?:[\w'-]+ ){1,6}?d(?:e |')([\w.+#-]*[\w+#]) (?:à|vers)\b",
        r"\b(?:laisse|laissez|laissons) tomber (?:l'|l[ea]s? )?<thing>(?=[,;:]? ?(?:et )?(?:on |prend|"
        r"utilis|pass|mets|met))",
        r"\b(?:oublie|oubliez|oublions|abandonne|vire) (?:l'|l[ea]s? )?<thing>(?=[,;:] (?:et )?(?:on |prend|"
        r"utilis|pass|mets|met))",
        r"\b(?:était|étaient|c'était) <thing>(?=[,;] (?:et |mais )?(?:maintenant|désormais|c'est))",
        r"(?:^|[,;:] )([\w.+#-]*[\w+#]),? (?:c'est|est|était) (?:\w+ )?trop \w+[,;:]? (?=(?:on |prend|"
        r"utilis|pass|mets|met))",
        ", (?:et )?pas <thing>[.!]?$",
        r"\b(?:finalement|en fait|réflexion faite|tout compte fait),? pas (?:l'|l[ea]s? |de |d')?<thing>"
        r"(?= ?[,;:]| mais\b)",
        r"\bn'(?:utilis|emploi|employ)\w+ plus (?:d(?:e |')|l'|l[ea]s? |notre |nos )?<thing>",
        r"\bne (?:tourn\w+ plus sur|se sert plus d(?:e |u |es |')) ?(?:l'|l[ea]s? )?<thing>",
    ),
    gone=(
        (
            r"\b(?:oublie[rz]?|laisse(?:r|z)? tomber|abandonne[rz]?|jette[rz]?|vire[rz]?|plus de|"
            r"(?:retir|supprim|enlev|abandonn)(?:é|ée|e|er|ez|ons)|remplac(?:e|ent|ait|é|ée)|"
            r"pren(?:d|nent|ait) la place d(?:e|u)|adieu|exit|ciao) (?:le |la |les |l'|du |des |notre )?"
            r"((?:[\w.+#/-]+[ ,]*){1,4})"
        ),
        r"\b(?:on|nous) (?:quitt(?:e|ons)|lâch(?:e|ons)|sort(?:ons)? de(?: chez)?) (?=(?-i:[A-ZÀ-Þ])|<known>)"
        r"(?!<weekday>|<month>)((?:[\w.+#/-]+[ ,]*){1,4})",
    ),
    removed=(
        (
            r"(?<![\w.+#/-])((?:[\w.+#/-]+ ){0,4}?[\w.+#/-]+) (?:est|sont|a été|ont été) "
            r"(?:maintenant |désormais |donc |entièrement )?"
            r"(?:retirée?s?|supprimée?s?|enlevée?s?|désinstallée?s?|abandonnée?s?|virée?s?|"
            r"morte?s? pour nous\b)"
        ),
        (
            r"\b(?:retiré|supprimé|enlevé|désinstallé|viré|jeté) (?:le |la |les |l'|tous les |toutes les )?"
            r"((?:[\w.+#/-]+ ?){1,4})"
        ),
        r"(?<![\w.+#/-])((?:[\w.+#/-]+ ){0,3}?[\w.+#/-]+),? c'est (?:non|fini|mort|terminé)\b",
    ),
    built_on=(
        (
            r"`([\w./-]+)` (?:est|sont|tourne|vit|utilise|écrit|lit|pointe|passe|repose|appelle|stocke|sort) "
            r"([^.;]{1,60})"
        ),
        (
            r"^(?:le |la |l'|notre )?([^\W\d_]{3,}) (?:est|tourne|utilise|passe|sur) "
            r"((?:(?:maintenant|désormais|de nouveau|à nouveau|sur|le|la|en) )*[\w`]\S*)"
        ),
    ),
    picks=(
        (
            r"\b(?:ce sera|va pour|on (?:prend|part sur|a pris|a choisi|passe (?:à|sur)|(?:re)?bascule sur)|"
            r"nous (?:prenons|avons (?:pris|choisi))|je (?:prends|pars sur)|partons sur) "
            r"(?:le |la |les |l'|une? )?((?:[\w+#/.-]+ ?){1,3})"
        ),
    ),
    changes=(
        (
            r"\b(?:désormais|dorénavant|finalement|en fait|laisse tomber|oublie|abandonn\w+|retir\w+|"
            r"supprim\w+|remplac\w+|ne \S+ plus|n'\S+ plus|plus de|bascul\w+|revien\w+)\b"
        ),
    ),
    moves_on=(
        (
            r"\b(?:désormais|dorénavant|maintenant|ne\b.*\bplus|plus de|finalement|en fait|laisse tomber|"
            r"oublie|abandonn\w+|retir\w+|supprim\w+|remplac\w+|passe(?:nt)?|pass[ée]\w*|bascul\w+|revien\w+|"
            r"c'est (?:bon|fait|fini|réglé)|termin\w+|fini\w*|on (?:prend|a pris|garde)|dernière fois|"
            r"partie?s?|seulement|uniquement|nouve(?:au|lle)|change\w*|à partir)\b"
        ),
    ),
    eases=(
        (
            r"\b(?:suffi(?:t|sent)|peu[tx]|pouvez|peuvent|permis\w*|autoris\w+|droit|libres?|d'accord|inutiles?|"
            r"laisse\w*|arrête\w*|oublie\w*|la peine|veu[tx] bien|passe|vas-y|allez-y|comme (?:tu|vous) v\w+|"
            r"(?:toi|vous)-mêmes?|tout seul|besoin|obligé\w*|assez|vaut|gêne|grave|ok|bon|marche|quand|"
            r"importe|confiance|va pour|pourquoi pas|accepte\w*)\b"
        ),
    ),
    remains=(r"\b(?:reste(?:nt)?|garde[rz]?|gardons|conserve[rz]?|toujours|ne (?:bouge|change)\w*)\b",),
    returns=(
        (
            r"\b(?:(?:re)?(?:vien[st]|venons|venir|passe[rs]?|passons) (?:au|aux|à la|à l'|à|sur)|"
            r"remet(?:s|tre)?|"
            r"reprend(?:s|re)?|de nouveau|à nouveau|retour (?:au|aux|à la|à)) (?:le |la |les |l'|du |des )?"
            r"((?:[\w.+#/-]+ ?){1,4})"
        ),
        r"\b(<known>) (?:partout|de nouveau|à nouveau)\b",
        r"\b(?:finalement|en fait|tout compte fait)\b[^.;!?]{0,15}?\b(?:garde|gardons|reste sur|conserve)s? "
        r"(?:le |la |les |l')?((?:[\w.+#/-]+ ?){1,3})",
    ),
    promises=(
        r"\b(?:désormais|dorénavant|à partir de maintenant)\b",
        r"\bje (?:le |la |les |l'|vous |te |t'|ne )*\w+r(?:ai|ais)\b",
        r"^(?:ok|noté|entendu|compris|d'accord|c'est noté|bien|parfait|promis)\b ?[,.:;!–—-]* ",
    ),
    drops_what_was_asked=(
        r"\b(?:le coup|l'histoire|la règle|le truc|l'habitude|la consigne|la manie) "
        r"(?:du |de la |des |de |d')([^,;.!?:]{3,60}), (?:on |tu peux )?"
        r"(?:laisse(?:r|z)? tomber|oublie[rz]?|arrête[rz]?|abandonne[rz]?)\b(?! (?:\w+ )?(?:pas|jamais)\b)",
    ),
    drops_it=(
        r"\b(?:on|je|nous) (?:l[ae]s? |l')?(?:jette|vire|enlève|abandonne|retire|"
        r"laisse tomber)(?:ons)?(?= ?[,;.!]|$)|"
        r"\b(?:jette|vire|enlève|retire|laisse)-(?:moi )?(?:ça|l[ae]s?)\b|\blaisse tomber(?= ?[,;.!]|$)",
    ),
    suffices=(r"\b([\w.+#/-]*[\w+#]) (?:suffit|suffira|fait l'affaire|fera l'affaire)\b",),
    settles=(
        r"\b(?:on|nous) (?:part(?:ons)?|est parti|passe|passons|bascule|reste)s? "
        r"(?:sur|à|avec|vers) (<known>)\b",
        r"\b(?:ce sera|va pour|on prend|prenons|allons-y pour|c'est parti pour) (<known>)\b",
    ),
    on_leave=(r"<who> ne (?:l[ea]s? |s'en |s'y )?\w+ plus\b",),
    permits_it=(
        r"^(?:(?:en|y|l[ea]|les) |l')\w+(?:er|ir|re)(?: (?:maintenant|désormais|de nouveau|aussi))?$",
    ),
    contrasts=(r"^(?:par contre|en revanche|du coup),? ",),
    permits=(
        r"\b(?:tu peux|vous pouvez|on peut|tu as le droit d(?:e |')|vous avez le droit d(?:e |'))"
        r"(?: maintenant| désormais| aussi| de nouveau)? ?"
        r"(?!(?:maintenant )?(?:arrêter|laisser tomber|oublier|sauter)\b)([^,;.!?]+(?:\.\w+)?)",
        r"<phrase> (?:peut|peuvent) (?:maintenant |de nouveau )?être [\w]+é[es]*\b[^,;.!?]*",
        r"([^.!?]+?), (?:vas-y|allez-y|fais comme tu veux|ça passe|c'est bon pour moi|pas de problème)\b",
        r"<phrase> (?:est|sont|c'est) (?:permise?s?|autorisée?s?|libres?|de nouveau (?:libres?|à "
        r"toi))\b[^,;.!?]*",
        r"\b(?:d'accord|ok) pour (?:que tu )?([^,;.!?]+)",
        r"<phrase> a le droit (?:de |d')[^,;.!?]+",
        r"<phrase> (?:toi-même|sans (?:me )?demander)\b[^,;.!?]*",
    ),
    asks_first=(
        r"\bdemande[rz]?(?:-(?:moi|lui|leur|nous))? .{0,30}avant\b|\bsans (?:me |nous |lui )?demander\b",
    ),
    limits=(
        r"\b(?:pour|quand|lorsque|si|seulement|uniquement|sauf|pendant|dans|après|avant) "
        r"(?!l'instant\b|toujours\b)([^,;.!?]+)",
    ),
    answers_in=(
        r"\b(?:répond\w*|parle\w*|écri[st]\w*|écrire|reste\w*)(?:[- ](?:moi|nous))?(?: seulement| toujours)? "
        r"en <tongue>\b",
        r"\b(?:tes |les |vos )?réponses\b[^.;:!?]{0,20}? en <tongue>\b",
        r"<clause>(?:seulement |juste |de nouveau )*(?:en )?<tongue>,? (?:désormais|dorénavant|à partir de "
        r"maintenant|"
        r"seulement|stp|svp)\b",
    ),
    answers_as_asked=(
        r"\bdans (?:la (?:même )?langue (?:que (?:j'utilise|moi\b)|(?:où|dans laquelle) (?:je |j')|"
        r"de (?:mes?|ma|la) )|ma langue)",
        r"\bcomme je (?:te )?(?:parle|l'écris)\b",
    ),
    in_tongue=(r"\ben <tongue>\b",),
    unwanted=(
        r"\b(?:pas|plus|jamais|sans|arrêt\w+|évit\w+|oublie\w*|laisse\w* tomber|marre|énerv\w+|agac\w+|"
        r"saoul\w+|"
        r"trop|devien\w+|aucune?|épargne\w*)\b",
    ),
    now_wanted=(
        r"\b(?:maintenant|désormais|dorénavant|à partir de maintenant|plutôt|seulement|uniquement|juste|"
        r"suffi\w*|"
        r"finalement|oublie|laisse tomber|au lieu|plus (?:besoin|la peine))\b",
    ),
    wishes={
        "length": (r"\b(?:répon\w*|explication\w*|expliqu\w*|sois|fais|reste|phrases)\b",),
        "length/short": (
            r"\b(?:courte?s?|brefs?|brèves?|bref|concise?s?|succinct\w*|en (?:une|quelques) (?:lignes?|"
            r"phrases?|"
            r"mots)|(?:deux|trois|2|3) (?:lignes|phrases)|plus court\w*|moins long\w*)\b",
        ),
        "length/long": (
            r"\b(?:longue?s?|détaillée?s?|plus de détails?|en détail|complète?s?|développ\w+)\b",
        ),
        "lists/bullets": (r"\b(?:listes? à puces|puces|tirets|listes?(?= (?:dans|à|numérot)))\b",),
        "lists/prose": (r"\b(?:prose|paragraphes|phrases complètes|texte suivi|parle-moi normalement)\b",),
        "emojis/emojis": (r"\b(?:émojis?|emojis?|smileys?|émoticônes?)\b",),
        "recaps/recaps": (r"\b(?:récap\w*|résumés?)\b",),
        "order/code first": (r"\b(?:le )?code d'abord\b",),
        "order/explanation first": (r"\b(?:l'explication|les explications|explique) d'abord\b",),
        "explanations/code alone": (
            r"\b(?:(?:juste|seulement|rien que) (?:le |la )?(?:code|diff|patch|commande)|le code seul)\b",
        ),
        "explanations/explained": (r"\b(?:explications?|explique\w*|raisonnement|dis-moi pourquoi)\b",),
        "pace/one": (r"\bune (?:étape|chose|question) à la fois\b|\b(?:étape par étape|pas à pas)\b",),
        "pace/all": (r"\b(?:tout d'un coup|en une fois|d'une traite)\b",),
        "options/several": (r"\b(?:deux|trois|plusieurs|2|3) (?:options|possibilités|variantes)\b",),
        "options/one": (r"\b(?:une seule (?:option|proposition|recommandation)|juste la meilleure)\b",),
        "questions/ask": (
            r"\b(?:pose-moi des questions|demande en cas de doute|si tu (?:hésites|doutes),? demande)\b",
        ),
        "questions/decide": (r"\b(?:décide (?:toi-même|tout seul|seul)|tranche toi-même)\b",),
        "edits/diffs": (r"\b(?:(?:juste|seulement) (?:le |les )?(?:diffs?|patchs?|lignes changées))\b",),
        "edits/whole files": (r"\bfichiers? (?:entiers?|complets?)\b",),
        "tone/formal": (r"\b(?:vouvoie\w*|vouvoyer|vouvoiement)\b",),
        "tone/informal": (r"\b(?:tutoie\w*|tutoyer|tutoiement)\b",),
        "tone": (r"\b(?:vouv|tut)o\w+",),
        "branch/main": (
            r"\b(?:direct(?:ement)?|commit\w*|push\w*|pousse\w*) (?:\w+ )?(?:sur|dans|vers) (?:la )?"
            r"(?:main|master)\b",
        ),
        "branch/branches": (
            r"\b(?:des PR|une PR|des MR|une MR|une branche (?:par|pour chaque)|branches séparées)\b",
        ),
        "commit messages": (r"\b(?:commits?|messages?|préfixes?)\b",),
        "commit messages/form": (
            r"\b(?:conventionnels?|préfixes?|(?:à l')?impératif|minuscules|au passé|ticket|feat/fix|une "
            r"phrase)\b",
        ),
        "committer/assistant": (r"\b(?:tu (?:peux )?commit\w*|commite (?:toi-même|au fur))\b",),
        "committer/user": (
            r"\b(?:je (?:commite|ferai les commits)|c'est moi qui commite|laisse-moi les commits)\b",
        ),
        "checks/before commit": (r"\bavant (?:de commit\w*|(?:(?:chaque|tout|le|un|les) )?commits?)\b",),
        "checks/before done": (
            r"\bavant (?:de |d')(?:(?:me |nous )?(?:dire|annoncer|déclarer|rendre))\b[^.;!?]*"
            r"\b(?:fini\w*|terminé\w*|prête?s?|fait)\b",
        ),
        "checks/any": (r"<clause>(?:désormais |dorénavant )?(?:juste|seulement|rien que) les tests\b",),
        "checks": (r"\b(?:lance\w*|relance\w*|exécute\w*|fais tourner|tourne|tests?|suite)\b",),
        "tongue of comments": (r"\b(?:commentaires?|docstrings?)\b",),
        "tongue of commit messages": (r"\b(?:commits?|messages de commit)\b",),
        "tongue of names": (r"\bnoms? de (?:variables?|fonctions?|classes?)\b",),
        "tongue of documents": (r"\b(?:doc|docs|documentation|readme)\b",),
        "tongue of the interface": (r"\b(?:interface|libellés|boutons|messages d'erreur|textes)\b",),
    },
    restricts=(
        r"\b(?:seulement|uniquement|juste|que)(?: (?:nécessaires?|utiles?))? "
        r"(?:quand|si|avant|pour|dans|sur|après|en|le|la|les)\b",
        r"\bplus (?:obligée?s?|obligatoires?|nécessaires?) (?:pour|dans|sur|en)\b",
    ),
    tongues={
        "anglais": "english",
        "français": "french",
        "francais": "french",
        "allemand": "german",
        "chinois": "chinese",
        "espagnol": "spanish",
        "japonais": "japanese",
        "polonais": "polish",
        "russe": "russian",
        "italien": "italian",
        "néerlandais": "dutch",
        "portugais": "portuguese",
    },
    now_so=(r"\b(?:maintenant|désormais|plutôt|finalement|suffi\w+|mets|passe)\b",),
    totals=(
        r"\b(?:\d+|un|une) (?:nouveaux? |nouvelles? |autres? )?(\w+)(?: de plus)?\b[^.!?]*?\b"
        r"(?:ça fait|soit|donc) (\d+)\b(?= (?:en tout|au total|maintenant)|[.!]?$)",
    ),
    ordinals_from_two="deuxième troisième quatrième cinquième sixième septième huitième neuvième dixième",
    comes=(r"\b(?:arriv\w+|vient|rejoint|s'ajoute\w*|ajouté\w*|acheté\w*|embauché\w*)\b",),
    only_for=(r"\b(?:mais )?(?:seulement|uniquement) (?:pour|dans|sur|avec)\b", r"\bque pour\b"),
    becomes=(
        r"\bde (\d[\d.,:]*)(?: ?[^\W\d]{1,12})? à \d",
        r"(?<![\d.,])(\d[\d.,:]*)(?: ?[^\W\d]{1,12})? (?:devien(?:t|nent)|passe(?:nt)? à) \d",
    ),
    asks_to_change=(
        (
            r"\b(?:l'augmente\w*|l'allonge\w*|l[ae]s? (?:monte|relève|baisse|réduis|diminue|change|double|"
            r"raccourcis)\w*|(?:l'|l[ae]s? )(?:augmenter|monter|relever|baisser|réduire|diminuer|changer|"
            r"doubler|allonger|raccourcir))\b"
        ),
        r"\b(?:ça suffit|c'est (?:trop|assez|suffisant))\b",
    ),
    switches=(
        r"(?:(?:donc|alors|bon|ok|on|nous),? )*(?:passe[rz]?|passons|bascule[rz]?|migre[rz]?|change[rz]?) "
        r"(?:à|sur|vers|pour|chez) (?=(?-i:[A-ZÀ-Þ])|<known>)",
    ),
    sets=(
        r"^((?:[\w'-]+ ?){1,4}?) ?: ?(?:plutôt |maintenant |finalement |désormais |non,? |mets |passe à )"
        r"(?=\d)",
        (
            r"\b(?:passe|mets|mettez|monte|baisse|descends|porte|fixe|règle|change|augmente|réduis|décale|"
            r"repousse|avance|limite)[rsz]? ((?:[\w'-]+ ){1,5}?)à (?=\d)"
        ),
        r"((?:[\w'-]+ ){1,6}?)(?:est |sont )?pass(?:e|ent|ée?s?) à (?=\d)",
        r"\b(?:ralenti|accélère|espace)[sz]? ((?:[\w'-]+ ){1,6}?)à (?:une? )?(?:fois )?(?:tou(?:te)?s les|"
        r"chaque|par) (?=\d)",
    ),
    bounds=(
        r"\b(?:doit|doivent|au (?:moins|plus|maximum|minimum)|au-dess(?:us|ous)|minimum|maximum|min|max|"
        r"limites?|limitée?s?|seuil|(?:plus|moins) de)\b",
    ),
    to_mend=(
        r"\b(?:bugs?|bogues?|échou\w+|erreurs?|bizarre(?:ment)?|étrange(?:ment)?|cassée?s?|corrige[rz]?|"
        r"répare[rz]?|devrait|préviens|avertis|alerte)\b",
    ),
    rises=(
        r"((?:[\w'-]+ ){1,3}?)(?:re)?(?:descend(?:ent)?|mont(?:e|ent)|tomb(?:e|ent)|baiss(?:e|ent)|"
        r"grimp(?:e|ent)) à (?=\d)",
        r"((?:[\w'-]+ ){0,2}[\w'-]+),? (?:donc |et )?(?:elles?|ils?|ça) (?:re)?(?:descend(?:ent)?|"
        r"mont(?:e|ent)|tomb(?:e|ent)|baiss(?:e|ent)|pass(?:e|ent)) à (?=\d)",
    ),
    names_value=(
        r"^(?:et |mais |donc |non,? |en fait,? |finalement,? |désormais,? |maintenant,? |bon,? |ok,? )*"
        r"(?:l[ae]s? |l'|notre |nos |mon |ma )<topic>,? (?:c'est|est|sont|sera|doit être|devient|passe à)"
        r"(?: maintenant| désormais)? (?:l[ae] |l')?<named>(?:,? (?:maintenant|désormais|finalement))?"
        r"(?:[.!]?$|, (?:et )?pas )",
        r"\b(?:change|changez|passe|passez|mets|mettez|renomme|fixe)[rz]? (?:l[ae]s? |l'|notre |nos )<topic>"
        r" (?:en|à|sur) <named>(?:[.!]?$|[,;])",
        r"^<topic> : (?:plutôt )?<named>[.!]?$",
    ),
    value_of=(
        r"\b(?:utilis\w+|pren\w+|mets|mettons|mettez|choisi\w+) <named> (?:comme|pour) (?:l[ae]s? |l'|notre "
        r")?<topic>"
        r"(?:[.!]?$|[,;])",
        r"(?:^|[:,] )([\w.+#/-]*\w[+#]*) comme (?:l[ae]s? |l'|notre )?<topic>[.!]?$",
    ),
    renews=(
        r"\b(?:maintenant|désormais|plutôt|finalement|en fait|change[rz]?|passe[rz]?|renomme|n'est plus|pas|"
        r"au lieu|à la place|devient|changé d'avis)\b|^non\b",
    ),
    name_behind=(
        r"^(?:non,? |hm+,? |en fait,? |pardon,? |attends,? |ah,? |euh,? )*(?:plutôt|mets(?: plutôt)?|"
        r"(?:je )?(?:voulais|voulait) dire|change(?:-l[ea])? en|mieux vaut|finalement) <proper>(?:,? (?:stp|"
        r"svp))?[.!]*$",
        r"^(?:non,? |en fait,? |finalement,? )*(?:mets |prends |prenons |utilise )?<proper> (?:à la place|"
        r"plutôt)[.!]*$",
        r"^(?:non|nan|en fait|non attends|ah non|disons|non,? en fait),? <proper>(?:,? (?:stp|svp))?[.!]*$",
    ),
    name_for_name=(
        r"^(?:non,? |pardon,? )*pas [\w.+#-]+ ?[,;:] (?:mais )?<named>[.!]*$",
        r"^(?:non,? |plutôt )*<named>,? (?:(?:et )?pas|au lieu de|au lieu d'|plutôt que) ?[\w.+#-]+[.!]*$",
        r"^(?:change[rz]?|remplace[rz]?) [\w.+#-]+ (?:en|par) <named>[.!]*$",
    ),
    value_change_words="""
        à ah alors attendez attends au augmente avis assez avait baisse bas beaucoup ben bien bon c'est ça
        ce change changé changez court d'avis de demande descends désolé dire dis disons du dit en est et être
        euh fais fait faudrait finalement grand gros haut hm hmm j'ai j'avais je l'augmente la laisse le les
        lent lieu long lot met mets mettez mettons mieux moi monte nan non oh ok on ou oui oups par pardon
        part pars partons pas passe passez passons petit place plaît plutôt pour prend prends prenez prenons
        préfère peu que rapide réduis remplace s'il serait si soit stp suffira suffisent suffit sur svp te
        trop tu un vas va vais vaut veut veux voulais voulait vous vite élevé l'instant qu'à vraiment
    """,
    objects_to_value=(
        r"\b(?:non|nan|pas|plutôt|finalement|en fait|mieux|trop|pardon|désolé|oups|voulais|voulait|au lieu|"
        r"à la place|suffi(?:t|ra|sent)|d'avis|"
        r"(?:change|remplace|monte|baisse|descends|augmente|réduis|passe|mets)[rsz]?(?:-l[ea]s?)? (?:à |"
        r"l[ea] )?\d)",
    ),
    gives_value=(
        r"\b(?:mets|mettez|mettons|met|prends|prenez|prenons|prend|disons|passe|passons|part|partons|préfère|"
        r"stp|svp|soit)\b",
    ),
    leaves=(
        (
            r"<who> (?:(?:est partie?|s'en va|nous a quittée?s?|nous quitte|est(?= en (?:congé|retraite))|"
            r"part(?= (?:en (?:congé|retraite)|<weekday>|la semaine|le mois|fin|demain)))"
            r"(?: en (?:congé|retraite)(?: (?:maternité|paternité|parental))?)?|"
            r"n'est plus (?:là|parmi nous|avec nous|chez nous|dans (?:l'équipe|la boîte|le projet))|"
            r"a démissionné|a changé de (?:service|boîte|poste|équipe)|"
            r"a quitté (?:l'équipe|la boîte|le projet|l'entreprise|le service))"
            r"(?: (?:hier|demain|<weekday>(?: dernier| prochain)?|ce matin|cette semaine|"
            r"(?:la semaine|le mois|l'année) (?:prochaine?|dernière?)|l'an dernier|(?:fin|en) <month>|"
            r"pour de bon))?"
            r"(?=\s*(?:[,.;:!(–—]|et\b|donc\b|alors\b|$))"
        ),
        r"\bdernier jour d(?:e |')<who>",
        r"\b(?:remplace|prend la suite de|prend la place de|succède à) <who>\b(?! par\b)",
    ),
    stops_doing=(
        r"(?<!pas )(?<!jamais )\b(?:arrête[rz]?|cesse[rz]?) (?:de |d'|avec )",
        r"<clause>plus (?:de |d')(?!\d|la\b|un)",
    ),
    stops=(
        r"\bplus besoin (?:de |d'|que )",
        r"\b(?:plus|pas) la peine (?:de |d'|que )",
        r"\b(?:inutile|plus utile|plus nécessaire|plus obligatoire) (?:de |d')",
        r"\b(?:n'est|ne sont|n'es|c'est) plus (?:nécessaires?|utiles?|obligatoires?|obligée?|interdite?s?)\b",
        r"\btu peux (?:maintenant )?(?:arrêter|laisser tomber|oublier|sauter)\b",
        r"\b(?:oublie|laisse tomber) (?:la règle|ma règle|ce que j'ai dit|l'interdiction)",
        r"<clause>(?:oublie[rz]?|laisse[rz]? tomber|on (?:oublie|laisse tomber|arrête)) (?:le |la |les |l'|"
        r"ces |cette |"
        r"mes |tous les )",
        r"\b(?:est|sont|c'est) (?:trop strictes?|levée?s?|de l'histoire ancienne|terminée?s?)\b",
        r"\b(?:m'|nous )(?:énerv\w+|agac\w+|saoul\w+|soûl\w+)\b|\bme (?:saoul\w+|soûl\w+)\b|\bmarre (?:de |"
        r"des |d')",
        r"\bsuffi(?:t|sent) (?:maintenant|désormais|dorénavant|à partir de maintenant)\b",
        r"\b(?:ne |n')(?=[\w' ]{1,30} plus\b[^.!?]{0,40}\b(?:désormais|dorénavant|maintenant)\b)",
        r"\bfinie?s? (?:de|les|la|le)\b",
    ),
    finishes=(
        r"\b(?:raye|barre|coche)[rz]?-(?:l[ea]s?|ça)\b|\b(?:est|sont) parti(?:e|s|es)?\b(?! (?:en|de)\b)",
        (
            r"\b(?:c'est|est|sont|a été|ont été|voilà|ça y est)(?:,? c'est)?(?: enfin| maintenant| bien)? "
            r"(?:faite?s?|"
            r"finie?s?|terminée?s?|prête?s?|en ligne|en place|fusionnée?s?|corrigée?s?|écrite?s?|"
            r"envoyée?s?|réglée?s?|"
            r"livrée?s?|déployée?s?|renouvelée?s?|supprimée?s?|migrée?s?|atteinte?s?)\b"
        ),
        (
            r"\b(?:j'ai|on a|nous avons|ils ont)(?: enfin| bien| déjà| aussi)? (?:fait|fini|terminé|"
            r"atteint|corrigé|écrit|"
            r"envoyé|fusionné|réglé|livré|déployé|renouvelé|supprimé|migré|changé|ajouté|appelé|demandé|"
            r"mis|nettoyé|"
            r"remplacé)\b"
        ),
    ),
    value_gone=(
        r"\bd[eu] (?:le |port )?<number>[ \w%]{0,12}? (?:à|vers) \W?\d",
        r"\b(?:remplace|change|passe|monte|baisse)[rz]? (?:l[ea] |port )?<number>[ \w%]{0,12}? (?:par|en|"
        r"à|pour) \W?\d",
        (
            r"\b(?:au lieu d[eu]|plutôt qu[e']|à la place d[eu]|pas|et non|plus|c'était|avant c'était|et "
            r"plus) "
            r"(?:l[ea] |les |port )?<number>"
        ),
        r"<number>(?: ?[^\W\d]+)?,? (?:c'est|c'était|est|sont|était|me semble|ça fait|fait) (?:\w+ "
        r"){0,2}?trop\b",
        r"\bn'est plus (?:à |de |d'|sur )?(?:l[ea] |port )?<number>",
        r"<number>(?: ?[^\W\d]+)?,? (?:ça |ce |elles? |ils? )?(?:ne |n')\w+ (?:pas|plus)\b",
        r"<number>,? (?:est|était) (?:\w+ )?(?:pris|occupé|utilisé|bloqué)e?\b",
        r"\bétait (?:à |de |d'|sur )?(?:l[ea] |port )?<number>",
    ),
    purpose=(r"\bpour ([^,.;:!?]+)",),
    place=(r"\bdans (?!place|lieu|fav)([^,.;:!?]+)",),
    negated=(r"\b(?:pas|plus|jamais|sans|abandon\w*|arrêt\w+)\b",),
    starts_using=(
        r"(?:(?:ok|bon|alors|on),? )*"
        r"(?:installe|mets(?: en place)?|ajoute|utilise|prends?|pars sur|branche) ",
    ),
    in_use=(
        (
            r"\b<users>\b (?:utilise|utilisons|tourne sur|déploie (?:avec|sur|chez)|déployons (?:avec|sur|"
            "chez)) (?:l[ea] |une? )?"
        ),
        r"\b(?:notre|nos) [\w' -]{1,30}? (?:est|sont|utilise|tourne sur) (?:l[ea] |une? )?",
    ),
    tells=(
        (
            r"\b(?:trouvé\w*|corrigé\w*|parce qu|car|cause|dû|vient d|échou\w+|pass\w+|cassé\w*|bogue|"
            r"erreur|manqu\w+|ajouté\w*|supprimé\w*|changé\w*|remplacé\w*|renommé\w*|déplacé\w*|créé\w*|"
            r"décidé\w*|désormais|mesuré\w*|fonctionne\w*|marche)\b"
        ),
    ),
    finds=(
        (
            r"\b(?:trouvé\w*|parce qu|la cause|vient d|le (?:bogue|bug|problème) (?:est|était|vient)|"
            r"échou\w+|corrigé\w*|manqu\w+|mesuré\w*)\b"
        ),
    ),
    fills=("(?:je vais|bien sûr|d'accord|parfait|voici|voulez|veux-tu|souhaite|n'hésite)",),
)
