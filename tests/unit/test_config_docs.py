from pathlib import Path

import pytest

from ragforge.config.keys import KEYS, SettingKey
from ragforge.config.kinds import ProjectMay
from ragforge.config.schema import BUILT_IN_ENDPOINTS

DOCUMENT = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()


@pytest.mark.parametrize("key", KEYS.values(), ids=str)
def test_every_setting_is_documented_as_it_is(key: SettingKey) -> None:
    (row,) = [
        line
        for line in DOCUMENT.splitlines()
        if line.startswith(f"| `{key}` |") and key.about.allowed in line
    ]
    assert key.about.text in row
    if key.default not in {None, ""}:
        assert f"`{str(key.default).lower().removesuffix('.0')}`" in row


def test_what_a_project_may_set_is_documented() -> None:
    section = DOCUMENT.partition("## What a project may set")[2].partition("##")[0]
    for key in KEYS.values():
        assert (f"`{key}`" in section) == (key.about.project is not ProjectMay.NOT)


def test_the_built_in_endpoints_are_documented() -> None:
    assert all(f"`{name}`" in DOCUMENT for name in BUILT_IN_ENDPOINTS)
