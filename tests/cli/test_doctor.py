"""`ragforge doctor`: what works, what does not, and what to do."""

from pathlib import Path

from ragforge.store.local.state import open_local_state
from tests.cli.running import Program


async def grades(program: Program, **more: str) -> dict[str, set[str]]:
    ran = await program.run("doctor", "--json", env=more)
    found: dict[str, set[str]] = {}
    for each in ran.json:
        found.setdefault(each["about"], set()).add(each["grade"])
    assert ran.code == (1 if any("wrong" in each for each in found.values()) else 0)
    return found


async def test_all_is_well_where_it_is(alone: Program) -> None:
    found = await grades(alone)
    assert found.keys() == {"versions", "settings", "store", "model", "foresight", "terminal", "disk"}
    assert not any("wrong" in each for each in found.values())
    ran = await alone.run("doctor")
    assert ran.code == 0
    assert "ok     store" in ran.out
    ran = await alone.run("doctor", env={"RAGFORGE_METRICS_LISTEN": "0.0.0.0:9464"})
    assert ran.code == 0
    assert (
        "note   settings   Other computers may be able to read this run's metrics at 0.0.0.0:9464" in ran.out
    )
    without_git = await alone.run("doctor", env={"PATH": ""})
    assert "and /review covers turns only. ok" in " ".join(without_git.out.split()), without_git.out
    local = await open_local_state(alone.data)
    for _ in range(3):
        await local.chosen.add_answer("gemini:gemini-3.5-flash-lite", usable=False)
    await local.close()
    ran = await alone.run("doctor")
    told = "3 of the last 40 structured answers of gemini:gemini-3.5-flash-lite were unusable"
    assert f"{told}, so foresight is paused for this model.\n" in ran.out


async def test_before_the_first_start_that_there_is_no_store_yet_is_no_fault(
    alone: Program, tmp_path: Path
) -> None:
    ran = await alone.run("doctor", env={"RAGFORGE_DATA_DIR": str(tmp_path / "new")})
    assert ran.code == 0, ran
    assert "note   store      not created yet; the first start creates it in" in ran.out
    named = await alone.run("doctor", env={"RAGFORGE_STORE": f"sqlite://{tmp_path}/other.db"})
    assert named.code == 1
    assert "There is no store" in named.out


async def test_each_thing_that_is_broken_is_named_and_the_others_are_checked(alone: Program) -> None:
    found = await grades(alone, RAGFORGE_MODEL="openai:gpt-x", RAGFORGE_STORE="bolt://127.0.0.1:1")
    assert "wrong" in found["model"]
    assert found["store"] != {"ok"}
    assert found["versions"]
    alone.configure("modelx = 1\n")
    ran = await alone.run("doctor")
    assert ran.code == 1
    assert ran.out.count("modelx") == 1, "one reason is told once"
    assert "for the same reason as settings" in ran.out
    assert "versions" in ran.out
