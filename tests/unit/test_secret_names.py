"""Secrets that are known by the name beside them."""

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragforge.domain.redact import MARK, Redactor, without_patterns
from tests.planted import PLANTED, samples

HEX = "5f4dcc3b5aa765d61d8327deb882cf99"
INNOCENT = (
    'PASSWORD = os.environ["DB_PASSWORD"]',
    "PASSWORD=os.environ['X']",
    "PASSWORD=$(cat /run/secret)",
    "PASSWORD=$(touch PWNED)",
    "PASSWORD=${DB_PASSWORD:-}",
    "PASSWORD=$DB_PASSWORD",
    "PASSWORD=%PASSWORD%",
    "PASSWORD=changeme",
    "PASSWORD=<your-password>",
    'password = "your-password-here"',
    "API_KEY=xxxxxxxxxxxxxxxxxxxxxxxx",
    "API_KEY=your_api_key_here",
    "password=********",
    'password = "..."',
    "password = getpass.getpass()",
    "password=getpass()",
    "password: str",
    "def login(user: str, password: str | None = None) -> Token:",
    "self.password = password",
    "self.token = token",
    "password=settings.password,",
    'token: "Token" = next(tokens)',
    "password = None",
    "secret: {{ .Values.secret }}",
    "password: !vault |",
    "PASSWORD_FILE=/run/secrets/db_password_4711",
    "password_hash = 'pbkdf2:sha256:600000'",
    'TOKEN_URL = "https://example.com/oauth2/token99"',
    "max_tokens=4096",
    "tokens: 12345678",
    "token = tokens[0]",
    'key = "user_id"',
    f'key = "{HEX}"',
    f"commit {HEX}",
    f'"integrity": "sha256-{HEX}"',
    "The password is required, and the token is not set.",
    "Le mot de passe est obligatoire.",
    "the secret is not sent",
    "passwordless = true",
    'author = "Ada Lovelace 1815"',
    "monkey: 'abc123def456ghi789'",
    "PWD=/home/ada/project1",
    "https://user:$PASSWORD@host/",
    "https://user:{password}@host/",
    "bolt://[user[:password]@]host[:port]",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "curl -u user:$PASSWORD https://x",
    "mysql -p shop",
    'sshpass -p "$PW" ssh host',
    "redis-cli -a <password> ping",
    "machine github.com login ada password <token>",
    "token=getUserAccessTokenFromHeader1",
    "Set-Cookie: theme=dark; lang=fr; Path=/settings/appearance/index",
    "tests/test_password.py::test_a_password_of_2_lines",
    "use utf8mb4 as charset, with sha256 as the hash of the password",
    "the token you asked for: see step2 of the setup",
    "jeton : voir la page 12",
    "user enters password, login checks it",
    "user.email / user.name2",
    "self.someMethodOfThisModules(1)",
    "openssl s_client -key k.pem -connect host:443",
    "zip -r out.zip docs && unzip -P",
    "openssl enc -k $PASSWORD -in a",
    "The password in a URL, as it is written there and as it is meant.",
    "set the password to default2",
    "the password (see docs): ask ada",
    "PASS tests/e2e2/loginflow22.test.ts",
    'print(f"pwd is $cwd")',
    "key_mgmt=WPA-PSK",
    "password=my_password_1",
    "pin (LED): GPIO17",
    "pin (SDA): GPIO21, pin (SCL): GPIO22",
    "Our login is SAML2 / OAuth2.0",
    "account is prod1 / eu-west-1a",
    "user is admin / staging-db1",
    "We use OAuth2.0 as credentials",
    "using workload-identity-v2 as credentials",
    "we used X.509v3 as credentials",
    "use id_ed25519 as credentials",
    "password PBKDF2WithHmacSHA256",
    "password BCryptPasswordEncoder10",
    "password argon2id$v19",
    "private key RSA4096PrivateKeyV2",
    "auth token JWTAuthToken2022Handler",
    "access token OAuth2AccessTokenEntity123",
    '"psk_modulation": psk8decoderStage',
    "psk: DQPSK-pi4",
    "modulate(psk=psk8decoder)",
)


@pytest.mark.parametrize("text", PLANTED)
@pytest.mark.parametrize("around", ["{}", "before\n  {}\nafter"])
def test_a_value_is_hidden_by_its_name(text: str, around: str) -> None:
    shown = Redactor().text(around.format(text))
    assert PLANTED[text] not in shown
    assert shown == around.format(text.replace(PLANTED[text], MARK))


@pytest.mark.parametrize("text", INNOCENT)
def test_a_name_a_call_and_a_placeholder_are_no_secrets(text: str) -> None:
    assert Redactor().text(text) == text


FRAGMENTS = st.sampled_from(
    [
        *PLANTED,
        *INNOCENT,
        *(text for text, _ in samples().values()),
        MARK,
        "=",
        ": ",
        '"',
        "'",
        " ",
        "\n",
        ";",
        "pass",
        "key",
    ]
)


@settings(deadline=None, max_examples=150)
@given(st.lists(FRAGMENTS, max_size=6).map("".join))
def test_redacting_again_changes_nothing(text: str) -> None:
    once = Redactor().text(text)
    assert Redactor().text(once) == once


@settings(deadline=None, max_examples=40)
@given(st.lists(FRAGMENTS, max_size=5).map("\n".join), st.lists(st.integers(0, 400), max_size=8))
def test_a_stream_shows_what_the_whole_would(text: str, cuts: list[int]) -> None:
    borders = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    stream = Redactor().stream()
    pieces = [stream.feed(text[start:end]) for start, end in pairwise(borders)]
    shown = "".join([*pieces, stream.flush()])
    for planted, secret in PLANTED.items():
        if planted in text.split("\n"):
            assert planted.replace(MARK, "") not in shown.split("\n"), secret


REPEATED = (
    "a", "pass", "password=", "key: ", "token ", "secret is ", "password for ",
    "eyJ", "sk-", "://a:", "<token>", "user a, ", "use token ", "use as password ", "openssl -k", "zip -P ",
    "-----BEGIN PRIVATE KEY-----", "authorization: bearer ", "curl -u ", "?sig=", "=", "0123456789abcdef",
)  # fmt: skip


@pytest.mark.parametrize("piece", REPEATED)
def test_time_grows_with_the_length_alone(piece: str) -> None:
    def best_s(length: int) -> float:
        text, took = piece * (length // len(piece)), []
        for _ in range(3):
            started = time.thread_time()
            without_patterns(text)
            took.append(time.thread_time() - started)
        return min(took)

    best_s(100)
    assert best_s(32_000) < 40 * best_s(2_000) + 0.02  # 256 times as long, if it were by the square
