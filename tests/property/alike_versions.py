"""The version tree of a file and of a graph: a part of `test_stores_alike`."""

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from msgspec.structs import replace

from ragforge.domain.ids import new_id
from ragforge.domain.usage import Usage
from ragforge.domain.versions import (
    USER,
    Branch,
    Change,
    CheckoutLog,
    MoveAction,
    Node,
    NodeKind,
    Provenance,
    Untracked,
    Version,
)
from tests.contract.builders import NOON
from tests.property.alike import MINUTES, TEXTS, Refused
from tests.property.alike_conversing import Conversing
from tests.servers.neo4j import Neo4jServer

LIMITS = st.sampled_from([-1, 0, 1, 2, 1000])
NODES = st.one_of(
    st.none(),
    st.builds(
        Node,
        kind=st.sampled_from(NodeKind),
        digest=st.sampled_from(["", "a" * 64, "b" * 64]),
        mode=st.sampled_from([0, 0o644, 0o755]),
        size=st.sampled_from([0, 1, 2**40]),
    ),
)
CHANGES = st.lists(
    st.builds(
        Change,
        path=TEXTS,
        before=NODES,
        after=NODES,
        provenance=st.sampled_from(Provenance),
        renamed_from=st.one_of(st.just(""), TEXTS),
        shared=st.booleans(),
    ),
    max_size=3,
).map(tuple)
UNTRACKED = st.lists(st.builds(Untracked, path=TEXTS, why=TEXTS), max_size=2).map(tuple)
USAGES = st.sampled_from([Usage(), Usage(100, 40, 10, 5)])
NAMES = st.one_of(st.sampled_from(["try-it", "zebra/okapi"]), TEXTS)


class Versioning(Conversing):
    """What is kept of files, and of how heads moved."""

    def __init__(self, server: Neo4jServer) -> None:
        super().__init__(server)
        self.versions: dict[str, Version] = {}
        self.branches: list[str] = ["try-it"]

    def of_project(self, data: st.DataObject) -> str:
        return self.one_of(data, [project.id for project in self.projects])

    @rule(data=st.data(), text=TEXTS, again=st.booleans())
    def add_version(self, data: st.DataObject, text: str, again: bool) -> None:
        session = self.maybe(data, self.sessions) or ""
        of = self.sessions.get(session)
        known = data.draw(st.integers(0, 7)) == 7 and self.versions
        version = Version(
            id=self.one_of(data, self.versions) if known else new_id(),
            project_id=of.project_id if of else self.of_project(data),
            parents=tuple(self.one_of(data, self.versions) for _ in range(data.draw(st.integers(0, 2)))),
            at=NOON + timedelta(minutes=data.draw(MINUTES), microseconds=1),
            by=data.draw(st.sampled_from([USER, "gemini:a", text])),
            changes=data.draw(CHANGES),
            session_id=session,
            turn_id=self.maybe(data, self.turns) or "",
            title=text,
            label=data.draw(st.sampled_from(["", "zebra", text])),
            note=data.draw(st.sampled_from(["", "gnu", text])),
            words=data.draw(TEXTS),
            untracked=data.draw(UNTRACKED),
            lines_added=data.draw(st.integers(0, 3)),
            usage=data.draw(USAGES),
            cost_usd=data.draw(st.sampled_from([None, 0.25])),
            duration_ms=3,
        )
        for _ in range(1 + again):
            kept = self.alike(lambda store: store.versions.add(version))
        if not isinstance(kept, Refused):
            self.versions.setdefault(version.id, version)
        self.alike(lambda store: store.versions.get([version.id, "nowhere"]))

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), text=TEXTS, changes=CHANGES)
    def version_of_a_turn(self, data: st.DataObject, text: str, changes: tuple[Change, ...]) -> None:
        turn = self.turns[data.draw(st.sampled_from([*self.turns]))]
        session = self.sessions[turn.session_id]
        mine = [each.id for each in self.versions.values() if each.project_id == session.project_id]
        version = Version(
            id=new_id(),
            project_id=session.project_id,
            parents=(data.draw(st.sampled_from(mine)),) if mine else (),
            at=NOON + timedelta(minutes=data.draw(MINUTES)),
            by="gemini:a",
            changes=changes,
            session_id=turn.session_id,
            turn_id=turn.id,
            title=text,
            words=text,
        )
        kept = self.alike(lambda store: store.versions.add(version))
        if not isinstance(kept, Refused):
            self.versions[version.id] = version
        self.alike(lambda store: store.versions.of_turns([turn.id]))
        self.alike(lambda store: store.versions.unversioned(turn.session_id))

    @rule(data=st.data(), label=TEXTS)
    def label_version(self, data: st.DataObject, label: str) -> None:
        version = self.one_of(data, self.versions)
        self.alike(lambda store: store.versions.label(version, label))
        self.alike(lambda store: store.versions.get([version]))

    @rule(data=st.data(), name=NAMES, again=st.booleans())
    def set_branch(self, data: st.DataObject, name: str, again: bool) -> None:
        version = self.one_of(data, self.versions)
        known = self.versions.get(version)
        project = known.project_id if known and data.draw(st.integers(0, 7)) else self.of_project(data)
        branch = Branch(project, name, version, NOON + timedelta(minutes=data.draw(MINUTES)))
        self.branches.append(name)
        for _ in range(1 + again):
            self.alike(lambda store: store.versions.set_branch(branch))
        self.alike(lambda store: store.versions.branches(project))

    @rule(data=st.data())
    def delete_branch(self, data: st.DataObject) -> None:
        project, name = self.of_project(data), data.draw(st.sampled_from(self.branches))
        # Not repeated: the first answer tells whether there was one.
        self.alike(lambda store: store.versions.delete_branch(project, name))
        self.alike(lambda store: store.versions.branches(project))

    @rule(data=st.data(), text=TEXTS, again=st.booleans(), action=st.sampled_from(MoveAction))
    def move(self, data: st.DataObject, text: str, again: bool, action: MoveAction) -> None:
        move = CheckoutLog(
            id=new_id(),
            project_id=self.of_project(data),
            session_id=self.maybe(data, self.sessions) or "",
            action=action,
            at=NOON + timedelta(minutes=data.draw(MINUTES), microseconds=1),
            from_version=self.maybe(data, self.versions) or "",
            to_turn=self.maybe(data, self.turns) or "",
        )
        for _ in range(1 + again):
            self.alike(lambda store: store.versions.add_move(move))

    @rule(data=st.data(), limit=LIMITS)
    def ask_for_moves(self, data: st.DataObject, limit: int) -> None:
        project = self.of_project(data)
        session = data.draw(st.sampled_from([None, "", self.one_of(data, self.sessions)]))
        self.alike(lambda store: store.versions.moves(project, session_id=session, limit=limit))

    @rule(data=st.data(), limit=LIMITS, length=st.integers(0, 36))
    def ask_for_rows(self, data: st.DataObject, limit: int, length: int) -> None:
        project, before = self.of_project(data), self.maybe(data, self.versions)
        self.alike(lambda store: store.versions.rows(project, limit=limit, before=before))
        known = self.one_of(data, self.versions)
        parts = [known[:length], known[max(0, len(known) - length) :], known.upper(), "zebra"]
        part = data.draw(st.sampled_from(parts))
        self.alike(lambda store: store.versions.with_id_part(project, part, limit=limit))

    @rule(data=st.data(), limit=st.sampled_from([None, -1, 0, 1, 2]))
    def ask_for_a_line(self, data: st.DataObject, limit: int | None) -> None:
        version, project = self.one_of(data, self.versions), self.of_project(data)
        self.alike(lambda store: store.versions.line(version, limit=limit))
        self.alike(lambda store: store.versions.children(version))
        self.alike(lambda store: store.versions.all_ids(project))

    @precondition(lambda self: self.versions)
    @rule(data=st.data(), minutes=MINUTES)
    def load_tree(self, data: st.DataObject, minutes: int) -> None:
        """A version as a store has it where its session is, its child, and a branch that may be newer."""
        known = self.versions[data.draw(st.sampled_from([*self.versions]))]
        at = NOON + timedelta(minutes=minutes)
        child = replace(known, id=new_id(), parents=(known.id,), at=at, label="loaded")
        branch = Branch(known.project_id, data.draw(st.sampled_from(self.branches)), child.id, at)
        move = CheckoutLog(new_id(), known.project_id, known.session_id, MoveAction.REDO, at)
        loaded = self.alike(lambda store: store.archive.load([known, child, branch, move]))
        if not isinstance(loaded, Refused):
            self.versions[child.id] = child
        self.alike(lambda store: store.versions.get([known.id, child.id]))

    def compare_tree(self) -> None:
        """All that can be asked of it."""
        versions = [*self.versions]
        self.alike(lambda store: store.versions.get(versions))
        self.alike(lambda store: store.versions.of_turns([*self.turns]))
        self.alike(lambda store: store.versions.all_ids())
        for version in versions:
            self.alike(lambda store, version=version: store.versions.line(version))
            self.alike(lambda store, version=version: store.versions.children(version))
        for session in self.sessions:
            self.alike(lambda store, session=session: store.versions.unversioned(session))
        for project in self.projects:
            self.alike(lambda store, project=project: store.versions.rows(project.id))
            self.alike(lambda store, project=project: store.versions.branches(project.id))
            self.alike(lambda store, project=project: store.versions.moves(project.id))
