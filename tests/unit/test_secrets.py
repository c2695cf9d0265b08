import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ragforge.config.schema import BUILT_IN_ENDPOINTS, Endpoint
from ragforge.config.secrets import (
    Key,
    all_secrets,
    child_env,
    find_key,
    keys_file,
    save_key,
    save_store_password,
    store_password,
)
from ragforge.config.store_address import parse_store_url, with_user
from ragforge.domain.errors import UsageError

KEY = "AIzaSy-not-a-real-key-0123456789"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {
        "RAGFORGE_CONFIG_DIR": str(tmp_path / "config"),
        # The keyring of whoever runs the tests is not to be touched.
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
    }


def test_googles_variable_wins(environ: dict[str, str]) -> None:
    assert find_key("gemini", environ) is None
    environ["GEMINI_API_KEY"] = " second\n"
    assert find_key("gemini", environ) == Key("second", "GEMINI_API_KEY")
    environ["GOOGLE_API_KEY"] = "first"
    assert find_key("gemini", environ) == Key("first", "GOOGLE_API_KEY")
    environ["GOOGLE_API_KEY"] = "  "
    assert find_key("gemini", environ) == Key("second", "GEMINI_API_KEY")


def test_an_endpoints_key_is_in_its_variable(environ: dict[str, str]) -> None:
    environ |= {"OPENAI_API_KEY": "sk-open", "MINE": "sk-mine"}
    endpoints = {**BUILT_IN_ENDPOINTS, "mine": Endpoint("http://x", "MINE")}
    assert find_key("openai", environ) == Key("sk-open", "OPENAI_API_KEY")
    assert find_key("mine", environ, endpoints=endpoints) == Key("sk-mine", "MINE")
    assert find_key("ollama", environ) is None


def test_a_key_is_never_shown() -> None:
    key = Key(KEY, "GOOGLE_API_KEY")
    assert KEY not in f"{key} {key!r} {[key]}"


def test_without_a_keyring_the_file_is_used_and_named(environ: dict[str, str]) -> None:
    file = keys_file(environ)
    said = save_key("gemini", f"  {KEY}\n", environ)
    assert str(file) in said
    assert "only you can read" in said
    assert KEY not in said
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert find_key("gemini", environ) == Key(KEY, "keys.toml (mode 0600)")
    save_key("openai", 'sk-"quoted\\key', environ)
    assert find_key("gemini", environ) == Key(KEY, "keys.toml (mode 0600)")
    found = find_key("openai", environ)
    assert found
    assert found.value == 'sk-"quoted\\key'


def test_the_environment_wins_over_the_file(environ: dict[str, str]) -> None:
    save_key("gemini", KEY, environ)
    assert find_key("gemini", environ | {"GEMINI_API_KEY": "other"}) == Key("other", "GEMINI_API_KEY")


@pytest.mark.parametrize(
    "value", ["", "  ", "two words", "line\nbreak", "käse-key-123", "esc\x1b[0m", "nul\0"]
)
def test_what_can_be_no_key_is_refused(environ: dict[str, str], value: str) -> None:
    with pytest.raises(UsageError, match="not a key"):
        save_key("gemini", value, environ)
    assert not keys_file(environ).exists()


def test_a_file_that_others_can_read_is_closed_and_told(environ: dict[str, str]) -> None:
    save_key("gemini", KEY, environ)
    keys_file(environ).chmod(0o644)
    found = find_key("gemini", environ)
    assert found
    assert found.value == KEY
    assert "mode 0644" in found.notice
    assert stat.S_IMODE(keys_file(environ).stat().st_mode) == 0o600
    again = find_key("gemini", environ)
    assert again
    assert again.notice == ""


@pytest.mark.parametrize("text", [f'gemini = ["{KEY}"]', f'[gemini]\nkey = "{KEY}"', f'gemini = "{KEY}'])
def test_a_broken_keys_file_is_told_without_its_content(environ: dict[str, str], text: str) -> None:
    keys_file(environ).parent.mkdir()
    keys_file(environ).write_text(text)
    with pytest.raises(UsageError, match=r"keys\.toml") as caught:
        find_key("gemini", environ)
    assert KEY not in str(caught.value)


def test_all_secrets_are_those_of_environment_file_and_store(environ: dict[str, str]) -> None:
    save_key("openrouter", "sk-or-0123456789", environ)
    environ |= {
        "GEMINI_API_KEY": KEY,
        "MINE": "my-endpoint-key",
        "NEO4J_PASSWORD": "graph-pass",
        "RAGFORGE_CONTEXT_TOKENS_MAX": "100000",
        "RAGFORGE_STORE": "bolt://neo4j:p%40ssw0rd@db",
        "GITHUB_TOKEN": "ghp_theirs",
        "GOOGLE_APPLICATION_CREDENTIALS": "/home/x/creds.json",
        "HOME": "/home/x",
    }
    endpoints = {**BUILT_IN_ENDPOINTS, "mine": Endpoint("http://x", "MINE")}
    assert all_secrets(environ, endpoints=endpoints, store_url="neo4j://u:other-pass@h") == sorted(
        [KEY, "my-endpoint-key", "graph-pass", "sk-or-0123456789", "p%40ssw0rd", "p@ssw0rd", "other-pass"]
    )


def test_words_that_stand_where_no_key_is_needed_are_no_secrets(environ: dict[str, str]) -> None:
    environ |= {"OPENAI_API_KEY": "ollama", "NEO4J_PASSWORD": "Password", "PATH": "/opt/ollama/bin:/bin"}
    assert all_secrets(environ) == []
    assert child_env(environ)["PATH"] == "/opt/ollama/bin:/bin"


def test_children_get_no_keys_and_store_passwords(environ: dict[str, str]) -> None:
    gone = {
        "GOOGLE_API_KEY": "key-number-1",
        "GEMINI_API_KEY": "key-number-2",
        "GOOGLE_APPLICATION_CREDENTIALS": "/x/creds.json",
        "OPENAI_API_KEY": "key-number-3",
        "OPENROUTER_API_KEY": "key-number-4",
        "ANTHROPIC_API_KEY": "key-number-5",
        "SOME_NEW_SERVICE_API_KEY": "key-number-6",
        "API_KEY": "key-number-7",
        "MINE": "key-number-8",
        "NEO4J_PASSWORD": "pass-word-9",
        "RAGFORGE_NEO4J_PASSWORD": "pass-word-10",
        "RAGFORGE_STORE": "bolt://neo4j:secret-11@db",
        "COPY_OF_A_KEY": "key-number-1",
        "FROM_THE_KEYRING": "kept-elsewhere",
        "DATABASE_URL": "bolt://x:a-long-password-of-the-store@db",
    }
    stays = {"HOME": "/home/x", "PATH": "/bin", "NO_COLOR": "1", "GITHUB_TOKEN": "ghp_x", "LANG": "C.UTF-8"}
    endpoints = {**BUILT_IN_ENDPOINTS, "mine": Endpoint("http://x", "MINE")}
    secrets = ["kept-elsewhere", "a-long-password-of-the-store"]
    found = child_env({**environ, **gone, **stays}, endpoints=endpoints, secrets=secrets)
    assert not set(found) & set(gone)
    assert found == {**environ, **stays}


# The keyring is tried in a process of its own, because the library chooses its backend once.

KEYRINGS = """
import time
from pathlib import Path
from keyring.backend import KeyringBackend

class Working(KeyringBackend):
    priority = 1
    kept = {}
    def get_password(self, service, name): return self.kept.get((service, name))
    def set_password(self, service, name, value): self.kept[service, name] = value
    def delete_password(self, service, name): del self.kept[service, name]

class Locked(Working):
    def get_password(self, service, name): raise RuntimeError("locked, and the key is hunter2")
    set_password = delete_password = get_password

class Hanging(Working):
    def get_password(self, service, name, value=None):
        with (Path.home() / "asked").open("a") as asked:
            asked.write("once ")
        time.sleep(3600)
    set_password = get_password
"""

STORY = """
import json, os
from ragforge.domain import timeouts
if "Hanging" not in os.environ["PYTHON_KEYRING_BACKEND"]:
    timeouts.KEYRING_S_MAX = 60.0  # a busy machine may take longer than a person is let wait
from ragforge.config.secrets import (
    Key,
    all_secrets,
    child_env,
    find_key,
    keys_file,
    save_key,
    save_store_password,
    store_password,
)
from ragforge.config.store_address import parse_store_url, with_user
said = save_key("gemini", "a-key-to-keep", os.environ)
found = find_key("gemini", os.environ)
secrets = all_secrets(os.environ)
print(json.dumps([said, found.value, found.source, secrets]))
"""


def story(tmp_path: Path, backend: str) -> list[Any]:
    (tmp_path / "keyrings.py").write_text(KEYRINGS)
    done = subprocess.run(
        [sys.executable, "-c", STORY],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[2]}",
            "RAGFORGE_CONFIG_DIR": str(tmp_path / "config"),
            "PYTHON_KEYRING_BACKEND": backend,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "hunter2" not in done.stdout + done.stderr
    return json.loads(done.stdout)


def test_a_working_keyring_keeps_the_key(tmp_path: Path) -> None:
    said, value, source, secrets = story(tmp_path, "keyrings.Working")
    assert said == "The key of gemini is kept in the system keyring."
    assert (value, source, secrets) == ("a-key-to-keep", "system keyring", ["a-key-to-keep"])
    assert not (tmp_path / "config" / "keys.toml").exists()


@pytest.mark.parametrize(
    "backend",
    [
        "keyring.backends.fail.Keyring",
        "keyring.backends.null.Keyring",
        "keyring.backends.chainer.ChainerBackend",
        "keyrings.Locked",
        "no.such.Backend",
    ],
)
def test_an_unusable_keyring_means_the_file(tmp_path: Path, backend: str) -> None:
    said, value, source, secrets = story(tmp_path, backend)
    assert "keys.toml, which only you can read" in said
    assert (value, source, secrets) == ("a-key-to-keep", "keys.toml (mode 0600)", ["a-key-to-keep"])


def test_a_keyring_that_hangs_costs_one_wait_and_does_not_keep_the_process(tmp_path: Path) -> None:
    said, value, *_ = story(tmp_path, "keyrings.Hanging")
    assert (tmp_path / "asked").read_text() == "once "
    assert "(the system keyring does not answer)" in said
    assert value == "a-key-to-keep"


def test_a_store_password_with_an_at_sign_is_known_whole(tmp_path: Path) -> None:
    environ = {
        "RAGFORGE_CONFIG_DIR": str(tmp_path),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
    }
    assert "long@password" in all_secrets(environ, store_url="neo4j://me:long@password@host/db")


PASSWORD = 'graph "pass" wörd'


def test_a_stores_password_is_the_addresss_else_the_variables_else_the_kept_one(
    environ: dict[str, str],
) -> None:
    url = "bolt://db:7688"
    assert store_password(url, environ) is None
    said = save_store_password(url, PASSWORD, environ)
    assert str(keys_file(environ)) in said
    assert PASSWORD not in said
    assert store_password(url, environ) == Key(PASSWORD, "keys.toml (mode 0600)")
    environ["RAGFORGE_STORE_PASSWORD"] = "of this run"
    assert store_password(url, environ) == Key("of this run", "RAGFORGE_STORE_PASSWORD")
    assert store_password("bolt://neo4j:p%40ss@db:7688", environ) == Key("p@ss", "the store's address")


def test_a_stores_password_is_that_of_host_port_and_user(environ: dict[str, str]) -> None:
    save_key("gemini", KEY, environ)
    save_store_password("bolt://db", "of neo4j", environ)
    save_store_password("neo4j+s://ann@db/work", "of ann", environ)
    found = {
        url: key.value
        for url in ("neo4j://neo4j@db:7687", "bolt://ann@DB", "bolt://bob@db", "bolt://other", "bolt://db:1")
        if (key := store_password(url, environ))
    }
    assert found == {"neo4j://neo4j@db:7687": "of neo4j", "bolt://ann@DB": "of ann"}
    assert '"store:db:7687/ann" = "of ann"' in keys_file(environ).read_text()
    assert find_key("gemini", environ) == Key(KEY, "keys.toml (mode 0600)")


def test_a_file_has_no_password_and_nothing_is_asked_for_one(environ: dict[str, str]) -> None:
    assert store_password("sqlite:///home/me/a@b.db", environ | {"RAGFORGE_STORE_PASSWORD": "x"}) is None
    with pytest.raises(UsageError, match="in a file has no password"):
        save_store_password("sqlite:///x.db", PASSWORD, environ)


@pytest.mark.parametrize("value", ["", "line\nbreak", "nul\0", "esc\x1b[0m", "\x7f", "\ud800"])
def test_what_can_be_no_password_is_refused(environ: dict[str, str], value: str) -> None:
    with pytest.raises(UsageError, match="not a password"):
        save_store_password("bolt://db", value, environ)
    assert not keys_file(environ).exists()


@pytest.mark.parametrize(
    "url",
    ["bolt://me:hush/hush@db", "bolt://me:hush#hush@db", "bolt://me:hush?@db", "bolt://", "bolt://me:hush@",
     "bolt://db:port-hush", "bolt://[hush", "bolt://me:hush\n@db", "neo4j+s://me:hush hush@db"],
)  # fmt: skip
def test_an_address_whose_parts_cannot_be_told_is_refused_unseen(environ: dict[str, str], url: str) -> None:
    with pytest.raises(UsageError, match="cannot be read") as caught:
        store_password(url, environ)
    assert "hush" not in str(caught.value)


def test_a_kept_store_password_is_a_secret_and_hidden_from_commands(environ: dict[str, str]) -> None:
    save_store_password("bolt://db", PASSWORD, environ)
    environ |= {"RAGFORGE_STORE_PASSWORD": "of this run", "COPY": PASSWORD}
    secrets = all_secrets(environ, store_url="bolt://db")
    assert {PASSWORD, "of this run"} <= set(secrets)
    assert not {"RAGFORGE_STORE_PASSWORD", "COPY"} & set(child_env(environ, secrets=secrets))


def test_an_address_is_never_shown_with_its_password() -> None:
    address = parse_store_url("bolt://me:hush@db:7688/work")
    assert address
    assert "hush" not in f"{address} {address!r}"
    assert address.bare_url == "bolt://me@db:7688/work"


def test_another_user_takes_the_place_of_the_one_in_the_address() -> None:
    assert with_user("bolt://me:hush@db/x", "an n@") == "bolt://an%20n%40@db/x"
    assert with_user("bolt://me:hush@db", "") == "bolt://db"
    parsed = parse_store_url(with_user("neo4j+s://db", "an n@"))
    assert parsed
    assert parsed.user == "an n@"
