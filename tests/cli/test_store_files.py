"""The table of the store's files."""

from ragforge.store.files import Role, StoreFile, store_files
from ragforge.store.role_schemas import schema_of
from tests.cli.running import Program
from tests.standins.openai import Call, OpenAIStandIn, Reply


async def test_every_database_that_a_run_leaves_is_in_the_table(quick: Program, openai: OpenAIStandIn):
    (quick.project / "a").write_text("a")
    openai.script(Reply(calls=[Call("shell", '{"command": "touch b"}')]), Reply(text=["Done."]))
    assert (await quick.run("--yolo", "-p", "go")).code == 0
    table = store_files(quick.data, f"sqlite://{quick.data / 'ragforge.db'}")
    paths = {row.path: row.role for row in table if isinstance(row, StoreFile)}
    assert set(quick.data.rglob("*.db")) == set(paths)
    assert set(paths.values()) == set(Role) - {Role.OUTBOX}


def test_each_role_has_a_database_of_its_own_kind():
    assert len({schema_of(role).application_id for role in Role}) == len(Role)
