"""`ANALYZE`: the patterns of success in a conversation, by rules."""

from ragforge.domain.words import first_words
from ragforge.workflow.operation import Fields, Operation, ProgramHost, Value, as_list, is_object

CHARS_MAX = 200


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    conversation = as_list(operands[0], "ANALYZE")
    ids = [each.get("message") for each in conversation if is_object(each)]
    messages = await host.library.messages([each for each in ids if isinstance(each, str)])
    patterns: list[Fields] = []
    prompt = ""
    for message in messages:
        content = message["content"]
        match message["type"]:
            case "user_prompt":
                prompt = str(content)
            case "code_generation" | "code_modification":
                evidence = content.get("version", "") if is_object(content) else ""
                text = first_words(f"Kept for: {prompt}", CHARS_MAX)
                patterns.append({"kind": "pattern", "text": text, "support": 1, "evidence": [evidence]})
            case "user_action" if is_object(content) and content.get("action") == "undo":
                for each in patterns:
                    if content.get("from") in each["evidence"]:
                        each["kind"], each["text"] = "mistake", each["text"].replace("Kept", "Undone", 1)
            case _:
                pass
    return patterns


OPERATION = Operation("ANALYZE", _run, is_durable=True)
