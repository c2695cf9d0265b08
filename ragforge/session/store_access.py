"""Opening the store at an address with the password that is known; its errors say who named the address."""

import asyncio
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ragforge.config.secrets import store_password
from ragforge.config.settings import Loaded, SourceKind
from ragforge.config.store_address import parse_store_url
from ragforge.domain.errors import StoreAddressWrong, StoreError, StoreLoginRefused, UsageError
from ragforge.store.base import Store
from ragforge.store.open import check_scheme, open_store
from ragforge.store.survey import refuse_lost


async def open_named(
    loaded: Loaded,
    environ: Mapping[str, str],
    url: str,
    *,
    machine_dir: Path,
    password: str = "",
    adopt: bool = False,
    make: bool = False,
) -> Store:
    """The store at the address. Its password is the one given, else the one that is known.

    make: one that is missing or empty is made, whatever it held.
    Raises as `open_store`, in the words of `telling_who_named`, and StoreLost.
    """
    known = password or await known_password(url, environ)
    with telling_who_named(url, loaded, environ):
        if not make:
            check_scheme(url)
            await asyncio.to_thread(refuse_lost, machine_dir, url)
        return await open_store(url, machine_dir=machine_dir, password=known, adopt=adopt)


async def known_password(url: str, environ: Mapping[str, str]) -> str:
    """The password of the server at this address; empty where none is known, and for a file."""
    # In a thread: the keyring may take seconds.
    key = await asyncio.to_thread(store_password, url, environ)
    return key.value if key else ""


@contextmanager
def telling_who_named(url: str, loaded: Loaded, environ: Mapping[str, str]) -> Generator[None]:
    """Errors of opening the store in use also say which setting names it, and for whom to ask a password.

    An address that cannot be a store's comes out as StoreAddressWrong.
    """
    try:
        yield
    except StoreError as error:
        # The same error, for who catches it by its kind.
        error.args = (f"{error}{_who_named(url, loaded, environ)}",)
        if isinstance(error, StoreLoginRefused):
            error.ask_for = _to_ask_for(error, url)
        raise
    except UsageError as error:
        raise StoreAddressWrong(f"{error}{_who_named(url, loaded, environ)}") from error


def _who_named(url: str, loaded: Loaded, environ: Mapping[str, str]) -> str:
    """A further sentence on where the address comes from; empty for one that was typed for this alone."""
    if url != loaded.settings.store:
        return ""
    source = loaded.sources["store"]
    match source.kind:
        case SourceKind.FLAG:
            return " This store is set on the command line."
        case SourceKind.ENVIRONMENT:
            return f" This store is set by the variable {source}."
        case SourceKind.USER | SourceKind.PROJECT:
            return f" This store is set by `store` in {source}."
        case SourceKind.DEFAULT:
            moved = "RAGFORGE_DATA_DIR"
            return f" It is in the data folder set by the variable {moved}." if environ.get(moved) else ""


def _to_ask_for(error: StoreLoginRefused, url: str) -> str:
    """The address without a password; empty where another password cannot help."""
    address = parse_store_url(url)
    # One that stands in the address counts before any that is typed.
    return "" if error.expired or address is None or address.password else address.bare_url
