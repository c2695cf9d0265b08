"""Laws of a server's address."""

import string
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from ragforge.domain.errors import UsageError
from ragforge.store.neo4j.address import SCHEMES, Address

WORDS = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=20)
NAMES = st.text(string.ascii_lowercase + string.digits + "-.", min_size=1, max_size=12)
ROUTING = st.dictionaries(NAMES.filter(lambda name: name != "address"), WORDS, max_size=3)
MARK = "Zq7Wx"
"""In no scheme, host, user or database that is made up here."""


@st.composite
def addresses(draw: st.DrawFn) -> Address:
    scheme = draw(st.sampled_from(SCHEMES))
    password = draw(st.just("") | st.builds("{}{}".format, st.just(MARK), WORDS))
    user = draw(WORDS if password else st.just("") | WORDS)
    return Address(
        scheme=scheme,
        host=draw(NAMES | st.ip_addresses().map(str)),
        port=draw(st.integers(1, 65535)),
        database=draw(st.just("") | NAMES.filter(lambda name: name != "system")),
        user=user,
        password=password,
        routing=tuple(draw(ROUTING).items()) if scheme.startswith("neo4j") else (),
    )


@given(addresses())
def test_an_address_is_read_back_from_what_is_shown_of_it(address: Address) -> None:
    assert Address.from_url(address.shown, address.password) == address


@given(addresses())
def test_no_form_of_an_address_holds_the_password(address: Address) -> None:
    forms = (repr(address), str(address), address.shown, address.driver_uri)
    assert not any(MARK in form for form in forms)


@given(st.text(max_size=60) | st.builds("{}://{}".format, st.sampled_from(SCHEMES), st.text(max_size=60)))
def test_any_text_is_an_address_or_is_refused_in_words(url: str) -> None:
    with suppress(UsageError):
        address = Address.from_url(url)
        assert Address.from_url(address.shown, address.password) == address


@given(st.sampled_from(SCHEMES), st.text(max_size=20), st.text(max_size=20))
def test_a_password_is_not_shown_whatever_stands_around_it(scheme: str, before: str, after: str) -> None:
    try:
        shown = repr(Address.from_url(f"{scheme}://ann:{before}{MARK}{after}@localhost"))
    except UsageError as error:
        shown = str(error)
    assert MARK not in shown.replace(MARK.lower(), "")
