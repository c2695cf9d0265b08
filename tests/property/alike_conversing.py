"""What people and models do, done to a file and to a graph: the first half of `test_stores_alike`."""

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from msgspec.structs import replace

from ragforge.domain.memories import (
    Memory,
)
from ragforge.domain.messages import ImagePart, TextPart
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import CallStatus, ConversationSession, Project, Step, ToolCall, Turn, TurnStatus
from ragforge.store.base_conversations import Claim
from tests.contract.builders import (
    NOON,
    a_call,
    a_project,
    a_request,
    a_session,
    a_step,
    a_turn,
    an_end,
)
from tests.property.alike import (
    ENDS,
    MINUTES,
    TEXTS,
    BothStores,
    Refused,
    without_clock,
)
from tests.servers.neo4j import Neo4jServer


class Conversing(BothStores):
    """Two stores and the things that were ever given to them; what is deleted is still asked for."""

    def __init__(self, server: Neo4jServer) -> None:
        super().__init__(server)
        self.projects: list[Project] = []
        self.sessions: dict[str, ConversationSession] = {}
        self.turns: dict[str, Turn] = {}
        self.steps: list[Step] = []
        self.calls: list[ToolCall] = []
        self.summaries: dict[str, Summary] = {}
        self.memories: dict[str, Memory] = {}
        self.claims: dict[str, list[Claim]] = {}

    # Projects and sessions

    @initialize()
    def begin(self) -> None:
        self.add_project("parser")
        self.alike(lambda store: store.vectors.use("static:2", 256))
        self.add_first_session()

    def add_first_session(self) -> None:
        session = a_session(self.projects[0].id)
        self.sessions[session.id] = session
        self.alike(lambda store: store.sessions.add(session))

    @precondition(lambda self: len(self.projects) < 3)
    @rule(text=TEXTS)
    def add_project(self, text: str) -> None:
        project = a_project(name=text, git_remote=text, first_commit="c" * len(self.projects))
        self.projects.append(project)
        self.alike(lambda store: store.projects.add(project))

    @rule(data=st.data(), text=TEXTS)
    def change_project(self, data: st.DataObject, text: str) -> None:
        place = data.draw(st.integers(0, len(self.projects) - 1))
        self.projects[place] = project = replace(self.projects[place], name=text, git_remote=text)
        self.alike(lambda store: store.projects.add(project))
        self.alike(lambda store: store.projects.find(git_remote=text))

    @rule(data=st.data(), text=TEXTS, minutes=MINUTES, again=st.booleans())
    def add_session(self, data: st.DataObject, text: str, minutes: int, again: bool) -> None:
        at = NOON + timedelta(minutes=minutes, microseconds=1)
        session = a_session(
            self.one_of(data, [project.id for project in self.projects]),
            cwd=text,
            title=text,
            user=text,
            project_path=text,
            head=self.maybe(data, self.turns),
            forked_from=self.maybe(data, self.sessions),
            started_at=at,
            last_activity_at=at,
        )
        self.sessions[session.id] = session
        for _ in range(1 + again):
            self.alike(lambda store: store.sessions.add(session))

    @rule(data=st.data())
    def add_session_again(self, data: st.DataObject) -> None:
        session = self.sessions[data.draw(st.sampled_from([*self.sessions]))]
        self.alike(lambda store: store.sessions.add(session))
        self.alike(lambda store: store.sessions.get(session.id))

    @rule(data=st.data(), text=TEXTS, what=st.sampled_from(["rename", "set_model", "set_mode"]))
    def change_session(self, data: st.DataObject, text: str, what: str) -> None:
        session = self.one_of(data, self.sessions)
        self.alike(lambda store: getattr(store.sessions, what)(session, text))
        self.alike(lambda store: store.sessions.get(session))

    @rule(data=st.data())
    def set_head(self, data: st.DataObject) -> None:
        session, head = self.one_of(data, self.sessions), self.maybe(data, self.turns)
        self.alike(lambda store: store.sessions.set_head(session, head))
        self.alike(lambda store: store.sessions.get(session))

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        session = self.one_of(data, self.sessions)
        self.alike(lambda store: store.sessions.delete(session, dry_run=True))
        self.alike(lambda store: store.sessions.delete(session))

    @rule(data=st.data())
    def claim(self, data: st.DataObject) -> None:
        session = self.one_of(data, self.sessions)
        found = self.both(lambda store: store.sessions.claim(session))
        refused = [each for each in found if isinstance(each, Refused)]
        held = [each for each in found if not isinstance(each, Refused)]
        assert len(refused) in (0, 2)
        assert refused[:1] == refused[1:]
        if held:
            self.claims[session] = held

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        session = data.draw(st.sampled_from([*self.claims]))
        for claim in self.claims.pop(session):
            assert claim.lost == ""
            self.run(claim.release())

    @rule()
    def open_anew(self) -> None:
        self.close()
        self.claims.clear()
        self.stores = self.opened()

    # Turns, steps and calls

    @rule(data=st.data(), text=TEXTS, minutes=MINUTES, again=st.booleans())
    def start(self, data: st.DataObject, text: str, minutes: int, again: bool) -> None:
        parent = self.turns.get(self.maybe(data, self.turns) or "")
        known = self.sessions[data.draw(st.sampled_from([*self.sessions]))]
        turn = a_turn(known, text, parent=parent, started_at=NOON + timedelta(minutes=minutes))
        if data.draw(st.integers(0, 9)) == 5:
            turn = replace(
                turn, index=turn.index + 1, user=(TextPart(text), ImagePart("b" * 64, "image/png", text))
            )
        self.turns[turn.id] = turn
        for _ in range(1 + again):
            self.alike(lambda store: store.turns.start(turn))
        self.look_at(turn.id)

    @precondition(lambda self: self.turns)
    @rule(data=st.data())
    def start_again(self, data: st.DataObject) -> None:
        turn = self.turns[data.draw(st.sampled_from([*self.turns]))]
        self.alike(lambda store: store.turns.start(turn))
        self.look_at(turn.id)
        self.alike(lambda store: store.sessions.get(turn.session_id))

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), text=TEXTS, waits=st.booleans())
    def save_step(self, data: st.DataObject, text: str, waits: bool) -> None:
        step = self.a_step(data, text)
        self.alike(lambda store: store.turns.save_step(step, waits=waits))
        self.look_at(step.turn_id)

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), text=TEXTS, status=st.sampled_from(CallStatus), again=st.booleans())
    def call(self, data: st.DataObject, text: str, status: CallStatus, again: bool) -> None:
        step = self.a_step(data, text)
        call = a_call(
            step,
            status=status,
            result=text,
            diff=text,
            provider_id=text,
            result_chars=len(text),
            images=(ImagePart("b" * 64, "image/png", text),),
            started_at=NOON + timedelta(minutes=data.draw(MINUTES)),
        )
        if data.draw(st.integers(0, 9)) == 5:
            call = replace(
                call, turn_id=self.one_of(data, self.turns), step_index=data.draw(st.integers(0, 2))
            )
        self.calls.append(call)
        for _ in range(1 + again):
            self.alike(lambda store: store.calls.add(call, step))
        self.look_at(step.turn_id)

    def a_step(self, data: st.DataObject, text: str) -> Step:
        """A step of a turn, new or one that was tried before."""
        if self.steps and data.draw(st.booleans()):
            return data.draw(st.sampled_from(self.steps))
        turn = self.turns[data.draw(st.sampled_from([*self.turns]))]
        request = a_request(
            data.draw(st.sampled_from(["read", text])), path=text, more=[text, {"a": [1, None]}]
        )
        values = {"cost_usd": data.draw(st.sampled_from([None, 0.25, 0.1, 0.0]))}
        step = a_step(turn, data.draw(st.integers(0, 2)), text, request, **values)
        self.steps.append(step)
        return step

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), text=TEXTS, status=ENDS, again=st.booleans())
    def end(self, data: st.DataObject, text: str, status: TurnStatus, again: bool) -> None:
        turn = self.turns[data.draw(st.sampled_from([*self.turns]))]
        step = replace(self.a_step(data, text), turn_id=turn.id) if data.draw(st.booleans()) else None
        end = an_end(turn, text, status=status, error=text, last_step=step)
        for _ in range(1 + again):
            self.alike(lambda store: store.turns.end(end))
        self.look_at(turn.id)

    @rule(data=st.data())
    def reopen(self, data: st.DataObject) -> None:
        turn = self.one_of(data, self.turns)
        self.alike(lambda store: store.turns.reopen(turn))
        self.look_at(turn)

    def look_at(self, turn: str) -> None:
        self.alike(lambda store: store.turns.get(turn), without_clock)
        self.alike(lambda store: store.turns.steps([turn]))
        self.alike(lambda store: store.calls.of_turns([turn]))
