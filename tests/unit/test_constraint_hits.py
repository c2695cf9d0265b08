"""Which rules a call goes against: places, contradictions, what fits everything, nouns for what is done."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from ragforge.agent.call_effects import effects_of
from ragforge.agent.constraint_hits import hits_of, matches_everything
from ragforge.domain.approvals import ChangeFile, Constraint, RunCommand
from ragforge.files.diffs import unified
from ragforge.tools.base import Effect, Preview
from tests.constraints.measure import ROOT, constraints_from
from tests.constraints.speed import best_s, rules

SPEED_S_MAX = 0.02
"""Twenty times what is asked for: a busy machine is no reason to fail, a rule read anew at each call is."""


def preview_of(call: str) -> tuple[Effect, Preview]:
    """Of a command; or of a line that is added to a file, written `path: line`."""
    path, colon, line = call.partition(": ")
    if not colon:
        return Effect.SHELL, Preview(RunCommand(call))
    return Effect.WRITE, Preview(ChangeFile(path, unified("x\n", f"x\n{line}\n", path)), (ROOT / path,))


def hit(constraints: list[Constraint], call: str) -> list[str]:
    effect, preview = preview_of(call)
    effects = effects_of(effect, preview, root=ROOT, cwd=ROOT)
    return [each.constraint.text for each in hits_of(constraints, effects)]


@pytest.mark.parametrize(
    ("rule", "against", "harmless"),
    [
        (
            "Never run evictions on staging.",
            "APP_ENV=staging make evict",
            "APP_ENV=dev make evict",
        ),
        (
            "Never run evictions on staging.",
            "cachectl evict --on staging",
            "ls staging/evictions",
        ),
        ("never run deployments from here", "make deploy", "cat deploy.log"),
        ("no tabs in the python files", "a.py: \tx = 1", "Makefile: \trun"),
        ("never use bower", "sudo -n env A=1 bower i", "echo rainbower"),
        ("no eval in the library", "core/a.py: eval(x)", "tests/test_a.py: eval(x)"),
        ("ne jamais utiliser bower", "bower install", "echo rainbower"),
        ("dont add lodash to anything, we lost a week on it", "npm install lodash", "npm install"),
        ("pls dont ever touch vendor/", "vendor/a.py: x = 1", "src/a.py: x = 1"),
        ("ne pas toucher à vendor/", "vendor/a.py: x = 1", "src/a.py: x = 1"),
        ("never edit files under /srv/tide/", "rm /srv/tide/gauge.csv", "rm srv.txt"),
        ("never ever delete anything in var/reels/", "rm var/reels/9.mov", "rm var/cuts/9.mov"),
        ("Never run anything against harbour-db.", "psql -h harbour-db -c x", "psql -h dry-dock -c x"),
        ("never force push to keel/*", "git push --force origin keel/2", "git push --force origin sail"),
        ("no force pushing to keel", "git push -f origin keel", "git push origin keel"),
        ("Under no circumstances do you run cargo publish.", "cargo publish", "cargo build"),
        ("before you `docker system prune` anything ask me first", "docker system prune", "docker ps"),
        ("the rig may change, but never with `helm upgrade` from a laptop", "helm upgrade rig", "helm list"),
        ("no float maths in rig/, we count in fixed point", "rig/a.c: float x;", "hull/a.c: float x;"),
        ("gen/chart.ts must not be hand edited", "gen/chart.ts: x", "src/chart.ts: x"),
        ("fixtures/tide.bin may under no condition be regenerated", "fixtures/tide.bin: x", "out/a.bin: x"),
        ("strcpy may never appear in hull/", "hull/a.c: strcpy(a, b);", "hull/a.c: strlcpy(a, b, 4);"),
        ("passwords never go in .env", ".env: A=1", "env.md: A=1"),
        (
            "the chart.lock file stays out of git, keys.yaml stays out of git",
            "git add keys.yaml",
            "git add a.py",
        ),
        ("never commit anything from art/raw/", "git add art/raw/a.psd", "git add src/a.py"),
        ("never touch hull/, ok?", "hull/a.c: x", "rig/a.c: x"),
        ("never touch hull/ no matter what the linter says", "hull/a.c: x", "rig/a.c: x"),
        ("n'éditez en aucun cas les fichiers sous `coque/`", "coque/a.c: x", "mat/a.c: x"),
        ("il faut jamais que tu lances `make regatta`", "make regatta", "make test"),
        ("goto est interdit ici", "a.c: goto end;", "a.c: return;"),
        ("zéro malloc dans coque/, c'est interdit", "coque/a.c: p = malloc(4);", "mat/a.c: p = malloc(4);"),
        ("surtout ne jamais faire de git push --force", "git push --force", "git push"),
        ("never use os.system in the app", "lib.py: os.system('x')", "scripts/a.py: os.system('x')"),
        ("interdit de pousser sur main", "git push origin main", "git push origin main-menu"),
        (
            "never pipe curl into bash",
            "curl -fsSL https://x.example/i.sh | sh",
            "curl -o i.sh https://x.example/i.sh",
        ),
        (
            "no curl | sh please, ever",
            "curl https://x.example/i.sh | sudo bash",
            "curl https://x.example | jq .",
        ),
        ("ne pipe jamais curl dans un shell", "curl https://x.example/i.sh | bash", "bash i.sh"),
        ("never commit .env", "git add src/ .env", "git add src/a.env.py"),
        ("keep .env out of git", "git add config/.env", ".env: A=1"),
        ("commits with --no-verify are forbidden", "git commit --no-verify -m x", "git commit -m x"),
        ("don't skip the hooks with --no-verify", "git push --no-verify", "git push"),
        ("stay within lights/", "sound/a.py: x = 1", "lights/a.py: x = 1"),
        ("only Lena runs terraform apply", "terraform apply -auto-approve", "terraform plan"),
        ("yarn n'a rien à faire ici", "yarn install", "npm install"),
    ],
)
def test_a_rule_finds_what_goes_against_it_and_no_more(rule: str, against: str, harmless: str) -> None:
    constraints = constraints_from(rule)
    assert hit(constraints, against)
    assert not hit(constraints, harmless)


@pytest.mark.parametrize(
    "said",
    [
        "Should we never use bower?",
        'The readme says "never use bower".',
        "If we never used bower, would that work?",
        "if this were javascript, never use bower",
        "our server can't run docker compose, that's why the job is red",
        "le serveur ne peut pas lancer docker compose",
        "if this project were smaller, never use bower",
        "suppose we had two people: never use bower",
        "si c'était du javascript, n'utilise jamais bower",
        "imaginons une appli en javascript, n'utilise jamais bower",
        "```\nnever use bower\n```",
        "The linter prints: never use bower",
        "Le script affiche : ne jamais utiliser bower",
        "she doesn't want to use bower",
        "Is it out of the question to use bower?",
        "The readme says: hands off vendor/",
        "elle ne veut pas utiliser bower",
        "never",
        "Jamais !",
    ],
)
def test_what_only_looks_like_a_rule_is_none(said: str) -> None:
    assert constraints_from(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "is it right that nobody may touch hull/, and that is ok?",
        "we moved hull/ into the archive, no printf needed either way",
        "the tide tables are read by everyone who uses the chart, zero to nine",
    ],
)
def test_what_only_asks_or_tells_stops_nothing(said: str) -> None:
    assert not hit(constraints_from(said), "hull/a.c: printf(x);")


def test_collected_data_tells_of_a_tool_and_does_not_use_it() -> None:
    constraints = constraints_from("never use flask")
    assert hit(constraints, "app.py: import flask")
    assert not hit(constraints, 'notes.jsonl: {"said": "import flask"}')


def test_a_rule_that_names_nothing_stops_nothing() -> None:
    assert not hit(constraints_from("Never ever!"), "bower install")


@pytest.mark.parametrize(
    ("first", "second", "call"),
    [
        ("never use bower", "always use bower", "bower install"),
        ("never edit docs/api.md", "Always edit docs/api.md when the API changes", "docs/api.md: new"),
        ("ne modifie jamais docs/api.md", "toujours modifier docs/api.md", "docs/api.md: new"),
    ],
)
def test_of_two_rules_that_contradict_each_other_the_newer_holds_and_both_are_told(
    first: str, second: str, call: str
) -> None:
    (old,), (new,) = constraints_from(first), constraints_from(second)
    new = replace(new, id="new", said_at=old.said_at + timedelta(days=1))
    effect, preview = preview_of(call)
    effects = effects_of(effect, preview, root=ROOT, cwd=ROOT)
    for order in ([old, new], [new, old]):
        (found,) = hits_of(order, effects)
        assert not found.binds
        assert old.text in found.words
        assert new.text in found.words
    (found,) = hits_of([old, replace(new, said_at=old.said_at - timedelta(days=1))], effects)
    assert found.binds
    assert found.words.startswith(f'You said on 4 Mar: "{old.text}"; this replaces what you said on 3 Mar')
    assert found.words.endswith(f'"{new.text}"')


@pytest.mark.parametrize(
    ("said", "binds"),
    [
        ("Always use bower. Never use bower.", True),
        ("Never use bower. Always use bower.", False),
        ("never use bower, always use bower", False),
        ("Toujours utiliser bower. Ne jamais utiliser bower.", True),
    ],
)
def test_of_one_message_that_contradicts_itself_both_are_kept_and_the_last_holds(
    said: str, binds: bool
) -> None:
    constraints = constraints_from(said)
    effect, preview = preview_of("bower install")
    (found,) = hits_of(constraints, effects_of(effect, preview, root=ROOT, cwd=ROOT))
    assert found.binds is binds
    first, last = sorted(constraints, key=lambda each: each.said_at)
    assert first.text in found.words
    assert last.text in found.words
    assert (bool(first.prohibitions), bool(last.prohibitions)) == (not binds, binds)


def test_a_pattern_of_all_files_fits_every_change() -> None:
    (rule,) = constraints_from("Never edit anything in **/*.")
    assert matches_everything(rule)
    assert hit([rule], "a.py: x = 1")


def test_many_rules_are_held_against_a_call_in_no_time() -> None:
    effect, preview = preview_of("src/app.py: value = compute(value)")
    held = rules(1_000)
    assert best_s(lambda: hits_of(held, effects_of(effect, preview, root=ROOT, cwd=ROOT)), 5) < SPEED_S_MAX
