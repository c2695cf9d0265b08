"""Set and remove a key of the user's own file, if its value also names something that exists."""

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
    """Set the key in the user's file, which is created if it is missing.

    endpoints: the services of models. Raises UsageError for an unknown key, an invalid value, a model of an
    unknown provider, and a store that nothing here can open.
    """
    if key in MODELS and value:
        parse_model(value, endpoints=endpoints)
    if key == "store" and value:
        check_scheme(value)
    set_value(file, key, value)


def unset_setting(file: Path, key: str) -> None:
    """Remove the key from the user's file. Raises UsageError if it is not set there."""
    if not unset(file, key):
        raise UsageError(f"{key} is not set in {file}. `{typed('config')}` shows where a value comes from.")
