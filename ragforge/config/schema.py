"""Every setting: its type, its default, what it does, who may set it.

The tree of structs is what the program reads; `KEYS` is the same tree as a flat table, which feeds
loading, editing, `ragforge config` and the documentation.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct


class ProjectMay(StrEnum):
    """What a project's file may do with a key. A cloned repository must not gain power over the user."""

    NOT = "no"
    SET = "yes"
    LOWER = "only lower it"
    SAME_PROVIDER = "only another model of the provider that the user chose"


@dataclass(frozen=True, slots=True)
class About:
    """What people are told of a key. `allowed` completes the sentence "allowed is ..."."""

    text: str
    allowed: str
    project: ProjectMay = ProjectMay.NOT


_YES_NO = "true or false"
_TOKENS = "a whole number from 1000 to 100000000"

ModelName = Annotated[str, Meta(pattern=r"^(local|[a-z][a-z0-9_-]*:[!-~]+)?\Z", max_length=200)]
StoreUrl = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9+]*://[^\s].*\Z", max_length=4096)]
# Credentials in the URL would be shown and sent about with it; keys have a place of their own.
BaseUrl = Annotated[str, Meta(pattern=r"^https?://[^\s/@?#]+(/[^\s?#]*)?\Z", max_length=2000)]
VariableName = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\Z", max_length=200)]
EndpointName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_-]*\Z", max_length=40)]
ActionName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]*\Z", max_length=40)]
Tokens = Annotated[int, Meta(ge=1000, le=100_000_000)]
Seconds = Annotated[float, Meta(ge=1, le=86_400)]


class TurnSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of one turn."""

    steps_max: Annotated[
        Annotated[int, Meta(ge=1, le=10_000)],
        About(
            "Model calls in one turn before it pauses and asks to go on.",
            "a whole number from 1 to 10000",
            ProjectMay.LOWER,
        ),
    ] = 50
    price_usd_max: Annotated[
        Annotated[float, Meta(gt=0, le=1_000_000)] | None,
        About(
            "What one turn may cost before it stops; unset means no limit.",
            "a number above 0, 1000000 at most",
            ProjectMay.LOWER,
        ),
    ] = None


class ContextSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is sent to the model."""

    tokens_max: Annotated[
        Tokens | None,
        About(
            "Use at most this much of the model's window; unset means all of it.", _TOKENS, ProjectMay.LOWER
        ),
    ] = None


class ShellSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Commands that the model runs."""

    timeout_s: Annotated[
        Seconds,
        About(
            "Seconds before a command is ended, unless the call asks for another limit.",
            "a number from 1 to 86400",
            ProjectMay.SET,
        ),
    ] = 120.0


class GeminiSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What only Gemini has."""

    thinking_level: Annotated[
        Literal["minimal", "low", "medium", "high"] | None,
        About(
            "How much the model thinks; unset leaves it to the model.",
            "minimal, low, medium or high",
        ),
    ] = None
    show_thoughts: Annotated[
        bool, About("Ask for summaries of the model's thoughts and show them folded.", _YES_NO)
    ] = True


class RetrySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Trying again when a model is busy."""

    attempts_max: Annotated[
        Annotated[int, Meta(ge=1, le=20)],
        About("How often a busy model is asked before giving up.", "a whole number from 1 to 20"),
    ] = 5
    delay_s_max: Annotated[
        Seconds,
        About("The longest wait between two tries, in seconds.", "a number from 1 to 86400"),
    ] = 60.0


class StreamSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Answers as they arrive."""

    idle_timeout_s: Annotated[
        Seconds,
        About("Seconds of silence after which an answer counts as lost.", "a number from 1 to 86400"),
    ] = 120.0


class HistorySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The history of the prompt."""

    entries_max: Annotated[
        Annotated[int, Meta(ge=0, le=1_000_000)],
        About("Messages that the prompt remembers across sessions.", "a whole number from 0 to 1000000"),
    ] = 10_000


class Endpoint(Struct, frozen=True, forbid_unknown_fields=True):
    """A service that speaks the OpenAI chat completions protocol; its name is used as a provider's."""

    base_url: Annotated[
        BaseUrl,
        About(
            "Where the endpoint is, up to and with its version.",
            "a URL such as http://localhost:8080/v1, without user, password or query",
        ),
    ]
    key_env: Annotated[
        VariableName | None,
        About("The environment variable that holds its key; unset means it needs none.", "a variable's name"),
    ] = None
    context_tokens_max: Annotated[
        Tokens | None,
        About("The window of its models, where it does not tell.", _TOKENS),
    ] = None


BUILT_IN_ENDPOINTS: Mapping[str, Endpoint] = {
    "openai": Endpoint("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": Endpoint("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "ollama": Endpoint("http://localhost:11434/v1"),
    "llama-server": Endpoint("http://localhost:8080/v1"),
    "lmstudio": Endpoint("http://localhost:1234/v1"),
    "vllm": Endpoint("http://localhost:8000/v1"),
}


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """All settings. Made by `load_settings`, which checks each value; never empty of `store`."""

    store: Annotated[
        StoreUrl,
        About(
            "Where conversations are kept; default: ragforge.db in the data folder. "
            "/store connects to a server.",
            "a URL such as sqlite:///home/me/ragforge.db or bolt://localhost:7687, "
            "in a file without a password",
        ),
    ]
    model: Annotated[
        ModelName,
        About(
            "The model that a new session talks to; empty means that none is chosen yet.",
            "provider:name, such as gemini:gemini-3.8-flash, or local",
            ProjectMay.SAME_PROVIDER,
        ),
    ] = ""
    mode: Annotated[
        Literal["ask", "accept-edits", "plan"],
        About("How much a new session may do without asking.", "ask, accept-edits or plan"),
    ] = "ask"
    start: Annotated[
        Literal["list", "new", "continue"],
        About("What opens in a folder that has sessions.", "list, new or continue"),
    ] = "list"
    mouse: Annotated[bool, About("Use the mouse; false leaves selecting to the terminal.", _YES_NO)] = True
    theme: Annotated[
        Literal["auto", "dark", "light"],
        About("Colours; auto follows the terminal's background.", "auto, dark or light"),
    ] = "auto"
    notify: Annotated[
        bool, About("Ring the bell and set the title when an approval waits or a long turn ends.", _YES_NO)
    ] = True
    turn: TurnSettings = TurnSettings()
    context: ContextSettings = ContextSettings()
    shell: ShellSettings = ShellSettings()
    gemini: GeminiSettings = GeminiSettings()
    retry: RetrySettings = RetrySettings()
    stream: StreamSettings = StreamSettings()
    history: HistorySettings = HistorySettings()
    endpoints: dict[EndpointName, Endpoint] = msgspec.field(default_factory=lambda: dict(BUILT_IN_ENDPOINTS))
    # Which actions and keys there are is the interface's to say; it checks them when it opens.
    keys: dict[
        ActionName,
        Annotated[
            Annotated[str, Meta(max_length=200)],
            About(
                "The keys of an action of the terminal interface instead of its own; empty takes them away.",
                "keys with commas between them, such as ctrl+e, f2",
            ),
        ],
    ] = msgspec.field(default_factory=dict[str, str])


KeyPath = tuple[str, ...]
ANY_NAME = "<name>"
"""Stands in a key for a name that the user chooses: an endpoint's, or that of a key's action."""


@dataclass(frozen=True, slots=True)
class Key:
    """One setting. `type` is what msgspec checks a value against; `default` is absent for `store`."""

    path: KeyPath
    type: Any
    about: About
    default: Any

    def __str__(self) -> str:
        return ".".join(self.path)

    @property
    def env(self) -> str | None:
        """The variable that sets it, like RAGFORGE_TURN_STEPS_MAX; None for endpoints and keys."""
        return None if ANY_NAME in self.path else "RAGFORGE_" + "_".join(self.path).upper()


def _keys(struct: type[Struct], prefix: KeyPath = ()) -> Iterator[Key]:
    """The keys of a struct and of those in it, in the order in which they are written above."""
    hints = get_type_hints(struct, include_extras=True)
    for field in msgspec.structs.fields(struct):
        hint = hints[field.name]
        path = (*prefix, field.name)
        if get_origin(hint) is dict:
            path, hint = (*path, ANY_NAME), get_args(hint)[1]
        if isinstance(hint, type) and issubclass(hint, Struct):
            yield from _keys(hint, path)
        else:
            about = next(item for item in get_args(hint) if isinstance(item, About))
            yield Key(path, hint, about, None if field.default is msgspec.NODEFAULT else field.default)


KEYS: Mapping[KeyPath, Key] = {key.path: key for key in _keys(Settings)}
SECTIONS = frozenset(path[:size] for path in KEYS for size in range(1, len(path)))
