"""What it takes to keep one more field of a turn: its struct with the description, and a step of SQL."""

import shutil
import subprocess
import sys
from pathlib import Path

import ragforge

PACKAGE = Path(ragforge.__file__).parent

STRUCT = (
    '    error: str = ""\n    usage: Usage',
    '    error: str = ""\n    mood: str = "calm"\n    usage: Usage',
)
DESCRIPTION = (
    '    later=("person", "purpose"),\n    texts=("user"',
    '    later=("person", "purpose", "mood"),\n    texts=("user"',
)
STEP = """
MOOD = "ALTER TABLE turn ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'"
STORE = Schema(STORE.application_id, (*STORE.steps, MOOD))
"""

BEFORE = """
import asyncio, sys
from pathlib import Path
from ragforge.store.archive_lines import to_line
from ragforge.store.open import open_store
from tests.contract.builders import new_session, said

async def main(folder):
    store = await open_store(f"sqlite://{folder}/old.db", machine_dir=folder)
    await said(store, await new_session(store))
    lines = [to_line(record) async for record in store.archive.dump()]
    (folder / "old.jsonl").write_text("\\n".join(lines))
    await store.close()

asyncio.run(main(Path(sys.argv[1])))
"""

AFTER = """
import asyncio, json, sys
from datetime import timedelta
from pathlib import Path
from msgspec.structs import replace
from ragforge.domain.turns import Turn
from ragforge.store.archive_lines import exact_form, from_plain, to_line
from ragforge.store.neo4j.load_new import COLUMNS
from ragforge.store.neo4j.nodes import FIELDS
from ragforge.store.neo4j.outbox import open_outbox
from ragforge.store.neo4j.rows import Label, turn_of, turn_row
from ragforge.store.open import open_store
from tests.contract.builders import a_turn, an_end, new_session

async def turns_of(store):
    return [record async for record in store.archive.dump() if isinstance(record, Turn)]

async def main(folder):
    store = await open_store(f"sqlite://{folder}/old.db", machine_dir=folder)
    (old,) = await turns_of(store)
    assert old.mood == "calm"
    lines = [json.loads(line) for line in (folder / "old.jsonl").read_text().splitlines()]
    assert old in [from_plain(line) for line in lines], "a backup of before"

    session = await new_session(store)
    turn = a_turn(session, mood="glad")
    await store.turns.start(turn)
    await store.turns.end(an_end(turn))
    glad = await store.turns.get(turn.id)
    assert glad.mood == "glad"
    assert [each.mood for each in await store.turns.path(turn.id)] == ["glad"]
    assert [each.mood for each in await store.summaries.lacking()] == ["calm", "glad"]
    again = from_plain(json.loads(to_line(glad)))
    assert again == glad
    assert exact_form(again) != exact_form(replace(glad, mood="sad"))

    copy = await open_store(f"sqlite://{folder}/copy.db", machine_dir=folder / "copy")
    records = [record async for record in store.archive.dump()]
    assert await copy.archive.load(records) == len(records)
    newer = replace(glad, mood="sad", ended_at=glad.ended_at + timedelta(hours=1))
    assert await copy.archive.load([newer]) == 1
    assert {each.mood for each in await turns_of(copy)} == {"calm", "sad"}

    assert "mood" in FIELDS[Label.TURN] and "mood" in COLUMNS[Label.TURN]
    outbox = open_outbox(folder / "outbox.db", lock_dir=folder / "locks")
    row = turn_row(glad, project_id="p")
    await outbox.write(lambda rows: rows.put(Label.TURN, glad.id, row))
    waiting = await outbox.read(lambda rows: rows.get(Label.TURN, glad.id))
    assert turn_of(waiting.props) == glad
    del row["mood"]
    assert turn_of(row).mood == "calm", "a node of before"
    for each in (outbox, store, copy):
        await each.close()

asyncio.run(main(Path(sys.argv[1])))
"""


def test_a_field_of_a_turn_is_added_in_two_files(tmp_path: Path) -> None:
    run(BEFORE, tmp_path, package=PACKAGE.parent)
    copy = tmp_path / "program"
    shutil.copytree(PACKAGE, copy / "ragforge", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "tests").symlink_to(Path(__file__).parents[1])
    change(copy / "ragforge/domain/turns.py", STRUCT, DESCRIPTION)
    migrations = copy / "ragforge/store/sqlite/migrations.py"
    migrations.write_text(migrations.read_text() + STEP)
    run(AFTER, tmp_path, package=copy)


def change(file: Path, *changes: tuple[str, str]) -> None:
    text = file.read_text()
    for before, after in changes:
        assert text.count(before) == 1
        text = text.replace(before, after)
    file.write_text(text)


def run(script: str, folder: Path, *, package: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-c", script, str(folder)],
        cwd=package,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert found.returncode == 0, found.stderr
