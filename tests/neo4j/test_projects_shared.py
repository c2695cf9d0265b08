"""One repository, cloned by several users of one graph, is one project."""

import asyncio
import json
import subprocess
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from ragforge.config.project import Place
from ragforge.domain.ids import new_id
from ragforge.session.project import identify_project
from ragforge.store.base import Store
from ragforge.store.local.state import open_local_state
from tests.cli.running import Program
from tests.contract.builders import NOON, a_project
from tests.faults.graph import url_of
from tests.flow.running import MODEL
from tests.patience import SERVER
from tests.servers.neo4j import Neo4jServer
from tests.standins.gemini import GeminiStandIn
from tests.standins.openai import OpenAIStandIn

Found = tuple[str, list[str]]


async def identified(store: Store, machine: Path, **place: str) -> Found:
    """The project's id, and those of the projects that it may be; on a machine that knows nothing yet."""
    machine.mkdir()
    local = await open_local_state(machine)
    try:
        project, alike = await identify_project(store, local, Place(cwd=machine, root=machine, **place))
    finally:
        await local.close()
    return project.id, [each.id for each in alike]


async def test_three_clones_whose_first_contact_is_a_prompt_are_one_project(
    server: Neo4jServer, there: Store, tmp_path: Path
) -> None:
    name = new_id()
    async with OpenAIStandIn() as model:

        async def begin(user: str, remote: str) -> None:
            folder = tmp_path / user
            folder.mkdir()
            own = {"RAGFORGE_STORE": url_of(server)}
            program = Program(folder, "stand-in:test-model", own, patience=SERVER)
            program.configure(f'[endpoints.stand-in]\nbase_url = "{model.base_url}"\n')
            for line in (["init", "-q"], ["remote", "add", "origin", remote]):
                subprocess.run(["git", *line], cwd=program.project, check=True)
            ran = await program.run("-p", f"I am {user}")
            assert ran.code == 0, ran.err

        remotes = {
            "ada": f"git@example.org:{name}.git",
            "bob": f"https://bob:pw@example.org/{name}",
            "eve": f"ssh://git@Example.org:2222/{name}.git/",
        }
        await asyncio.gather(*(begin(user, remote) for user, remote in remotes.items()))
    found = await there.projects.find(git_remote=f"example.org/{name}")
    assert len(found) == 1
    rows = await there.sessions.recent(project_id=found[0].id)
    assert sorted(row.last_message for row in rows) == ["I am ada", "I am bob", "I am eve"]


async def test_a_remote_joins_by_itself_and_a_first_commit_alone_does_not(
    there: Store, tmp_path: Path
) -> None:
    remote, commit = f"example.org/{new_id()}", new_id()
    old = a_project(git_remote=remote, first_commit=commit)
    await there.projects.add(old)
    assert await identified(there, tmp_path / "clone", git_remote=remote) == (old.id, [])
    fork, alike = await identified(there, tmp_path / "fork", git_remote=f"{remote}-fork", first_commit=commit)
    assert fork != old.id
    assert alike == [old.id]
    # A path names another repository on another machine, unless that began alike.
    path = a_project(git_remote="/srv/zoo", first_commit=new_id())
    await there.projects.add(path)
    assert (await identified(there, tmp_path / "other", git_remote="/srv/zoo", first_commit="x"))[
        0
    ] != path.id
    same = await identified(there, tmp_path / "same", git_remote="/srv/zoo", first_commit=path.first_commit)
    assert same == (path.id, [])


async def test_of_several_projects_of_one_remote_the_oldest_is_used_and_all_are_told(
    there: Store, tmp_path: Path
) -> None:
    remote = f"example.org/{new_id()}"
    projects = [a_project(git_remote=remote, created_at=NOON + timedelta(days=day)) for day in (1, 0, 2)]
    for project in projects:
        await there.projects.add(project)
    used, alike = await identified(there, tmp_path / "clone", git_remote=remote)
    assert used == projects[1].id
    assert alike == [projects[1].id, projects[0].id, projects[2].id]


async def test_three_users_have_one_project_their_own_preferences_and_costs_apart(
    server: Neo4jServer, there: Store, tmp_path: Path
) -> None:
    """Whatever one is and prefers is in nobody else's prompt; what was decided is in everybody's."""
    name = new_id()
    wishes = {
        "ada": "I prefer marmalade colours in every chart.",
        "bob": "I prefer charts with thick lines.",
        "eve": "I prefer the legend of charts in French.",
    }
    async with OpenAIStandIn() as model:
        users = {user: _user(server, model, tmp_path / user, user, name) for user in wishes}
        for user, wish in wishes.items():
            assert (await users[user].run("-p", wish)).code == 0
        assert (await users["ada"].run("-p", "We decided to keep the charts in SVG files.")).code == 0
        for user, wish in wishes.items():
            before = len(model.chats)
            ran = await users[user].run("-p", "How shall we draw the charts? In which colours and files?")
            assert ran.code == 0, ran.err
            sent = json.dumps(model.chats[before:], ensure_ascii=False)
            assert wish.rstrip(".")[-20:] in sent
            assert "SVG" in sent
            others = [each for each in wishes.values() if each != wish]
            assert not [each for each in others if each.rstrip(".")[-20:] in sent]
        found = (await users["bob"].run("search", "charts", "--by", "bob", "--json")).json["hits"]
    [project] = await there.projects.find(git_remote=f"example.org/{name}")
    costs = {each.person: each.calls for each in await there.usage.by_person(project_id=project.id)}
    assert costs == {"ada@example.org": 3, "bob@example.org": 2, "eve@example.org": 2}
    assert {hit["person"] for hit in found} == {"bob@example.org"}


async def test_statistics_of_several_users_add_up_to_the_costs(
    server: Neo4jServer, there: Store, tmp_path: Path
) -> None:
    name = new_id()
    async with GeminiStandIn() as model:
        more = {"GEMINI_API_KEY": model.key, "GOOGLE_GEMINI_BASE_URL": model.url}
        ada, bob = (_clone(server, tmp_path / user, user, name, MODEL, more) for user in ("ada", "bob"))
        for user, count in ((ada, 1), (bob, 2)):
            for _ in range(count):
                assert (await user.run("-p", "Which colours have the charts?")).code == 0
        cost = (await ada.run("cost", "--json")).json
        rows = (await ada.run("stats", "--group", "user", "--json")).json["rows"]
        whole = (await bob.run("stats", "--json")).json["rows"]
        his = (await ada.run("stats", "--by", "bob", "--json")).json["rows"]
        refused = await ada.run("stats", "--by", "somebody-else")
    assert {each["name"]: each["prompts"] for each in rows} == {"ada@example.org": 1, "bob@example.org": 2}
    spent = {each["name"]: each["cost_usd"] for each in rows}
    assert spent == pytest.approx({each["user"]: each["cost_usd"] for each in cost["users"]})
    assert sum(spent.values()) == pytest.approx(cost["project"]["cost_usd"])
    assert sum(each["cost_usd"] for each in whole) == pytest.approx(cost["project"]["cost_usd"])
    assert [each["cost_usd"] for each in his] == pytest.approx([spent["bob@example.org"]])
    assert min(spent.values()) > 0
    assert refused.code == 2
    assert "ada@example.org, bob@example.org" in refused.err, "who has written is named"


def _user(server: Neo4jServer, model: OpenAIStandIn, folder: Path, user: str, repository: str) -> Program:
    """The program on a machine whose git knows the user, in a clone."""
    program = _clone(server, folder, user, repository, "stand-in:test-model", {})
    program.configure(f'[endpoints.stand-in]\nbase_url = "{model.base_url}"\n')
    return program


def _clone(
    server: Neo4jServer, folder: Path, user: str, repository: str, model: str, more: Mapping[str, str]
) -> Program:
    folder.mkdir()
    (folder / "home").mkdir()
    (folder / "home/.gitconfig").write_text(f"[user]\n\temail = {user}@example.org\n")
    own = {"RAGFORGE_STORE": url_of(server), "RAGFORGE_MEMORY_MODEL": "local"}
    program = Program(folder, model, {**own, **more}, patience=SERVER)
    for line in (["init", "-q"], ["remote", "add", "origin", f"git@example.org:{repository}.git"]):
        subprocess.run(["git", *line], cwd=program.project, check=True)
    return program
