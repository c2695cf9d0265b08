"""`DOC_STORE`: store a document; values stored already are referred to."""

from typing import cast

from ragforge.workflow.operation import Operation, ProgramHost, Value, as_document, is_object, is_version


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    document = as_document(operands[0], "DOC_STORE")
    stored = next(
        (
            each
            for each in await host.library.documents(document["type"])
            if document.get("sessionId") and each.get("sessionId") == document["sessionId"]
        ),
        None,
    )
    if stored:  # one of its kind per session
        document = {**document, "_id": stored["_id"]}
    await host.library.keep_document(_referring(document))
    return document


def _referring(value: Value) -> Value:
    """Return the value with versions as references, and a state as that of its run."""
    if is_version(value):
        return {"version": value["id"]}
    if is_object(value):
        if {"run", "registers", "stack"} <= set(value):
            return {"run": value["run"]}
        return {key: _referring(each) for key, each in value.items()}
    return [_referring(each) for each in cast("list[Value]", value)] if isinstance(value, list) else value


OPERATION = Operation("DOC_STORE", _run, is_durable=True)
