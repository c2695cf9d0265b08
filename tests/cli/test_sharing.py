"""A session that one user exports and another imports on a second machine."""

import asyncio
import json
import socket
from pathlib import Path

from tests.cli.running import Program
from tests.standins.openai import OpenAIStandIn, Reply

KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"


async def test_a_session_is_exported_imported_searched_forked_and_its_memories_accepted(
    quick: Program, openai: OpenAIStandIn, tmp_path: Path
) -> None:
    openai.script(Reply(text=["The walrus \x1b[31meats\x1b[0m at noon."]), Reply(text=["At noon."]))
    await quick.run("-p", f"When does the walrus eat? Use yarn, never npm. The key is {KEY}")
    [session] = (await quick.run("sessions", "--json")).json
    id, file = session["id"], tmp_path / "walrus.ragforge"
    counted = await quick.run("sessions", "export", id[-8:], str(file), "--dry-run")
    assert "1 turn" in counted.out
    assert not file.exists()
    ran = await quick.run("sessions", "export", id[-8:], str(file))
    assert (ran.code, ran.err) == (0, "")
    assert "1 turn" in ran.out
    assert (await quick.run("sessions", "export", id, str(file))).code == 2
    assert "was already imported" in (await quick.run("sessions", "import", str(file))).out
    await is_written_to_be_read(quick, id, tmp_path)

    (second := tmp_path / "second").mkdir()
    other = Program(second, quick.model)
    other.configure(f'[endpoints.stand-in]\nbase_url = "{openai.base_url}"\n')
    await asyncio.to_thread((second / "walrus.ragforge").write_bytes, file.read_bytes())
    ran = await other.run("sessions", "import", "../walrus.ragforge")
    assert (ran.code, ran.err) == (0, "")
    assert "shared by" in ran.out
    assert "was already imported" in (await other.run("sessions", "import", "../walrus.ragforge")).out
    [row] = (await other.run("sessions", "--json")).json
    assert row["id"] == id
    assert row["shared_by"]
    assert socket.gethostname() in row["shared_by"]
    assert "shared by" in (await other.run("search", "walrus")).out
    assert row["shared_by"] in (await other.run("search", "walrus", "--json")).json["hits"][0]["shared"]
    similar = (await other.run("similar", "The walrus eats at noon, or when?", "--json")).json["similar"]
    assert [row["shared_by"] in each["shared"] for each in similar] == [True]
    assert "walrus" not in (await other.run("context", "When does the walrus eat?")).out
    assert "npm" not in (await other.run("context", "Which package manager?")).out

    await is_read_only(other, id)
    forked = await other.run("-r", id, "--fork", "-p", "And when?")
    assert (forked.code, forked.out.strip()) == (0, "At noon.")
    assert "walrus" in str(openai.chats[-1])

    [proposal] = (await other.run("proposals", "--json")).json
    assert "yarn" in proposal["content"]
    assert (await other.run("proposals", "accept", "nothing")).code == 2
    assert "Accepted 1 memory." in (await other.run("proposals", "accept", "all")).out
    assert "There are no open proposals." in (await other.run("proposals")).err
    assert "yarn" in (await other.run("context", "Which package manager?")).out


async def is_read_only(program: Program, id: str) -> None:
    refused = await program.run("-r", id, "-p", "go on")
    assert refused.code == 2
    assert refused.err.count("--fork") == 1
    assert [each["here"] for each in (await program.run("project", "list", "--json")).json] == [True]
    merged = await program.run("project", "merge", "shared sessions", "--yes")
    assert (merged.code, "There is no project" in merged.err) == (2, True)


async def is_written_to_be_read(program: Program, id: str, folder: Path) -> None:
    for format in ("md", "html", "json"):
        shown = folder / f"shown.{format}"
        assert (await program.run("sessions", "export", id, str(shown), "--format", format)).code == 0
        assert "walrus" in shown.read_text()
        assert KEY not in shown.read_text()
        assert "\x1b" not in shown.read_text(), "its codes do nothing in a terminal"
    assert "walrus ␛[31meats" in (folder / "shown.md").read_text()
    answer = json.loads((folder / "shown.json").read_text())["turns"][0]["assistant"]
    assert answer == "The walrus \x1b[31meats\x1b[0m at noon."
    assert (await program.run("sessions", "export", id, "x.md", "--files")).code == 2
