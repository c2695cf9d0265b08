"""`CONV_SAVE`: add a message to the session's conversation."""

from uuid import NAMESPACE_URL, uuid5

from ragforge.domain.ids import now
from ragforge.workflow.operation import (
    Fields,
    Operation,
    ProgramFault,
    ProgramHost,
    Value,
    as_session,
    is_version,
)

TYPES = (
    "user_prompt",
    "spu_understanding",
    "code_generation",
    "code_modification",
    "user_feedback",
    "user_action",
)


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    before, value, kind = operands
    session = as_session(before, "CONV_SAVE")
    if kind not in TYPES:
        raise ProgramFault(f"There is no message {kind!r}; there are {', '.join(TYPES)}.")
    message: Fields = {
        # The same if it is repeated after a kill.
        "id": str(uuid5(NAMESPACE_URL, f"{session['id']}/{len(session['conversation'])}")),
        "session": session["id"],
        "program": host.program_name,
        "timestamp": now().isoformat(),
        "type": kind,
        # Stored values are referred to.
        "content": {"version": value["id"], "program": value["program"]} if is_version(value) else value,
        "context": {"domain": session.get("domain") or host.target, "language": "spu"},
        **(_metrics(host) if kind != "user_prompt" else {}),
    }
    await host.library.add_message(message)
    session = {**session, "conversation": [*session["conversation"], {"message": message["id"]}]}
    await host.library.keep_session(session)
    return session


def _metrics(host: ProgramHost) -> Fields:
    calls = host.calls_of_round()
    return {
        "llmUsed": sorted({call["model"] for call in calls}),
        "tokens": sum(call["tokens"] for call in calls),
        "generationTime": round(sum(call["seconds"] for call in calls), 2),
    }


OPERATION = Operation("CONV_SAVE", _run, is_durable=True)
