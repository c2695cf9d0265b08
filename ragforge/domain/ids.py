"""Identifiers: UUIDv7, made by whoever creates the record, so that a write can be repeated safely."""

from datetime import UTC, datetime

from uuid_utils import uuid7


def new_id() -> str:
    """Return a new identifier that sorts by creation time (RFC 9562, version 7)."""
    return str(uuid7())


def short_id(full: str) -> str:
    """Return the last eight characters, the random part, for display."""
    return full[-8:]


def id_fits(full: str, part: str) -> bool:
    """Whether a typed part matches: an end of the whole id, or the beginning of its short form."""
    return full.startswith(part) or full.endswith(part) or short_id(full).startswith(part)


def now() -> datetime:
    """Return the current time in UTC, rounded to milliseconds like the stores."""
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
