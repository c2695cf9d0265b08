"""`VERSION_SAVE`: store a version of a program. It is the gate: what does not pass is not stored."""

from ragforge.domain.errors import ModelError
from ragforge.files.diffs import unified
from ragforge.workflow.check import assemble
from ragforge.workflow.edits import EditFault, apply_edits
from ragforge.workflow.examples import failed_examples
from ragforge.workflow.gate import faults_of_program
from ragforge.workflow.model_tasks import ask_task
from ragforge.workflow.operation import (
    Fields,
    Operation,
    ProgramFault,
    ProgramHost,
    Value,
    as_session,
    is_error,
    is_object,
    is_version,
    type_words,
)
from ragforge.workflow.program_text import name_of

REPAIRS_MAX = 2


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    session, version = operands
    if not is_version(version):
        raise ProgramFault(f"VERSION_SAVE takes what VERSION_CREATE made, not {type_words(version)}.")
    session = as_session(session, "VERSION_SAVE") if session else {}
    version = await _passed(host, version, target=session.get("target") or "")
    name = version["program"]
    parent = await host.library.version(version["parent"]) if version["parent"] else None
    there = await host.library.head(name)
    compared = parent or (await host.library.version(there) if there else None)
    before = compared["code"] if compared else None
    if not version["code"].endswith("\n") and (before is None or before.endswith("\n")):
        version = {**version, "code": f"{version['code']}\n"}  # models omit the end of the last line
    diff = unified(before, version["code"], f"{name}.spu")
    if not diff and not version.get("mergedFrom"):
        raise ProgramFault(f"No new version was made: the text is the same as that of {name}.spu.")
    if not diff:
        diff = "(no change)"
    if not await host.confirm(f"Keep this as {name}.spu?", diff):
        raise ProgramFault(f"{name}.spu was not kept, because you did not approve it.")
    program = assemble(version["code"].encode()).program
    description = program.description if program else ""
    await host.library.add_version(version, program=name, description=description)
    await host.display(f"Kept {name}.spu, version {version['id'][-8:]}.")
    if not session:
        return session
    kept = [*session.get("versions", []), {"version": version["id"]}]
    session = {**session, "current_version": version["id"], "versions": kept, "target": name}
    await host.library.keep_session(session)
    return session


async def _passed(host: ProgramHost, version: Fields, *, target: str) -> Fields:
    """Return the version that passes the gate, after at most two repairs. Raises ProgramFault.

    target: the program that the session works on.
    """
    told = ""
    for tried in range(REPAIRS_MAX + 1):
        faults = await _faults(host, version, target=target, is_first=tried == 0)
        if not faults:
            return version
        told = "\n".join(f"- {fault}" for fault in faults)
        if tried == REPAIRS_MAX:
            break
        try:
            given = {"code": version["code"], "faults": told}
            code = apply_edits(version["code"], (await ask_task(host, "", "repair_code", given))["edits"])
        except (ModelError, EditFault) as error:
            raise ProgramFault(f"The program was not kept.\n{told}\nThe repair failed: {error}") from error
        version = {**version, "code": code, "program": name_of(code)}
    raise ProgramFault(f"The program was not kept.\n{told}")


async def _faults(host: ProgramHost, version: Fields, *, target: str, is_first: bool) -> list[str]:
    if faults := faults_of_program(version["code"]):
        return faults
    if fault := await _fault_of_name(host, version, target=target):
        return [fault]
    if faults := await failed_examples(version["code"], await host.library.examples(version["program"])):
        return faults
    validation = version.get("validation")
    # The first text was validated; a repaired one passes by what can be checked.
    if not is_first or validation is None:
        return []
    if is_error(validation):
        return [f"It was not validated: {validation['error']}"]
    if is_object(validation) and validation.get("holds") is False:
        return [str(each) for each in validation.get("reasons") or ["The second model does not agree."]]
    return []


async def _fault_of_name(host: ProgramHost, version: Fields, *, target: str) -> str:
    """Why it may not have its name: no new program, and no change, which may rename one, replaces another."""
    name = version["program"]
    parent = await host.library.version(version["parent"]) if version["parent"] else None
    own = parent["program"] if parent else target
    if name == own:
        return ""
    is_taken = bool(await host.library.head(name))
    if parent and (is_taken or version.get("mergedFrom")):
        return f"It must keep its name: .program {own}, not {name}."
    taken = f"There is already a program {name}: give this one another name after .program."
    return taken if is_taken else ""


OPERATION = Operation("VERSION_SAVE", _run, is_durable=True)
