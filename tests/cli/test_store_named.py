"""A store that cannot be opened: the error says which setting names it."""

import asyncio
from pathlib import Path

from tests.cli.running import Program


async def test_a_store_that_cannot_be_opened_says_who_named_it(alone: Program, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    place = f"sqlite://{tmp_path}/file/ragforge.db"
    configured = tmp_path / "other"
    configured.mkdir()
    (configured / "config.toml").write_text(f'store = "{place}"\n')
    by_flag, by_variable, by_file, of_command, as_prompt = await asyncio.gather(
        alone.run("--store", place, "sessions"),
        alone.run("sessions", env={"RAGFORGE_STORE": place}),
        alone.run("sessions", env={"RAGFORGE_CONFIG_DIR": str(configured)}),
        alone.run("db", "status", env={"RAGFORGE_CONFIG_DIR": str(configured)}),
        alone.run("-p", "hello", env={"RAGFORGE_STORE": place}),
    )
    assert "Cannot open the store" in by_flag.err
    assert "set on the command line" in by_flag.err
    assert "set by the variable RAGFORGE_STORE" in by_variable.err
    assert f"set by `store` in {configured / 'config.toml'}" in by_file.err
    assert "There is no store" in of_command.err
    assert f"set by `store` in {configured / 'config.toml'}" in of_command.err
    assert "set by the variable RAGFORGE_STORE" in as_prompt.err
    assert {ran.code for ran in (by_flag, by_variable, by_file, of_command, as_prompt)} == {4}


async def test_the_default_store_says_where_its_folder_comes_from(alone: Program) -> None:
    (alone.data / "ragforge.db").write_text("no database at all" * 100)
    ran = await alone.run("sessions")
    assert ran.code == 4
    assert "is not a database" in ran.err
    assert "set by the variable RAGFORGE_DATA_DIR" in ran.err
