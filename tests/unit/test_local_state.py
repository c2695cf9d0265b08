import asyncio
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest
import pytest_asyncio

from ragforge.domain.approvals import Rule
from ragforge.domain.errors import StoreDamaged, StoreError, StoreMoved, StoreNewer, StoreUnavailable
from ragforge.domain.messages import ImagePart, TextPart
from ragforge.store.local.state import LocalState, open_local_state
from ragforge.store.schemas import LOCAL
from ragforge.store.sqlite.prepare import Schema, prepare
from tests.disks import small_disk


@pytest_asyncio.fixture
async def local(tmp_path: Path) -> AsyncIterator[LocalState]:
    state = await open_local_state(tmp_path, history_max=5)
    yield state
    await state.close()


async def reopened(state: LocalState) -> LocalState:
    await state.close()
    return await open_local_state(state.path.parent, history_max=5)


async def test_history_is_newest_first_and_per_project(local: LocalState) -> None:
    await local.prompts.add("one", project_id="a")
    await local.prompts.add("two", project_id="b")
    await local.prompts.add("three", project_id="a")
    assert await local.prompts.history() == ["three", "two", "one"]
    assert await local.prompts.history(project_id="a") == ["three", "one"]
    assert await local.prompts.history(limit=1) == ["three"]


async def test_a_repeated_prompt_is_kept_once(local: LocalState) -> None:
    await local.prompts.add("one", project_id="a")
    await local.prompts.add("other project", project_id="b")
    await local.prompts.add("one", project_id="a")
    assert await local.prompts.history() == ["other project", "one"]


async def test_history_search_ignores_case_in_every_script(local: LocalState) -> None:
    await local.prompts.add("Größe der TÜR", project_id="a")
    await local.prompts.add("100%_done", project_id="a")
    assert await local.prompts.history(containing="tür") == ["Größe der TÜR"]
    assert await local.prompts.history(containing="%_") == ["100%_done"]
    assert await local.prompts.history(containing="%x") == []


async def test_history_forgets_the_oldest_beyond_its_limit(local: LocalState) -> None:
    for number in range(8):
        await local.prompts.add(str(number), project_id="a")
    assert await local.prompts.history() == ["7", "6", "5", "4", "3"]


async def test_a_history_of_none_keeps_none(tmp_path: Path) -> None:
    state = await open_local_state(tmp_path, history_max=0)
    await state.prompts.add("secret plan", project_id="a")
    assert await state.prompts.history() == []
    await state.close()


@pytest.mark.parametrize(
    "text", ["half \ud83d a character", "a zero \0 byte", "line\nline\r\n\ttab", "🦊" * 5000]
)
async def test_any_text_is_kept(local: LocalState, text: str) -> None:
    await local.prompts.add(text, project_id="a")
    await local.prompts.set_draft("s", text)
    kept = text.replace("\ud83d", "?")
    assert await local.prompts.history() == [kept]
    assert await local.prompts.draft("s") == kept


@pytest.mark.parametrize("replaced", [False, True])
async def test_nothing_is_written_where_nobody_would_find_it(local: LocalState, replaced: bool) -> None:
    await local.prompts.set_draft("s", "typed")
    away = local.path.rename(local.path.with_name("away.db"))
    if replaced:
        local.path.write_bytes(away.read_bytes())
    with pytest.raises(StoreMoved, match="removed, moved or replaced") as raised:
        await local.trust.add_rules("p", [Rule("shell", "ls")])
    assert "permission rules" in str(raised.value)
    assert "start it again" in str(raised.value)
    away.replace(local.path)
    await local.prompts.set_draft("s", "typed on")
    assert await local.prompts.draft("s") == "typed on"


async def test_a_file_that_was_removed_before_it_was_read_is_named(local: LocalState) -> None:
    local.path.unlink()
    with pytest.raises(StoreMoved, match="start it again"):
        await local.prompts.history()


async def test_blank_prompts_are_no_history(local: LocalState) -> None:
    await local.prompts.add(" \n", project_id="a")
    assert await local.prompts.history() == []


async def test_drafts_survive_the_process_and_empty_text_clears_them(local: LocalState) -> None:
    await local.prompts.set_draft("cwd:/tmp/gr\udce9n", "half a thou")
    again = await reopened(local)
    assert await again.prompts.draft("cwd:/tmp/gr\udce9n") == "half a thou"
    assert await again.prompts.draft("cwd:/tmp") == ""
    await again.prompts.set_draft("cwd:/tmp/gr\udce9n", "")
    assert await again.prompts.draft("cwd:/tmp/gr\udce9n") == ""
    await again.close()


async def test_the_queue_comes_back_whole_and_in_order(local: LocalState) -> None:
    messages = [(TextPart("first"),), (TextPart("see"), ImagePart("ab12", "image/png", "shot.png"))]
    await local.prompts.set_queue("s", messages)
    again = await reopened(local)
    assert await again.prompts.queue("s") == messages
    assert await again.prompts.queue("other") == []
    await again.prompts.set_queue("s", [])
    assert await again.prompts.queue("s") == []
    await again.close()


async def test_rules_belong_to_their_project(local: LocalState) -> None:
    status, edits = Rule("shell", "git status"), Rule("edit", "src/**")
    await local.trust.add_rules("a", [status, edits])
    await local.trust.add_rules("a", [status])
    await local.trust.add_rules("b", [edits])
    assert await local.trust.rules("a") == [status, edits]
    assert await local.trust.remove_rule("a", status)
    assert not await local.trust.remove_rule("a", status)
    assert await local.trust.rules("a") == [edits]
    assert await local.trust.rules("b") == [edits]


async def test_a_path_leads_to_its_project_and_back(local: LocalState) -> None:
    old, new = Path("/src/old"), Path("/src/gr\udce9n")
    await local.places.set_project(old, "a")
    await local.places.set_project(new, "a")
    assert await local.places.project_at(new) == "a"
    assert await local.places.paths_of("a") == [new, old]
    await local.places.set_project(old, "b")
    assert await local.places.paths_of("a") == [new]
    assert await local.places.project_at(Path("/nowhere")) is None


async def test_a_folder_is_known_by_itself_whatever_it_is_called(local: LocalState) -> None:
    old, new = Path("/src/old"), Path("/src/gr\udce9n")
    await local.places.set_project(old, "a")
    await local.places.set_folder(old, "1:2")
    await local.places.set_folder(new, "1:2")
    assert await local.places.places_of("1:2") == [(old, "a")], "an unknown path is no place"
    await local.places.set_project(new, "b")
    await local.places.set_folder(new, "1:2")
    await local.places.set_project(old, "c")
    assert sorted(await local.places.places_of("1:2")) == sorted([(old, "c"), (new, "b")])
    await local.places.set_folder(old, "")
    assert await local.places.places_of("1:2") == [(new, "b")]


async def test_drafts_move_with_the_folder_and_displace_none(local: LocalState) -> None:
    for key in ("cwd:/a", "cwd:/a/sub", "cwd:/ab", "cwd:/b/sub"):
        await local.prompts.set_draft(key, key)
    await local.prompts.move_drafts(Path("/a"), Path("/b"))
    assert (await local.prompts.draft("cwd:/a"), await local.prompts.draft("cwd:/b")) == ("", "cwd:/a")
    for key in ("cwd:/a/sub", "cwd:/ab", "cwd:/b/sub"):
        assert await local.prompts.draft(key) == key


async def test_places_of_an_older_version_stay(tmp_path: Path) -> None:
    older = Schema(application_id=LOCAL.application_id, steps=LOCAL.steps[:5])
    prepare(tmp_path / "local.db", older, lock_dir=tmp_path / "locks")
    connection = apsw.Connection(str(tmp_path / "local.db"))
    connection.execute("INSERT INTO place VALUES (?, 'a', 0)", (b"/src/old",))
    connection.close()
    local = await open_local_state(tmp_path)
    assert await local.places.project_at(Path("/src/old")) == "a"
    await local.places.set_folder(Path("/src/old"), "1:2")
    assert await local.places.places_of("1:2") == [(Path("/src/old"), "a")]
    await local.close()


async def test_an_answer_about_a_command_holds_for_its_very_text_in_its_folder(local: LocalState) -> None:
    folder, setting = Path("/home/x"), "history.check_command"
    assert await local.trust.may_run(folder, setting, "make test") is None
    await local.trust.set_may_run(folder, setting, "make test", may_run=True)
    await local.trust.set_may_run(folder, setting, "make", may_run=False)
    local = await reopened(local)
    assert await local.trust.may_run(folder, setting, "make test") is True
    assert await local.trust.may_run(folder, setting, "make") is False
    for other in ((folder, setting, "make  test"), (Path("/home"), setting, "make"), (folder, "", "make")):
        assert await local.trust.may_run(*other) is None
    await local.trust.set_may_run(folder, setting, "make", may_run=True)
    assert await local.trust.may_run(folder, setting, "make") is True
    await local.close()


async def test_confirmed_folders_and_the_last_model_are_remembered(local: LocalState) -> None:
    assert not await local.places.is_confirmed(Path("/home/x"))
    assert await local.chosen.last_model() == ""
    await local.places.confirm_folder(Path("/home/x"))
    await local.chosen.set_last_model("gemini:a")
    await local.chosen.set_last_model("ollama:b")
    assert await local.places.is_confirmed(Path("/home/x"))
    assert not await local.places.is_confirmed(Path("/home"))
    assert await local.chosen.last_model() == "ollama:b"


async def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    state = await open_local_state(tmp_path / "made" / "data")
    await state.chosen.set_last_model("x:y")
    made = [path for path in (tmp_path / "made").rglob("*") if path.is_file()]
    assert state.path in made
    assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o600}
    assert stat.S_IMODE((tmp_path / "made" / "data").stat().st_mode) == 0o700
    await state.close()


WRITER = """
import asyncio, sys
from pathlib import Path
from ragforge.store.local.state import open_local_state

async def main():
    local = await open_local_state(Path(sys.argv[1]))
    for number in range(20):
        await local.prompts.add(f"{sys.argv[2]} {number}", project_id="a")
    await local.close()

asyncio.run(main())
"""


async def test_several_processes_open_a_new_one_and_write_at_once(tmp_path: Path) -> None:
    writers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITER, str(tmp_path), name, stderr=subprocess.PIPE
        )
        for name in ("x", "y", "z")
    ]
    for writer in writers:
        _, errors = await writer.communicate()
        assert writer.returncode == 0, errors.decode()
    state = await open_local_state(tmp_path)
    prompts = await state.prompts.history()
    assert len(prompts) == 60
    assert [text for text in prompts if text.startswith("y")] == [f"y {n}" for n in reversed(range(20))]
    await state.close()


async def test_a_newer_file_is_refused(local: LocalState) -> None:
    await local.close()
    connection = apsw.Connection(str(local.path))
    connection.pragma("user_version", 99)
    connection.close()
    with pytest.raises(StoreNewer, match=r"local\.db was written by a newer ragforge"):
        await open_local_state(local.path.parent)


async def test_a_damaged_file_is_named_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "local.db").write_bytes(b"not a database, but somebody's words" * 100)
    with pytest.raises(StoreDamaged, match=r"local\.db cannot be used .*but no conversations.*Move it away"):
        await open_local_state(tmp_path)
    assert (tmp_path / "local.db").read_bytes().startswith(b"not a database")


async def test_a_full_disk_is_named_as_that(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk"):
        state = await open_local_state(tmp_path / "disk")
        await state.prompts.add("one", project_id="a")
        await state.close()
        filled = subprocess.run(
            ["dd", "if=/dev/zero", f"of={tmp_path}/disk/rest"], check=False, capture_output=True
        )
        assert b"No space left" in filled.stderr
        with pytest.raises(StoreUnavailable, match=r"disk is full\. Free some space"):
            await open_local_state(tmp_path / "disk")


async def test_damage_found_while_reading_is_told(local: LocalState) -> None:
    for number in range(5):
        await local.prompts.add(f"{number} " + "long text " * 2000, project_id="a")
    await local.close()
    content = bytearray(local.path.read_bytes())
    whole = len(content) - 60_000  # what is behind it are the texts
    content[whole:] = b"\xff" * (len(content) - whole)
    local.path.write_bytes(content)
    state = await open_local_state(local.path.parent)
    with pytest.raises(StoreDamaged, match="but no conversations"):
        await state.prompts.history()
    await state.close()


async def test_a_database_of_another_program_is_not_touched(tmp_path: Path) -> None:
    other = apsw.Connection(str(tmp_path / "local.db"))
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    with pytest.raises(StoreDamaged, match="different kind"):
        await open_local_state(tmp_path)


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnavailable, match="RAGFORGE_DATA_DIR"):
        await open_local_state(tmp_path / "file" / "data")


async def test_use_after_close_is_an_error_for_people(local: LocalState) -> None:
    await local.close()
    with pytest.raises(StoreError, match=r"local\.db"):
        await local.prompts.history()


async def test_a_new_folder_gets_one_project_however_many_come_to_it(local: LocalState) -> None:
    other = await open_local_state(local.path.parent)
    here = Path("/src/new")
    first, second = await asyncio.gather(
        local.places.project_at_or(here, "a"), other.places.project_at_or(here, "b")
    )
    assert first == second
    assert await local.places.project_at_or(here, "c") == first
    await other.close()
