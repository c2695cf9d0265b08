"""An environment without models, files and store, in which programs are tried: all answers are scripted."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from ragforge.domain.errors import ModelError
from ragforge.domain.ids import new_id
from ragforge.workflow.operation import VERSION_TYPE, Fields, InputEnded, ProgramFault
from ragforge.workflow.sure_answers import intent_of


class MemoryLibrary:
    """A library in memory; see `ProgramLibrary`."""

    def __init__(self) -> None:
        self.sessions: dict[str, Fields] = {}
        self.kept_messages: dict[str, Fields] = {}
        self.kept_documents: dict[str, Fields] = {}
        self.versions: dict[str, Fields] = {}
        self.heads: dict[str, str] = {}
        self.moves: list[tuple[str, str]] = []

    async def session(self, program: str, target: str) -> Fields:
        for each in reversed(list(self.sessions.values())):
            if target and (each["program"], each["target"]) == (program, target):
                return {**each, "current_version": self.heads.get(target), "resumed": True}
        return {
            "id": new_id(),
            "program": program,
            "target": target,
            "current_version": self.heads.get(target),
            "conversation": [],
            "versions": [],
            "resumed": False,
        }

    async def keep_session(self, session: Fields) -> None:
        self.sessions[session["id"]] = session

    async def add_message(self, message: Fields) -> None:
        self.kept_messages[message["id"]] = message

    async def messages(self, ids: Sequence[str]) -> list[Fields]:
        return [self.kept_messages[each] for each in ids if each in self.kept_messages]

    async def keep_document(self, document: Fields) -> None:
        self.kept_documents[document["_id"]] = document

    async def documents(self, kind: str = "") -> list[Fields]:
        found = reversed(list(self.kept_documents.values()))
        return [each for each in found if not kind or each["type"] == kind]

    async def version(self, version_id: str) -> Fields | None:
        return self.versions.get(version_id)

    async def children(self, version_id: str) -> list[Fields]:
        return [each for each in self.versions.values() if each["parent"] == version_id]

    async def head(self, program: str) -> str:
        return self.heads.get(program, "")

    async def add_version(self, version: Fields, *, program: str, description: str) -> None:
        self.versions.setdefault(version["id"], {**version, "type": VERSION_TYPE})
        self.heads[program] = version["id"]

    async def move(self, version_id: str) -> None:
        program = self.versions[version_id]["program"]
        if (left := self.heads.get(program, "")) != version_id:
            self.moves.append((left, version_id))
        self.heads[program] = version_id

    async def examples(self, program: str) -> str:
        return ""


class ScriptedAnswer(Struct, frozen=True):
    """The answer to a task whose input contains these words."""

    task: str
    answer: Any
    has: str = ""


class Rehearsal(Struct):
    """The host of a program that is tried. Its user says yes to everything."""

    program_name: str = ""
    inputs: Sequence[str] = ()
    answers: Sequence[ScriptedAnswer] = ()
    displayed: list[str] = field(default_factory=list[str])
    library: MemoryLibrary = field(default_factory=MemoryLibrary)
    target: str = ""
    session_id: str = ""
    resuming: str = ""
    user_id: str = "somebody"
    project_id: str = "project"
    facts: dict[str, Fields] = field(default_factory=dict[str, Fields])
    taken: int = 0

    async def display(self, text: str) -> None:
        self.displayed.append(text)

    async def read_input(self) -> str:
        if self.taken >= len(self.inputs):
            raise InputEnded("There is no more input.")
        self.taken += 1
        return self.inputs[self.taken - 1]

    async def confirm(self, question: str, detail: str) -> bool:
        return True

    async def choose(self, question: str, options: Sequence[str]) -> int:
        return len(options) - 1

    async def ask_model(
        self, role: str, instructions: str, message: str, *, task: str = "", schema: Fields | None = None
    ) -> str:
        fitting = [each for each in self.answers if each.task == task and each.has in message]
        if not fitting:
            raise ModelError(f"No example answers the task {task or 'of ' + role}.")
        # The last message comes first in a prompt, and the history after it.
        found = min(fitting, key=lambda each: (not each.has, message.find(each.has)))
        return found.answer if isinstance(found.answer, str) else json.dumps(found.answer)

    def sure_answer(self, task: str, fields: Fields) -> Any:
        return intent_of(str(fields.get("prompt", ""))) if task == "intent_classification" else None

    def remember(self, text: str, **facts: Any) -> None:
        self.facts[text] = {**self.facts.get(text, {}), **facts}

    def about(self, text: str) -> Fields:
        return dict(self.facts.get(text, {}))

    def calls_of_round(self) -> list[Fields]:
        return []

    async def load_patterns(self) -> list[Fields]:
        return []

    async def context_block(self, text: str) -> str:
        return ""

    async def similarity(self, text: str, others: Sequence[str]) -> list[float]:
        return [1.0 if text == other else 0.0 for other in others]

    async def similar_problems(self, text: str) -> list[Fields]:
        return []

    async def uncommitted_changes(self) -> str:
        return ""

    async def changes_between(self, one: str, other: str) -> str:
        return ""

    async def run_tool(self, name: str, args: Mapping[str, Any]) -> Fields:
        raise ProgramFault(f"{name} was not run, because no tool runs while a program is tried out.")

    async def run_agent(
        self, prompt: str, role: str, steps_max: int, *, material: str, only_reads: bool
    ) -> Fields:
        raise ProgramFault("No assistant runs while a program is tried out.")

    async def take_version(self, version_id: str) -> None:
        raise ProgramFault("No files change while a program is tried out.")

    async def run_check(self) -> Fields:
        return {"passed": True, "exit_code": 0, "tail": ""}
