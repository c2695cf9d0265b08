"""Words that everybody uses who talks to a coding assistant, in English and French."""

_COMMON = """
add added change changed check code error file files fine fix fixed function good help issue line lines
look make need new now ok okay one please problem project put read run said see show test tests thing
things think time try use used using want way work works yes line good first last two get got set let's
don't didn't i'm it's i'll that's we'll there's can't won't isn't doesn't ajoute ajouter besoin bien bon
ça change changer chose code corrige corriger dit dois erreur faire fais faut fichier fichiers fonction
jamais lance ligne mets mettre montre non nouveau nouvelle oui pense problème projet regarde sais toujours
utilise utiliser va vais vas veut veux voir vérifie c'est j'ai qu'il d'un d'une n'est s'il
yesterday today tomorrow prefer prefers like name called decided always never listens runs
hier demain aujourd'hui préfère aime nom appelle décidé tourne écoute
"""
COMMON = frozenset(_COMMON.split())
"""They say nothing of what a turn is about."""

_OF_DECISIONS = """
use using used keep going switch move stick adopt drop replace instead actually changed mind decided
decision let's we'll we're i'll finally please rather now new everything project store storage utiliser
utilise utilisons partir prendre garder passer rester remplacer abandonner finalement plutôt place lieu
avis changé décidé décision fait projet tout c'est j'ai
"""
OF_DECISIONS = frozenset(_OF_DECISIONS.split())
"""They say that something was decided, not what."""
