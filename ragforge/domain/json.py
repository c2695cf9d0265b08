"""The type of what travels as JSON."""

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
else:
    # Whoever reads a signature while the program runs could not find a type that is defined by itself.
    JsonValue = bool | int | float | str | list | dict | None
JsonObject: TypeAlias = dict[str, JsonValue]
