"""Merges of lines of work over whole turns."""

import pytest

from ragforge.domain.errors import UsageError
from ragforge.domain.moves import MergeMode, Side
from ragforge.domain.versions import MERGE
from ragforge.session.moves import checkout, undo
from ragforge.session.state import Session
from ragforge.versions.attempts.merge import merge
from ragforge.versions.branches import list_branches, start_branch
from tests.flow.moving import head_of, line_of, root_of, tree, turn, versions_of, write
from tests.flow.parting import LINES, parted
from tests.standins.gemini import GeminiStandIn, JsonText, Recorded, Text


async def test_what_both_did_in_different_places_is_put_together(session: Session, gemini: GeminiStandIn):
    await parted(session, gemini, ["LEFT\n", *LINES[1:]], [*LINES[:9], "RIGHT\n"])
    before = await head_of(session)
    chat = session.live.record.head
    moved = await merge(session, "right")
    assert (root_of(session) / "a.txt").read_text() == "".join(["LEFT\n", *LINES[1:9], "RIGHT\n"])
    assert set(tree(root_of(session))) == {"a.txt", "same.txt", "left.txt", "right.txt"}
    assert (moved.merged, moved.restored, moved.marked) == (("a.txt",), ("right.txt",), ())
    newest, *_ = await line_of(session)
    branches = {row.branch.name: row.branch.version_id for row in await list_branches(session.worktree)}
    assert newest.parents == (before.version, branches["right"])
    assert (newest.by, newest.id, session.live.record.head) == (MERGE, branches["left"], chat)
    with pytest.raises(UsageError, match="Nothing to merge"):
        await merge(session, "right")
    # An undo steps over the merge, and what it brought stays.
    await undo(session)
    assert set(tree(root_of(session))) == {"a.txt", "same.txt", "right.txt"}


@pytest.mark.parametrize("side", Side)
async def test_what_both_did_in_the_same_place_is_decided(
    session: Session, gemini: GeminiStandIn, side: Side
):
    left, right = ["LEFT\n", *LINES[1:]], ["RIGHT\n", *LINES[1:]]
    await parted(session, gemini, left, right)
    moved = await merge(session, "right", side=side)
    found = (root_of(session) / "a.txt").read_text()
    match side:
        case Side.OURS:
            assert found == "".join(left)
        case Side.THEIRS:
            assert found == "".join(right)
        case Side.MARKERS:
            assert moved.marked == ("a.txt",)
            assert found.startswith("<<<<<<< left\nLEFT\n=======\nRIGHT\n>>>>>>> right\n")
    assert (root_of(session) / "right.txt").exists()


async def test_a_line_that_is_only_ahead_is_gone_to(session: Session, gemini: GeminiStandIn):
    base = await turn(session, gemini, "base", write("a.txt", "1\n"))
    [version] = await versions_of(session, base)
    ahead = await turn(session, gemini, "ahead", write("a.txt", "2\n"))
    [newest] = await versions_of(session, ahead)
    await start_branch(session.worktree, "behind", version.id)
    await checkout(session, "behind")
    await merge(session, newest.id)
    assert (root_of(session) / "a.txt").read_text() == "2\n"
    head = await head_of(session)
    assert (head.version, head.branch) == (newest.id, "behind")
    [row] = await list_branches(session.worktree)
    assert row.branch.version_id == newest.id


async def test_edits_that_no_version_holds_yet_are_ours(session: Session, gemini: GeminiStandIn):
    await parted(session, gemini, LINES, [*LINES[:9], "RIGHT\n"])
    (root_of(session) / "a.txt").write_text("".join(["MINE\n", *LINES[1:]]))
    await merge(session, "right")
    assert (root_of(session) / "a.txt").read_text() == "".join(["MINE\n", *LINES[1:9], "RIGHT\n"])


@pytest.mark.parametrize("strategy", MergeMode)
async def test_a_model_is_asked_about_what_clashes(
    session: Session, gemini: GeminiStandIn, strategy: MergeMode
):
    await parted(session, gemini, ["LEFT\n", *LINES[1:]], ["RIGHT\n", *LINES[1:]])
    both = "".join(["BOTH\n", *LINES[1:]])

    def answer(request: Recorded) -> Text:
        if "content" in (request.schema or {})["properties"]:
            return JsonText({"content": both, "why": "Both hold."})
        return JsonText({"resolutions": [{"conflict": 1, "lines": ["BOTH"], "why": "Both hold."}]})

    asked = len(gemini.structured())
    spent = session.live.spending.cost_usd
    gemini.always_structured(answer)
    moved = await merge(session, "right", strategy=strategy)
    assert (root_of(session) / "a.txt").read_text() == both
    assert (moved.merged, moved.marked) == (("a.txt",), ())
    assert any("Both hold." in note for note in moved.notes)
    asking = [each for each in gemini.structured()[asked:] if "LEFT" in str(each.body)]
    assert len(asking) == (2 if strategy is MergeMode.BEST else 1)
    assert (session.live.spending.cost_usd or 0) > (spent or 0)


async def test_what_a_model_cannot_merge_holds_markers(session: Session, gemini: GeminiStandIn):
    await parted(session, gemini, ["LEFT\n", *LINES[1:]], ["RIGHT\n", *LINES[1:]])
    gemini.always_structured(JsonText({"resolutions": []}))
    moved = await merge(session, "right", strategy=MergeMode.RESOLVE_CONFLICTS)
    assert moved.marked == ("a.txt",)
    assert "could not merge a.txt" in moved.notes[0]
