"""The stored data of programs, in the open store; see `ProgramLibrary`."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast
from uuid import NAMESPACE_URL, uuid5

from msgspec.structs import replace

from ragforge.domain.derivations import Derived, DerivedFilter, DerivedKind, Underived, as_kept
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import now, short_id
from ragforge.domain.versions import Version
from ragforge.domain.words import first_words
from ragforge.session.program_files import EXAMPLES_SUFFIX, IN_PROJECT
from ragforge.session.state import Workspace
from ragforge.store.base import keep_project
from ragforge.workflow import records
from ragforge.workflow.operation import VERSION_TYPE, Fields, ProgramFault, Value, is_object
from ragforge.workflow.tree import ProgramTree, content_of, tree_of

FOUND_MAX = 1_000
TEXT_CHARS_MAX = 2_000
TITLE_CHARS = 80


class StoreLibrary:
    """The data of this user's programs in the open project, and the trees of programs."""

    def __init__(self, workspace: Workspace, run_id: str) -> None:
        """run_id: of the run whose new session gets the same id again when it is repeated after a kill."""
        self._workspace = workspace
        self._new_session = str(uuid5(NAMESPACE_URL, run_id))
        self._last = now()

    async def session(self, program: str, target: str) -> Fields:
        head = await ProgramTree(self._workspace, target).take_in() if target else ""
        for record in await self._find(records.SESSION):
            if record.session == self._new_session:
                return {**_session_fields(record), "current_version": head or None, "resumed": False}
            if record.program == program and record.target == target and target and record.user == self._user:
                return {**_session_fields(record), "current_version": head or None, "resumed": True}
        return {
            "id": self._new_session,
            "program": program,
            "target": target,
            "current_version": head or None,
            "conversation": [],
            "versions": [],
            "started": now().isoformat(),
            "resumed": False,
        }

    async def keep_session(self, session: Fields) -> None:
        record = records.ProgramSessionRecord(
            session["id"],
            session["program"],
            session.get("target") or "",
            self._user,
            session.get("current_version") or "",
            session.get("started") or "",
            [each["message"] for each in session["conversation"]],
            [each["version"] for each in session["versions"]],
        )
        await self._save(records.SESSION, record, name=record.session)

    async def add_message(self, message: Fields) -> None:
        content = message["content"]
        record = records.ProgramMessageRecord(
            message["id"],
            message["session"],
            message["program"],
            message["type"],
            message["timestamp"],
            first_words(self._workspace.redactor.text(in_words(content)), TEXT_CHARS_MAX),
            content,
            message["context"]["domain"] or "",
            message["context"]["language"],
            message.get("llmUsed", []),
            message.get("tokens", 0),
            message.get("generationTime", 0.0),
        )
        await self._save(records.MESSAGE, record, name=record.message)

    async def messages(self, ids: Sequence[str]) -> list[Fields]:
        found = {each.message: each for each in await self._find(records.MESSAGE)} if ids else {}
        return [_message_fields(found[each]) for each in ids if each in found]

    async def keep_document(self, document: Fields) -> None:
        fields = {key: value for key, value in document.items() if key not in _OWN}
        record = records.ProgramDocumentRecord(document["_id"], document["type"], document["userId"], fields)
        await self._save(records.DOCUMENT, record, name=record.document)

    async def documents(self, kind: str = "") -> list[Fields]:
        project = self._workspace.project.id
        return [
            {
                **each.fields,
                **{"_id": each.document, "type": each.type, "userId": each.user, "projectId": project},
            }
            for each in await self._find(records.DOCUMENT)
            if each.user == self._user and (not kind or each.type == kind)
        ]

    async def version(self, version_id: str) -> Fields | None:
        found = await self._workspace.store.versions.get([version_id])
        return await self._version_fields(found[0]) if found else None

    async def children(self, version_id: str) -> list[Fields]:
        found = [
            await self._version_fields(each)
            for each in await self._workspace.store.versions.children(version_id)
        ]
        return [each for each in found if each]

    async def head(self, program: str) -> str:
        return await ProgramTree(self._workspace, program).take_in()

    async def add_version(self, version: Fields, *, program: str, description: str) -> None:
        tree = ProgramTree(self._workspace, program)
        await tree.take_in()
        parents = await self._parents(await tree.project_id(), version)
        changes: list[Any] = version.get("diff") or []
        reasons = [str(each["what"]) if is_object(each) and "what" in each else str(each) for each in changes]
        merged: list[str] = version.get("mergedFrom") or []
        told = f"Merge {' and '.join(map(short_id, merged))}" if merged else description
        title = self._workspace.redactor.text(version.get("title") or "; ".join(reasons) or told)
        title = first_words(title, TITLE_CHARS)
        await tree.add(version["code"], parents[0], version_id=version["id"], title=title, merged=parents[1])
        project = await tree.project_id()
        facts = records.ProgramVersionRecord(
            program, version["id"], title, version["alternatives"], merged, reasons
        )
        await self._save(records.VERSION_FACTS, facts, name=version["id"], project=project)
        await self._keep_program(tree, project, description, version["id"])

    async def move(self, version_id: str) -> None:
        found = await self._workspace.store.versions.get([version_id])
        tree = tree_of(self._workspace, found[0]) if found else None
        if tree is None:
            raise ProgramFault(f"There is no version {version_id} of a program.")
        await tree.move(found[0])
        await self._keep_program(tree, found[0].project_id, "", version_id)

    async def examples(self, program: str) -> str:
        own, root = ProgramTree(self._workspace, program).file, self._workspace.place.root
        name = f"{program}{EXAMPLES_SUFFIX}"
        try:
            found = await asyncio.to_thread(content_of, own.with_name(name))
            if found is None and not own.exists():  # it is still the project's
                found = await asyncio.to_thread(content_of, root / IN_PROJECT / name)
            return (found or b"").decode()
        except (UsageError, UnicodeDecodeError) as error:
            raise ProgramFault(f"The examples of {program} cannot be read: {error}") from error

    @property
    def _user(self) -> str:
        return self._workspace.person.id

    async def _parents(self, project: str, version: Fields) -> tuple[str, str]:
        """Return the version that it is made from, and the other one of a merge, if they are in the tree."""
        wanted: list[str | None] = [version.get("parent"), *(version.get("mergedFrom") or [])]
        ids = [each for each in dict.fromkeys(wanted) if each]
        found = await self._workspace.store.versions.get(ids) if ids else []
        own = [each.id for each in found if each.project_id == project]
        return (own[0] if own else "", own[1] if len(own) > 1 else "")

    async def _version_fields(self, version: Version) -> Fields | None:
        tree = tree_of(self._workspace, version)
        if tree is None:
            return None
        facts = await self._facts(version)
        return {
            "type": VERSION_TYPE,
            "id": version.id,
            "program": tree.name,
            "parent": version.parents[0] if version.parents else None,
            "title": version.title,
            "code": (await tree.content(version)).decode("utf-8", "replace"),
            "alternatives": facts.alternatives if facts else [],
        }

    async def _facts(self, version: Version) -> records.ProgramVersionRecord | None:
        found = await self._find(records.VERSION_FACTS, version.project_id)
        return next((each for each in found if each.version == version.id), None)

    async def _keep_program(self, tree: ProgramTree, project: str, description: str, version_id: str) -> None:
        known = next(iter(await self._find(records.PROGRAM, project)), None)
        record = records.ProgramRecord(
            tree.name, description or (known.description if known else ""), tree.file.name, version_id
        )
        await self._save(records.PROGRAM, record, name=tree.name, project=project)

    async def _find(self, kind: DerivedKind[Any], project: str = "") -> list[Any]:
        wanted = DerivedFilter(kind.label, project or self._workspace.project.id, limit=FOUND_MAX)
        read = [kind.read(record) for record in await self._workspace.store.derivations.find(wanted)]
        return [each for each in read if each is not None]  # another version may have made one

    async def _save(self, kind: DerivedKind[Any], data: Any, *, name: str, project: str = "") -> None:
        workspace = self._workspace
        if not project:
            await keep_project(workspace.store, workspace.project)
        project = project or workspace.project.id
        # What is stored later in a run must not seem older because a clock stands still.
        self._last = max(now(), self._last)
        record = kind.record(Underived(project, project, self._last), data, name=name)
        await workspace.store.derivations.save(self._safe(record))

    def _safe(self, record: Derived) -> Derived:
        try:
            return replace(record, data=self._workspace.redactor.fields(as_kept(record).data))
        except UsageError as error:
            raise ProgramFault(f"It cannot be saved. {error}") from error


_OWN = ("_id", "type", "userId", "projectId")


def _session_fields(record: records.ProgramSessionRecord) -> Fields:
    return {
        "id": record.session,
        "program": record.program,
        "target": record.target,
        "current_version": record.current_version or None,
        "conversation": [{"message": each} for each in record.messages],
        "versions": [{"version": each} for each in record.versions],
        "started": record.started,
    }


def _message_fields(record: records.ProgramMessageRecord) -> Fields:
    return {
        "id": record.message,
        "timestamp": record.timestamp,
        "type": record.type,
        "content": record.content,
        "llmUsed": record.llm_used,
        "tokens": record.tokens,
        "generationTime": record.generation_time,
        "context": {"domain": record.domain, "language": record.language},
    }


def in_words(value: Value) -> str:
    """What a message contains, as search shows it: texts as they are, and no JSON."""
    if isinstance(value, list):
        return ", ".join(map(in_words, cast("list[Value]", value)))
    if not is_object(value):
        return str(value) if value is not None else ""
    if value.keys() == {"version", "program"}:
        return f"{value['program']}, version {short_id(str(value['version']))}"
    return "; ".join(f"{key}: {words}" for key, each in value.items() if (words := in_words(each)))
