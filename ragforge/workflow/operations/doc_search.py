"""`DOC_SEARCH`: the documents with these fields; with `similarity`, the similar ones, by a threshold."""

from ragforge.workflow.operation import Operation, ProgramFault, ProgramHost, Value, as_object, as_text, shown

THRESHOLD = 0.8
TEXT_CHARS_MAX = 2_000
PROBLEM = "problem"
"""What was done in the project's sessions, as `/similar` finds it."""


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    wanted = dict(as_object(operands[0], "DOC_SEARCH"))
    text, threshold = wanted.pop("similarity", None), wanted.pop("threshold", THRESHOLD)
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise ProgramFault(f"The threshold of DOC_SEARCH is a number, not {threshold!r}.")
    if wanted == {"type": PROBLEM} and text is not None:
        return await host.similar_problems(as_text(text, "DOC_SEARCH"))
    found = [
        each
        for each in await host.library.documents(wanted.get("type") or "")
        if all(each.get(key) == value for key, value in wanted.items())
    ]
    if text is None or not found:
        return found
    texts = [shown(each)[:TEXT_CHARS_MAX] for each in found]
    scores = await host.similarity(as_text(text, "DOC_SEARCH"), texts)
    return [
        {**each, "similarity": round(score, 4)}
        for each, score in zip(found, scores, strict=True)
        if score >= threshold
    ]


OPERATION = Operation("DOC_SEARCH", _run, is_durable=True)
