"""What chat completions services refuse: roles, ids of tool calls and their answers, images.

Written after what they publish and after the chat templates of local models, never compared with them.
"""

import base64
import binascii
import json
import re
from typing import Any

Json = dict[str, Any]

SEARCH_TOOL = "openrouter:web_search"
INPUTS_MAX = 2_048
INPUT_TOKENS_MAX = 8_192


def why_refused(body: Json) -> str:
    """Why a chat request is wrong, in OpenAI's words; empty when it is right."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return "Invalid type for 'messages': expected a non-empty array."
    if "stream_options" in body and not body.get("stream"):
        return "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    for tool in body.get("tools", ()):
        if tool.get("type") == SEARCH_TOOL:
            continue
        if tool.get("type") != "function" or tool["function"].get("parameters", {}).get("type") != "object":
            return "Invalid schema for function: schema must be a JSON Schema of 'type: \"object\"'."
    return _why_format_refused(body) or _why_messages_refused(messages)


def why_embedding_refused(body: Json) -> str:
    """Why a request for embeddings is wrong; empty when it is right."""
    asked = body.get("input")
    texts = [asked] if isinstance(asked, str) else asked
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        return "'input' must be a string or a non-empty array of strings."
    if len(texts) > INPUTS_MAX:
        return f"'$.input' is invalid: at most {INPUTS_MAX} items are allowed."
    if any(not text for text in texts):
        return "'$.input' is invalid: an input may not be empty."
    if any(len(text) > 4 * INPUT_TOKENS_MAX for text in texts):
        return f"This model's maximum context length is {INPUT_TOKENS_MAX} tokens."
    return ""


def _why_format_refused(body: Json) -> str:
    """A schema needs a name; a strict one is closed in every object, and requires every property."""
    asked = body.get("response_format")
    if asked is None:
        return ""
    match asked:
        case {"type": "json_schema", "json_schema": {"name": str(name), "schema": dict(schema), **more}}:
            if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
                return "Invalid 'response_format.json_schema.name': string does not match pattern."
            if schema.get("type") != "object":
                return (
                    "Invalid schema for response_format: schema must be a JSON Schema of 'type: \"object\"'."
                )
            return _why_not_strict(schema, ()) if more.get("strict") else ""
        case {"type": "text" | "json_object"}:
            return ""
        case _:
            return "Missing required parameter: 'response_format.json_schema'."


def _why_not_strict(schema: Any, place: tuple[str, ...]) -> str:
    head = f"Invalid schema for response_format 'answer': In context={place}, "
    for word in ("minLength", "maxLength", "default", "oneOf", "allOf", "not", "if", "patternProperties"):
        if word in schema:
            return f"{head}{word!r} is not permitted."
    properties = schema.get("properties", {})
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            return f"{head}'additionalProperties' is required to be supplied and to be false."
        if set(schema.get("required", ())) != set(properties):
            return f"{head}'required' is required to be supplied and to be an array including every key."
    within = [(name, child) for name, child in properties.items()]
    within += [("anyOf", child) for child in schema.get("anyOf", ())]
    within += [("items", schema["items"])] if "items" in schema else []
    return next((wrong for name, child in within if (wrong := _why_not_strict(child, (*place, name)))), "")


def _why_messages_refused(messages: list[Json]) -> str:
    open_ids: list[str] = []
    before = ""
    for index, message in enumerate(messages):
        role = message.get("role")
        if role == "tool":
            if message.get("tool_call_id") not in open_ids:
                return (
                    "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
                )
            open_ids.remove(message["tool_call_id"])
        elif open_ids:
            return f"'tool_call_ids' did not have response messages: {', '.join(open_ids)}"
        elif role == before and role in ("user", "assistant"):
            return "Conversation roles must alternate user/assistant/user/assistant/..."
        if wrong := _why_message_refused(message, first=index == 0):
            return f"messages[{index}]: {wrong}"
        open_ids += [call["id"] for call in message.get("tool_calls", ())]
        before = str(role)
    return f"'tool_call_ids' did not have response messages: {', '.join(open_ids)}" if open_ids else ""


def _why_message_refused(message: Json, *, first: bool) -> str:
    content = message.get("content")
    match message.get("role"):
        case "system":
            return "" if first and isinstance(content, str) else "a system message must come first, as text"
        case "tool":
            return "" if isinstance(content, str) else "the content of a tool message must be text"
        case "user":
            return _why_content_refused(content)
        case "assistant":
            calls = message.get("tool_calls")
            if calls == [] or (not calls and not content):
                return "expected content or tool_calls"
            return next((wrong for call in calls or () if (wrong := _why_call_refused(call))), "")
        case role:
            return f"unknown role {role!r}"


def _why_call_refused(call: Json) -> str:
    if not (isinstance(call.get("id"), str) and 0 < len(call["id"]) <= 40):
        return "invalid 'tool_calls[].id': expected a string of 1 to 40 characters"
    try:
        args = json.loads(call["function"]["arguments"])
    except (KeyError, TypeError, ValueError):
        return "invalid 'tool_calls[].function.arguments'"
    return "" if isinstance(args, dict) and call.get("type") == "function" else "invalid tool call"


def _why_content_refused(content: object) -> str:
    if isinstance(content, str):
        return ""
    if not isinstance(content, list) or not content:
        return "expected text or an array of content parts"
    for part in content:
        match part:
            case {"type": "text", "text": str()}:
                continue
            case {"type": "image_url", "image_url": {"url": str(url)}} if url.startswith("data:image/"):
                try:
                    base64.b64decode(url.partition(";base64,")[2], validate=True)
                except binascii.Error:
                    return "invalid base64 in 'image_url'"
            case _:
                return f"invalid content part {part!r}"
    return ""
