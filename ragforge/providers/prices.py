"""The price of a model on a day: a dated table, which the user's own file may override."""

import datetime as dt
from functools import lru_cache
from pathlib import Path

import msgspec

from ragforge.domain.errors import UsageError
from ragforge.domain.usage import Price

TABLE = Path(__file__).with_name("prices.toml")


class _PriceEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"since": "from"}):
    """One `[[price]]`. `source` is for whoever edits the file."""

    model: str
    input_usd: float
    output_usd: float
    cached_usd: float
    since: dt.date = dt.date.min
    over_tokens: int = 0
    search_usd: float | None = None
    source: str = ""

    def __post_init__(self) -> None:
        prices = (self.input_usd, self.output_usd, self.cached_usd, self.search_usd or 0)
        if min(*prices, self.over_tokens) < 0:
            raise ValueError("prices and numbers of tokens cannot be negative")


class _PriceTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    price: list[_PriceEntry] = []


def price_of(
    model: str, at: dt.datetime, *, overrides: Path | None = None, input_tokens: int = 0
) -> Price | None:
    """Return the price of the model at that moment, or None if it is unknown: never a silent 0.

    model: the provider's name for it; `models/` before it is not part of the name.
    overrides: the user's own table. Its rows for a model replace all of ours; if it does not exist, ours
    are used.
    input_tokens: of the request, for models that cost more if it is long.
    Raises UsageError if the user's file is not such a table.
    """
    name = model.removeprefix("models/")
    entries = _of_model(name, overrides) or _of_model(name, TABLE)
    # A moment without a time zone is taken as local, as astimezone does.
    day = at.astimezone(dt.UTC).date()
    valid = [entry for entry in entries if entry.since <= day and entry.over_tokens <= input_tokens]
    # A tier begins above its number of tokens, not at it.
    valid = [entry for entry in valid if not entry.over_tokens or input_tokens > entry.over_tokens]
    if not valid:
        return None
    newest = max(valid, key=lambda entry: (entry.over_tokens, entry.since))
    return Price(newest.input_usd, newest.output_usd, newest.cached_usd, newest.search_usd)


def _of_model(model: str, path: Path | None) -> list[_PriceEntry]:
    if path is None:
        return []
    try:
        changed_ns = path.stat().st_mtime_ns
    except OSError:
        return []  # most people have no file of their own
    return [entry for entry in _read(path, changed_ns).price if entry.model == model]


@lru_cache(maxsize=4)
def _read(path: Path, changed_ns: int) -> _PriceTable:
    """Return the table in the file at that time."""
    del changed_ns  # only distinguishes versions of the file, for the cache
    try:
        return msgspec.toml.decode(path.read_bytes(), type=_PriceTable)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise UsageError(
            f"Cannot read the prices in {path}: {error}. Each [[price]] needs model, input_usd, output_usd "
            "and cached_usd in USD per million tokens; from = 2026-12-01, over_tokens and search_usd are "
            "optional."
        ) from error
