"""Open the store at an address with the known password; errors say who named the address."""

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
    """Open the store. Its password is the one given, else the known one.

    make: create one that is missing or empty, whatever it contained.
    Raises as `open_store`, in the words of `telling_who_named`, and StoreLost.
    """
    known = password or await known_password(url, environ)
    with telling_who_named(url, loaded, environ):
        if not make:
            check_scheme(url)
            await asyncio.to_thread(refuse_lost, machine_dir, url)
        return await open_store(url, machine_dir=machine_dir, password=known, adopt=adopt)


async def known_password(url: str, environ: Mapping[str, str]) -> str:
    """Return the known password of the server at this address; empty if there is none, and for a file."""
    # In a thread: the keyring may take seconds.
    key = await asyncio.to_thread(store_password, url, environ)
    return key.value if key else ""


@contextmanager
def telling_who_named(url: str, loaded: Loaded, environ: Mapping[str, str]) -> Generator[None]:
    """Errors of opening the store in use also say which setting names it, and which password to ask for.

    An invalid address of a store raises StoreAddressWrong.
    """
    try:
        yield
    except StoreError as error:
        # The same error, for handlers of its class.
        error.args = (f"{error}{_who_named(url, loaded, environ)}",)
        if isinstance(error, StoreLoginRefused):
            error.ask_for = _to_ask_for(error, url)
        raise
    except UsageError as error:
        raise StoreAddressWrong(f"{error}{_who_named(url, loaded, environ)}") from error


def _who_named(url: str, loaded: Loaded, environ: Mapping[str, str]) -> str:
    """Return a further sentence on where the address comes from; empty for one typed for this only."""
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
    """Return the address without a password; empty if another password cannot help."""
    address = parse_store_url(url)
    # A password in the address takes precedence over a typed one.
    return "" if error.expired or address is None or address.password else address.bare_url
