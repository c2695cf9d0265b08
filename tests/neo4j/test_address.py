"""Addresses as people write them, and what they are told where they cannot be read."""

import pytest

from ragforge.domain.errors import UsageError
from ragforge.store.neo4j.address import Address


def test_the_shortest_address_has_the_usual_port_and_no_login() -> None:
    assert Address.from_url("bolt://localhost") == Address("bolt", "localhost", 7687)


def test_everything_that_an_address_can_say_is_understood() -> None:
    address = Address.from_url("neo4j+s://ann%40x:p%2Fw@[2001:DB8::1]:7000/Team?region=eu&policy=near")
    assert address.user == "ann@x"
    assert address.password == "p/w"
    assert (address.host, address.port, address.database) == ("2001:db8::1", 7000, "team")
    assert address.driver_uri == "neo4j+s://[2001:db8::1]:7000?region=eu&policy=near"
    assert address.shown == "neo4j+s://ann%40x@[2001:db8::1]:7000/team?region=eu&policy=near"
    assert address.routed
    assert address.encrypted


def test_a_password_without_a_user_is_that_of_neo4j() -> None:
    assert Address.from_url("bolt://localhost", "secret99").user == "neo4j"
    assert Address.from_url("bolt://:secret99@localhost").user == "neo4j"


def test_the_password_of_the_url_is_used_before_another() -> None:
    assert Address.from_url("bolt://ann:fromurl@localhost", "other").password == "fromurl"


def test_an_at_sign_in_a_password_need_not_be_quoted() -> None:
    address = Address.from_url("bolt://ann:p@ss@localhost")
    assert (address.password, address.host) == ("p@ss", "localhost")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://localhost:7474", "bolt://localhost:7687"),
        ("https://db.example.com", "neo4j+s://db.example.com:7687"),
        ("localhost:7687", "bolt://"),
        ("", "bolt://"),
        ("bolt:/localhost", "bolt://"),
        ("bolt+routing://localhost", "neo4j://"),
        ("bolt://", "no host"),
        ("bolt://ann@", "no host"),
        ("bolt://@localhost", "without a user"),
        ("bolt://ann:@localhost", "password after the colon is empty"),
        ("bolt://local host", "host"),
        ("bolt://[::1", "host"),
        ("bolt://localhost:0", "between 1 and 65535"),
        ("bolt://localhost:65536", "between 1 and 65535"),
        ("bolt://localhost:+7", "not a port number"),
        ("bolt://localhost:٧٦٨٧", "not a port number"),
        ("bolt://localhost/a/b", "name of a database"),
        ("bolt://localhost/system", "reserved by Neo4j"),
        ("bolt://localhost/%ff", "not UTF-8"),
        ("bolt://localhost?region=eu", "only neo4j://"),
        ("neo4j://localhost?region", "name=value"),
        ("neo4j://localhost?region=", "needs a name once and a value"),
        ("neo4j://localhost?a=1&a=2", "needs a name once and a value"),
        ("neo4j://localhost?address=x", "reserved"),
        ("bolt://localhost\n", ""),
    ],
)
def test_what_is_no_address_is_refused_with_what_to_write_instead(url: str, told: str) -> None:
    if not told:
        # A line break at the end comes with pasting and means nothing.
        assert Address.from_url(url).host == "localhost"
        return
    with pytest.raises(UsageError, match=f"(?s).*{told.replace('+', '[+]')}"):
        Address.from_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "bolt://ann:s3cr3t/word@localhost",
        "bolt://ann:s3cr3t#word@localhost",
        "bolt://ann:s3cr3t?word@localhost",
        "bolt://ann:s3cr3t\tword@localhost",
        "bolt://ann:s3cr3t",
        "bolt://ann:s3cr3t@localhost:port",
        "bolt://ann:s3cr3t@localhost/a/b",
        "bolt://ann:s3cr3t@[::1",
        "bolt://ann:s3cr3t%ff@localhost",
        "bolt://ann:s3cr3t\u2100@localhost",
        "http://ann:s3cr3t@localhost",
        "ann:s3cr3t@localhost",
        "ann:s3cr3t",
        "neo4j:s3cr3t@localhost",
    ],
)
def test_an_address_that_cannot_be_read_does_not_show_its_password(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        Address.from_url(url)
    error: BaseException | None = refused.value
    while error is not None:
        assert "s3cr3t" not in str(error)
        error = error.__cause__
