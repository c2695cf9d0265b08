"""What a server reports, in words for people: which error it becomes, and what they read."""

import pytest
from neo4j.exceptions import Neo4jError

from ragforge.domain.errors import StoreUnavailable
from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.errors import (
    LoginRefused,
    OutcomeUnknown,
    ReadsOnly,
    StatementRefused,
    no_answer,
    worded,
)

ADDRESS = Address.from_url("bolt://ann:s3cr3t@localhost:7687/team")
AT = "Neo4j at bolt://ann@localhost:7687/team"
CLIENT, TRANSIENT, DATABASE = "Neo.ClientError", "Neo.TransientError", "Neo.DatabaseError"


def reported(code: str, message: str = "it said so") -> Neo4jError:
    # As the driver makes it of what comes over the wire; it offers no other way.
    return Neo4jError._hydrate_neo4j(code=code, message=message)


@pytest.mark.parametrize(
    ("code", "message", "error", "told"),
    [
        (f"{CLIENT}.Security.CredentialsExpired", "", LoginRefused, "new password for 'ann'"),
        (f"{CLIENT}.Security.AuthenticationRateLimit", "", LoginRefused, "Wait, then try again"),
        (f"{CLIENT}.Security.Unauthorized", "", LoginRefused, "refuses the user 'ann' with this password"),
        (f"{CLIENT}.Security.TokenExpired", "", LoginRefused, "refuses the user 'ann'"),
        (f"{CLIENT}.Security.Forbidden", "no", StoreUnavailable, "ann may not (no). Ask its administrator"),
        (f"{CLIENT}.Database.DatabaseNotFound", "", StoreUnavailable, "has no database 'team'"),
        (f"{TRANSIENT}.Database.DatabaseUnavailable", "", StoreUnavailable, "database 'team' of"),
        (
            f"{CLIENT}.General.ForbiddenOnReadOnlyDatabase",
            "no",
            ReadsOnly,
            "is read-only (no). Make it writable",
        ),
        (f"{CLIENT}.General.WriteOnReadOnlyAccessDatabase", "", ReadsOnly, "is read-only"),
        (f"{CLIENT}.Cluster.NotALeader", "", StoreUnavailable, "is not the leader (it said so)"),
        (f"{TRANSIENT}.General.OutOfMemoryError", "", StoreUnavailable, "out of memory"),
        (f"{TRANSIENT}.General.MemoryPoolOutOfMemoryError", "", StoreUnavailable, "out of memory"),
        (f"{CLIENT}.Transaction.TransactionTimedOut", "", OutcomeUnknown, "did not answer in time"),
        (f"{TRANSIENT}.Transaction.LockClientStopped", "", OutcomeUnknown, "did not answer in time"),
        (f"{DATABASE}.General.UnknownError", "No space left on device", StoreUnavailable, "disk is full"),
        (
            f"{DATABASE}.General.UnknownError",
            "Document contains an immense term",
            StatementRefused,
            "immense",
        ),
        (f"{TRANSIENT}.Transaction.DeadlockDetected", "", StoreUnavailable, "It was tried several times"),
        (
            f"{DATABASE}.General.UnknownError",
            "",
            StoreUnavailable,
            "failed inside (Neo.DatabaseError.General",
        ),
        (f"{DATABASE}.Schema.ConstraintCreationFailed", "", StatementRefused, "refused a statement"),
        (f"{CLIENT}.Statement.SyntaxError", "{odd}", StatementRefused, "{odd}). Either Neo4j"),
        ("odd", "", StatementRefused, "refused a statement (odd"),
    ],
)
def test_each_refusal_has_its_words(code: str, message: str, error: type[Exception], told: str) -> None:
    found = worded(reported(code, message or "it said so"), ADDRESS, doing="write to")
    assert type(found) is error
    assert told in str(found)
    assert AT in str(found)


def test_words_of_the_server_do_not_show_the_password() -> None:
    found = worded(reported(f"{CLIENT}.Security.Forbidden", "s3cr3t is wrong"), ADDRESS, doing="read from")
    assert "s3cr3t" not in str(found)


def test_a_password_that_expired_is_known_as_such() -> None:
    found = worded(reported(f"{CLIENT}.Security.CredentialsExpired"), ADDRESS, doing="read from")
    assert isinstance(found, LoginRefused)
    assert found.expired


def test_a_server_without_a_login_is_told_what_it_wants() -> None:
    address = Address.from_url("bolt://localhost")
    found = worded(reported(f"{CLIENT}.Security.Unauthorized"), address, doing="read from")
    assert "needs a user and a password" in str(found)
    forbidden = worded(reported(f"{CLIENT}.Security.Forbidden"), address, doing="read from")
    assert "nobody may not" in str(forbidden)
    stopped = worded(reported(f"{TRANSIENT}.Database.DatabaseUnavailable"), address, doing="read from")
    assert "The database 'that is yours' of" in str(stopped)


def test_what_took_too_long_reads_the_same_whoever_noticed() -> None:
    theirs = worded(reported(f"{CLIENT}.Transaction.TransactionTimedOut"), ADDRESS, doing="write to")
    assert str(theirs) == str(no_answer(ADDRESS, doing="write to"))


@pytest.mark.parametrize(
    ("deadline_s", "words"),
    [
        (None, "in time"),
        (0.00743831, "in time"),
        (0.2, "within 0.2 s"),
        (5.0, "within 5 s"),
        (4.98312, "within 5 s"),
    ],
)
def test_a_deadline_is_told_in_a_number_that_can_be_read(deadline_s: float | None, words: str) -> None:
    assert f"it did not answer {words}." in str(no_answer(ADDRESS, doing="read from", deadline_s=deadline_s))
