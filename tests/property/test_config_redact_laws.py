"""Laws of redaction."""

from itertools import pairwise

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ragforge.domain.redact import MARK, Redactor

# Few letters, so that secrets overlap themselves, each other and what stands around them.
LETTERS = st.text(alphabet="ab:/ é", max_size=40)
SECRETS = st.lists(st.text(alphabet="ab:/é", min_size=6, max_size=9), min_size=1, max_size=3)
ANY_SECRET = st.text(min_size=6, max_size=20).filter(lambda text: len(text.strip()) >= 6)


def shows(text: str, secret: str) -> bool:
    return secret.strip() in text.replace(MARK, "\0")


@st.composite
def texts_with_secrets(draw: st.DrawFn) -> tuple[list[str], str]:
    secrets = draw(SECRETS)
    pieces = draw(st.lists(st.one_of(LETTERS, st.sampled_from(secrets)), max_size=8))
    return secrets, "".join(pieces)


@st.composite
def chunked(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    secrets, text = draw(texts_with_secrets())
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    borders = [0, *cuts, len(text)]
    return secrets, [text[start:end] for start, end in pairwise(borders)]


@settings(deadline=None)
@given(ANY_SECRET, st.text(), st.text())
def test_a_secret_never_comes_through(secret: str, before: str, after: str) -> None:
    assume(secret.strip() not in MARK)
    assert not shows(Redactor([secret]).text(before + secret + after), secret)


@settings(deadline=None)
@given(texts_with_secrets())
def test_redacting_twice_is_redacting_once(case: tuple[list[str], str]) -> None:
    secrets, text = case
    redactor = Redactor(secrets)
    once = redactor.text(text)
    assert redactor.text(once) == once
    assert not any(secret in once for secret in secrets)


@settings(deadline=None)
@given(st.text(alphabet="abcdef0123456789 .,:;/@-_\n"), st.lists(st.text(alphabet="XYZW", min_size=6)))
def test_text_without_secrets_is_unchanged(text: str, secrets: list[str]) -> None:
    assume("://" not in text)
    assume("sk-" not in text)
    assert Redactor(secrets).text(text) == text


@settings(deadline=None)
@given(chunked())
def test_a_stream_gives_what_the_whole_text_would(case: tuple[list[str], list[str]]) -> None:
    secrets, pieces = case
    redactor = Redactor(secrets)
    stream = redactor.stream(exact=True)
    shown = "".join([*[stream.feed(piece) for piece in pieces], stream.flush()])
    assert shown == redactor.exact("".join(pieces))


@settings(deadline=None)
@given(chunked(), st.booleans())
def test_a_stream_never_shows_a_secret(case: tuple[list[str], list[str]], exact: bool) -> None:
    secrets, pieces = case
    stream = Redactor(secrets).stream(exact=exact)
    shown = "".join([*[stream.feed(piece) for piece in pieces], stream.flush()])
    assert not any(secret in shown for secret in secrets)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet="ab:", max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet="ab", max_size=8), inner, max_size=3)
    ),
)


@settings(deadline=None)
@given(JSON)
def test_json_without_secrets_is_unchanged(value: object) -> None:
    assert Redactor(["xyzxyz"]).json(value) == value  # type: ignore[arg-type]
