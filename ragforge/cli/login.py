"""Ask for the password of a store's server, if a user is at the terminal."""

import sys
from getpass import getpass

from ragforge.cli.edge import tell
from ragforge.domain.errors import StoreLoginRefused


def can_ask() -> bool:
    """Whether somebody can read and answer a question; the output may go elsewhere."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def take_password(refused: StoreLoginRefused) -> bool:
    """Ask for the server's password, and use it for this run; return whether one was given.

    It is not shown. Raises KeyboardInterrupt if the user wants to leave.
    """
    from ragforge.config.secrets import use_store_password  # most runs need none
    from ragforge.config.store_address import parse_store_url

    address = parse_store_url(refused.ask_for)
    if address is None:
        return False
    tell(str(refused))
    password = ask_password(f"Password of {address.user} at {address.host}:{address.port} (not shown)")
    if password:
        use_store_password(refused.ask_for, password)
    return bool(password)


def ask_password(question: str = "Password (not shown)") -> str:
    """Return what was typed; empty for nothing."""
    try:
        # Typer's prompt asks before it hides: input in between would be shown, and lost.
        return getpass(f"{question}: ", stream=sys.stderr)
    except (EOFError, KeyboardInterrupt):
        sys.stderr.write("\n")  # start a new line for what follows
        raise KeyboardInterrupt from None
