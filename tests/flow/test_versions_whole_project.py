"""A project of a thousand files, worked on in ten turns, undone to its beginning and redone to its end."""

import os
from pathlib import Path

from ragforge.session.moves import redo, undo
from ragforge.session.state import Session
from tests.flow.moving import root_of, shell, tree, turn, write
from tests.standins.gemini import Call, GeminiStandIn

FOLDERS, FILES_EACH = 60, 20
SCRIPTS = ("Grüße.md", "数据.txt", "файл.py", "ملف.txt", "🦜.txt", "name with spaces", "-rf", "quote'\".c")
WORK: tuple[tuple[Call, ...], ...] = (
    (write("src/new/deep/module.py", "def new():\n    return 1\n"), write("README.md", "# Ragweed\n")),
    (shell("for f in package-0*/file-1*.py; do sed -i s/value/VALUE/ $f; done"),),
    (shell("rm -rf package-11 package-12; rm package-20/file-*.py"),),
    (shell("mv package-30 moved; mv moved/file-1.py 'moved/файл 2.py'; mkdir -p empty/again"),),
    (
        shell("chmod 755 package-40/*.py; chmod 600 crlf.txt; chmod 700 hollow/inner"),
        write("数据.txt", "数\n"),
    ),
    (shell("ln -sfn README.md link; rm dangling; ln -s ../nowhere package-41/dangling"),),
    (shell("printf '\\0\\377\\r\\n\\0' > binary.bin; printf 'one\\r\\ntwo\\n' >> crlf.txt"),),
    (shell("rm -rf package-50; printf file > package-50; rm single; mkdir single; printf in > single/file"),),
    (write("Grüße.md", "Grüße\n"), shell("rmdir hollow/inner; rm -- -rf; mv '🦜.txt' 'quote'\\''\".c'")),
    (shell("find . -name 'file-4*.py' -delete; mkdir -p a/b/c/d; : > a/b/c/d/nothing"),),
)


def make_project(root: Path) -> None:
    """As many files as a real one has, and of each kind that a restore could get wrong."""
    for number in range(FOLDERS):
        folder = root / f"package-{number:02}"
        folder.mkdir()
        for each in range(FILES_EACH):
            text = "\n".join(f"value_{number}_{each}_{line} = {line}" for line in range(each + 1))
            (folder / f"file-{each}.py").write_text(text)
    for name in SCRIPTS:
        (root / name).write_text(f"{name}\n")
    (root / os.fsdecode(b"no\xfftext")).write_bytes(b"\xff")
    (root / "crlf.txt").write_bytes(b"first\r\nsecond\r\n\r\nno end")
    (root / "binary.bin").write_bytes(bytes(range(256)) * 100)
    (root / "big.bin").write_bytes(os.urandom(3_000_000))
    (root / "nothing").touch()
    (root / "single").write_text("a file that becomes a folder\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "closed").write_text("for nobody else\n")
    (root / "closed").chmod(0o400)
    (root / "hollow" / "inner").mkdir(parents=True)
    (root / "hollow").chmod(0o755)
    (root / "link").symlink_to("crlf.txt")
    (root / "dangling").symlink_to("nowhere/数据")
    (root / "folder-link").symlink_to("package-01")


async def test_a_project_is_undone_to_its_beginning_and_redone_to_its_end(
    session: Session, gemini: GeminiStandIn
) -> None:
    root = root_of(session)
    make_project(root)
    states = [tree(root)]
    assert len(states[0]) > 1_000
    for number, calls in enumerate(WORK):
        await turn(session, gemini, f"step {number}", *calls)
        states.append(tree(root))
        assert states[-1] != states[-2], number

    for number in reversed(range(len(WORK))):
        moved = await undo(session)
        assert (moved.kept, moved.skipped, moved.draft) == ((), (), f"step {number}")
        assert tree(root) == states[number], number
    moved = await redo(session, len(WORK))
    assert (moved.kept, moved.skipped) == ((), ())
    assert tree(root) == states[-1]

    moved = await undo(session, len(WORK))
    assert (moved.kept, moved.skipped) == ((), ())
    assert tree(root) == states[0]
