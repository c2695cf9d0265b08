"""Identifiers: UUIDv7, made by whoever creates the thing, so that a write can be repeated safely."""

from datetime import UTC, datetime

from uuid_utils import uuid7


def new_id() -> str:
    """A new identifier that sorts by the time it was made (RFC 9562, version 7)."""
    return str(uuid7())


def short_id(full: str) -> str:
    """The last eight characters: the random part, enough to tell things apart by eye."""
    return full[-8:]


def id_fits(full: str, part: str) -> bool:
    """Whether a typed part means this: an end of the whole, or the beginning of its short form."""
    return full.startswith(part) or full.endswith(part) or short_id(full).startswith(part)


def now() -> datetime:
    """The present in UTC, to the millisecond, which is what the stores keep."""
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
