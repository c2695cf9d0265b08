import stat
import tomllib
from pathlib import Path

import pytest

from ragforge.config.edit import set_value, unset
from ragforge.domain.errors import UsageError

WRITTEN = """\
# my settings
mode = "plan"  # careful

[turn]
# not too long
steps_max = 20

[endpoints.mine]
base_url = "http://gpu:9/v1"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(WRITTEN)
    return path


def test_changing_a_value_keeps_comments_and_everything_else(file: Path) -> None:
    set_value(file, "mode", "ask")
    set_value(file, "turn.steps_max", "30")
    assert file.read_text() == WRITTEN.replace('"plan"', '"ask"').replace("20", "30")


def test_new_keys_find_their_section(file: Path) -> None:
    set_value(file, "model", "ollama:qwen3")
    set_value(file, "mouse", "false")
    set_value(file, "turn.price_usd_max", "0.5")
    set_value(file, "retry.attempts_max", 2)
    set_value(file, "endpoints.other.base_url", "http://x/v1")
    set_value(file, "endpoints.other.key_env", "X_KEY")
    found = tomllib.loads(file.read_text())
    assert (found["model"], found["mouse"], found["turn"]) == (
        "ollama:qwen3",
        False,
        {"steps_max": 20, "price_usd_max": 0.5},
    )
    assert found["retry"] == {"attempts_max": 2}
    assert found["endpoints"]["other"] == {"base_url": "http://x/v1", "key_env": "X_KEY"}
    assert "# careful" in file.read_text()


def test_a_first_value_makes_the_file_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "new" / "config.toml"
    set_value(file, "turn.steps_max", 5)
    assert tomllib.loads(file.read_text()) == {"turn": {"steps_max": 5}}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("mode", "all", "--yolo"),
        ("turn.steps_max", "many", "a whole number"),
        ("turn.step_max", 5, r"turn\.steps_max"),
        ("turn", 5, "a section"),
        ("endpoints.new.key_env", "X", "no base_url"),
        ("endpoints.gemini.base_url", "http://x", "is a built-in provider"),
        ("", "x", "unknown setting"),
    ],
)
def test_what_would_not_load_is_not_written(file: Path, key: str, value: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        set_value(file, key, value)
    assert file.read_text() == WRITTEN
    assert list(file.parent.iterdir()) == [file]


def test_broken_files_are_left_alone(file: Path) -> None:
    file.write_text("mode = [")
    with pytest.raises(UsageError, match="not valid TOML"):
        set_value(file, "mode", "ask")
    file.write_text("turn = 5\n")
    with pytest.raises(UsageError, match="turn is a section"):
        set_value(file, "turn.steps_max", 5)
    file.write_text("wrong = 5\n")
    with pytest.raises(UsageError, match="unknown setting 'wrong'"):
        set_value(file, "mode", "ask")
    assert file.read_text() == "wrong = 5\n"


def test_unset_removes_the_value_and_an_empty_section(file: Path) -> None:
    assert unset(file, "turn.steps_max")
    assert not unset(file, "turn.steps_max")
    assert not unset(file, "shell.timeout_s")
    assert unset(file, "mode")
    assert tomllib.loads(file.read_text()) == {"endpoints": {"mine": {"base_url": "http://gpu:9/v1"}}}


def test_unset_mends_a_file_that_is_wrong(file: Path) -> None:
    file.write_text('wrong = 1\nworse = 2\nmode = "plan"\n')
    assert unset(file, "wrong")
    assert unset(file, "worse")
    assert file.read_text() == 'mode = "plan"\n'


def test_unset_does_not_leave_an_endpoint_without_its_url(file: Path) -> None:
    set_value(file, "endpoints.mine.key_env", "X")
    with pytest.raises(UsageError, match="no base_url"):
        unset(file, "endpoints.mine.base_url")


def test_unset_in_no_file_is_no_error(tmp_path: Path) -> None:
    assert not unset(tmp_path / "none.toml", "mode")
    assert list(tmp_path.iterdir()) == []


def test_a_linked_file_stays_a_link_and_keeps_its_mode(tmp_path: Path, file: Path) -> None:
    file.chmod(0o644)
    link = tmp_path / "link.toml"
    link.symlink_to(file)
    set_value(link, "mode", "ask")
    assert link.is_symlink()
    assert 'mode = "ask"' in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


@pytest.mark.parametrize(
    "text",
    [
        "[turn]\nsteps_max = 1\n[shell]\ntimeout_s = 2\n[turn.x]\n",
        "turn.steps_max = 1\nturn.price_usd_max = 2\n",
        "turn = {steps_max = 1}\n",
        "[endpoints.a]\nbase_url='http://x'\n[turn]\nsteps_max = 1\n[endpoints.b]\nbase_url='http://x'\n",
        "[turn]\r\nsteps_max = 1\r\n",
        "\ufeff[turn]\nsteps_max = 1",
    ],
)
def test_every_way_of_writing_a_section_can_be_changed(file: Path, text: str) -> None:
    file.write_text(text, newline="")
    before = tomllib.loads(text.removeprefix("\ufeff"))
    set_value(file, "turn.steps_max", 7)
    set_value(file, "mode", "plan")
    set_value(file, "endpoints.b.base_url", "http://y")
    after = tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    before["turn"]["steps_max"] = 7
    before.setdefault("endpoints", {})["b"] = {"base_url": "http://y"}
    assert after == {**before, "mode": "plan"}


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="Cannot make the folder"):
        set_value(tmp_path / "file" / "config.toml", "mode", "ask")


def test_a_list_is_written_as_a_list(file: Path) -> None:
    set_value(file, "history.alternatives_carry", ".venv,node_modules")
    assert tomllib.loads(file.read_text())["history"] == {"alternatives_carry": [".venv", "node_modules"]}
