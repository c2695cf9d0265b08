"""What the Gemini stand-in is strict about, as the real service is (after its published documentation).

Requests are brought to camelCase first: the service accepts both, clients send either.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass, field
from typing import Any

from tests.standins.gemini_replies import Failure, Json, invalid

SKIP_VALIDATION = base64.b64encode(b"skip_thought_signature_validator").decode()
OPAQUE = {"args", "response", "parameters", "parametersJsonSchema", "responseJsonSchema", "responseSchema"}
"""Below these, names are the caller's own and stay."""

BODY_FIELDS = {
    "model", "contents", "tools", "toolConfig", "safetySettings", "systemInstruction",
    "generationConfig", "cachedContent", "serviceTier", "store",
}  # fmt: skip
SEARCH_DATA = {"toolCall", "toolResponse"}
PART_DATA = {"text", "inlineData", "functionCall", "functionResponse", "fileData", *SEARCH_DATA}
PART_FIELDS = PART_DATA | {"thought", "thoughtSignature", "videoMetadata", "mediaResolution"}
CONFIG_FIELDS = {
    "stopSequences", "responseMimeType", "responseJsonSchema", "responseSchema", "candidateCount",
    "maxOutputTokens", "temperature", "topP", "topK", "seed", "thinkingConfig", "responseModalities",
}  # fmt: skip
LEVELS = {"minimal", "low", "medium", "high", "xhigh"}
SCHEMA_TYPES = {"string", "integer", "number", "boolean", "array", "object", "null"}


class Refused(Exception):
    """The request is answered with an error."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def refuse(message: str) -> Refused:
    return Refused(invalid(message))


@dataclass
class Issued:
    """The signed parts of one answer that the stand-in gave, in order."""

    model: str
    signed: list[Json] = field(default_factory=list)


def camel(value: Any) -> Any:
    """The same JSON with camelCase names, but for what is below OPAQUE."""
    if isinstance(value, list):
        return [camel(item) for item in value]
    if not isinstance(value, dict):
        return value
    renamed = {re.sub(r"_([a-z])", lambda m: m[1].upper(), key): item for key, item in value.items()}
    return {key: item if key in OPAQUE else camel(item) for key, item in renamed.items()}


def check_generate(body: Json, *, model: str, issued: list[Issued]) -> None:
    """Raises Refused where the real service would answer 400."""
    _known(body, BODY_FIELDS, "")
    contents = body.get("contents")
    if not contents:
        raise refuse("* GenerateContentRequest.contents: contents is not specified")
    for index, content in enumerate(contents):
        _check_content(content, index)
    _check_roles(contents)
    _check_calls(contents)
    _check_signatures(contents, model=model, issued=issued)
    if "systemInstruction" in body:
        for part in body["systemInstruction"].get("parts", []):
            _check_part(part, "system_instruction.parts")
    _check_tools(body.get("tools", []))
    _check_search(body, model)
    _check_config(body.get("generationConfig", {}))
    _check_structured(body)


def count_tokens(value: Any) -> int:
    """Tokens at four characters each; an image is 258, signatures and names are free."""
    if isinstance(value, str):
        return -(-len(value) // 4)
    if isinstance(value, list):
        return sum(count_tokens(item) for item in value)
    if isinstance(value, dict):
        if "inlineData" in value:
            return 258
        free = {"role", "thoughtSignature", "generationConfig", "toolConfig", "model"}
        return sum(count_tokens(item) for key, item in value.items() if key not in free)
    return 1 if value is not None else 0


def _known(value: Json, fields: set[str], where: str) -> None:
    for name in value:
        if name not in fields:
            place = f" at '{where}'" if where else ""
            raise refuse(f'Invalid JSON payload received. Unknown name "{name}"{place}: Cannot find field.')


def _check_content(content: Json, index: int) -> None:
    where = f"contents[{index}]"
    _known(content, {"role", "parts"}, where)
    if content.get("role") not in {"user", "model"}:
        raise refuse("Please use a valid role: user, model.")
    if not content.get("parts"):
        raise refuse(f"* GenerateContentRequest.{where}.parts: contents.parts must not be empty.")
    for part in content["parts"]:
        _check_part(part, f"{where}.parts")


def _check_part(part: Json, where: str) -> None:
    _known(part, PART_FIELDS, where)
    kinds = PART_DATA & set(part)
    if len(kinds) != 1:
        raise refuse(f"{where}: required oneof field 'data' must have one initialized field")
    if "inlineData" in part:
        _base64(part["inlineData"].get("data", ""), f"{where}.inline_data.data")
        if "/" not in part["inlineData"].get("mimeType", ""):
            raise refuse("Unsupported MIME type: ")
    if "thoughtSignature" in part:
        _base64(part["thoughtSignature"], f"{where}.thought_signature")
    if "functionResponse" in part and not isinstance(part["functionResponse"].get("response"), dict):
        raise refuse(f"Invalid value at '{where}.function_response.response' (Struct)")
    if "functionCall" in part and not isinstance(part["functionCall"].get("args", {}), dict):
        raise refuse(f"Invalid value at '{where}.function_call.args' (Struct)")


def _base64(text: str, where: str) -> bytes:
    try:  # the service takes the usual and the URL-safe alphabet
        return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise refuse(f"Invalid value at '{where}' (TYPE_BYTES), Base64 decoding failed") from error


def _check_roles(contents: list[Json]) -> None:
    for index, content in enumerate(contents):
        if content["role"] != ("user", "model")[index % 2]:
            raise refuse("Please ensure that multiturn requests alternate between user and model.")
    if contents[-1]["role"] != "user":
        raise refuse("Please ensure that multiturn requests end with a user role or a function response.")


def _check_calls(contents: list[Json]) -> None:
    """Every call is answered in the next content, by name and id, and nothing else is."""
    asked: list[Json] = []
    for content in contents:
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        given = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        if content["role"] == "model":
            if given:
                raise refuse("Please ensure that function response parts have the user role.")
            asked = calls
            continue
        if calls:
            raise refuse("Please ensure that function call parts have the model role.")
        if len(given) != len(asked):
            raise refuse(
                "Please ensure that the number of function response parts is equal to the number of "
                "function call parts of the function call turn."
            )
        if sorted((call.get("id", ""), call["name"]) for call in asked) != sorted(
            (answer.get("id", ""), answer.get("name", "")) for answer in given
        ):
            raise refuse("Please ensure that function responses match the ids and names of their calls.")
        asked = []


def _check_signatures(contents: list[Json], *, model: str, issued: list[Issued]) -> None:
    """Signatures are known, unmoved, complete, of this model; those of the current turn are there."""
    known = {_base64(part["thoughtSignature"], ""): answer for answer in issued for part in answer.signed}
    for content in contents:
        if content["role"] != "model":
            continue
        signed = [part for part in content["parts"] if "thoughtSignature" in part]
        for part in signed:
            if part["thoughtSignature"] == SKIP_VALIDATION:
                continue
            answer = known.get(_base64(part["thoughtSignature"], ""))
            if answer is None or answer.model != model:
                raise refuse("Thought signature is not valid.")
            if [_signed(part) for part in signed] != [_signed(part) for part in answer.signed]:
                raise refuse("Thought signatures must come back exactly where they were.")
    if not re.match(r"gemini-[3-9]", model):
        return
    for index in range(_current_turn(contents), len(contents)):
        calls = [part for part in contents[index]["parts"] if "functionCall" in part]
        if calls and "thoughtSignature" not in calls[0]:
            name = calls[0]["functionCall"]["name"]
            raise refuse(
                f"Function call `{name}` in the {index + 1}. content block is missing a thought_signature."
            )


def _signed(part: Json) -> tuple[bytes, str, str]:
    """What must not change of a signed part; text may be joined from its chunks."""
    call = json.dumps(part.get("functionCall"), sort_keys=True)
    return _base64(part["thoughtSignature"], ""), call, str("text" in part)


def _current_turn(contents: list[Json]) -> int:
    """Where the current turn starts: after the last content of the user that is not a tool's answer."""
    starts = [
        index
        for index, content in enumerate(contents)
        if content["role"] == "user" and not any("functionResponse" in part for part in content["parts"])
    ]
    return starts[-1] if starts else 0


def _check_tools(tools: list[Json]) -> None:
    names: set[str] = set()
    for tool in tools:
        _known(tool, {"functionDeclarations", "googleSearch", "codeExecution", "urlContext"}, "tools")
        for declared in tool.get("functionDeclarations", []):
            name = declared.get("name", "")
            if not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}", name):
                raise refuse(f"Invalid function name: {name!r}. Must start with a letter or an underscore.")
            if name in names:
                raise refuse(f"Duplicate function declaration found: {name}")
            names.add(name)
            if not declared.get("description"):
                raise refuse(f"function_declarations[{name}].description: must not be empty")
            if "parameters" in declared and "parametersJsonSchema" in declared:
                raise refuse(
                    f"function_declarations[{name}]: parameters and parameters_json_schema are exclusive"
                )
            schema = declared.get("parametersJsonSchema", declared.get("parameters"))
            if schema is not None:
                _check_schema(schema, name, top=True)


def _check_search(body: Json, model: str) -> None:
    """Google's search beside functions: from Gemini 3 on, where it is asked for, its parts sent back."""
    tools = body.get("tools", [])
    searches = any("googleSearch" in tool for tool in tools)
    shown = body.get("toolConfig", {}).get("includeServerSideToolInvocations", False)
    if searches and any("functionDeclarations" in tool for tool in tools):
        if not re.match(r"gemini-[3-9]", model):
            raise refuse("Built-in tools ({google_search}) and Function Calling cannot be combined.")
        if not shown:
            raise refuse(
                "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with "
                "Function calling."
            )
    told = [part for content in body["contents"] for part in content["parts"] if SEARCH_DATA & set(part)]
    calls = [part["toolCall"]["id"] for part in told if "toolCall" in part]
    if calls != [part["toolResponse"]["id"] for part in told if "toolResponse" in part]:
        raise refuse("Please ensure that every tool call has its tool response.")


def _check_schema(schema: Any, where: str, *, top: bool = False) -> None:
    """A JSON schema whose types exist, whose required properties are there, with no reference."""
    if not isinstance(schema, dict) or "$ref" in schema:
        raise refuse(f"* {where}: schema didn't specify the schema type field.")
    kinds = schema.get("type", "object" if top else None)
    kinds = kinds if isinstance(kinds, list) else [kinds] if kinds else []
    for kind in kinds:
        if str(kind).lower() not in SCHEMA_TYPES:
            raise refuse(f"* {where}: unknown schema type {kind!r}.")
    if top and [str(kind).lower() for kind in kinds] != ["object"]:
        raise refuse(f"* {where}: parameters schema should be of type OBJECT.")
    properties = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in properties:
            raise refuse(f"* {where}.required[{name}]: property is not defined")
    for name, child in properties.items():
        _check_schema(child, f"{where}.properties[{name}]")
    if "array" in kinds and "items" not in schema:
        raise refuse(f"* {where}.items: missing field.")
    if isinstance(schema.get("items"), dict):
        _check_schema(schema["items"], f"{where}.items")
    for child in schema.get("anyOf", []):
        _check_schema(child, f"{where}.anyOf")


def _check_structured(body: Json) -> None:
    """A schema needs its MIME type, is one, and goes without functions."""
    config = body.get("generationConfig", {})
    mime = config.get("responseMimeType", "text/plain")
    if mime not in {"text/plain", "application/json", "text/x.enum"}:
        raise refuse(
            f"* GenerateContentRequest.generation_config.response_mime_type: {mime} is not allowed. Allowed "
            "mimetypes are `text/plain`, `application/json`, `application/xml`, `application/yaml` and "
            "`text/x.enum`."
        )
    if "responseSchema" in config and "responseJsonSchema" in config:
        raise refuse("* response_schema and response_json_schema are exclusive")
    if "responseSchema" in config or "responseJsonSchema" in config:
        if mime != "application/json":
            raise refuse(
                "* GenerateContentRequest.generation_config.response_schema: only allowed when "
                "response_mime_type is `application/json`."
            )
        _check_schema(config.get("responseJsonSchema", config.get("responseSchema")), "response_json_schema")
    if mime == "application/json" and body.get("tools"):
        raise refuse("Function calling with a response mime type: 'application/json' is unsupported")


def _check_config(config: Json) -> None:
    _known(config, CONFIG_FIELDS, "generation_config")
    thinking = config.get("thinkingConfig", {})
    _known(
        thinking, {"includeThoughts", "thinkingBudget", "thinkingLevel"}, "generation_config.thinking_config"
    )
    if "thinkingBudget" in thinking and "thinkingLevel" in thinking:
        raise refuse("You can only set only one of thinking budget and thinking level.")
    level = thinking.get("thinkingLevel")
    if level is not None and str(level).lower() not in LEVELS:
        raise refuse(f"Invalid value at 'generation_config.thinking_config.thinking_level': {level!r}")
