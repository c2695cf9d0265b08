"""Secrets that are none, made by the program's own patterns, to be planted and looked for."""

import random
import re
from re import _constants as constants  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from ragforge.domain.secret_kinds import KINDS, SecretKind

AWS = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
HEX = "5f4dcc3b5aa765d61d8327deb882cf99"
PLANTED = {
    "DB_PASSWORD=hunter2": "hunter2",
    "export PGPASSWORD=correcthorse": "correcthorse",
    "docker run -e MYSQL_ROOT_PASSWORD=s3cr3t,comma img": "s3cr3t,comma",
    "ADMIN_PASS='Tr0ub4dor&3'": "Tr0ub4dor&3",
    '"password": "correct horse 9"': "correct horse 9",
    '{"db": {"passwd":"p4ss-w0rd"}}': "p4ss-w0rd",
    'password: str = "swordfish"': "swordfish",
    "password: hunter22 # yaml": "hunter22",
    "config['client_secret'] = 'zx81-basic'": "zx81-basic",
    f"aws_secret_access_key = {AWS}": AWS,
    f"AWS_SECRET_ACCESS_KEY={AWS}": AWS,
    f"API_KEY={HEX}": HEX,
    f'"api_key": "{HEX}"': HEX,
    f"datadog_api_key: {HEX}": HEX,
    f'ALGOLIA_KEY = "{HEX}"': HEX,
    "algolia_key: 'a1b2c3d4e5f6g7'": "a1b2c3d4e5f6g7",
    "deploy --token 9kQ2xV7pLw3nR8tZ": "9kQ2xV7pLw3nR8tZ",
    "mysql --password=letmein1 -u me": "letmein1",
    "mysql --password letmein1": "letmein1",
    "<password>hunter2</password>": "hunter2",
    "Authorization: Bearer 0a1b2c3d4e5f6g7h8i9j": "0a1b2c3d4e5f6g7h8i9j",
    "curl -u ada:lovelace1815 https://x": "lovelace1815",
    "Driver=ODBC;Uid=sa;Pwd=P@ssw0rd!;": "P@ssw0rd!",
    "postgres://ada:lovelace1815@db/x": "lovelace1815",
    '- name: DB_PASSWORD\n  value: "hunter2x"': "hunter2x",
    '{"name": "DB_PASSWORD", "value": "swordfish"}': "swordfish",
    '<property name="hibernate.connection.password" value="hunter2x"/>': "hunter2x",
    '<add key="DbPassword" value="hunter2x" />': "hunter2x",
    'source.setPassword("hunter2x");': "hunter2x",
    "SET PASSWORD FOR ada = PASSWORD('hunter2x');": "hunter2x",
    "CREATE USER ada IDENTIFIED BY 'swordfish';": "swordfish",
    "ALTER USER ada WITH ENCRYPTED PASSWORD 'swordfish';": "swordfish",
    "docker login -u ada -p hunter2 registry.example": "hunter2",
    "az login --service-principal -u x -p hunter2x --tenant y": "hunter2x",
    "echo hunter2 | docker login -u ada --password-stdin": "hunter2",
    "echo 'hunter2' | sudo -S ls": "hunter2",
    "echo 'ada:hunter2' | chpasswd": "ada:hunter2",
    f"gh auth login --with-token <<< {HEX}": HEX,
    "keytool -list -storepass hunter2": "hunter2",
    "requirepass hunter2": "hunter2",
    'psk="correct-horse9"': "correct-horse9",
    f"aws configure set aws_secret_access_key {AWS}": AWS,
    f"npm config set //npm.example.org/:_authToken {HEX}": HEX,
    f"setx DATADOG_API_KEY {HEX}": HEX,
    f"ENV API_TOKEN {HEX}": HEX,
    "my password's hunter2, don't tell": "hunter2",
    "the password is hunter2": "hunter2",
    "le mdp c'est hunter2": "hunter2",
    "the pw is hunter2": "hunter2",
    "le mot de passe wifi est swordfish7": "swordfish7",
    "the password is kQxWpLzNrTbG": "kQxWpLzNrTbG",
    "tool --token=BAGx5diFoNPcbdaKwtgH": "BAGx5diFoNPcbdaKwtgH",
    "Cookie: theme=dark; session=a8Kd93jfK2l0Qm4xZ7": "a8Kd93jfK2l0Qm4xZ7",
    "< Set-Cookie: sid=a8Kd93jfK2l0Qm4xZ7; HttpOnly": "a8Kd93jfK2l0Qm4xZ7",
    "My password for the server is Tr0ub4dor&3.": "Tr0ub4dor&3",
    "password is `swordfish`": "swordfish",
    "my password is swordfish": "swordfish",
    "le mot de passe est azerty12, merci": "azerty12",
    "Le mot de passe du serveur est : azerty12": "azerty12",
    "mot de passe: azerty12": "azerty12",
    "MOT_DE_PASSE=azerty12": "azerty12",
    "the PIN is 482913": "482913",
    f"the api key is {HEX}": HEX,
    f"la clé d'API est {HEX}": HEX,
    f"clé API : {HEX}": HEX,
    f"jeton d'accès : {HEX}": HEX,
    f"the api key you need for staging: {HEX}": HEX,
    "the password you want: hunter2": "hunter2",
    "user ada, password hunter2": "hunter2",
    "login: ada / hunter2": "hunter2",
    "identifiant ada, mot de passe azerty12": "azerty12",
    "password hunter2, user ada": "hunter2",
    "log in as ada with hunter2 as the password": "hunter2",
    "avec azerty12 comme mot de passe": "azerty12",
    f"use the token {HEX} for it": HEX,
    f"set -gx API_TOKEN {HEX}": HEX,
    "openssl enc -aes-256-cbc -k hunter2 -in a -out b": "hunter2",
    "openssl rsa -in k.pem -passin pass:swordfish": "swordfish",
    "zip -r -P swordfish out.zip docs": "swordfish",
    "7z x -pswordfish a.7z": "swordfish",
    "ldapsearch -D cn=ada -w swordfish -b dc=x": "swordfish",
    "smbclient //host/share -U ada%hunter2": "hunter2",
    "the password for the staging box is 7RtQ2mVxWbe9, do not share it": "7RtQ2mVxWbe9",
    "use ada/lovelace1815 as credentials": "ada/lovelace1815",
    'The root pwd is "7RtQ2mVxWbe9".': "7RtQ2mVxWbe9",
    "I changed the password to 7RtQ2mVxWbe9 yesterday": "7RtQ2mVxWbe9",
    "Password (staging): 7RtQ2mVxWbe9": "7RtQ2mVxWbe9",
    "j'ai mis 7RtQ2mVxWbe9 comme mot de passe": "7RtQ2mVxWbe9",
    "the wifi password 7RtQ2mVxWbe9": "7RtQ2mVxWbe9",
    "username: ada, pw: 7RtQ2mVxWbe9": "7RtQ2mVxWbe9",
    "the db creds are ada / 7RtQ2mVxWbe9": "7RtQ2mVxWbe9",
    f"api key {HEX} works for the sandbox": HEX,
    "WIFI_PSK=7RtQ2mVxWbe9": "7RtQ2mVxWbe9",
    'wpa2_psk: "7RtQ2mVxWbe9"': "7RtQ2mVxWbe9",
    "psk=7RtQ2mVxWbe9": "7RtQ2mVxWbe9",
    'psk = "correct-horse9"': "correct-horse9",
    "PIN (SIM card): 482913": "482913",
    "the user is ada, password hunter2": "hunter2",
    f"the auth token {HEX} is for staging": HEX,
    "bindpw: 7RtQ2mVxWbe9": "7RtQ2mVxWbe9",
    "htpasswd -b .htpasswd ada 7RtQ2mVxWbe9": "7RtQ2mVxWbe9",
    "password=MyDogRex2019!": "MyDogRex2019!",
    "vault login s.5ZnQ2kVbX8LpR4tYw1EoCdHs": "s.5ZnQ2kVbX8LpR4tYw1EoCdHs",
}
"""Texts, and what in each is known to be a secret by the name beside it."""


def sample(pattern: str) -> str:
    """Return a text that the pattern matches as a whole, its shortest repetitions taken; always the same."""
    return _made(parser.parse(pattern), random.Random(pattern))


def planted(kind: SecretKind) -> tuple[str, str]:
    """Return a text of the kind, and the part of it that is secret."""
    text = sample(kind.pattern)
    found = re.search(kind.pattern, text)
    assert found, (kind, text)
    return text, found["value"] if "value" in found.re.groupindex else found[0]


def samples() -> dict[str, tuple[str, str]]:
    """Return one of each kind, by its name."""
    return {kind.name: planted(kind) for kind in KINDS}


def _made(tree: Any, draw: random.Random) -> str:
    made = ""
    for operation, argument in tree:
        match operation:
            case constants.LITERAL:
                made += chr(argument)
            case constants.IN:
                made += draw.choice(_members(argument))
            case constants.MAX_REPEAT | constants.MIN_REPEAT | constants.POSSESSIVE_REPEAT:
                least, _, inner = argument
                made += "".join(_made(inner, draw) for _ in range(least))
            case constants.SUBPATTERN:
                made += _made(argument[-1], draw)
            case constants.BRANCH:
                made += _made(argument[1][0], draw)
            case constants.NOT_LITERAL:
                made += draw.choice("abcdefghijkmnpqrstuvwxyz23456789")
            case constants.GROUPREF:
                made += '"'
            case constants.ASSERT | constants.ASSERT_NOT | constants.AT:
                pass
            case _:
                raise NotImplementedError(operation)
    return made


def _members(choices: Any) -> list[str]:
    """The characters of a set; of a class such as `\\w` those that keys are made of."""
    found: list[str] = []
    for operation, argument in choices:
        match operation:
            case constants.LITERAL:
                found.append(chr(argument))
            case constants.RANGE:
                found += map(chr, range(argument[0], argument[1] + 1))
            case constants.CATEGORY if argument is constants.CATEGORY_DIGIT:
                found += "0123456789"
            case constants.CATEGORY if argument is constants.CATEGORY_SPACE:
                found.append(" ")
            case constants.CATEGORY if argument is constants.CATEGORY_NOT_WORD:
                found.append("=")
            case constants.CATEGORY:
                found += "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
            case constants.NEGATE:
                return list("abcdefghijkmnpqrstuvwxyz23456789")
            case _:
                raise NotImplementedError(operation)
    # A drawn text of one letter would be taken for a placeholder.
    return [char for char in found if char.isalnum()] or found
