"""Values that are secrets because of the name beside them: `NAME=value`, "the password is value".

There are two kinds of names. With *password* or *secret*, any plausible value is a secret. *token* and *key*
are too common in programs for that: their value must look random. In either case a value that is a name, a
call, a path or a placeholder is not a secret.
"""

import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise

from ragforge.domain.secret_kinds import VENDORS

STRONG_CHARS_MIN = 6
DRAWN_CHARS_MIN = 16
VENDOR_CHARS_MIN = 14
HEX_CHARS_MIN = 16
NAME_CHARS_MAX = 60
PLACEHOLDER_CHARS_MAX = 100

HINTS = (
    "passw",
    "passphrase",
    "passcode",
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "cred",
    "auth",
    "mdp",
    "mot de passe",
    "psk",
)
"""In lower case, what a name or a sentence contains where a search starts."""

SAID_HINTS = ("pass word", "pass phrase", "pw ", "pw:", "pin", "jeton", "clé", "cle d", "cle a")
"""The same, for patterns of sentences only."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STRONG = _words("password passwd passphrase passcode passwort pwd pass secret mdp motdepasse")
_WEAK = _words("token apikey authkey accesskey secretkey privatekey credential credentials creds auth bearer")
_STRONG_ENDS = ("password", "passwd", "passphrase", "passcode", "secret")
_WEAK_ENDS = ("token", "apikey", "accesskey", "privatekey", "secretkey")
_KEYS = _words("api access auth private signing encryption master account service storage license licence")
"""With these, a `key` is a secret; alone it is a word of every program."""
_NETWORKS = _words("wifi wpa wlan tls ssid shared vpn ipsec")
"""With these, a `psk` is a secret; alone it is also a way to modulate."""
_ABOUT = _words(
    "hash hashed digest file filename path dir folder url uri endpoint name names id ids type kind count "
    "counts len length size max min limit limits field fields label env var variable prompt regex pattern "
    "re policy expiry expires expiration ttl hint input index idx offset start end line list set map dict "
    "class cls format version algorithm alg method mode manager provider store ref arn usage budget rate "
    "cost required enabled valid error errors message msg color colour column col row func function fn "
    "callback cb handler generator exception status state fingerprint strategy header headers scheme "
    "plugin module test tests example placeholder description title text help"
)
"""As the last word of a name: it describes the secret and does not contain it."""
_FIELD_WORDS = (
    _STRONG | _WEAK | _KEYS | _ABOUT | _words("key user username login email host db my the new old")
)
_PLACEHOLDER_WORDS = _words(
    "changeme changeit change example examples sample placeholder dummy fake mock test testing tests none "
    "null nil true false undefined todo tbd fixme redacted hidden removed masked omitted required "
    "optional default defaults empty unset missing invalid wrong value values str string bytes int object "
    "any self foo bar baz xxx abc abcdef here your yours my our insert enter put replace not no needed "
    "foobar admin root guest anonymous prompt ask keyring vault file env environ environment"
)

# Each starts at a hint. Repetitions are possessive, so that the time of a search is linear.
_ASSIGNED = r"""(?xi)
(?: mot[ ]de[ ]passe | [\w.-]{2,48}+ )
(?: \\?["'`\]] ){0,2}+
(?: [ ]?:[ ]?[a-z_][\w.\[\],|]{0,40}+[ ]?(?==[^=]) )?
(?P<gap>[ \t]{0,12}+)
(?P<sign> => | :(?!:)=? | \?= | ={1,3} | (?<=[ ]) )
[ \t]{0,12}+
(?: (?P<quote>\\?["'`])(?P<quoted>[^"'`\\\n]{1,400}+) | (?P<bare>[^\s"'`]{1,400}+) )
"""
_TAGGED = r"[\w.:-]{2,48}+>(?P<value>[^<>\n]{1,400}+)</"
# In each, a quote may be escaped, and a line numbered, as in a tool's output.
_PAIRED = r"""(?x)
value (?: \\{0,3}["'] )? \s? [:=] \s?
(?: \\{0,3}["'] (?P<quoted> [^"'\\\n]{1,400}+ ) \\{0,3}["'] | (?P<bare> [^\s"'\\,;}]{1,400}+ ) )
"""
_PAIR_CHARS_MAX = 200
_PAIR_NAME = re.compile(
    r"""(?xi) \b (?: name | key ) (?: \\{0,3}["'] )? \s? [:=] \s? (?: \\{0,3}["'] )? ([\w.:-]{2,60}+)
    (?: \\{0,3}["'] )? ,? (?: \s | \\[nrt] ){0,40}+ (?: \d{1,7} (?: \t | \\t ) \s{0,40}+ )?
    (?: \\{0,3}["'] )? \Z"""
)
_LITERAL = r"""(?i)(?:pass(?:word|wd|phrase)|pwd)\([ ]?\\{0,3}["']([^\s"'\\]{6,200}+)\\{0,3}["'][ ]?\)"""
_SQL = r"""(?i)\b(?:identified\s+(?:with\s+\w+\s+)?by|password)\s+\\{0,3}["']([^\s"'\\]{4,200}+)\\{0,3}["']"""
_SETTING = r"""(?xi)
(?: \b(?:requirepass|masterauth|(?:root)?bindpw) [ \t:=]{1,4}+ ["']? | \bpsk[ ]?=[ ]?\\{0,3}["']
  | (?<![^\n]) [ \t]{0,12}+ psk= )
([^\s"'$<{\\]{6,64}+)
"""
_SAID = r"""(?xi)
(?: pass[ ]?(?:word|phrase|code) | passwd | pwd | mot[ ]de[ ]passe | mdp | pw | secret | key | pin
  | (?:token|jeton)(?:[ ]d['’]acc(?:è|e)s)?
  | cl(?:é|e)[ ](?:d['’]?|de[ ]l?['’]?)?[ ]?(?:api|acc(?:è|e)s) )
(?: [ ](?:wi-?fi|root|admin|ssh|sudo|mysql|postgres) | [ ]\([^()\n]{1,40}+\)(?=[ \u00a0\u202f]?:) )?
(?: [ ]{1,3}
    (?: (?:for|of|to|on|at|in|de|du|pour|sur)[ ]\S{1,40}+[ ](?:[^\s,;]{1,40}+[ ]){0,3}? )?
    (?: is|was|will[ ]be|are|est|était|sera|c['’]est )
  | (?P<short> ['’]s )
  | (?P<colon> (?: [ ](?:you|we|i|to|for|pour|que|du|de)(?:[ ][\w'’-]{1,30}+){1,5}? )?
    [ \u00a0\u202f]? (?=:) ) )
[ ]{0,2} (?: now|still|simply|:|maintenant|toujours )?
[ ]{1,3} ["'`«“]?[ ]? (?P<value>[^\s"'`«»“”]{4,200}+)
"""
_BEFORE_KEY = re.compile(r"(?:api|access|secret|private|auth)[ -]?\Z", re.IGNORECASE)
_HEADER = (
    r"(?i)\b(?:proxy-)?authorization[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?"
    r"(?:basic|bearer|token|apikey)[ \t]+([\w+/=.~-]{8,400}+)"
)
_COOKIES = r"(?i)\bcookie[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?[^\r\n\"']{10,8000}+"
_COOKIE = r"(?<==)[^\s;,=]{16,4000}+"
_LOGIN = r"(?:-u|--user)[ =]{1,3}[\"']?[\w.@-]{0,60}+:([^\s\"'@/:]{3,100}+)"
_USERS = "user(?:name)?|login|account|identifiants?|utilisateur|compte|credentials?|creds"
_PASSWORDS = "password|passphrase|pass|pw|mot de passe|mdp"
_TOLD = r"[\"'`«“]?([^\s\"'`«»“”,;]{6,200}+)"
_USER = r"[\"'`]?[\w.@+-]{1,40}+[\"'`]?"
_PAIR_TOLD = (
    rf"(?i)\b(?:{_USERS})(?:(?: ?[:=])? {_USER} / |(?: ?[:=]| is| are| est| sont)? {_USER}"
    rf"(?: ?[,;/]| and| et)? (?:the |le )?(?:{_PASSWORDS})(?: is| est)?(?: ?[:=])? ){_TOLD}"
)
_PAIR_IS = rf"(?i)\b(?:{_USERS}) (?:is|are|est|sont) {_USER} / {_TOLD}"
_PAIR_TOLD_BACK = (
    rf"(?i)\b(?:{_PASSWORDS})(?: ?[:=])? {_TOLD}"
    rf"(?=[\"'`]?(?: ?[,;/]| for| and| pour| et) (?:the |le )?(?:{_USERS})\b)"
)
_GIVEN = r"(?i)\b(?:with|use[ds]?|using|put|set|try|type|chose|avec|utilise[rz]?|mets|mis|prends|choisi|tape)"
_GIVEN_AS = (
    rf"{_GIVEN} {_TOLD}[\"'`»”]?"
    rf"(?= (?:as|comme) (?:\w{{1,8}} )?(?:(?:root|admin|wi-?fi|ssh|sudo) )?"
)
_AS_PASSWORD = rf"{_GIVEN_AS}(?:{_PASSWORDS})\b)"
_AS_CREDENTIALS = rf"{_GIVEN_AS}(?:credentials|creds)\b)"
_AS_NEW = (
    r"(?i)\b(?:set|reset|changed?|updated?|rotated?|changé|remplacé|mis)\b[^\n.;:]{1,40}? "
    rf"(?:{_PASSWORDS})(?: (?:for|of|on|de|du|pour|sur) \S{{1,40}}+)? (?:to|en|à|par|sur) {_TOLD}"
)
_BESIDE = rf"(?i)\b(?:password|passphrase|mot de passe|mdp) {_TOLD}"
_KEY_BESIDE = rf"(?i)\b(?:api|access|auth|private) (?:token|key) {_TOLD}"
_HTPASSWD = r"htpasswd -[a-zA-Z]*b[a-zA-Z]* \S{1,200}+ \S{1,100}+ [\"']?([^\s\"'$<]{4,200}+)"
_TOKENS = r"(?:(?:api|access) )?(?:token|key)|jeton|cl[ée] (?:d['’])?(?:api|acc[èe]s)"
_TOKEN_TOLD = rf"{_GIVEN} (?:\w{{1,8}} )?(?:{_TOKENS}) {_TOLD}"

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_NAME_END = re.compile(r"[A-Za-z0-9_.-]*\Z")
_ENV = re.compile(r"(?:^|[\s;&\"'(]|-e[ =]?)[A-Z][A-Z0-9_]*\Z")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_DOTTED = re.compile(r"[^\W\d]\w*(?:(?:\.|->|::|\?\.)\w+)+;?")
_VARIABLE = re.compile(
    r"\$\$?\{?[A-Za-z_][\w:.?-]*\}?|\$\(.*|\$\{.*|%\(?\w*\)?[sdrv%]?|%\w+%|\{+[^{}]*\}*|<[^>]*>?|\[+[^\]]*\]?|@\w+@?|#\{.*"
    r"|!\w+.*|&\w*|\(.*|\*\w+|!+|[./~\\]+[\w./~\\-]*|\w+://.*|b?r?f?[\"'].*"
)
_CALL = re.compile(r"[^\W\d][\w.]*[(\[]")
_HEX = re.compile(r"(?:0x)?[a-fA-F0-9]+")
_DRAWN = re.compile(r"[\w+/=.~:!@#$%^&*?-]+")
_SETTER = re.compile(
    r"(?:\bsetx|\bset(?: -\w{1,4}){1,3}|\bENV|\bconfig set|\bconfigure set|\bsecret set) (?:\S{0,80}:)?\Z"
)
_ALGORITHM = re.compile(r"(?:argon2|bcrypt|scrypt|yescrypt|pbkdf2|hmac|md5|sha-?\d)", re.IGNORECASE)
_STOPS = re.compile(r"[,;)}\]|&]")
_SUFFIXES = re.compile(
    r"(?:ed|ing|able|ible|ive|ful|less|ly|ent|ant|ory|ary|al|ous|ct|id|ty|ong|ort|own|ept|ent|ite|ire|oire|if|ique|eux|é|és"
    r"|ée|ées|ez|er|ir|é)$"
)
_COMMON = _words(
    "required wrong right empty missing the and but for not that this what when where which with only "
    "never always used hidden kept your mine ours theirs weak strong short long same different unknown "
    "known here there null none valid needed also still now good bad safe secure secret public private "
    "sent read stored shown asked given typed taken found lost gone done then than too very just more "
    "less most like into from over under above below after before about because being been have has had "
    "made must should would could will shall may might can same some such dans avec pour sans vide faux "
    "juste bon mauvais aussi trop plus moins bien pas jamais toujours encore"
)


def hide_named(text: str, mark: str) -> str:
    """Return the text with the mark for each value that its name makes a secret."""
    lower = text.lower()
    if len(lower) != len(text):  # some letters have two in lower case
        lower = "".join(char.lower() if char.isascii() else char for char in text)
    if starts := _starts(lower):
        text = _replaced(text, _named_spans(text, starts, mark), mark)
    if "cookie" in lower:
        text = _compiled(_COOKIES).sub(lambda found: _without_cookies(found[0], mark), text)
    if "value" in lower:
        text = _compiled(_PAIRED).sub(lambda found: _paired(found, mark), text)
    for hints, pattern, accepts in _FORMS:
        if any(hint in lower for hint in hints):
            text = _compiled(pattern).sub(lambda found, accepts=accepts: _inner(found, mark, accepts), text)
    return text


def _starts(lower: str) -> list[int]:
    """Return the offsets of hints, in order. Searching word by word is faster than all at once."""
    found: set[int] = set()
    for hint in (*HINTS, *SAID_HINTS):
        at = lower.find(hint)
        while at >= 0:
            found.add(at)
            at = lower.find(hint, at + len(hint))
    return sorted(found)


def _named_spans(text: str, starts: list[int], mark: str) -> list[tuple[int, int]]:
    assigned, said, tagged = _compiled(_ASSIGNED), _compiled(_SAID), _compiled(_TAGGED)
    spans: list[tuple[int, int]] = []
    end = 0
    for start in starts:
        if start < end:
            continue
        span = None
        if found := assigned.match(text, start):
            span = _assigned(found, mark)
        if span is None and (found := said.match(text, start)):
            span = _said(found, mark)
        if span is None and (found := tagged.match(text, start)):
            span = _tagged(found, mark)
        if span is not None:
            spans.append(span)
            end = span[1]
    return spans


def _replaced(text: str, spans: list[tuple[int, int]], mark: str) -> str:
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        pieces += [text[at:start], mark]
        at = end
    return "".join([*pieces, text[at:]])


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _assigned(found: re.Match[str], mark: str) -> tuple[int, int] | None:
    """Return the span of the secret given to a name; None if it is not a secret."""
    sign, group = found["sign"], "quoted" if found["quote"] else "bare"
    before = found.string[max(0, found.start() - NAME_CHARS_MAX) : found.start()]
    head = _NAME_END.search(before)
    name_start = head[0] if head else ""
    name = name_start + found.string[found.start() : found.start("gap")]
    if not sign and not name.startswith("--") and not _SETTER.search(before.removesuffix(name_start)):
        return None
    value = found[group]
    env = sign == "=" and not found["gap"] and group == "bare" and _is_env(before, name_start, name)
    if group == "bare" and not env:
        value = _up_to_stop(value, mark)
    if not is_secret(name.strip("\"'`]\\"), value, quoted=group == "quoted" or not sign, env=env, mark=mark):
        return None
    return found.start(group), found.start(group) + len(value)


def _is_env(before: str, name_start: str, name: str) -> bool:
    """Whether it is written like an environment variable: NAME=value at the start of a word."""
    lead = before[: len(before) - len(name_start)]
    return _ENV.search(lead + name) is not None


def _up_to_stop(value: str, mark: str) -> str:
    """Return which part of an unquoted value belongs to it in a program or a list."""
    at = value.find(mark)
    stop = _STOPS.search(value, at + len(mark) if at >= 0 else 0)
    return value[: stop.start()] if stop else value


def _tagged(found: re.Match[str], mark: str) -> tuple[int, int] | None:
    name, value = found[0].partition(">")[0], found["value"]
    opened = found.string.rfind("<", max(0, found.start() - NAME_CHARS_MAX), found.start())
    if opened < 0 or not is_secret(name, value, quoted=True, env=False, mark=mark):
        return None
    return found.span("value")


def _said(found: re.Match[str], mark: str) -> tuple[int, int] | None:
    value = found["value"]
    if found[0][:3].lower() == "key" and not _BEFORE_KEY.search(
        found.string, max(0, found.start() - 9), found.start()
    ):
        return None
    trimmed = value if value.endswith(mark) else value.rstrip(".,;:!?)]}")
    strong = (
        found[0][0] in "pPmM"
    )  # a password, and not a token or key, which most sentences only speak about
    if found["short"] and not any(char.isdigit() for char in trimmed):
        return None  # "the password's length"
    if mark in value or not _is_said(trimmed, strong=strong):
        return None
    if found["colon"] is not None and not (_is_written_password(trimmed) if strong else _is_token(trimmed)):
        return None  # "the token you asked for: see step2"
    if found["colon"] is not None and found[0][:3].lower() == "pin" and not _is_pin(trimmed):
        return None  # "pin (LED): GPIO17"
    return found.start("value"), found.start("value") + len(trimmed)


def _paired(found: re.Match[str], mark: str) -> str:
    """Yield names with their values beside them, as in XML and container manifests."""
    group = "quoted" if found["quoted"] else "bare"
    value = found[group]
    named = _PAIR_NAME.search(found.string[max(0, found.start() - _PAIR_CHARS_MAX) : found.start()])
    if (
        not named
        or mark in value
        or not is_secret(named[1], value, quoted=group == "quoted", env=False, mark=mark)
    ):
        return found[0]
    return (
        found[0][: found.start(group) - found.start()] + mark + found[0][found.end(group) - found.start() :]
    )


def _without_cookies(header: str, mark: str) -> str:
    """Return the header of a request or an answer without its credentials."""
    return _compiled(_COOKIE).sub(lambda found: mark if _is_token(found[0]) else found[0], header)


def _inner(found: re.Match[str], mark: str, accepts: Callable[[str], bool]) -> str:
    value = found[found.lastindex or 0]
    trimmed = value.rstrip(".,;:!?)]}") if not value.endswith(mark) else value
    if mark in value or not accepts(trimmed):
        return found[0]
    start = found.start(found.lastindex or 0) - found.start()
    return found[0][:start] + mark + found[0][start + len(trimmed) :]


def is_secret(name: str, value: str, *, quoted: bool, env: bool, mark: str = "\0") -> bool:
    """Whether the name makes the value a secret.

    quoted: it stands in quotes. env: it is written as NAME=value, as in an environment file or a command.
    """
    rest = value.replace(mark, "")
    if rest != value:
        return any(char.isalnum() for char in rest) and _strength(name) is not None and not quoted
    strength = _strength(name)
    if strength is None or _is_placeholder(value):
        return False
    if not quoted and (_CALL.match(value) if env else _is_code(value, strong=strength == 0)):
        return False
    if strength == 0:
        return _is_strong_value(value, quoted=quoted, env=env)
    return _is_drawn(value, chars_min=strength)


def _strength(name: str) -> int | None:
    """Return 0 for a name with password, else the minimum length of a random value, or None."""
    if name in ("PWD", "OLDPWD"):  # the folder of a shell
        return None
    words = [word.lower() for word in _WORD.findall(name)]
    while words and words[-1].isdigit():
        words.pop()
    if not words or words[-1] in _ABOUT:
        return None
    joined = "".join(words[-3:])
    if any(word in _STRONG or word.endswith(_STRONG_ENDS) for word in words) or joined == "motdepasse":
        return 0
    if any(word in _WEAK or word.endswith(_WEAK_ENDS) for word in words):
        return DRAWN_CHARS_MIN
    if words[-1] == "psk" and (_NETWORKS.intersection(words) or "wifi" in joined):
        return 0
    if words[-1] != "key" and "key" not in words:
        return None
    if any(word in VENDORS for word in words):
        return VENDOR_CHARS_MIN
    return DRAWN_CHARS_MIN if any(word in _KEYS for word in words) else None


def _is_placeholder(value: str) -> bool:
    """Whether it is a placeholder: a variable, a path, "changeme", or one character repeated."""
    if _VARIABLE.fullmatch(value) or len(set(value.lower())) < 4:
        return True
    if len(value) > PLACEHOLDER_CHARS_MAX:
        return False
    words = [word.lower() for word in _WORD.findall(value)]
    if not words:
        return True
    letters = [word for word in words if not word.isdigit()]
    if all(word in _FIELD_WORDS or word in _PLACEHOLDER_WORDS for word in letters):
        return sum(map(len, letters)) * 2 >= len(value)
    is_named = letters[0] == "my" and (len(letters) == len(words) or "-" in value or "_" in value)
    telling = is_named or letters[0] in (
        "your",
        "changeme",
        "change",
        "replace",
        "insert",
        "example",
        "placeholder",
        "dummy",
    )
    return (telling or letters[-1] in ("here", "placeholder", "example")) and not _is_drawn(
        value, chars_min=24
    )


def _is_code(value: str, *, strong: bool) -> bool:
    """Whether an unquoted value is part of a program: a name, a call, a number."""
    if "(" in value or "[" in value or "{" in value or "<" in value or value.isdigit():
        return True
    if _DOTTED.fullmatch(value):
        return not _is_drawn(value, chars_min=DRAWN_CHARS_MIN)
    if _IDENTIFIER.fullmatch(value):
        return not (any(char.isdigit() for char in value) and (strong or len(value) >= DRAWN_CHARS_MIN))
    return False


def _is_strong_value(value: str, *, quoted: bool, env: bool) -> bool:
    if len(value) < STRONG_CHARS_MIN or (" " in value and not any(char.isdigit() for char in value)):
        return False
    if value.count(" ") > 4:
        return False  # a sentence about it
    if _IDENTIFIER.fullmatch(value) and not any(char.isdigit() for char in value):
        # A word, which in a program names a field or a key, and in an environment may be the password itself.
        return (env and not value.isupper()) or (quoted and "_" not in value and not value.isupper())
    return quoted or env or any(char.isalnum() for char in value)


def _is_drawn(value: str, *, chars_min: int) -> bool:
    """Whether it looks random: long, letters and digits mixed, no words with dashes between."""
    if len(value) < chars_min or not _DRAWN.fullmatch(value):
        return False
    digits = sum(char.isdigit() for char in value)
    letters = sum(char.isalpha() for char in value)
    if _HEX.fullmatch(value):
        return len(value) >= HEX_CHARS_MIN and digits > 0 and letters > 0
    if letters < 2 or len(set(value)) < 8 or not (digits > 1 or (digits == 1 and _is_mixed_case(value))):
        return False
    longest = max((len(word) for word in re.split(r"[\W_]+", value)), default=0)
    parts = [part for part in re.split(r"[\W_]+", value) if part]
    mixed = [part for part in parts if any(map(str.isdigit, part)) and any(map(str.isalpha, part))]
    return bool(mixed) and (longest >= 12 or len(max(mixed, key=len)) >= 8)


def _is_mixed_case(value: str) -> bool:
    """Whether small and capital letters alternate as in random text, not as in camelCase."""
    letters = [char.isupper() for char in value if char.isalpha()]
    changes = sum(one != next for one, next in pairwise(letters))
    return 0.3 <= sum(letters) / max(1, len(letters)) <= 0.7 and changes >= 0.4 * (len(letters) - 1)


def _is_token(value: str) -> bool:
    return not _is_placeholder(value) and _is_drawn(value, chars_min=12)


def _is_password(value: str) -> bool:
    return not _is_placeholder(value)


def _is_written_password(value: str) -> bool:
    """In a program, where a word is more often what the password is for."""
    return not _is_placeholder(value) and any(char.isdigit() for char in value)


def _is_told_password(value: str) -> bool:
    """In a sentence without a verb, where most words describe a password: it has both kinds."""
    return _is_written_password(value) and any(char.isalpha() for char in value) and "(" not in value


def _is_beside(value: str) -> bool:
    """Whether a word right behind "password" is it: most that follow there are not."""
    return (
        "/" not in value
        and not _is_placeholder(value)
        and _is_drawn(value, chars_min=10)
        and not _is_identifier(value)
    )


def _is_key_beside(value: str) -> bool:
    """Whether a word right behind "access token" or the like is it."""
    return _is_token(value) and not _is_identifier(value)


def _is_credentials(value: str) -> bool:
    """Whether it is a password, or one behind a user's name and a slash, and not a kind of credentials."""
    return _is_beside(value.partition("/")[2] or value)


def _is_pin(value: str) -> bool:
    """Whether it is one, and not what is connected to a pin."""
    return value.isdigit() or _is_beside(value)


def _is_identifier(value: str) -> bool:
    """Whether it names an algorithm, or something in a program: three or more words in CamelCase."""
    if _ALGORITHM.match(value):
        return True
    if not _IDENTIFIER.fullmatch(value):
        return False
    words = [word for word in _WORD.findall(value) if word.isalpha()]
    long = [word for word in words if len(word) >= 3]
    # Random letters are rarely in words, and hexadecimal ones are not capitalised.
    return (
        len(long) >= 3
        and sum(word.istitle() for word in long) >= 2
        and sum(map(len, long)) >= 0.9 * sum(map(len, words))
    )


def _is_said(value: str, *, strong: bool) -> bool:
    """Whether a word of a sentence is the password, and not a description of one."""
    if (
        len(value) < 4
        or _is_placeholder(value)
        or value.lower() in _COMMON
        or "(" in value
        or value[0] == "$"
    ):
        return False
    if any(char.isdigit() for char in value):
        return strong or len(value) >= STRONG_CHARS_MIN
    if not strong:
        return False
    inner = value.strip("-'’")
    if inner.isalpha():
        is_word = inner.islower() and not _SUFFIXES.search(inner)
        return len(inner) >= STRONG_CHARS_MIN and (is_word or _is_mixed_case(inner))
    return (
        len(value) >= STRONG_CHARS_MIN
        and bool(re.search(r"[^\w'’-]", inner))
        and not _DOTTED.fullmatch(value)
    )


_FORMS: tuple[tuple[tuple[str, ...], str, Callable[[str], bool]], ...] = (
    (("uthorization",), _HEADER, _is_token),
    (("password(", "passwd(", "passphrase(", "pwd("), _LITERAL, _is_written_password),
    (("password '", 'password "', "identified "), _SQL, _is_password),
    (("requirepass", "masterauth", "bindpw", "psk"), _SETTING, _is_written_password),
    (("curl",), _LOGIN, _is_password),
    (("password", "pass", "pw ", "pw:", "mdp", "mot de passe", " / "), _PAIR_TOLD, _is_told_password),
    ((" / ",), _PAIR_IS, _is_beside),
    (
        ("password ", "pass ", "pw ", "mdp ", "mot de passe ", "passphrase "),
        _PAIR_TOLD_BACK,
        _is_told_password,
    ),
    ((" as ", " comme "), _AS_PASSWORD, _is_told_password),
    ((" as ", " comme "), _AS_CREDENTIALS, _is_credentials),
    (("password", "pass ", "pw ", "mdp", "mot de passe", "passphrase"), _AS_NEW, _is_told_password),
    (("password ", "passphrase ", "mdp ", "mot de passe "), _BESIDE, _is_beside),
    (("token ", "key ", "jeton ", "clé "), _TOKEN_TOLD, _is_token),
    (("token ", "key "), _KEY_BESIDE, _is_key_beside),
    (("htpasswd",), _HTPASSWD, _is_password),
)
"""In lower case, what a text with one of the pattern contains; and whether the last group is a secret."""
