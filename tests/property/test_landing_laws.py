"""The law of where the files' head is after a move: its state is what lies on the disk."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from ragforge.domain.versions import Change, Node, NodeKind, Provenance, Version
from ragforge.versions.head_move import differing, landing
from ragforge.versions.tree import state_of

AT = datetime(2026, 11, 21, tzinfo=UTC)
PATHS = ("a", "b", "c", "d")
NODES = (None, *(Node(NodeKind.FILE, text, 0o644, 1) for text in "xyz"))

disks = st.fixed_dictionaries({path: st.sampled_from(NODES) for path in PATHS})
steps = st.lists(st.dictionaries(st.sampled_from(PATHS), st.sampled_from(NODES), max_size=3), max_size=4)


def grow(line: list[Version], start: dict, steps: list[dict], name: str, session: str) -> list[Version]:
    """The line, newest first, with a version for each step."""
    for number, step in enumerate(steps):
        now = start | state_of(line)
        changes = [
            Change(path, now[path], after, Provenance.TOOL)
            for path, after in step.items()
            if now[path] != after
        ]
        parents = (line[0].id,) if line else ()
        made = Version(f"{name}{number}", "p", parents, AT, "m", tuple(changes), session_id=session)
        line = [made, *line]
    return line


@given(start=disks, shared=steps, up=steps, down=steps, now=disks, ours=st.booleans(), data=st.data())
def test_the_state_at_the_head_is_what_lies_on_the_disk(start, shared, up, down, now, ours, data):
    trunk = grow([], start, shared, "t", "s")
    head_line = grow(trunk, start, up, "u", "s" if ours else "other")
    target_line = grow(trunk, start, down, "d", "s")
    at_head = start | state_of(head_line)
    told = set(differing(head_line, target_line))
    # Besides what differs, the move touched some other paths; nothing else changed.
    touched = data.draw(st.sets(st.sampled_from(PATHS))) - told
    disk = {path: now[path] if path in told | touched else at_head[path] for path in PATHS}

    landed = landing(
        head_line,
        target_line,
        disk={path: disk[path] for path in told | touched},
        before={path: at_head[path] for path in touched},
        ours=lambda version: version.session_id == "s",
    )

    lines = {line[0].id if line else "": line for line in (head_line, target_line)}
    made = Version("new", "p", (landed.parent,), AT, "restore", landed.changes)
    state = start | state_of([made, *lines[landed.parent]])
    assert state == disk
    if all(disk[path] == (start | state_of(target_line))[path] for path in told | touched):
        assert landed.parent == (target_line[0].id if target_line else "")
        assert not landed.changes
    elif not ours and up:
        assert landed.parent == head_line[0].id
