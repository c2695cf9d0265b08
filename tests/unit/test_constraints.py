"""What binds, how much, what it is about, and what it forbids: by the words alone."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from ragforge.domain.approvals import Deed, Prohibition
from ragforge.domain.ids import now
from ragforge.domain.memories import Memory, MemorySource, MemoryType, Strength
from ragforge.memory.constraints import (
    condition_of,
    is_demand,
    is_requirement,
    is_standing,
    overruled,
    strength_of,
)
from ragforge.memory.extract import memories_in
from ragforge.memory.material import Material
from ragforge.memory.memories import new_memory
from ragforge.memory.prohibitions import WORD_CHARS_MAX, names_in, prohibitions_in, wanted_in
from ragforge.memory.subjects import applies_to_in
from tests.contract.builders import NOON
from tests.unit.test_terms import turns

USE, CHANGE, DELETE = Deed.USE, Deed.CHANGE, Deed.DELETE


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Never edit files under generated/.", Prohibition(CHANGE, ("generated/",))),
        ("no bower, we use yarn", Prohibition(USE, ("bower",))),
        ("Use tabs, never npm, yarn or bower.", Prohibition(USE, ("npm", "yarn", "bower"))),
        ("don't run `docker system prune` here", Prohibition(USE, ("docker system prune",))),
        ("Never use `cast` in the python code.", Prohibition(USE, ("cast",), ("python",))),
        ("no sleep() outside of tests", Prohibition(USE, ("sleep()",), (), ("tests",))),
        ("we must not delete anything in var/backup/", Prohibition(DELETE, ("var/backup/",))),
        ("The legacy/ folder is off limits.", Prohibition(CHANGE, ("legacy/",))),
        ("leave docs/api.md alone", Prohibition(CHANGE, ("docs/api.md",))),
        ("no hard reset, ever", Prohibition(USE, ("hard reset",))),
        ("don't add new libraries without asking", Prohibition(Deed.DEPEND)),
        ("no tabs in src/", Prohibition(USE, ("tabs",), ("src/",))),
        ("Use rg rather than grep -r.", Prohibition(USE, ("grep -r",))),
        ("Pas de lodash ici, on a ramda.", Prohibition(USE, ("lodash",))),
        ("don't push straight to the tide branch", Prohibition(Deed.RUN, ("push",), ("tide",))),
        ("ne pousse jamais sur main", Prohibition(Deed.RUN, ("pousse",), ("main",))),
        ("ne pousse pas directement sur la main", Prohibition(Deed.RUN, ("pousse",), ("main",))),
        ("N'utilise jamais npx.", Prohibition(USE, ("npx",))),
        ("Ne modifie pas les fichiers dans dist/.", Prohibition(CHANGE, ("dist/",))),
        ("il ne faut pas toucher à config/prod.yml", Prohibition(CHANGE, ("config/prod.yml",))),
        ("interdit de supprimer archive/", Prohibition(DELETE, ("archive/",))),
        ("Plus aucune dépendance sans mon accord.", Prohibition(Deed.DEPEND)),
        ("pas de print en dehors de scripts/", Prohibition(USE, ("print",), (), ("scripts/",))),
        ("nothing under letters/ may change without the printer", Prohibition(CHANGE, ("letters/",))),
        ("web/forms is generated, so edits there get lost", Prohibition(CHANGE, ("web/forms",))),
        ("the scans in /srv/scans must remain unmodified", Prohibition(CHANGE, ("/srv/scans",))),
        ("in /srv/mill you may read but not write", Prohibition(CHANGE, ("/srv/mill",))),
        ("Only touch src/loom when I say so", Prohibition(CHANGE, ("src/loom",))),
        ("fingers off orders.sql please", Prohibition(CHANGE, ("orders.sql",))),
        ("never put it into misc.go, that file is full", Prohibition(CHANGE, ("misc.go",))),
        ("helm upgrade is done by humans only", Prohibition(USE, ("helm upgrade",))),
        ("rien ne bouge dans baux/ sans le notaire", Prohibition(CHANGE, ("baux/",))),
        ("dans relevés/ on ajoute, on modifie jamais", Prohibition(CHANGE, ("relevés/",))),
        ("Ne modifie src/four que si je le dis", Prohibition(CHANGE, ("src/four",))),
        ("Le fichier tarifs.csv doit rester intact", Prohibition(CHANGE, ("tarifs.csv",))),
        ("on n'installe plus rien avec pip", Prohibition(USE, ("pip",))),
        ("never install anything with pip, we use uv", Prohibition(USE, ("pip",))),
        ("stay away from stage/", Prohibition(CHANGE, ("stage/",))),
        ("prompter/ is none of your business", Prohibition(CHANGE, ("prompter/",))),
        ("box/ is built by a script, so hands off", Prohibition(CHANGE, ("box/",))),
        ("nobody touches seats.csv", Prohibition(CHANGE, ("seats.csv",))),
        ("only the ushers may edit seats.csv", Prohibition(CHANGE, ("seats.csv",))),
        ("only Lena edits seats.csv", Prohibition(CHANGE, ("seats.csv",))),
        ("only the box office team edits seats.csv", Prohibition(CHANGE, ("seats.csv",))),
        ("ask me before you touch seats.csv", Prohibition(CHANGE, ("seats.csv",))),
        ("I forbid you to edit seats.csv", Prohibition(CHANGE, ("seats.csv",))),
        ("don't you dare delete costumes/", Prohibition(DELETE, ("costumes/",))),
        ("seats.csv must never be edited", Prohibition(CHANGE, ("seats.csv",))),
        ("keep eval out of the codebase", Prohibition(USE, ("eval",))),
        ("new libraries need my ok", Prohibition(Deed.DEPEND)),
        ("no print statements", Prohibition(USE, ("print",))),
        ("from now on no print() calls in tides/", Prohibition(USE, ("print()",), ("tides/",))),
        ("you may only edit files under lights/", Prohibition(CHANGE, ("**",), (), ("lights/",))),
        ("never change anything outside lights/", Prohibition(CHANGE, ("**",), (), ("lights/",))),
        ("keep seats.csv out of git", Prohibition(Deed.RUN, ("git commit seats.csv",))),
        ("je t'interdis de toucher à places.csv", Prohibition(CHANGE, ("places.csv",))),
        ("personne ne touche à places.csv", Prohibition(CHANGE, ("places.csv",))),
        ("demande-moi avant de modifier places.csv", Prohibition(CHANGE, ("places.csv",))),
        ("hors de question d'utiliser bower", Prohibition(USE, ("bower",))),
        ("coulisses/ est intouchable", Prohibition(CHANGE, ("coulisses/",))),
        ("bower n'a rien à faire ici", Prohibition(USE, ("bower",))),
        ("toute nouvelle bibliothèque passe par moi", Prohibition(Deed.DEPEND)),
        ("tu ne modifies que dans scène/", Prohibition(CHANGE, ("**",), (), ("scène/",))),
        ("plus de bower ici", Prohibition(USE, ("bower",))),
        ("plus un seul print dans le code", Prohibition(USE, ("print",))),
        ("et plus jQuery", Prohibition(USE, ("jQuery",))),
        ("jamais de places.csv dans git", Prohibition(Deed.RUN, ("git commit places.csv",))),
    ],
)
def test_what_a_sentence_forbids(sentence: str, expected: Prohibition) -> None:
    assert prohibitions_in(sentence) == (expected,)


@pytest.mark.parametrize(
    "sentence",
    [
        "Never.",
        "never ever!",
        "Answer in French.",
        "",
        "non",
        "jamais",
        "nothing in core/ may import from ui/",
        "version 2.0 is frozen",
        "only use pnpm install with a lockfile",
        "we only ever run the tests with pytest",
        "only then run the deployment",
        "only small files change often",
        "nobody edits wiki.txt any more",
        "le seul test lance un serveur",
        "I don't mind long functions",
        "les longs noms me gênent pas",
        "plus clair avec les lettres de l'article",
        "un test par idée, plus simple à relire",
        "sois plus bref dans les relectures",
    ],
)
def test_what_names_nothing_forbids_nothing(sentence: str) -> None:
    assert prohibitions_in(sentence) == ()


@pytest.mark.parametrize(
    ("sentence", "type", "strength", "about"),
    [
        ("Never use pip, we use uv.", MemoryType.PREFERENCE, Strength.MUST, ("pip", "uv")),
        ("I prefer httpx.", MemoryType.PREFERENCE, Strength.SHOULD, ("httpx",)),
        ("no emojis please", MemoryType.PREFERENCE, Strength.SHOULD, ("emojis",)),
        ("Il faut toujours lancer `make lint`.", MemoryType.PREFERENCE, Strength.MUST, ("make lint",)),
        ("We never deploy from a laptop.", MemoryType.DECISION, Strength.MUST, ()),
        ("We use PostgreSQL.", MemoryType.DECISION, Strength.NONE, ("PostgreSQL",)),
        (
            "in the changelog i like one line per change",
            MemoryType.PREFERENCE,
            Strength.SHOULD,
            ("changelog",),
        ),
        ("Pas de printf bavard, jamais.", MemoryType.PREFERENCE, Strength.MUST, ("printf",)),
        ("It must be slow.", MemoryType.FACT, Strength.NONE, ()),
        ("We have never touched vendor/.", MemoryType.PREFERENCE, Strength.NONE, ()),
        ("On n'a jamais poussé sur main.", MemoryType.DECISION, Strength.NONE, ()),
        ("every invoice has to be signed by two people", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("nobody edits the tide tables by hand", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("the key may only be read by the signer", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("every answer with its source", MemoryType.PREFERENCE, Strength.SHOULD, ()),
        ("never mind speed, readable code wins", MemoryType.PREFERENCE, Strength.SHOULD, ()),
        ("you don't have to explain git to me", MemoryType.PREFERENCE, Strength.SHOULD, ()),
        ("seule Paula a le droit d'y toucher", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("chaque tarif a besoin de deux signatures", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("les longues listes me gênent pas", MemoryType.PREFERENCE, Strength.SHOULD, ()),
        ("I've never used uv, so never assume that I know it.", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("keep the understudies' names out of the programme", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("smoking on stage is a no-go", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("tickets need to be checked twice", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("the contract says the curtain falls at ten", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("I insist on real candles", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("je refuse les décors sans schéma", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("sauter une répétition n'est pas une option", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("sans mon accord tu n'affiches rien", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("you don't have to ask before you read a script", MemoryType.PREFERENCE, Strength.SHOULD, ()),
        ("tu n'as pas besoin de demander avant de lire", MemoryType.PREFERENCE, Strength.SHOULD, ()),
        ("the programme needs large print too, no excuses", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("stop explaining the plot", MemoryType.PREFERENCE, Strength.SHOULD, ()),
        ("never explain the plot", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("I always read the stage directions first", MemoryType.PREFERENCE, Strength.SHOULD, ()),
        ("I usually want the cast list only", MemoryType.PREFERENCE, Strength.SHOULD, ()),
        ("pas de blagues dans les réponses", MemoryType.PREFERENCE, Strength.SHOULD, ()),
        ("je lis toujours les didascalies d'abord", MemoryType.PREFERENCE, Strength.SHOULD, ()),
        ("please don't touch the prompt book", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("no strobe lights in the second act please", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("stp ne déplace plus les décors", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("could you stop repeating the cue numbers", MemoryType.PREFERENCE, Strength.SHOULD, ()),
        ("stp arrête de répéter les répliques", MemoryType.PREFERENCE, Strength.SHOULD, ()),
        ("when you show me a scene don't print the whole act", MemoryType.PREFERENCE, Strength.SHOULD, ()),
        ("pas la peine de me présenter la troupe", MemoryType.PREFERENCE, Strength.SHOULD, ()),
        ("posters: large type, two colours, no logos", MemoryType.PREFERENCE, Strength.SHOULD, ()),
        ("short cues, capital letters, no arrows", MemoryType.PREFERENCE, Strength.SHOULD, ()),
        ("posters: no logos, no photographs", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("affiches : grands caractères, pas de logos", MemoryType.PREFERENCE, Strength.SHOULD, ()),
        ("you gotta keep the fire door clear", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("zero candles on stage, that's law here", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("the union guidelines prescribe a break at nine", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("avant de baisser le rideau tu demandes", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("tu peux tout changer dans la mise en scène sauf la fin", MemoryType.PREFERENCE, Strength.MUST, ()),
        ("la mairie nous impose deux sorties", MemoryType.PREFERENCE, Strength.MUST, ()),
    ],
)
def test_how_much_a_sentence_binds_and_what_it_is_about(
    sentence: str, type: MemoryType, strength: Strength, about: tuple[str, ...]
) -> None:
    assert strength_of(sentence, type) is strength
    assert set(about) <= set(applies_to_in(sentence))


@pytest.mark.parametrize(
    ("sentence", "demands"),
    [
        ("dont add lodash to anything", True),
        ("pls dont ever push on fridays", True),
        ("dont worry about lodash", False),
        ("trois personnes, dont une stagiaire", False),
        ("le dossier dont je parle", False),
        ("les tests, dont ceux de core/", False),
    ],
)
def test_a_demand_may_be_typed_without_its_apostrophe(sentence: str, demands: bool) -> None:
    assert is_demand(sentence) is demands


@pytest.mark.parametrize(
    ("sentence", "type", "about"),
    [
        ("checked in, under gen/", MemoryType.DECISION, ("gen/",)),
        ("We use PostgreSQL.", MemoryType.DECISION, ("PostgreSQL",)),
        ("The readme lies under docs/.", MemoryType.FACT, ("docs/",)),
        ("Backups go to s3://orchard/nightly.", MemoryType.FACT, ("s3://orchard/nightly",)),
        ("The gauge has no comments yet.", MemoryType.TODO, ()),
    ],
)
def test_what_does_not_bind_says_what_it_is_about_too(
    sentence: str, type: MemoryType, about: tuple[str, ...]
) -> None:
    made = new_memory(sentence, type, project_id="project", at=now(), source=MemorySource.BACKGROUND)
    assert (made.strength, made.applies_to) == (Strength.NONE, about)


@pytest.mark.parametrize(
    ("sentence", "about"),
    [
        ("leave helm upgrade to me", ("helm", "helm upgrade")),
        ("it must still build with gcc 9.3", ("gcc 9.3",)),
        ("stop it with the plotly stuff", ("plotly",)),
        ("the installer has to run on Windows 11 too", ("Windows 11",)),
        ("I want commit messages in the past tense", ("commit messages",)),
        ("les migrations toujours avec un retour en arrière", ("migrations",)),
        ("log everything as uint64", ("uint64",)),
    ],
)
def test_a_wish_is_about_the_tools_names_and_kinds_of_work_in_it(
    sentence: str, about: tuple[str, ...]
) -> None:
    assert set(about) <= set(applies_to_in(sentence))


@pytest.mark.parametrize(
    "sentence",
    [
        "On Monday we always go there first.",
        "Please find something better to make of it.",
        "Le mardi je veux toujours ça.",
    ],
)
def test_words_of_any_sentence_are_nothing_to_be_about(sentence: str) -> None:
    assert applies_to_in(sentence) == ()


def test_what_a_model_names_counts_where_the_user_wrote_it() -> None:
    said = "and pls never touch db/schema.sql again"
    content = "The person forbids changes to db/schema.sql and db/seed.sql."
    named = ("db/schema.sql", "db/seed.sql", "")
    assert applies_to_in(content, said=said, named=named) == ("db/schema.sql",)


@pytest.mark.parametrize(
    ("sentence", "path"),
    [
        ("Never edit files under generated/.", "generated/"),
        ("Ne modifie jamais src/api/.", "src/api/"),
        ("Never edit ../lib/foo.py.", "../lib/foo.py"),
    ],
)
def test_a_path_is_taken_without_the_full_stop_behind_it(sentence: str, path: str) -> None:
    assert applies_to_in(sentence) == (path,)


@pytest.mark.parametrize(
    ("sentence", "condition"),
    [
        ("When you write SQL, never use SELECT *.", "you write SQL"),
        ("in tests never mock the clock", "tests"),
        ("please always add an example when you explain a concept", "you explain a concept"),
        ("si tu écris du SQL, mets toujours un LIMIT", "tu écris du SQL"),
        ("dans les migrations, ne supprime jamais de colonne", "les migrations"),
        ("on Windows, always use the launcher", "Windows"),
        ("on se dit vous, toujours, dans les textes", ""),
        ("From now on use tabs.", ""),
        ("don't touch the lock file unless I ask", ""),
        ("Never commit without running the tests.", ""),
        ("ne pousse jamais sur main", ""),
    ],
)
def test_a_rule_may_name_when_it_holds(sentence: str, condition: str) -> None:
    assert condition_of(sentence) == condition


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Photos must not be larger than 5 MB, or the gallery crawls.", True),
        ("the gate: it has to open within two seconds", True),
        ("la carte ne doit bouger que quand on a fini de taper", True),
        ("le formulaire doit accepter deux prénoms", True),
        ("the warden counts on his phone, must work without a network", True),
        ("The gate must never open by itself.", False),
        ("Every form must have a label.", False),
        ("commit messages must be in English", False),
        ("les tests doivent passer avant chaque commit", False),
        ("You have to ask before you install anything.", False),
        ("Never push to main.", False),
        ("pas de jQuery dans ce dossier", False),
    ],
)
def test_what_the_product_must_do_is_no_rule_of_working(sentence: str, expected: bool) -> None:
    assert is_requirement(sentence) is expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Marta left, it's Jonas from now on", False),
        ("Jonas looks after the tickets from now on", False),
        ("Jonas reads the proofs from now on, Marta the maps", False),
        ("Marta arrête, c'est Jonas à partir de maintenant", False),
        ("Commit messages are in English from now on.", True),
        ("Everything is in French from now on", True),
        ("From now on, ask Jonas before you change a price.", True),
        ("From now on it's Jonas, and never send him mails at night.", True),
        ("à partir de maintenant tu relis avant d'envoyer", True),
    ],
)
def test_who_does_something_from_now_on_is_no_rule(sentence: str, expected: bool) -> None:
    assert is_standing(sentence) is expected


def test_a_name_is_never_as_long_as_a_line_that_was_pasted() -> None:
    assert names_in("never touch src/api.py") == ("src/api.py",)
    [cut] = names_in(f"never touch {'a/' * 1_000}b.py")
    assert len(cut) <= WORD_CHARS_MAX


def test_a_file_that_is_named_like_a_verb_is_no_verb() -> None:
    assert wanted_in("edit CHANGELOG.md") == ("CHANGELOG.md",)
    assert wanted_in("CHANGELOG.md is next to notes.md") == ()


@pytest.mark.parametrize("said_first", ["Never use npm.", "Always use npm."])
def test_of_two_opposite_rules_in_one_message_the_later_one_is_the_newer(said_first: str) -> None:
    last = "Always use npm." if said_first == "Never use npm." else "Never use npm."
    [turn] = turns((f"{said_first} {last}", "Understood."))
    rules = memories_in(Material(turn, "p"))[0]
    assert {each.content for each in rules} == {said_first, last}
    for listed in (rules, rules[::-1]):
        found = {each.content: overruled(listed).get(each.id) for each in listed}
        assert found[last] is None
        newer = found[said_first]
        assert newer is not None
        assert newer.content == last


def test_a_rule_that_is_said_again_is_the_newer_one() -> None:
    never, always = a_rule("Never use npm", 0), a_rule("Always use npm", 1)
    again = replace(never, turns=("t1", "t3"), updated_at=never.updated_at + timedelta(hours=2))
    assert overruled([always, again]) == {always.id: again}


@pytest.mark.parametrize(
    ("older", "newer", "contradict"),
    [
        ("Never use npm", "Always use npm", True),
        ("Never use npm in the frontend folder", "Always use npm in the frontend folder", True),
        ("In the frontend folder, never use npm", "Always use npm in the frontend folder", True),
        ("Never use npm in the frontend folder", "Always use npm in the tools folder", False),
        ("Never use npm in the frontend folder", "Always use npm", False),
        ("Never use npm", "When you write tests, always use npm", False),
        ("Never use print for logging", "Always use print in scripts", False),
        ("Dans le dossier web, n'utilise jamais npm", "Utilise toujours npm dans le dossier outils", False),
        ("N'utilise jamais npm", "Utilise toujours npm", True),
    ],
)
def test_rules_for_different_places_do_not_contradict_each_other(
    older: str, newer: str, contradict: bool
) -> None:
    first, second = a_rule(older, 0), a_rule(newer, 1)
    assert overruled([first, second]) == ({first.id: second} if contradict else {})


def a_rule(words: str, hours: int) -> Memory:
    at = NOON + timedelta(hours=hours)
    return new_memory(words, MemoryType.PREFERENCE, project_id="p", at=at, source=MemorySource.BACKGROUND)
