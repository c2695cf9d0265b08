"""Keys and passwords: where they are found and stored; the environment for child processes, without them."""

import re
import stat
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

import msgspec

from ragforge.config import keychain
from ragforge.config.paths import config_dir
from ragforge.config.schema import BUILT_IN_ENDPOINTS, Endpoint
from ragforge.config.store_address import DEFAULT_USER, StoreAddress, parse_store_url
from ragforge.config.tomlfile import read_toml, write_text
from ragforge.domain.errors import UsageError

STORE_PASSWORD_VARIABLE = "RAGFORGE_STORE_PASSWORD"
GEMINI_VARIABLES = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
"""The first one that is set is used, as in Google's own client."""

# Of other programs for the same services, or of ours for a store: the model's commands need none of them.
_SECRET_NAMES = frozenset(
    {
        *GEMINI_VARIABLES,
        "GOOGLE_APPLICATION_CREDENTIALS",
        "ANTHROPIC_AUTH_TOKEN",
        "HF_TOKEN",
        "HUGGING_FACE_HUB_TOKEN",
        "NEO4J_PASSWORD",
        "NEO4J_AUTH",
    }
)
# API keys are what users pay with. Tokens of other programs (GITHUB_TOKEN, AWS_..., NPM_TOKEN) stay: they
# belong to commands that the user approves, such as `gh` and `git push`.
_SECRET_NAME = re.compile(
    r"(?:_API_?KEY|^API_?KEY)$|^RAGFORGE_.*(?:KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE
)
_BARE_NAME = re.compile(r"[A-Za-z0-9_-]+")
_URL_PASSWORD = re.compile(r"://[^\s/:@]*:([^\s/]+)@")

# Placeholders for a key that is required but not checked. Redacting these words everywhere, or removing
# PATH because it contains one of them, would harm more than it protects.
_PLACEHOLDERS = frozenset(
    (
        "none",
        "null",
        "empty",
        "dummy",
        "placeholder",
        "changeme",
        "test",
        "secret",
        "password",
        "no-key",
        "no_key",
        "nokey",
        "not-needed",
        "api-key",
        "sk-no-key-required",
        "sk-dummy",
        "your-api-key",
        "lm-studio",
    )
)
_ASKED: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Key:
    """A key and where it was found. Its value is in no `repr`."""

    value: str = field(repr=False)
    source: str
    """For users: "GOOGLE_API_KEY", "system keyring", "keys.toml (mode 0600)"."""
    notice: str = ""
    """A notice for the user, e.g. that others could read the file."""


def find_key(
    provider: str, environ: Mapping[str, str], *, endpoints: Mapping[str, Endpoint] = BUILT_IN_ENDPOINTS
) -> Key | None:
    """Return the provider's key: from the environment, else `keys.toml`, else the system keyring.

    The keyring can take seconds: call it in a thread. Raises UsageError if keys.toml cannot be read.
    """
    for name in key_variables(provider, endpoints):
        if value := environ.get(name, "").strip():
            return Key(value, name)
    return _find_kept(provider, environ)


def save_key(provider: str, value: str, environ: Mapping[str, str]) -> str:
    """Store the key in the system keyring, or in `keys.toml`; return a sentence that says where.

    Raises UsageError for an invalid key, and if the file cannot be written.
    """
    value = value.strip()
    if not value or not value.isascii() or not value.isprintable() or " " in value:
        raise UsageError(
            "That is not a key: it is empty, or has spaces, line breaks or accents. Paste the key alone."
        )
    return f"The key of {provider} is kept in {_keep(provider, value, environ)}."


def store_password(url: str, environ: Mapping[str, str]) -> Key | None:
    """Return the password of the store's server; None for a file, and for a server without one.

    It is the URL's own, else the one typed in this run, else RAGFORGE_STORE_PASSWORD, else the stored one.
    The keyring can take seconds: call it in a thread. Raises UsageError for a bad address, and as
    `find_key`.
    """
    address = parse_store_url(url)
    if address is None:
        return None
    if address.password:
        return Key(address.password, "the store's address")
    if typed := asked_for(_store_name(address)):
        return Key(typed, "typed in this run")
    if value := environ.get(STORE_PASSWORD_VARIABLE, ""):
        return Key(value, STORE_PASSWORD_VARIABLE)
    return _find_kept(_store_name(address), environ)


def use_store_password(url: str, password: str) -> None:
    """Use this password for the store's server and user until the program ends. Raises UsageError."""
    if address := parse_store_url(url):
        keep_for_run(_store_name(address), password)


def save_store_password(url: str, password: str, environ: Mapping[str, str]) -> str:
    """Store the password of this store's server and user; return a sentence that says where.

    Raises UsageError for an invalid password, and if the file cannot be written.
    """
    address = parse_store_url(url)
    if address is None:
        raise UsageError("A store in a file has no password. Name a server, as in bolt://localhost:7687.")
    if not password or any(unicodedata.category(char) in ("Cc", "Cs") for char in password):
        raise UsageError("That is not a password: it is empty, or has line breaks or control characters.")
    place = _keep(_store_name(address), password, environ)
    return f"The password of {address.user} at {address.host}:{address.port} is kept in {place}."


def all_secrets(
    environ: Mapping[str, str],
    *,
    endpoints: Mapping[str, Endpoint] = BUILT_IN_ENDPOINTS,
    store_url: str = "",
) -> list[str]:
    """Return every configured secret, to be redacted: from the environment, the file and the keyring.

    The keyring can take seconds: call it in a thread.
    """
    kept = _read_keys(keys_file(environ))
    names = ["gemini", *endpoints]
    if address := parse_store_url(store_url):
        names.append(_store_name(address))
    in_keyring = keychain.get(names, environ)
    found = {
        *_named_secrets(environ, endpoints),
        *_passwords(store_url),
        *kept.values(),
        *all_asked(),
        *in_keyring.values(),
    }
    return sorted(_real(found, endpoints))


def child_env(
    environ: Mapping[str, str],
    *,
    endpoints: Mapping[str, Endpoint] = BUILT_IN_ENDPOINTS,
    secrets: Iterable[str] = (),
) -> dict[str, str]:
    """Return the environment for a command, the user's or the model's: without keys and store passwords.

    secrets: those of `all_secrets`; a variable that contains one is removed too, whatever its name.
    """
    hidden = _real({*secrets, *_named_secrets(environ, endpoints)}, endpoints)
    return {
        name: value
        for name, value in environ.items()
        if not _is_secret_name(name, endpoints)
        and not (name == "RAGFORGE_STORE" and _passwords(value))
        and not any(secret == value or (len(secret) >= 16 and secret in value) for secret in hidden)
    }


def key_variables(provider: str, endpoints: Mapping[str, Endpoint] = BUILT_IN_ENDPOINTS) -> tuple[str, ...]:
    """Return the variables of the provider's key; the first one that is set is used."""
    if provider == "gemini":
        return GEMINI_VARIABLES
    endpoint = endpoints.get(provider)
    return (endpoint.key_env,) if endpoint and endpoint.key_env else ()


def keys_file(environ: Mapping[str, str]) -> Path:
    """Where keys are stored without a keyring."""
    return config_dir(environ) / "keys.toml"


def _store_name(address: StoreAddress) -> str:
    """Return the name under which a server's password is stored: one per user, whatever the scheme."""
    user = "" if address.user == DEFAULT_USER else f"/{address.user}"
    return f"store:{address.host}:{address.port}{user}"


def _find_kept(name: str, environ: Mapping[str, str]) -> Key | None:
    """Return what is stored under the name, in `keys.toml` or the system keyring."""
    # The file first: it is used if the keyring failed, and a keyring that hangs costs seconds.
    file = keys_file(environ)
    notice = _make_private(file)
    if value := _read_keys(file).get(name, ""):
        return Key(value, "keys.toml (mode 0600)", notice)
    value = keychain.get([name], environ).get(name, "")
    return Key(value, "system keyring") if value else None


def _keep(name: str, value: str, environ: Mapping[str, str]) -> str:
    """Store the value in the system keyring, else in `keys.toml`; return where, for a sentence."""
    file = keys_file(environ)
    refused = keychain.put(name, value, environ)
    kept = _read_keys(file)
    if not refused:
        if kept.pop(name, None) is not None:
            _write_keys(file, kept)
        return "the system keyring"
    _write_keys(file, kept | {name: value})
    return f"{file}, which only you can read ({refused})"


def _is_secret_name(name: str, endpoints: Mapping[str, Endpoint]) -> bool:
    return (
        name in _SECRET_NAMES
        or _SECRET_NAME.search(name) is not None
        or any(endpoint.key_env == name for endpoint in endpoints.values())
    )


def _named_secrets(environ: Mapping[str, str], endpoints: Mapping[str, Endpoint]) -> set[str]:
    """Return the secrets in the environment, known by their variable's name."""
    named = {
        value.strip()
        for name, value in environ.items()
        # The path of a file is no secret, and messages need it.
        if _is_secret_name(name, endpoints) and name != "GOOGLE_APPLICATION_CREDENTIALS"
    }
    return {*named, *_passwords(environ.get("RAGFORGE_STORE", ""))}


def _real(found: Iterable[str], endpoints: Mapping[str, Endpoint]) -> set[str]:
    """Return the values that are secrets, without placeholders for keys that are not checked."""
    words = {"", *_PLACEHOLDERS, *endpoints}
    return {secret for secret in found if secret.lower() not in words}


def _passwords(url: str) -> set[str]:
    """Return the password in a URL, as written there and decoded."""
    return {form for found in _URL_PASSWORD.findall(url) for form in (found, unquote(found))}


def _read_keys(file: Path) -> dict[str, str]:
    try:
        return msgspec.convert(read_toml(file), dict[str, str])
    except msgspec.ValidationError as error:
        # Without the error's own words: they could contain a key.
        raise UsageError(
            f'{file} may hold only lines such as gemini = "KEY". Correct or remove it.'
        ) from error


def _write_keys(file: Path, keys: Mapping[str, str]) -> None:
    lines = [
        f"{name if _BARE_NAME.fullmatch(name) else _quoted(name)} = {_quoted(value)}"
        for name, value in sorted(keys.items())
    ]
    head = "# Keys that ragforge keeps because there is no system keyring."
    write_text(file, "\n".join([head, *lines, ""]), mode=0o600)


def _quoted(text: str) -> str:
    # A JSON string without control characters is a TOML string too.
    return msgspec.json.encode(text).decode()


def _make_private(file: Path) -> str:
    """Remove everyone else's permissions; return a notice for the user if others could read the file."""
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
        if not mode & 0o077:
            return ""
        file.chmod(0o600)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise UsageError(
            f"{file} holds keys, others may read it, and its mode cannot be changed ({error.strerror}). "
            "Remove it and enter the key again."
        ) from error
    return (
        f"Others could read {file} (mode {mode:04o}). Its mode is 0600 now; replace its keys if someone "
        "else uses this machine."
    )


def keep_for_run(name: str, password: str) -> None:
    """Use it before every other one of this name, until the program ends."""
    _ASKED[name] = password


def asked_for(name: str) -> str:
    """Return the one that was typed; empty if there is none."""
    return _ASKED.get(name, "")


def all_asked() -> list[str]:
    """Return all, to be redacted."""
    return list(_ASKED.values())
