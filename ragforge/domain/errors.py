"""Errors that stop the caller. Every message says what was tried and what to do.

RagforgeError
├── UsageError                  wrong flag, setting, name               exit 2
│   └── StoreAddressWrong       no store can be at this address
├── ModelError                  the model gave no usable answer         exit 3
│   ├── ModelUnreachable        no network, server away
│   ├── ModelRefusedKey         missing or wrong key
│   ├── ModelUnknown            no such model
│   ├── ModelOverloaded         still busy or over quota after retries
│   ├── ContextTooLong          the request does not fit the window
│   └── AnswerUnusable          blocked, cut, empty or malformed
└── StoreError                  the store cannot be used                exit 4
    ├── StoreUnavailable        cannot be opened, read or written
    │   ├── StoreMoved          its file was removed, moved or replaced while it was open
    │   └── StoreLoginRefused   its server does not take user and password
    ├── StoreDamaged            integrity check failed
    ├── StoreLost               missing or empty, though it held something
    ├── StoreNewer              written by a newer version
    ├── StoreOlder              must be migrated first
    ├── StoreForeign            holds what is not ours
    └── SessionBusy             another process writes this session
"""

import errno


def remedy(error: OSError) -> str:
    """Return what to do about a file that cannot be written: the beginning of a sentence."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return "Free some space" if full else "Make its folder writable"


class RagforgeError(Exception):
    """An error to show to the user; `str()` is the sentence."""

    exit_code = 1


class UsageError(RagforgeError):
    """What was asked for does not exist or is invalid: a flag, a setting, a name."""

    exit_code = 2


class NotKept(UsageError):
    """What a tool would change could not be stored before: it must not run, unless the user agrees again."""


class StoreAddressWrong(UsageError):
    """The store's address is invalid: its scheme, host or file."""


class ModelError(RagforgeError):
    """The model gave no usable answer."""

    exit_code = 3


class ModelUnreachable(ModelError):
    """No answer over the network: no connection, a broken one, or silence past the limit."""


class ModelRefusedKey(ModelError):
    """The key is missing, wrong or lacks the permission."""


class ModelUnknown(ModelError):
    """The provider has no model of that name."""


class ModelOverloaded(ModelError):
    """Busy or over quota, after the retries or because retrying today is pointless."""


class ContextTooLong(ModelError):
    """The request has more tokens than the model accepts."""


class AnswerUnusable(ModelError):
    """The answer was blocked, cut, empty or malformed."""


class StoreError(RagforgeError):
    """The store cannot do what was asked."""

    exit_code = 4


class StoreUnavailable(StoreError):
    """The store cannot be opened, read or written: missing folder, full disk, no permission."""


class StoreMoved(StoreUnavailable):
    """The database is open, but its file is no longer at its path: what is written would be lost."""


class StoreLoginRefused(StoreUnavailable):
    """The store's server rejects this user and password; `expired` if it must be changed first.

    ask_for: the address whose password can be asked for and tried; empty if that is pointless.
    """

    def __init__(self, message: str, *, expired: bool = False) -> None:
        super().__init__(message)
        self.expired = expired
        self.ask_for = ""


class StoreDamaged(StoreError):
    """The file is not a database, or failed its integrity check."""


class StoreLost(StoreError):
    """The database is missing or empty, and the files beside it show that it had content."""


class StoreNewer(StoreError):
    """The database was written by a newer version of ragforge."""


class StoreOlder(StoreError):
    """The database has an older schema, and others may be using it: migration must be confirmed."""


class StoreForeign(StoreError):
    """The database has content that is not ragforge's: it is used only after confirmation."""


class SessionBusy(StoreError):
    """Another process has the session open for writing; `holder` says which, `ended` that it has ended."""

    def __init__(self, message: str, *, holder: str, ended: bool = False) -> None:
        super().__init__(message)
        self.holder = holder
        self.ended = ended


class Conflict(RagforgeError):
    """Something already exists, or has changed unexpectedly."""
