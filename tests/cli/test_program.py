"""`ragforge program`: programs written and changed as whole runs against the stand-in."""

import json
import shutil
from pathlib import Path

from ragforge.session.program_files import SHIPPED
from ragforge.workflow.rehearsal import ScriptedAnswer
from tests.cli.running import Program
from tests.program_answers import CREATING, GREETING, WHOLE, answer
from tests.standins.gemini import GeminiStandIn, Text


async def test_a_program_is_written_changed_undone_and_run(program: Program, gemini: GeminiStandIn) -> None:
    answer(gemini)
    folder = program.tmp_path / "config" / "programs"
    refused = await program.run("program", "new", "sort my mail")
    assert refused.code == 1
    assert "+    DISPLAY 'whole'" in refused.err
    assert "--yes to keep it" in refused.err
    assert not folder.exists()

    made = await program.run("program", "new", "sort my mail", "--yes")
    assert made.code == 0, made.err
    assert (folder / "mails.spu").read_text().endswith(WHOLE)
    changed = await program.run("program", "change", "mails", "add a greeting", "--yes")
    assert changed.code == 0, changed.err
    second = (folder / "mails.spu").read_text()
    assert GREETING[0]["new"] in second

    undone = await program.run("program", "undo")
    assert undone.code == 0, undone.err
    first = (folder / "mails.spu").read_text()
    assert GREETING[0]["new"] not in first
    shown = await program.run("program", "alternatives", "mails")
    assert {"comprehensive", "optimized", "performance"} <= set(shown.out.splitlines())
    assert '"score": 0.9' in shown.out
    assert (await program.run("program", "redo", "mails")).code == 0
    assert (folder / "mails.spu").read_text() == second
    asked = len(gemini.requests)
    assert (await program.run("program", "explain")).out == "It reads the mail and shows it.\n"
    assert len(gemini.requests) == asked + 1  # what was meant is sure

    (folder / "mails.spu").write_text(second + "; by hand\n")
    log = await program.run("program", "log", "mails", "--json")
    hand, two, one = log.json["versions"]
    assert [each["parents"] for each in (hand, two, one)] == [[two["version"]], [one["version"]], []]
    assert hand["by"] == "person"
    assert hand["head"]
    moves = [(each["action"], each["from"], each["to"]) for each in log.json["checkouts"]]
    assert moves == [("redo", one["version"], two["version"]), ("undo", two["version"], one["version"])]

    assert (await program.run("program", "branch", "mails", "old", one["version"][-8:])).code == 0
    assert (await program.run("program", "checkout", "mails", "old")).code == 0
    assert (folder / "mails.spu").read_text() == first
    by_hand = await program.run("program", "show", "mails", hand["version"][-8:])
    assert by_hand.out == f"{second}; by hand\n"
    assert "HEAD -> old" in (await program.run("program", "log")).out

    await finds_what_was_said(program)
    await keeps_an_example_and_merges(program, gemini, hand["version"])


async def finds_what_was_said(program: Program) -> None:
    found = (await program.run("search", "sort my mail", "--json")).json["hits"]
    assert ("program", "user_prompt", "sort my mail") in [
        (each["kind"], each["type"], each["text"]) for each in found
    ]
    missing = await program.run("program", "show", "mails", "nowhere")
    assert "`ragforge program log mails` lists the versions" in missing.err


async def keeps_an_example_and_merges(program: Program, gemini: GeminiStandIn, other: str) -> None:
    file = program.tmp_path / "config" / "programs" / "mails.spu"
    gemini.when("the mail", (Text("Mail from Ann."),))
    assert (await program.run("run", "mails")).out == "Mail from Ann.\nwhole\n"
    assert (await program.run("program", "example", "mails", "--yes")).code == 0
    [example] = file.with_name("mails.spu.test").read_text().splitlines()
    assert json.loads(example) == {
        "inputs": [],
        "answers": [{"task": "", "answer": "Mail from Ann.", "has": ""}],
        "display": ["Mail from Ann.", "whole"],
    }
    gemini.rules.clear()
    answer(gemini, [*CREATING, ScriptedAnswer("merge_code", f"{WHOLE}    DISPLAY 'merged'\n")])
    merged = await program.run("program", "merge", "mails", other[-8:], "--yes")
    assert merged.code == 0, merged.err
    newest = (await program.run("program", "log", "mails", "--json")).json["versions"][0]
    assert newest["parents"][1] == other
    title = f"Merge {' and '.join(each[-8:] for each in newest['parents'])}"
    assert title in (await program.run("program", "log", "mails")).out
    assert file.read_text().endswith("    DISPLAY 'merged'\n")
    asked = len(gemini.requests)
    again = await program.run("program", "merge", "mails", other[-8:], "--yes")
    assert (again.code, len(gemini.requests)) == (2, asked)
    assert f"{other[-8:]} is already part of the current version" in again.err


async def test_a_program_is_shared_with_whoever_clones_the_project(
    program: Program, gemini: GeminiStandIn, tmp_path: Path
) -> None:
    answer(gemini)
    own = program.tmp_path / "config" / "programs"
    own.mkdir(parents=True)
    (own / "mails.spu").write_text(WHOLE)
    (own / "mails.spu.test").write_text('{"display": ["whole"], "answers": []}\n')
    asked = await program.run("program", "share", "mails")
    assert "+    DISPLAY 'whole'" in asked.err
    assert asked.out == "Nothing was written.\n"
    assert not (program.project / ".ragforge").exists()
    assert (await program.run("program", "share", "mails", "--yes")).code == 0
    for name in ("mails.spu", "mails.spu.test"):
        assert (program.project / ".ragforge" / "programs" / name).read_bytes() == (own / name).read_bytes()
    assert "already" in (await program.run("program", "share", "mails")).out
    assert (await program.run("run", "project:mails")).code == 0  # their own text is trusted
    (own / "mails.spu").write_text(WHOLE + "; AIzaSyA1234567890abcdefghijklmnopqrstuv\n")
    assert "looks like a secret" in (await program.run("program", "share", "mails")).err

    outside = await program.run("program", "share", "../mails", "--yes")
    assert "'../mails' is not a valid program name" in outside.err

    (tmp_path / "second").mkdir()
    second = Program(tmp_path / "second", program.model, {"GEMINI_API_KEY": program.env["GEMINI_API_KEY"]})
    shutil.copytree(program.project, second.project, dirs_exist_ok=True)
    refused = await second.run("run", "mails")
    assert (refused.code, refused.out) == (2, "")
    assert "came with the project and is not trusted" in refused.err


async def test_a_changed_creator_lies_in_the_users_folder(program: Program, gemini: GeminiStandIn) -> None:
    edit = {"where": "", "old": "; Back to the parent", "new": "; Away from here, to the parent"}
    others = [each for each in CREATING if each.task != "modify_code"]
    answer(gemini, [*others, ScriptedAnswer("modify_code", {"edits": [edit]})])
    changed = await program.run("program", "change", "creator", "add a comment", "--yes")
    assert changed.code == 0, changed.err
    own, shipped = program.tmp_path / "config" / "programs" / "creator.spu", SHIPPED / "creator.spu"
    assert own.read_text() == shipped.read_text().replace(edit["old"], edit["new"])
    assert (await program.run("program", "undo", "creator")).code == 0
    assert own.read_bytes() == shipped.read_bytes()
    own.write_text(".program creator\nJMP nowhere\n")
    broken = await program.run("program", "undo", "creator")
    assert broken.code == 2
    assert "There is no label nowhere." in broken.err
    assert "--shipped uses the creator that ships with ragforge." in broken.err
    assert (await program.run("program", "undo", "creator", "--shipped")).code == 0
    assert own.read_bytes() == shipped.read_bytes()
    own.write_text(".program creator\nDISPLAY 'mine'\n")
    assert (await program.run("run", "creator")).out == "mine\n"
    assert (await program.run("run", "creator", "--shipped", "--dry-run")).out.startswith(
        "creator: 12 labels"
    )
