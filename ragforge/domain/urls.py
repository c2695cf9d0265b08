"""What a URL says about the connection to it."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_encrypted(url: str) -> bool:
    """Whether a server at this URL needs a certificate check; loading certificates takes 30 ms."""
    return not url.startswith("http://")


def is_this_machine(host: str) -> bool:
    """Whether the URL's host is this machine: then neither a proxy nor a key is used."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def listens_words(address: str) -> str:
    """Return a warning about metrics served at the address; empty if only this machine can reach it.

    address: host and port, as in `metrics.listen`. "0.0.0.0" and "::" can be reached by everybody.
    """
    host = urlsplit(f"//{address}").hostname or ""
    try:
        is_own = host in ("", "localhost") or ip_address(host).is_loopback
    except ValueError:
        is_own = False
    if is_own:
        return ""
    return (
        f"Other computers may be able to read this run's metrics at {address} (metrics.listen), without a "
        "password. To serve them to this computer only, use 127.0.0.1."
    )
