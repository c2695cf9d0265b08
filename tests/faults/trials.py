"""A turn or a move that meets a fault, and what must hold afterwards whatever the fault was.

An error is one for people; words are stored, or said not to be; the next start works; files are as before or
as after, whole; and an undo restores them. Each trial returns what did not hold.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.children import Children, Ended
from tests.faults.shim import Action, Fault

KILLS = (Action.KILL_BEFORE, Action.KILL_AFTER)


@dataclass(frozen=True)
class Verdict:
    """What came of a trial. met: whether the fault was met at all. wrong: what did not hold."""

    met: bool
    calls: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    said: str = ""
    """How the turn or the move ended."""
    unkept: list[str] = field(default_factory=list)
    """Contents of files that were not kept right after it."""


@dataclass
class Ground:
    """A project that trials go on in, one after another. number: of its newest turn."""

    children: Children
    folder: Path
    number: int = 0
    last: dict[str, Any] = field(default_factory=dict)
    """The state that was seen last."""

    @property
    def project(self) -> Path:
        return self.folder / "project"

    def begin(self) -> "Ground":
        """Make the project, with a turn in it."""
        self.project.mkdir(parents=True, exist_ok=True)
        (self.project / "kept.txt").write_text("the first\n" * 200)
        assert not self.turn(None).wrong
        return self

    def look(self) -> dict[str, Any]:
        """The state at the next start."""
        ended = self.children.run("look", self.folder)
        self.last = {"wrong": [f"the next start fails: {ended.error}"]} if ended.error else ended.result
        return self.last

    def turn(self, fault: Fault | None) -> Verdict:
        """The next turn meets the fault."""
        self.number += 1
        before = self._edited(self.last or self.look())
        ended = self.children.run("turn", self.folder, fault, number=self.number)
        after = self.look()
        wrong = [*unexpected(ended, fault), *before["wrong"], *after["wrong"]]
        if not wrong:
            wrong += self._lost_words(before, ended, after) + self._torn(before, after)
        is_new = not wrong and after["words"][-1:] == [f"Message {self.number}."]
        if is_new and after["came_to_nothing"]:
            # Its words went back to the prompt, so nothing may be left of it.
            wrong += [] if after["files"] == before["files"] else [f"files of a turn of nothing: {after}"]
        elif is_new and fault:
            wrong += self._not_undone(before, after)
        return Verdict(met(ended, fault), ended.calls, wrong, str(ended.result), after.get("unkept", []))

    def move(self, fault: Fault | None, ends: "Ends") -> Verdict:
        """An undo, or a redo where it was undone, meets the fault."""
        before = self.last
        is_back = state_of(before) == ends.done
        ended = self.children.run("move", self.folder, fault, back=is_back)
        after = self.look()
        wrong = [*unexpected(ended, fault), *after["wrong"]]
        if not wrong:
            state, goal = state_of(after), ends.undone if is_back else ends.done
            if state not in (ends.done, ends.undone):
                wrong.append(f"half of the move is done: {after['words']} {after['files']}")
            elif ended.result and "moved" in ended.result and state != goal:
                wrong.append(f"it was told as done and is not: {after['words']} {after['files']}")
        return Verdict(met(ended, fault), ended.calls, wrong, str(ended.result))

    def _edited(self, look: Mapping[str, Any]) -> dict[str, Any]:
        """The state after the user wrote a file by hand."""
        content = f"by hand {self.number}\n"
        (self.project / "old.txt").write_text(content)
        files = {**look.get("files", {}), "old.txt": f"100644 {short_hash(content)}"}
        return {**look, "files": files}

    def ends(self) -> "Ends":
        """Where undo and redo of the newest turn lead; it is undone and redone for that."""
        done = state_of(self.look())
        self.children.run("move", self.folder, back=True)
        undone = state_of(self.look())
        self.children.run("move", self.folder, back=False)
        assert state_of(self.look()) == done != undone
        return Ends(done, undone)

    def _lost_words(self, before: Mapping[str, Any], ended: Ended, after: Mapping[str, Any]) -> list[str]:
        words, own = after["words"], f"Message {self.number}."
        # An empty turn is passed over: its words went back to the prompt.
        earlier = before["words"][:-1] if before.get("came_to_nothing") else before["words"]
        if words[: len(earlier)] != earlier:
            return [f"words of earlier turns are gone: {before['words']} {words}"]
        is_stored = words[len(earlier) :] == [own]
        if ended.was_killed or is_stored:
            return []
        if ended.result["started"]:
            return [f"the turn began, and its words are gone: {ended.result}"]
        return [] if ended.result.get("raised") else [f"the words are gone without a word: {ended.result}"]

    def _torn(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
        """Files that are neither as before nor as after the turn."""
        number = self.number
        may_be = {
            "kept.txt": f"kept {number}\n" * 200,
            f"made{number % 4}/new.txt": f"new {number}\n",
            "other.txt": f"{number}\n",
            "old.txt": None,
            "log.txt": None,
        }
        wrong: list[str] = []
        for path in before["files"].keys() | after["files"].keys():
            now = after["files"].get(path)
            content = may_be.get(path)
            new = None if content is None else short_hash(content)
            if now == before["files"].get(path) or (now is not None and now.split()[1] == new):
                continue
            if path not in may_be or (path == "old.txt" and now is not None):
                wrong.append(f"{path} is torn: {before['files'].get(path)} {now}")
        return wrong

    def _not_undone(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
        """What an undo of the turn does not bring back."""
        ended = self.children.run("move", self.folder, back=True)
        undone = self.look()
        if ended.error or undone["wrong"]:
            return [f"the turn cannot be undone: {ended.error} {undone['wrong']}"]
        if undone["files"] == before["files"]:
            return []
        differ = {
            path: (before["files"].get(path), after["files"].get(path), undone["files"].get(path))
            for path in before["files"].keys() | undone["files"].keys()
            if before["files"].get(path) != undone["files"].get(path)
        }
        return [f"an undo does not bring back (before, after, undone): {differ}; {ended.result}"]


@dataclass(frozen=True)
class Ends:
    """Words and files with the newest turn done, and with it undone."""

    done: tuple[object, object]
    undone: tuple[object, object]


def short_hash(content: str) -> str:
    """As `jobs.files_in` has it."""
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def state_of(look: Mapping[str, Any]) -> tuple[object, object]:
    """Words and files."""
    return look.get("words"), look.get("files")


def met(ended: Ended, fault: Fault | None) -> bool:
    """Whether the child came to the call of the fault."""
    return fault is not None and 0 < fault.nth <= len(ended.calls)


def unexpected(ended: Ended, fault: Fault | None) -> list[str]:
    """How a child ended that must not end so."""
    if ended.error:
        return [f"an error that is not for people: {ended.error}"]
    if ended.was_killed:
        kills = fault is not None and fault.action in KILLS
        return [] if kills and met(ended, fault) else ["the child was killed by somebody else"]
    if ended.status:
        return [f"the child ended with status {ended.status}"]
    result = ended.result or {}
    told = f"{result.get('error', '')} {result.get('raised', '')}"
    return [f"an error that is not for people: {told}"] if "Unexpected failure" in told else []
