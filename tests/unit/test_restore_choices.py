"""Files that somebody changed since: kept, restored or merged."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ragforge.domain.errors import UsageError
from ragforge.domain.moves import ConflictChoice
from ragforge.versions.restore.operation import Skipped
from ragforge.versions.restore.plan import FileConflict, find_conflicts
from ragforge.versions.tree import WantedFile
from tests.restoring import A, Place, Tree, a_file, a_folder, a_link, open_place, read_tree, write_tree

LINES = [f"line {number}\n" for number in range(20)]


def lines(**changed: str) -> A:
    """The file with some of its lines replaced: `lines(at3="x")`."""
    text = list(LINES)
    for place, words in changed.items():
        text[int(place.removeprefix("at"))] = words + "\n"
    return a_file("".join(text))


OLD, LEFT, NOW = lines(), lines(at3="by the assistant"), lines(at3="by the assistant", at15="by the person")


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    opened = await open_place(tmp_path)
    write_tree(opened.root, {"a": NOW, "b": a_file("left")})
    await opened.keep({"a": OLD, "b": a_file("old"), "left": LEFT})
    yield opened
    await opened.close()


WANTED = [WantedFile("a", LEFT.node, OLD.node), WantedFile("b", a_file("left").node, a_file("old").node)]
CONFLICT = FileConflict("a", LEFT.node, OLD.node, NOW.node)


async def test_only_what_is_neither_expected_nor_wanted_is_a_conflict(place: Place) -> None:
    assert await find_conflicts(place.root, WANTED) == [CONFLICT]


@pytest.mark.parametrize(
    ("choices", "then", "skipped"),
    [
        ({}, NOW, (Skipped("a", "it has changed since then and is kept"),)),
        ({"a": ConflictChoice.KEEP}, NOW, ()),
        ({"a": ConflictChoice.RESTORE}, OLD, ()),
        ({"a": ConflictChoice.MERGE}, lines(at15="by the person"), ()),
    ],
)
async def test_each_choice_holds_for_its_file_and_the_rest_is_restored(
    place: Place, choices: dict[str, ConflictChoice], then: A, skipped: tuple[Skipped, ...]
) -> None:
    applied = await place.restore(WANTED, choices)
    assert read_tree(place.root) == {"a": then, "b": a_file("old")}
    assert applied.skipped == skipped
    assert applied.marked == ()
    # Also what was overwritten by choice can be had again.
    assert NOW.content is not None
    if choices.get("a") in (ConflictChoice.RESTORE, ConflictChoice.MERGE):
        assert await place.blobs.get(NOW.node.digest) == NOW.content


async def test_a_merge_that_is_not_clear_leaves_markers_and_says_so(place: Place) -> None:
    (place.root / "a").write_bytes(lines(at3="by the person").content or b"")
    applied = await place.restore(WANTED, {"a": ConflictChoice.MERGE})
    assert applied.marked == ("a",)
    text = (place.root / "a").read_text()
    assert "<<<<<<< now on disk\nby the person\n=======\nline 3\n>>>>>>> restored\n" in text


async def test_a_merge_goes_through_every_step(place: Place) -> None:
    # Somebody else changed line 10 between two changes of the session.
    first, theirs = lines(at3="one"), lines(at3="one", at10="theirs")
    second = lines(at3="one", at10="theirs", at17="two")
    write_tree(place.root, {"c": second})
    await place.keep({"1": OLD, "2": first, "3": theirs, "4": second})
    wanted = WantedFile("c", first.node, OLD.node, earlier=((second.node, theirs.node),))
    assert [each.path for each in await find_conflicts(place.root, [wanted])] == ["c"]
    await place.restore([wanted], {"c": ConflictChoice.MERGE})
    assert read_tree(place.root)["c"] == lines(at10="theirs")


MODES = [
    # expected, wanted, on the disk, merged
    (0o644, 0o644, 0o755, 0o755),
    (0o755, 0o644, 0o755, 0o644),
    (0o755, 0o644, 0o700, 0o644),
]


@pytest.mark.parametrize(("expected", "wanted", "found", "merged"), MODES)
async def test_a_merge_takes_the_mode_that_one_side_changed(
    place: Place, expected: int, wanted: int, found: int, merged: int
) -> None:
    (place.root / "a").chmod(found)
    assert OLD.content
    assert LEFT.content
    asked = WantedFile("a", a_file(LEFT.content, expected).node, a_file(OLD.content, wanted).node)
    await place.restore([asked], {"a": ConflictChoice.MERGE})
    assert read_tree(place.root)["a"].mode == merged


UNMERGEABLE: dict[str, tuple[A | None, A | None, A | None, str]] = {
    "removed here": (LEFT, OLD, None, "it is no longer a file"),
    "to be removed": (LEFT, None, NOW, "it would be removed"),
    "a link": (LEFT, OLD, a_link("x"), "it is no longer a file"),
    "was a link": (a_link("x"), OLD, NOW, "it was not a file before"),
    "an empty folder": (LEFT, OLD, a_folder(), "it is no longer a file"),
    "no text": (a_file("a\0b"), a_file("a\0c"), a_file("a\0d"), "it is not text"),
    "not at hand": (a_file("nobody kept it"), OLD, NOW, "an earlier content of it is not on this machine"),
}


@pytest.mark.parametrize(("expected", "wanted", "found", "why"), UNMERGEABLE.values(), ids=UNMERGEABLE)
async def test_what_cannot_be_merged_is_kept_and_told(
    place: Place, expected: A | None, wanted: A | None, found: A | None, why: str
) -> None:
    tree: Tree = {} if found is None else {"c": found}
    write_tree(place.root, tree)
    await place.keep({str(n): each for n, each in enumerate((wanted, a_file("a\0b"))) if each})
    asked = WantedFile("c", expected and expected.node, wanted and wanted.node)
    applied = await place.restore([asked], {"c": ConflictChoice.MERGE})
    assert applied.skipped == (Skipped("c", f"it cannot be merged and is kept: {why}"),)
    assert read_tree(place.root).get("c") == found


async def test_what_is_too_large_to_be_kept_first_is_not_overwritten(place: Place) -> None:
    with (place.root / "a").open("r+b") as file:
        file.truncate(257 * 1024 * 1024)  # a hole: it takes no room
    applied = await place.restore(WANTED, {"a": ConflictChoice.RESTORE})
    assert applied.skipped == (Skipped("a", "it is too large (257.0 MB) to be saved first"),)
    assert (place.root / "a").stat().st_size == 257 * 1024 * 1024


async def test_two_that_came_to_be_at_one_path_are_merged_without_a_base(place: Place) -> None:
    asked = WantedFile("a", None, OLD.node)
    applied = await place.restore([asked], {"a": ConflictChoice.MERGE})
    assert applied.marked == ("a",)
    assert "by the person" in (place.root / "a").read_text()
    assert "line 15" in (place.root / "a").read_text()


async def test_missing_contents_are_named_before_anything_is_touched(place: Place) -> None:
    before = read_tree(place.root)
    wanted = [WantedFile(f"n{number}", None, a_file(f"lost {number}").node) for number in range(12)]
    with pytest.raises(UsageError) as raised:
        await place.plan([*WANTED[1:], *wanted])
    assert "nothing was changed" in str(raised.value)
    assert "n0, n1, n2" in str(raised.value)
    assert "and 2 more" in str(raised.value)
    assert read_tree(place.root) == before
    # A mode that alone differs needs no content.
    (place.root / "b").chmod(0o600)
    only_mode = WantedFile("b", a_file("left", 0o600).node, a_file("left", 0o644).node)
    assert (await place.plan([only_mode])).steps[0].target == a_file("left").node
