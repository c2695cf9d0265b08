"""Words that say nothing of what is looked for, in English and French.

Left out are those that are also a noun worth finding in the other language (car, son, or, main).
"""

ENGLISH = """
a about after again all also am an and any are as at be because been before being but by can cannot
could did do does doing done don for from had has have having he her here hers him his how i if in into
is it its itself just let ll me more most my no nor not now of off on once only other our ours out over
re same she should so some such than that the their theirs them then there these they this those through
to too under until up us ve very was we were what when where which while who whom why will with would
you your yours
"""

FRENCH = (
    "ai aie ainsi alors as au aucun aussi autre aux avait avec avez avoir avons c ce ceci cela "
    "celle celui "  # codespell:ignore celle
    "ces cet cette ceux chaque ci comme comment d dans de depuis des donc du elle elles en encore entre es "
    "est et étaient était été êtes être eu eux fait fut il ils j je jusque l la là le les leur leurs lui m "
    "ma mais me même mes moi mon n ne ni nos notre nous on ont où ou par parce pas peu peut plus pour "
    "pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se sera ses si sommes sont sous suis "
    "sur t ta tandis te tes toi "  # codespell:ignore te,toi
    "ton tous tout toute toutes très tu un une vers voici voilà vos votre vous y à"
)

STOP_WORDS = frozenset(f"{ENGLISH} {FRENCH}".split())
