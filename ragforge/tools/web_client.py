"""Fetch pages over HTTP from checked addresses: no request can be led into a private network.

A name is looked up once, all its addresses are checked, and the connection goes to one of these. So neither a
redirect nor a second look-up of the name (DNS rebinding) leads elsewhere.
"""

import asyncio
import importlib
import socket
import zlib
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin, urlsplit

from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:  # slow to import, and most sessions fetch nothing
    import httpx2

BODY_BYTES_MAX = 5_000_000
"""The size of a page; the rest is left out."""
ROBOTS_BYTES_MAX = 200_000
REDIRECTS_MAX = 5
URL_CHARS_MAX = 4_000
AGENT = "ragforge"
PORTS = {"http": 80, "https": 443}
_NAT64 = "64:ff9b::"


class WebPage(Struct, frozen=True):
    """The answer of an address. cut: whether it is longer. leads_to: another host that it redirects to."""

    url: str
    status: int
    media_type: str
    charset: str
    body: bytes
    cut: bool = False
    leads_to: str = ""


def checked_url(url: str) -> SplitResult:
    """Return the parts of an address that can be fetched. Raises UsageError that says what is wrong."""
    if len(url) > URL_CHARS_MAX or not url.isprintable() or " " in url:
        raise UsageError(
            "This is not a valid address: it contains spaces or control characters, or is too long."
        )
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"This is not an address: {error}.") from error
    if parts.scheme not in PORTS or not parts.hostname:
        raise UsageError("Only http:// and https:// addresses can be fetched.")
    if parts.username is not None or parts.password is not None:
        raise UsageError("Addresses with a user or a password are not fetched. Remove them.")
    return parts


def host_of(parts: SplitResult) -> str:
    """Return the host, with its port if that is not the default, as in rules."""
    port = parts.port or PORTS[parts.scheme]
    return (parts.hostname or "") + (f":{port}" if port != PORTS[parts.scheme] else "")


def why_private(address: IPv4Address | IPv6Address) -> str:
    """Return why an address is not public, in a word; empty if it is."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if inner is None and address.exploded.startswith(ip_address(_NAT64).exploded[:29]):
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return why_private(inner)
    if address.is_loopback:
        return "this machine"
    if address.is_link_local or address.is_multicast or address.is_unspecified or address.is_reserved:
        return "a reserved network"
    return "" if address.is_global else "a private network"


async def fetch(url: str, *, private_hosts: Collection[str], body_bytes_max: int = BODY_BYTES_MAX) -> WebPage:
    """Return the page, following redirects within its host. Raises UsageError that says what failed.

    private_hosts: hosts that may be on a private network.
    """
    begun_at = host_of(checked_url(url))
    for _ in range(REDIRECTS_MAX + 1):
        parts = checked_url(url)
        address = await _checked_address(parts, private_hosts)
        async with _answer(parts, address) as response:
            location = response.headers.get("location", "")
            if response.status_code not in (301, 302, 303, 307, 308) or not location:
                return await _read(url, response, body_bytes_max)
        url = urljoin(url, location)
        moved = checked_url(url)
        if moved.scheme == "http" and parts.scheme == "https":
            raise UsageError(
                f"{begun_at} redirects from https to http, to {url}. The redirect was not followed."
            )
        if host_of(moved) != begun_at:
            # Another host needs the user's approval; its address is checked all the same.
            await _checked_address(moved, private_hosts)
            return WebPage(url, response.status_code, "", "", b"", leads_to=url)
    raise UsageError(f"{begun_at} redirects more than {REDIRECTS_MAX} times.")


async def _checked_address(parts: SplitResult, private_hosts: Collection[str]) -> str:
    """Return the address to connect to."""
    host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{host} cannot be found: {error}.") from error
    addresses = [ip_address(str(each[4][0]).partition("%")[0]) for each in found]
    if not addresses:
        raise UsageError(f"{host} has no address.")
    _check_public(parts, addresses, private_hosts)
    return str(addresses[0])


def _check_public(
    parts: SplitResult, addresses: Sequence[IPv4Address | IPv6Address], private_hosts: Collection[str]
) -> None:
    host = parts.hostname or ""
    if {host, host_of(parts)} & set(private_hosts):
        return
    for address in addresses:
        if why := why_private(address):
            shown = host if host == str(address) else f"{host} ({address})"
            raise UsageError(
                f"{shown} is on {why} and is not fetched. The user can allow it with the setting "
                "web.private_hosts."
            )


def check_written_address(parts: SplitResult, private_hosts: Collection[str]) -> None:
    """Raise UsageError if the host is written as a private address: nobody needs to be asked about it."""
    try:
        address = ip_address(parts.hostname or "")
    except ValueError:  # a name, which is looked up once the user has agreed
        return
    _check_public(parts, [address], private_hosts)


@asynccontextmanager
async def _answer(parts: SplitResult, address: str) -> AsyncGenerator["httpx2.Response"]:
    """Open the answer of the host at this address, its body unread. Raises UsageError."""
    await asyncio.to_thread(importlib.import_module, "httpx2")
    import httpx2  # loaded by now, in a thread

    host = f"[{address}]" if ":" in address else address
    port = parts.port or PORTS[parts.scheme]
    target = parts._replace(netloc=f"{host}:{port}", fragment="").geturl()
    headers = {"Host": parts.netloc, "User-Agent": AGENT, "Accept-Encoding": "gzip"}
    timeout = httpx2.Timeout(timeouts.WEB_READ_S_MAX, connect=timeouts.WEB_CONNECT_S_MAX)
    try:
        # Without the environment's proxies: one would look the name up again.
        async with httpx2.AsyncClient(
            trust_env=False, verify=parts.scheme == "https", timeout=timeout
        ) as client:
            request = client.build_request(
                "GET", target, headers=headers, extensions={"sni_hostname": parts.hostname}
            )
            response = await client.send(request, stream=True)
            try:
                yield response
            finally:
                await response.aclose()
    except httpx2.InvalidURL as error:
        raise UsageError(f"This is not an address: {error}.") from error
    except httpx2.RequestError as error:
        what = str(error) or type(error).__name__
        raise UsageError(f"{host_of(parts)} did not answer: {what}.") from error


async def _read(url: str, response: "httpx2.Response", body_bytes_max: int) -> WebPage:
    """Return the page up to the limit, decompressed here: a small body may decompress to gigabytes."""
    media_type, _, rest = response.headers.get("content-type", "").partition(";")
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip"):
        raise UsageError(f"The page is compressed as {encoding}, which was not requested.")
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 16) if encoding != "identity" else None
    body = bytearray()
    try:
        async for chunk in response.aiter_raw():
            room = body_bytes_max + 1 - len(body)
            body += unpack.decompress(chunk, room) if unpack else chunk[:room]
            if len(body) > body_bytes_max:
                break
    except zlib.error as error:
        raise UsageError(f"The page cannot be decompressed: {error}.") from error
    charset = rest.partition("charset=")[2].partition(";")[0].strip("\"' ")
    cut = len(body) > body_bytes_max
    kept = bytes(body[:body_bytes_max])
    return WebPage(url, response.status_code, media_type.strip().lower(), charset, kept, cut)


async def robots_disallow(url: str, *, private_hosts: Collection[str]) -> bool:
    """Whether the host's robots.txt asks programs not to fetch this; False if there is none."""
    from urllib.robotparser import RobotFileParser  # most sessions fetch nothing

    try:
        async with asyncio.timeout(timeouts.WEB_ROBOTS_S_MAX):
            page = await fetch(
                urljoin(url, "/robots.txt"), private_hosts=private_hosts, body_bytes_max=ROBOTS_BYTES_MAX
            )
    except (UsageError, TimeoutError):
        return False
    if page.status != 200 or page.leads_to:
        return False
    robots = RobotFileParser()
    robots.parse(page.body.decode("utf-8", "replace").splitlines())
    return not robots.can_fetch(AGENT, url)
