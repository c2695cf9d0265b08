"""`LLM_EXEC`: one call of a model."""

import json

from ragforge.domain.errors import ModelError
from ragforge.workflow.edits import EditFault, apply_edits
from ragforge.workflow.model_tasks import ask_task
from ragforge.workflow.operation import (
    Fields,
    Operation,
    ProgramFault,
    ProgramHost,
    Value,
    as_text,
    is_object,
    is_version,
    plain,
)
from ragforge.workflow.prompts import tasks
from ragforge.workflow.sure_answers import detected

EDITING = frozenset({"modify_code", "repair_code"})
"""Tasks that are answered with edits of `code`."""


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    role, given = operands
    if not isinstance(role, str) or not role:
        raise ProgramFault(f"LLM_EXEC takes the name of a model or a role, not {role!r}.")
    fields = dict(given) if is_object(given) and not is_version(given) else {"prompt": plain(given)}
    task = fields.pop("task", None)
    if task is not None and not isinstance(task, str):
        raise ProgramFault(f"The task of LLM_EXEC is a text, not {json.dumps(task)[:40]}.")
    if task is None:
        # The detectors have their own prompt, and a model that is given a context has to write a program.
        task = role if role in tasks() else "generate_program" if "context" in fields else None
    if task is not None and "code" in fields and fields["code"] is None:
        raise ProgramFault("There is no program yet: ask for a new one first.")
    if task == "validate_changes" and (known := _validated(fields)) is not None:
        return known
    try:
        answer = await ask_task(host, role, task, fields)
    except ModelError:
        if (by_rules := detected(role, fields.get("prompt"))) is None:
            raise
        answer = by_rules
    if task in EDITING:
        code = plain(fields.get("code"))
        if not isinstance(code, str):
            raise ProgramFault(f"The task {task} needs the text as `code`.")
        try:
            return apply_edits(code, answer["edits"])
        except EditFault as error:
            raise ProgramFault(f"The edits that {role} proposes do not fit: {error}") from error
    if isinstance(answer, str) and fields.get("focus"):
        host.remember(answer, focus=fields["focus"])
    return answer


def _validated(fields: Fields) -> Fields | None:
    """Return the verdict on a change that changes nothing; None if a model must be asked.

    Raises ProgramFault if there is nothing to validate, because the change failed.
    """
    modified = as_text(fields.get("modified"), "The modified text")
    return {"holds": True, "reasons": []} if modified == plain(fields.get("original")) else None


OPERATION = Operation("LLM_EXEC", _run, is_durable=True)
