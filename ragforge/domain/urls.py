"""What a URL says about the connection to it."""

from ipaddress import ip_address


def is_encrypted(url: str) -> bool:
    """Whether a server of this URL needs certificates to be compared with; reading them takes 30 ms."""
    return not url.startswith("http://")


def is_this_machine(host: str) -> bool:
    """Whether the host of a URL is the machine itself: no proxy and no key is meant for it."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
