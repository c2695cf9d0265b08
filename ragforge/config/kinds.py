"""What a setting can contain, its description, and whether a project may set it."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct


class ProjectMay(StrEnum):
    """What a project's file may do with a key. A cloned repository must not gain power over the user."""

    NOT = "no"
    SET = "yes"
    LOWER = "only lower it"
    SAME_PROVIDER = "only another model of the provider that the user chose"
    CONFIRMED = "ask for it"
    """It is a command, say: what the project wants stands in `Loaded.unconfirmed`, never in the settings."""


class About(Struct, frozen=True):
    """The description of a key. `allowed` completes the sentence "allowed is ..."."""

    text: str
    allowed: str
    project: ProjectMay = ProjectMay.NOT


YES_NO = "true or false"
COUNT = "a whole number from 1 to 1000000000"
TOKENS = "a whole number from 1000 to 100000000"

ModelName = Annotated[str, Meta(pattern=r"^(local|[a-z][a-z0-9_-]*:[!-~]+)?\Z", max_length=200)]
StoreUrl = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9+]*://[^\s].*\Z", max_length=4096)]
# Credentials in the URL would be shown and sent about with it; keys have a place of their own.
BaseUrl = Annotated[str, Meta(pattern=r"^https?://[^\s/@?#]+(/[^\s?#]*)?\Z", max_length=2000)]
VariableName = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\Z", max_length=200)]
EndpointName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_-]*\Z", max_length=40)]
ListenAddress = Annotated[
    str, Meta(pattern=r"^((\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+):[0-9]{1,5})?\Z", max_length=300)
]
ActionName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]*\Z", max_length=40)]
RoleName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*\Z", max_length=60)]
Tokens = Annotated[int, Meta(ge=1000, le=100_000_000)]
EmbedderName = Annotated[
    str, Meta(pattern=r"^(static|minilm|e5|[a-z][a-z0-9_-]*:[^\s].*)\Z", max_length=4096)
]
InnerPath = Annotated[str, Meta(pattern=r"^(?!/)(?!(.*/)?\.\.(/|\Z))[^\x00]+\Z", max_length=4096)]
ToolType = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.:-]+\Z", max_length=100)]
HostName = Annotated[str, Meta(pattern=r"^[a-z0-9_.:-]+\Z", max_length=253)]
Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Seconds = Annotated[float, Meta(ge=1, le=86_400)]
