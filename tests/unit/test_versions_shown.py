"""What is shown of a version that names a path several times: the path once."""

from itertools import pairwise

from msgspec.structs import replace

from ragforge.domain.events import TurnEnded
from ragforge.domain.turns import TurnStatus
from ragforge.domain.versions import Change, Version, files_touched
from ragforge.tui.widgets.turn_record import Changed, TurnRecord
from ragforge.versions.attempts.alternatives import alternative_of, table
from ragforge.versions.copies.project_copies import label_of
from tests.contract.builders import a_project, a_session, a_turn
from tests.contract.builders_versions import a_change, a_node, a_version


def overwritten(path: str, *contents: str) -> tuple[Change, ...]:
    """The path as each of the contents in turn; the first is there before, and an empty one is nothing."""
    nodes = [a_node(content) if content else None for content in contents]
    return tuple(a_change(path, before=then, after=now) for then, now in pairwise(nodes))


def version_with(*changes: Change) -> Version:
    return a_version(a_session(a_project().id), changes=changes)


def test_an_alternative_counts_and_lists_a_path_once() -> None:
    changes = (*overwritten("a.txt", "", "one", "two", "three"), *overwritten("gone.txt", "", "x", ""))
    found = alternative_of(replace(version_with(*changes), label=label_of(1, "fast")))
    assert found is not None
    assert found.as_json()["files"] == [{"path": "a.txt", "kind": "added", "provenance": "tool"}]
    assert "1 file" in table([found])[1]


def test_a_turn_whose_files_are_as_before_shows_no_change() -> None:
    turn = replace(a_turn(a_session(a_project().id)), status=TurnStatus.FINISHED)
    for contents, is_shown in ((("", "x", ""), False), (("a", "b", "a"), False), (("a", "b", "c"), True)):
        version = version_with(*overwritten("a.txt", *contents))
        entry = TurnRecord(turn).apply(TurnEnded(turn, None, came_to_nothing=False, version=version), now_s=0)
        assert isinstance(entry, Changed) == is_shown
        assert files_touched(version.changes) == is_shown
