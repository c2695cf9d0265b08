"""Programs in a real terminal: a review, a build whose check fails, and the creator changing itself."""

import json
import subprocess
from pathlib import Path

from ragforge.session.program_files import SHIPPED
from tests.flow.running import MODEL
from tests.standins.gemini import KEY
from tests.terminal.screen import Desk, stand_in

OLD, NEW = "; Back to the parent of the current version.", "; Away from here, to the parent."
ANSWERS = {
    "changes": [{"what": "a comment", "where": "undo", "why": "asked for"}],
    "edits": [{"where": "", "old": OLD, "new": NEW}],
    **{"holds": True, "reasons": ["It has no test."], "improvements": [], "mistakes": [], "turns": []},
}
SCRIPT = {
    "when": [
        {"contains": "## diff", "reply": ["pool.py:1: nothing limits the workers."]},
        {"contains": "## plan", "reply": ["I limited the workers."]},
        {"contains": "Limit the workers", "reply": ["1. Limit them in pool.py."]},
    ],
    "structured_always": {"json": ANSWERS},
}


def test_review_build_and_a_changed_creator(tmp_path: Path) -> None:
    (script := tmp_path / "script.json").write_text(json.dumps(SCRIPT))
    with stand_in(script) as url:
        desk = Desk(tmp_path, model=MODEL, env={"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url})
        desk.configure('[history]\ncheck_command = "echo two tests failed; exit 3"\n')
        subprocess.run(["git", "init", "-q"], cwd=desk.project, check=True)
        (desk.project / "pool.py").write_text("workers = 8\n")
        screen = desk.start()
        screen.wait_for("Type a message")
        screen.send("/review")
        screen.wait_for("pool.py:1: nothing limits the workers.")

        screen.send("/build Limit the workers")
        screen.wait_for("Three rounds were not enough.")
        screen.wait_for("two tests failed")
        screen.wait_for("It has no test.")

        screen.send("/program change creator add a comment")
        screen.wait_for("Keep this as creator.spu?")
        screen.press(b"1")
        screen.wait_for("Kept creator.spu, version ")
        own = desk.config / "programs" / "creator.spu"
        assert own.read_text() == (SHIPPED / "creator.spu").read_text().replace(OLD, NEW)
        screen.send("/program undo creator")
        screen.wait_for(lambda _: own.read_bytes() == (SHIPPED / "creator.spu").read_bytes())
        desk.close()
