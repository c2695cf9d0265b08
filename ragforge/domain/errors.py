"""What can go wrong and stop the caller. Every message says what was tried and what to do.

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


class RagforgeError(Exception):
    """Anything that the user must hear about; `str()` is the sentence to show."""

    exit_code = 1


class UsageError(RagforgeError):
    """What was asked for does not exist or does not fit: a flag, a setting, a name."""

    exit_code = 2


class NotKept(UsageError):
    """What a tool would change could not be kept before: it must not run, unless the user says so anew."""


class StoreAddressWrong(UsageError):
    """What is set as the store's address names none: its scheme, host or file cannot be."""


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
    """Busy or over quota, after the retries or because retrying today is of no use."""


class ContextTooLong(ModelError):
    """The request holds more tokens than the model takes."""


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
    """The store's server does not take this user and password; `expired` when it must be changed first.

    ask_for: the address whose password can be asked for and tried; empty where that is of no use.
    """

    def __init__(self, message: str, *, expired: bool = False) -> None:
        super().__init__(message)
        self.expired = expired
        self.ask_for = ""


class StoreDamaged(StoreError):
    """The database is not one, or failed its integrity check."""


class StoreLost(StoreError):
    """The database is missing or empty, and what is beside it shows that it held something."""


class StoreNewer(StoreError):
    """The database was written by a newer version of ragforge."""


class StoreOlder(StoreError):
    """The database has an older schema, and others may be using it: migrating must be asked for."""


class StoreForeign(StoreError):
    """The database holds things that are not ragforge's: it is used only after a yes."""


class SessionBusy(StoreError):
    """Another process has the session open for writing; `holder` says which, `ended` that it is gone."""

    def __init__(self, message: str, *, holder: str, ended: bool = False) -> None:
        super().__init__(message)
        self.holder = holder
        self.ended = ended


class Conflict(RagforgeError):
    """Something exists already, or no longer is what it was expected to be."""
