from ragforge.tools.base import Effect
from ragforge.tools.registry import find_tools


def test_the_file_tools_are_found_by_their_modules() -> None:
    tools = find_tools()
    assert {"edit", "glob", "grep", "list", "read", "read_result", "search_history", "write"} <= tools.keys()
    assert all(name == tool.name for name, tool in tools.items())
    assert list(tools) == sorted(tools)
    assert {name for name, tool in tools.items() if tool.effect is Effect.WRITE} == {"edit", "write"}


def test_every_schema_is_flat_and_says_what_each_argument_is() -> None:
    for tool in find_tools().values():
        schema = tool.spec.parameters
        assert schema["type"] == "object"
        assert "$ref" not in str(schema)
        assert "anyOf" not in str(schema)
        properties = schema["properties"]
        assert isinstance(properties, dict)
        for name, described in properties.items():
            assert isinstance(described, dict)
            assert described.get("description"), f"{tool.name}: {name}"
