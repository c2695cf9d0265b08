"""Laws of the settings."""

import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from ragforge.config.edit import set_value, unset
from ragforge.config.settings import Loaded, SourceKind, load_settings
from ragforge.domain.errors import UsageError
from ragforge.domain.json import JsonValue

VALUES: dict[str, st.SearchStrategy[JsonValue]] = {
    "model": st.sampled_from(["local", "gemini:a", "ollama:b/c:7b"]),
    "mode": st.sampled_from(["ask", "plan", "accept-edits"]),
    "mouse": st.booleans(),
    "turn.steps_max": st.integers(1, 10_000),
    "turn.price_usd_max": st.floats(0.01, 1000),
    "context.tokens_max": st.integers(1000, 10_000_000),
    "shell.timeout_s": st.floats(1, 86_400),
    "endpoints.mine.base_url": st.sampled_from(["http://a/v1", "https://b:8080"]),
    "endpoints.ollama.base_url": st.sampled_from(["http://a/v1", "https://b:8080"]),
}
CHANGES = st.lists(
    st.sampled_from(sorted(VALUES)).flatmap(lambda key: st.tuples(st.just(key), VALUES[key])), max_size=4
)
NAMES = st.sampled_from(["turn", "mode", "endpoints", "mine", "base_url", "steps_max", "x", "", "é", "a.b"])
SCALARS = st.one_of(st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(max_size=5))
TREES = st.dictionaries(
    NAMES,
    st.recursive(
        SCALARS, lambda inner: st.dictionaries(NAMES, inner, max_size=3) | st.lists(inner, max_size=2)
    ),
)


@contextmanager
def machine() -> Iterator[tuple[Path, Path, dict[str, str]]]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "project" / ".ragforge").mkdir(parents=True)
        environ = {"RAGFORGE_CONFIG_DIR": str(home), "RAGFORGE_DATA_DIR": str(home / "data")}
        yield home / "config.toml", home / "project", environ


def load(root: Path, environ: dict[str, str], **flags: JsonValue) -> Loaded:
    return load_settings(cwd=root, flags=flags, environ=environ, project_root=root)


def value_of(loaded: Loaded, key: str) -> object:
    tree = msgspec.to_builtins(loaded.settings)
    for name in key.split("."):
        tree = tree[name]
    return tree


@settings(deadline=None)
@given(
    st.one_of(st.binary(max_size=200), TREES.map(lambda tree: tomlkit.dumps(tree).encode("utf-8", "replace")))
)
def test_any_file_is_settings_or_an_error_that_names_it(content: bytes) -> None:
    with machine() as (user, root, environ):
        for file in (user, root / ".ragforge" / "config.toml"):
            file.write_bytes(content)
            try:
                load(root, environ)
            except UsageError as error:
                told = str(error)
            else:
                told = str(file)
            assert str(file) in told
            file.unlink()


@settings(deadline=None, max_examples=30)
@given(CHANGES, CHANGES)
def test_what_is_set_is_loaded_and_what_is_unset_is_gone(
    first: list[tuple[str, JsonValue]], second: list[tuple[str, JsonValue]]
) -> None:
    with machine() as (user, root, environ):
        for key, value in (*first, *second):
            set_value(user, key, value)
        loaded = load(root, environ)
        for key, value in dict((*first, *second)).items():
            assert value_of(loaded, key) == value
            assert loaded.sources[key].kind is SourceKind.USER
        for key in dict((*first, *second)):
            assert unset(user, key)
        assert load(root, environ) == load(root, {**environ, "RAGFORGE_CONFIG_DIR": str(root)})
        if first or second:
            assert tomllib.loads(user.read_text()) == {}


@settings(deadline=None)
@given(st.sets(st.sampled_from(["user", "project", "environment", "flag"])))
def test_the_highest_layer_that_speaks_wins(layers: set[str]) -> None:
    with machine() as (user, root, environ):
        if "user" in layers:
            user.write_text("turn.steps_max = 41")
        if "project" in layers:
            (root / ".ragforge" / "config.toml").write_text("turn.steps_max = 31")
        if "environment" in layers:
            environ["RAGFORGE_TURN_STEPS_MAX"] = "21"
        loaded = load(root, environ, **({"turn.steps_max": 11} if "flag" in layers else {}))
        expected = next(
            value
            for layer, value in [("flag", 11), ("environment", 21), ("project", 31), ("user", 41), ("", 50)]
            if layer in layers or not layer
        )
        assert loaded.settings.turn.steps_max == expected
