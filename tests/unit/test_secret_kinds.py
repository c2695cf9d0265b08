"""Secrets that are known by their form."""

import json
import sysconfig
from pathlib import Path

import pytest

from ragforge.domain.redact import MARK, Redactor, without_patterns
from ragforge.domain.secret_kinds import KINDS, VENDORS
from tests.planted import samples

SAMPLES = samples()
LINES_A_HIT_MIN = 20_000
MODULES = [
    "argparse",
    "ast",
    "asyncio/events",
    "asyncio/sslproto",
    "base64",
    "bdb",
    "calendar",
    "configparser",
    "contextlib",
    "csv",
    "ctypes/__init__",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "dis",
    "email/_header_value_parser",
    "email/message",
    "ftplib",
    "functools",
    "getpass",
    "gettext",
    "hashlib",
    "hmac",
    "http/client",
    "http/cookiejar",
    "http/cookies",
    "http/server",
    "imaplib",
    "inspect",
    "ipaddress",
    "json/decoder",
    "logging/config",
    "logging/handlers",
    "mailbox",
    "mimetypes",
    "multiprocessing/connection",
    "multiprocessing/managers",
    "netrc",
    "nntplib",
    "optparse",
    "os",
    "pdb",
    "pickle",
    "pickletools",
    "platform",
    "plistlib",
    "poplib",
    "pprint",
    "pydoc",
    "random",
    "secrets",
    "shlex",
    "shutil",
    "smtplib",
    "socket",
    "ssl",
    "statistics",
    "string",
    "subprocess",
    "tarfile",
    "tempfile",
    "textwrap",
    "threading",
    "token",
    "tokenize",
    "traceback",
    "turtle",
    "types",
    "typing",
    "unittest/mock",
    "urllib/parse",
    "urllib/request",
    "uuid",
    "webbrowser",
    "xml/dom/minidom",
    "xmlrpc/client",
    "zipfile",
]


def test_there_are_as_many_kinds_as_scanners_know() -> None:
    assert len(SAMPLES) == len(KINDS)  # each by a name of its own
    assert len(KINDS) + len(VENDORS) > 150


@pytest.mark.parametrize("around", ["{}", "the key {} is mine", 'export X="{}"\n', "<a>{}</a>", "a,{},b"])
def test_nothing_of_a_key_remains(around: str) -> None:
    redactor = Redactor()
    for name, (text, secret) in SAMPLES.items():
        shown = redactor.text(around.format(text))
        assert MARK in shown, name
        assert not any(secret[at : at + 8] in shown for at in range(0, max(1, len(secret) - 8), 4)), name
        assert redactor.text(shown) == shown, name


def test_a_key_in_json_goes_and_the_rest_can_be_read() -> None:
    in_quotes_itself = ("freemius key", "nuget password")
    for name, (text, secret) in SAMPLES.items():
        shown = Redactor().text(json.dumps({"before": 1, "value": text, "after": [2]}))
        if name not in in_quotes_itself:
            assert secret not in shown, name
            assert json.loads(shown)["after"] == [2], name


@pytest.mark.parametrize("size", [1, 7, 64])
def test_nothing_of_a_key_is_shown_however_it_arrives(size: int) -> None:
    redactor = Redactor()
    for name, (text, secret) in SAMPLES.items():
        whole = f"before\nX={text}\r\nafter {text}"
        stream = redactor.stream()
        pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
        shown = "".join([*map(stream.feed, pieces), stream.flush()])
        assert shown == redactor.text(whole), name
        assert secret not in shown, name


def test_sources_stay_as_they_are() -> None:
    """What a program is written in, of which each false hit is a file that no model can write whole."""
    folder = Path(sysconfig.get_path("stdlib"))
    lines = hits = 0
    for name in MODULES:
        file = folder / f"{name}.py"
        text = file.read_text("utf-8") if file.exists() else ""  # some left the standard library
        shown = without_patterns(text)
        lines += text.count("\n")
        hits += sum(a != b for a, b in zip(text.split("\n"), shown.split("\n"), strict=True))
    assert lines > 60_000
    assert hits * LINES_A_HIT_MIN <= lines
