"""Two lines of work that changed one file, to be merged."""

from ragforge.session.moves import checkout
from ragforge.session.state import Session
from ragforge.versions.branches import start_branch
from tests.flow.moving import shell, turn, versions_of, write
from tests.standins.gemini import GeminiStandIn

LINES = [f"line {number}\n" for number in range(10)]


async def parted(session: Session, gemini: GeminiStandIn, left: list[str], right: list[str]) -> None:
    """Two branches that changed one file, `left` in front; each added a file of its own too."""
    base = await turn(session, gemini, "base", write("a.txt", "".join(LINES)), write("same.txt", "same\n"))
    [version] = await versions_of(session, base)
    await start_branch(session.worktree, "right")
    await turn(session, gemini, "right", write("a.txt", "".join(right)), write("right.txt", "right\n"))
    await start_branch(session.worktree, "left", version.id)
    await checkout(session, "left")
    await turn(
        session, gemini, "left", shell("cat > a.txt <<'END'\n" + "".join(left) + "END\necho left > left.txt")
    )
