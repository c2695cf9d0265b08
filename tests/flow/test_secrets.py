"""A key that a model got hold of reaches neither the store nor the model again, whatever it puts it in."""

import json
from pathlib import Path

import pytest

from ragforge.commands.base import run_command
from ragforge.domain.events import AgentEvent, TextDelta, ThoughtDelta
from ragforge.session.export import as_markdown
from tests.flow.beside import until
from tests.flow.running import ended, environ, of_type, opened, say
from tests.planted import PLANTED, samples
from tests.standins.gemini import Call, Calls, Finish, GeminiStandIn, Reply, Text

KEY = "AQ.Zk9-secret_key/With+odd=chars42"
SHAPED = "AIzaSy" + "A1b2C3d4E5f" * 3
"""A key that is known by its form only."""
PIECES = [KEY[at : at + 3] for at in range(0, len(KEY), 3)]


def holders(folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if KEY.encode() in path.read_bytes()]


def shown(events: list[AgentEvent]) -> str:
    return "".join(event.text for event in of_type(events, TextDelta) + of_type(events, ThoughtDelta))


@pytest.mark.parametrize(
    "replies",
    [
        [Text("It is ", *PIECES, ".")],
        [Text("It is ", *PIECES, "."), Finish("MAX_TOKENS")],
        [Calls(Call("shell", {"command": f"echo {KEY}"})), Text("Done.")],
        [Calls(Call("write", {"path": "new.txt", "content": KEY})), Text("Done.")],
        [Calls(Call(f"no-{KEY[:20]}", {KEY: KEY})), Text("Done.")],
        [Calls(Call("read", {"path": KEY, "wrong": [KEY]})), Text("Done.")],
    ],
    ids=["text", "cut text", "command", "content", "unknown tool", "wrong arguments"],
)
async def test_what_a_model_says_is_kept_without_configured_secrets(
    tmp_path: Path, replies: list[Reply]
) -> None:
    async with GeminiStandIn(key=KEY) as gemini, opened(tmp_path, environ(tmp_path, gemini)) as session:
        gemini.script(*([tuple(replies)] if isinstance(replies[-1], Finish) else replies), Text("Yes."))
        events = await say(session, "hi")
        assert KEY not in repr(events)
        assert KEY not in shown(events)
        assert ended(await say(session, "and now?")).assistant == "Yes."
        holding = holders(tmp_path / "data")
        if holders(session.cwd):
            # A file of the project must come back to the last byte; nothing else than its content holds it.
            holding = [name for name in holding if not name.startswith("blobs.db")]
        assert holding == []
        assert KEY not in await as_markdown(
            session.workspace.store, session.workspace.redactor, session.live.record
        )
        assert not any(KEY in json.dumps(request.body) for request in gemini.asked())


async def test_what_only_looks_like_a_key_is_written_and_kept_as_the_model_said_it(tmp_path: Path) -> None:
    url = "postgres://user:changeit@localhost/db"
    async with GeminiStandIn(key=KEY) as gemini, opened(tmp_path, environ(tmp_path, gemini)) as session:
        gemini.script(Calls(Call("write", {"path": "c.ini", "content": url})), Text(f"Set to {url}."))
        events = await say(session, "set it up")
        assert (session.cwd / "c.ini").read_text() == url
        assert shown(events) == ended(events).assistant == f"Set to {url}."


async def test_the_name_of_an_image_is_kept_without_configured_secrets(tmp_path: Path) -> None:
    async with GeminiStandIn() as gemini, opened(tmp_path, environ(tmp_path, gemini)) as session:
        name = f"{gemini.key}.png"
        (session.cwd / name).write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
        gemini.script(Calls(Call("read", {"path": name})), Text("Seen."))
        events = await say(session, "look")
        assert gemini.key not in repr(events)
        stored = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
        assert not any(gemini.key.encode() in path.read_bytes() for path in stored)


async def test_planted_secrets_reach_neither_disk_nor_model(tmp_path: Path) -> None:
    planted = [secret for _, secret in samples().values()] + list(PLANTED.values())
    texts = [text for text, _ in samples().values()] + list(PLANTED)
    async with GeminiStandIn() as gemini, opened(tmp_path, environ(tmp_path, gemini)) as session:
        (session.cwd / "notes.txt").write_text("\n\n".join(texts[::2]))
        (session.cwd / "more.txt").write_text("\n\n".join(texts[1::2]))
        gemini.script(Calls(Call("read", {"path": "notes.txt"}), Call("shell", {"command": "cat more.txt"})))
        events = await say(session, "\n\n".join(texts))
        await session.workspace.background.finish(timeout_s=60)
        stored = b"".join(
            path.read_bytes()
            for path in (tmp_path / "data").rglob("*")
            if path.is_file() and not path.name.startswith("blobs.db")
        )
        shown = as_printed(events) + await as_markdown(
            session.workspace.store, session.workspace.redactor, session.live.record
        )
        sent = "".join(json.dumps(request.body) for request in gemini.requests)
    for secret in planted:
        assert secret.encode() not in stored, secret
        assert secret not in shown, secret
        assert json.dumps(secret)[1:-1] not in sent, secret


def as_printed(events: list[AgentEvent]) -> str:
    return "\n".join(map(str, events))


@pytest.mark.parametrize("before", [28, 42, 49])
async def test_a_title_holds_no_part_of_a_secret_that_it_cuts(
    tmp_path: Path, gemini: GeminiStandIn, before: int
) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        await say(session, f"{'a ' * (before // 2)}{SHAPED} is the key")
        assert SHAPED[:8] not in session.live.record.title

        async def titles() -> list[str]:
            rows = await session.workspace.store.versions.rows(session.workspace.project.id)
            return [each.version.title for each in rows if "a a a" in each.version.title]

        assert not any(SHAPED[:8] in each for each in await until(titles))


async def test_a_title_that_is_given_holds_no_part_of_a_secret_that_it_cuts(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        await say(session, "hi")
        for before in (160, 185):
            await run_command(session, "rename", f"{'a ' * (before // 2)}{SHAPED} is the key")
            assert SHAPED[:8] not in session.live.record.title
            found = await session.workspace.store.sessions.get(session.id)
            assert found is not None
            assert found.title == session.live.record.title
