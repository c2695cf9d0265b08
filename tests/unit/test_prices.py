from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest

from ragforge.domain.errors import UsageError
from ragforge.domain.usage import Price, Usage, cost_usd
from ragforge.providers.prices import price_of

NOW = datetime(2026, 11, 21, tzinfo=UTC)
SEARCH = 0.014
FLASH = Price(0.75, 3.75, 0.075, SEARCH)


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("gemini-4-hydrogen", Price(1.5, 7.5, 0.075, SEARCH)),
        ("gemini-4-carbon", Price(2, 10, 0.1, SEARCH)),
        ("gemini-3.8-flash", FLASH),
        ("gemini-3.5-flash-lite", Price(0.3, 2.5, 0.03, SEARCH)),
        ("gemini-3.5-flash", Price(1.5, 9, 0.15, SEARCH)),
        ("models/gemini-3.5-flash", Price(1.5, 9, 0.15, SEARCH)),
        ("gemini-3.1-pro-preview", Price(2, 12, 2, SEARCH)),
        ("gemini-embedding-2", Price(0.2, 0, 0.2)),
        ("gemini-embedding-001", Price(0.15, 0, 0.15)),
    ],
)
def test_prices_of_november_2026(model: str, price: Price) -> None:
    assert price_of(model, NOW) == price


@pytest.mark.parametrize(
    "model", ["", "gemini", "gemini-3.8-flash-turbo", "llama3.3", "google/gemini-3.5-flash"]
)
def test_an_unknown_price_is_none_and_makes_no_cost_of_0(model: str) -> None:
    price = price_of(model, NOW)
    assert price is None
    assert cost_usd(Usage(1000, 0, 1000, 0), price) is None


@pytest.mark.parametrize(
    ("model", "change", "before", "after"),
    [
        ("gemini-4-carbon", date(2026, 12, 1), Price(2, 10, 0.1, SEARCH), Price(4, 20, 0.2, SEARCH)),
        (
            "gemini-3.8-flash",
            date(2027, 1, 1),
            Price(0.75, 3.75, 0.075, SEARCH),
            Price(1.5, 7.5, 0.15, SEARCH),
        ),
        ("gemini-4-hydrogen", date(2026, 11, 12), None, Price(1.5, 7.5, 0.075, SEARCH)),
    ],
)
def test_a_price_changes_at_midnight_utc(
    model: str, change: date, before: Price | None, after: Price
) -> None:
    midnight = datetime(change.year, change.month, change.day, tzinfo=UTC)
    assert price_of(model, midnight - timedelta(microseconds=1)) == before
    assert price_of(model, midnight) == after
    elsewhere = midnight.astimezone(timezone(timedelta(hours=-8)))
    assert price_of(model, elsewhere) == after


def test_a_long_request_costs_more_above_the_number_and_not_at_it() -> None:
    assert price_of("gemini-3.1-pro-preview", NOW, input_tokens=200_000) == Price(2, 12, 2, SEARCH)
    assert price_of("gemini-3.1-pro-preview", NOW, input_tokens=200_001) == Price(4, 18, 4, SEARCH)


def test_the_users_table_replaces_a_model_whole_and_leaves_the_others(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text(
        '[[price]]\nmodel = "gemini-3.1-pro-preview"\ninput_usd = 0\noutput_usd = 1\ncached_usd = 0\n'
        '[[price]]\nmodel = "llama"\ninput_usd = 0\noutput_usd = 0\ncached_usd = 0\n'
    )
    free = price_of("llama", NOW, overrides=own)
    assert free == Price(0, 0, 0)
    assert cost_usd(Usage(), free, searches=1) is None, "no fee is known"
    assert price_of("gemini-3.1-pro-preview", NOW, overrides=own, input_tokens=300_000) == Price(0, 1, 0)
    assert price_of("gemini-3.5-flash", NOW, overrides=own) == Price(1.5, 9, 0.15, SEARCH)


def test_a_changed_table_is_read_again(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    table = '[[price]]\nmodel = "m"\ninput_usd = {}\noutput_usd = 2\ncached_usd = 1\n'
    assert price_of("m", NOW, overrides=own) is None
    for number in (1, 22, 333):
        own.write_text(table.format(number))
        assert price_of("m", NOW, overrides=own) == Price(number, 2, 1)


@pytest.mark.parametrize(
    "content",
    [
        b"no toml",
        b"\xff\xfe",
        b"price = 3",
        b'[[price]]\nmodel = "m"\n',
        b'[[price]]\nmodel = "m"\ninput_usd = "1"\noutput_usd = 1\ncached_usd = 1\n',
        b'[[price]]\nmodel = "m"\ninput_usd = -1\noutput_usd = 1\ncached_usd = 1\n',
        b'[[price]]\nmodel = "m"\ninput_usd = 1\noutput_usd = 1\ncached_usd = 1\nform = 2026-01-01\n',
    ],
)
def test_a_table_that_is_none_names_its_file(tmp_path: Path, content: bytes) -> None:
    own = tmp_path / "prices.toml"
    own.write_bytes(content)
    with pytest.raises(UsageError, match=r"prices\.toml"):
        price_of("m", NOW, overrides=own)
