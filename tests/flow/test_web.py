"""Pages of the web, from a real server on this machine, which the setting allows."""

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

import pytest

from ragforge.domain import timeouts
from ragforge.domain.approvals import ApprovalAnswer, ConsentAnswer, Mode, Rule, ToolApproval
from ragforge.domain.events import ToolEnded
from ragforge.domain.turns import CallStatus, ToolCall
from ragforge.session.state import Session
from ragforge.tools.web_client import why_private
from ragforge.tools.web_fetch import TEXT_CHARS_MAX
from tests.flow.running import User, environ, of_type, opened, say, says_no
from tests.standins.gemini import Call, Calls, GeminiStandIn, Text

PAGE = b"<html><head><script>x()</script></head><body><h1>Hi</h1><p>A <b>b</b>.</p></body></html>"


@dataclass
class Site:
    """A server of pages by their paths: (status, headers, body)."""

    port: int = 0
    pages: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Path and Host of each request."""
    sent: int = 0

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def put(self, path: str, body: bytes, status: int = 200, **headers: str) -> None:
        self.pages[path] = (status, {key.replace("_", "-"): value for key, value in headers.items()}, body)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            path = head.split()[1]
            host = next(line[6:] for line in head.splitlines() if line.lower().startswith("host:"))
            self.asked.append((path, host))
            status, headers, body = self.pages.get(path, (404, {}, b"nothing"))
            lines = [f"HTTP/1.1 {status} X", "Connection: close", *(f"{k}: {v}" for k, v in headers.items())]
            writer.write("\r\n".join([*lines, "", ""]).encode())
            for start in range(0, len(body), 65_536):
                writer.write(body[start : start + 65_536])
                await writer.drain()
                self.sent += 65_536
            if path == "/hangs":
                await asyncio.sleep(3600)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    server = await asyncio.start_server(site.answer, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    site.put("/page", PAGE, Content_Type="text/html; charset=utf-8")
    yield site
    server.close()


@pytest.fixture
async def session(tmp_path: Path, gemini: GeminiStandIn, site: Site) -> AsyncIterator[Session]:
    env = environ(tmp_path, gemini, RAGFORGE_WEB_PRIVATE_HOSTS=f"localhost:{site.port}")
    async with opened(tmp_path, env) as session:
        yield session


async def fetched(
    session: Session, gemini: GeminiStandIn, *urls: str, user: User | None = None
) -> list[ToolCall]:
    gemini.script(Calls(*(Call("web_fetch", {"url": url}) for url in urls)), Text("Read."))
    calls = [event.call for event in of_type(await say(session, "look it up", user), ToolEnded)]
    return sorted(calls, key=lambda call: call.position)


async def test_a_page_is_markdown_and_its_host_is_asked_about_once(
    session: Session, gemini: GeminiStandIn, site: Site
) -> None:
    site.put("/robots.txt", b"User-agent: *\nDisallow: /private\n")
    site.put("/private/a.txt", "größe".encode("latin-1"), Content_Type="text/plain; charset=iso-8859-1")
    user = User(lambda _: ApprovalAnswer(ConsentAnswer.ALWAYS))
    [page, text] = await fetched(session, gemini, f"{site.url}/page", f"{site.url}/private/a.txt", user=user)
    assert page.status is CallStatus.OK
    assert "# Hi" in page.result
    assert "A **b**." in page.result
    assert "x()" not in page.result
    assert "robots.txt" not in page.result
    assert "größe" in text.result
    assert "robots.txt asks programs not to fetch this page" in text.result
    [asked] = user.asked
    assert isinstance(asked, ToolApproval)
    assert asked.rules == (Rule("web_fetch", f"localhost:{site.port}"),)
    [again] = await fetched(session, gemini, f"{site.url}/page", user=user)
    assert again.status is CallStatus.OK
    assert len(user.asked) == 1
    assert {host for _, host in site.asked} == {f"localhost:{site.port}"}


async def test_a_no_asks_nobody_on_the_network(session: Session, gemini: GeminiStandIn, site: Site) -> None:
    [denied] = await fetched(session, gemini, f"{site.url}/page", user=says_no())
    assert denied.status is CallStatus.DENIED
    await session.set_mode(Mode.PLAN)
    [denied] = await fetched(session, gemini, f"{site.url}/page", user=says_no())
    assert denied.status is CallStatus.DENIED
    assert site.asked == []


async def test_a_page_of_50_mb_is_read_to_its_limit_and_so_is_one_that_unpacks_to_it(
    session: Session, gemini: GeminiStandIn, site: Site
) -> None:
    site.put("/big", b"word " * 10_000_000, Content_Type="text/plain")
    site.put("/bomb", gzip.compress(b"\x20" * 50_000_000), Content_Type="text/plain", Content_Encoding="gzip")
    site.put("/nested", b"<div>" * 100_000 + b"deep", Content_Type="text/html")
    big, bomb, nested = await fetched(
        session, gemini, f"{site.url}/big", f"{site.url}/bomb", f"{site.url}/nested"
    )
    for call in (big, bomb):
        assert call.status is CallStatus.OK
        assert "Only the first 5 MB of it." in call.result
        assert call.result_chars < TEXT_CHARS_MAX + 1_000
    assert site.sent < 40_000_000
    assert nested.status is CallStatus.OK
    assert "deep" in nested.result


async def test_nothing_leads_to_a_private_address(
    session: Session, gemini: GeminiStandIn, site: Site
) -> None:
    site.put("/in", b"", 302, Location=f"http://127.0.0.1:{site.port}/page")
    site.put("/in6", b"", 302, Location=f"http://[::ffff:127.0.0.1]:{site.port}/page")
    site.put("/near", b"", 307, Location="/page")
    site.put("/round", b"", 301, Location="/round")
    site.put("/file", b"", 301, Location="file:///etc/passwd")
    urls = [
        *(f"{site.url}/{path}" for path in ("in", "in6", "round", "file")),
        f"http://127.0.0.1:{site.port}/page",
        f"http://2130706433:{site.port}/page",
        f"http://[::1]:{site.port}/page",
        "http://169.254.169.254/latest/meta-data/",
        "http://10.1.2.3/",
    ]
    user = User()
    for call in await fetched(session, gemini, *urls, user=user):
        assert call.status is CallStatus.FAILED, call.args
    # What is written as a private address is refused at once.
    asked = [each.summary for each in user.asked if isinstance(each, ToolApproval)]
    assert asked == [*urls[:4], urls[5]]
    assert not [path for path, _ in site.asked if path == "/page"]
    [near] = await fetched(session, gemini, f"{site.url}/near")
    assert near.status is CallStatus.OK


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x.org/",
        "file:///etc/passwd",
        "http://",
        "x.org",
        "http://me:pw@x.org/",
        "http://x.org:99999/",
        "http://x y/",
    ],
)
async def test_what_is_no_address_is_refused_without_a_question(
    session: Session, gemini: GeminiStandIn, url: str
) -> None:
    user = User()
    [call] = await fetched(session, gemini, url, user=user)
    assert call.status is not CallStatus.OK
    assert user.asked == []


async def test_a_name_is_looked_up_once_and_the_address_that_was_checked_is_used(
    session: Session, gemini: GeminiStandIn, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name of an attacker: public when it is checked, this machine when it is connected to."""
    real, looked_up = socket.getaddrinfo, list[str]()

    def rebinding(host, port, *args, **more):
        if host != "rebind.test":
            return real(host, port, *args, **more)
        looked_up.append(host)
        address = "192.88.99.1" if len(looked_up) % 2 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    monkeypatch.setattr(timeouts, "WEB_CONNECT_S_MAX", 0.2)
    monkeypatch.setattr("ragforge.tools.web_fetch.robots_disallow", _nobody_disallows)
    [call] = await fetched(session, gemini, f"http://rebind.test:{site.port}/page")
    assert call.status is CallStatus.FAILED
    assert looked_up == ["rebind.test"]
    assert site.asked == []


async def _nobody_disallows(url: str, **_: object) -> bool:
    return False


async def test_what_never_ends_and_what_is_no_text_fail(
    session: Session, gemini: GeminiStandIn, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "WEB_S_MAX", 1.0)
    site.put("/hangs", b"begun", Content_Type="text/plain")
    site.put("/image", b"\x89PNG", Content_Type="image/png")
    site.put("/packed", b"x", Content_Type="text/plain", Content_Encoding="br")
    site.put("/torn", b"\x1f\x8bxx", Content_Type="text/plain", Content_Encoding="gzip")
    site.put("/gone", b"<p>Gone</p>", 410, Content_Type="text/html")
    paths = ("hangs", "image", "packed", "torn", "gone")
    calls = await fetched(session, gemini, *(f"{site.url}/{path}" for path in paths))
    assert [call.status for call in calls] == [CallStatus.FAILED] * 5
    assert "did not come within" in calls[0].result
    assert "image/png" in calls[1].result
    assert "Gone" in calls[4].result


@pytest.mark.parametrize(
    ("address", "is_private"),
    [
        ("8.8.8.8", False),
        ("2606:4700::1111", False),
        ("127.0.0.1", True),
        ("0.0.0.0", True),
        ("10.0.0.1", True),
        ("100.64.0.1", True),
        ("169.254.169.254", True),
        ("224.0.0.1", True),
        ("255.255.255.255", True),
        ("::1", True),
        ("fe80::1", True),
        ("fd00::1", True),
        ("::ffff:10.0.0.1", True),
        ("::ffff:8.8.8.8", False),
        ("64:ff9b::7f00:1", True),
        ("64:ff9b::808:808", False),
        ("2002:7f00:1::", True),
    ],
)
def test_which_addresses_are_private(address: str, is_private: bool) -> None:
    assert bool(why_private(ip_address(address))) is is_private
