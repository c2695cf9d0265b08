import base64
import json
from urllib.parse import quote

import pytest

from ragforge.domain.redact import Redactor, hide_url_passwords

SECRET = 'hunter2/+ secret"\\ü'


@pytest.mark.parametrize(
    "written",
    [
        SECRET,
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
        quote(SECRET),
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("="),
        base64.b64encode(b"user:" + SECRET.encode()).decode(),
        base64.b64encode(b"me:" + SECRET.encode() + b":more").decode(),
    ],
)
def test_a_configured_secret_is_found_however_it_is_written(written: str) -> None:
    text = f'before "{written}" after'
    redacted = Redactor([SECRET]).text(text)
    assert "[redacted]" in redacted
    assert written.strip('"') not in redacted
    assert redacted.startswith('before "')
    assert redacted.endswith('" after')


def test_the_longer_of_two_secrets_leaves_no_rest() -> None:
    redactor = Redactor(["abcdef", "abcdefghij"])
    assert redactor.text("<abcdefghij> <abcdef>") == "<[redacted]> <[redacted]>"


def test_secrets_that_overlap_go_together() -> None:
    assert Redactor(["abcdefg", "defghij"]).text("<abcdefghij>") == "<[redacted]>"


def test_short_secrets_and_words_of_the_mark_are_left_alone() -> None:
    text = "abc [redacted] redacted 12345"
    assert Redactor(["abc", "12345", "", "redacted"]).text(text) == text


@pytest.mark.parametrize(
    "key",
    [
        "AIza" + "Sy0123456789_-abcdefghijklmnopqrstu",
        "sk-proj-0123456789abcdefghij",
        "ghp_" + "0123456789abcdefghijklmnopqrstuvwxyz",
        "github_pat_0123456789abcdefghij_ABC",
        "xoxb-0123456789-abcdefghij",
        "AKIA" + "0123456789ABCDEF",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N",
    ],
)
@pytest.mark.parametrize("around", ["{}", "key={}&x=y", '{{"k": "{}"}}', "Bearer {}\n"])
def test_well_known_kinds_of_keys_are_found(key: str, around: str) -> None:
    assert Redactor().text(around.format(key)) == around.format("[redacted]")


def test_private_keys_are_found_whole_cut_and_numbered() -> None:
    body = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7" for _ in range(5)])
    whole = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"
    numbered = "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(whole.split("\n"), 1))
    redactor = Redactor()
    assert redactor.text(f"<{whole}> after") == "<[redacted]> after"
    assert redactor.text(f'{{"pem": {json.dumps(whole)}}}') == '{"pem": "[redacted]"}'
    for text in (whole[:-20], whole[:150], numbered):
        assert "MIIE" not in redactor.text(text)


def test_program_text_about_keys_stays() -> None:
    for text in (
        'if line == "-----BEGIN PRIVATE KEY-----":\n    raise ValueError("a key")',
        "task-runner, risk-free, disk-0123456789abcdefghijkl",
        "git clone https://github.com/a/b@v1.0 && ssh://git@host:22/x",
        "AKIA is a prefix; AIza too; eyJ as well; sk-learn",
        "http://[::1]:8080/a@b",
        "export TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ):
        assert Redactor().text(text) == text


def test_the_password_of_a_url_is_hidden_and_the_rest_stays() -> None:
    assert hide_url_passwords("a postgres://me:pa55:word@db/x b") == "a postgres://me:[redacted]@db/x b"
    assert hide_url_passwords("bolt://:onlypass@db") == "bolt://:[redacted]@db"


def test_json_is_redacted_in_depth_names_included() -> None:
    value = {"a": ["x hunter2! y", 1, None, True, 1.5], "hunter2!": {"b": "hunter2!"}}
    assert Redactor(["hunter2!"]).json(value) == {
        "a": ["x [redacted] y", 1, None, True, 1.5],
        "[redacted]": {"b": "[redacted]"},
    }


def test_a_stream_holds_back_only_what_could_become_a_secret() -> None:
    stream = Redactor(["hunter2!"]).stream(exact=True)
    assert stream.feed("all of this") == "all of this"
    assert stream.feed(" and hun") == " and "
    assert stream.feed("gry") == "hungry"
    assert stream.feed(" hunter") == " "
    assert stream.feed("2! done h") == "[redacted] done "
    assert stream.flush() == "h"
    assert stream.flush() == ""


def test_a_secret_that_overlaps_itself_is_one_across_borders() -> None:
    stream = Redactor(["abcabc"]).stream(exact=True)
    out = [stream.feed(piece) for piece in ("xxabcabc", "abc", "ab", "y")]
    assert "".join([*out, stream.flush()]) == Redactor(["abcabc"]).text("xxabcabcabcaby") == "xx[redacted]aby"


@pytest.mark.parametrize("text", ["\ufffd half", "\0", "é" * 1000])
def test_odd_text_and_odd_secrets_are_no_error(text: str) -> None:
    assert Redactor(["\ud83d-half-a-secret", "ключ-секрет"]).text(text) == text
    assert Redactor(["ключ-секрет"]).text(quote("ключ-секрет")) == "[redacted]"


def test_an_at_sign_in_a_urls_password_hides_nothing_less() -> None:
    assert hide_url_passwords("neo4j://me:pa@ss@host/db") == "neo4j://me:[redacted]@host/db"
