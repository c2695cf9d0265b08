"""Setting and removing a key of the user's own file, where a value must also name something that there is."""

from collections.abc import Mapping
from pathlib import Path

from ragforge.config.edit import set_value, unset
from ragforge.config.schema import Endpoint
from ragforge.domain.commands import typed
from ragforge.domain.errors import UsageError
from ragforge.providers.registry import parse_model
from ragforge.store.open import check_scheme

MODELS = frozenset({"model", "memory.model", "history.validation_model"})


def set_setting(file: Path, key: str, value: str, *, endpoints: Mapping[str, Endpoint]) -> None:
    """Set the key in the user's file, which is made where it is missing.

    endpoints: the services that models may be of. Raises UsageError for an unknown key, a value that the key
    cannot have, a model of no provider that there is, and a store that nothing here can open.
    """
    if key in MODELS and value:
        parse_model(value, endpoints=endpoints)
    if key == "store" and value:
        check_scheme(value)
    set_value(file, key, value)


def unset_setting(file: Path, key: str) -> None:
    """Remove the key from the user's file. Raises UsageError where it is not set there."""
    if not unset(file, key):
        raise UsageError(f"{key} is not set in {file}. `{typed('config')}` shows where a value comes from.")
