"""The settings as a tree: each one's type, its default, what it does, who may set it."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from ragforge.config.kinds import (
    COUNT,
    TOKENS,
    YES_NO,
    About,
    ActionName,
    BaseUrl,
    Count,
    EmbedderName,
    EndpointName,
    HostName,
    InnerPath,
    ListenAddress,
    ModelName,
    ProjectMay,
    RoleName,
    Seconds,
    StoreUrl,
    Tokens,
    ToolType,
    VariableName,
)
from ragforge.domain import timeouts


class TurnSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of one turn."""

    steps_max: Annotated[
        Annotated[int, Meta(ge=1, le=10_000)],
        About(
            "Model calls in one turn before it pauses and asks whether to continue.",
            "a whole number from 1 to 10000",
            ProjectMay.LOWER,
        ),
    ] = 50
    price_usd_max: Annotated[
        Annotated[float, Meta(gt=0, le=1_000_000)] | None,
        About(
            "The most that one turn may cost; unset means no limit.",
            "a number above 0, 1000000 at most",
            ProjectMay.LOWER,
        ),
    ] = None


class ContextSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is sent to the model."""

    tokens_max: Annotated[
        Tokens | None,
        About(
            "Use at most this many tokens of the model's context window; unset means all of it.",
            TOKENS,
            ProjectMay.LOWER,
        ),
    ] = None
    profile: Annotated[
        Literal["caching", "lean"],
        About(
            "How much of the conversation is sent word for word. caching lets it grow to raw_tokens_high, "
            "then cuts it to raw_tokens_low, so prompt caches work; lean sends the last three turns, and "
            "more while they fit in memory.raw_chars_max.",
            "caching or lean",
            ProjectMay.SET,
        ),
    ] = "caching"
    raw_tokens_high: Annotated[
        Tokens,
        About("The conversation sent word for word grows up to this many tokens.", TOKENS, ProjectMay.LOWER),
    ] = 40_000
    raw_tokens_low: Annotated[
        Tokens,
        About(
            "The tokens that it is then cut to; the last three turns are always kept.",
            TOKENS,
            ProjectMay.LOWER,
        ),
    ] = 15_000
    block_tokens_max: Annotated[
        Annotated[int, Meta(ge=0, le=100_000)],
        About(
            "The most tokens of recalled context before a message.",
            "a whole number from 0 to 100000",
            ProjectMay.LOWER,
        ),
    ] = 1_500


class MemorySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is remembered, and how it is found."""

    enabled: Annotated[
        bool,
        About(
            "Recall what matters before each message and summarise each turn; --no-memory turns recall off "
            "for one run.",
            YES_NO,
        ),
    ] = True
    model: Annotated[
        ModelName,
        About(
            "The model for background work; empty means a cheap model of the session's provider.",
            "provider:name, such as gemini:gemini-3.5-flash-lite, or local for no model",
        ),
    ] = ""
    embedder: Annotated[
        EmbedderName,
        About(
            "The embedder, which compares texts by meaning; static is included and needs no network.",
            "static, minilm, e5, gemini:gemini-embedding-2, gemini:gemini-embedding-001, "
            "model2vec:FOLDER, or ENDPOINT:MODEL of an OpenAI-compatible service",
        ),
    ] = "static"
    cost_usd_per_day_max: Annotated[
        Annotated[float, Meta(ge=0, le=1_000_000)],
        About(
            "The most that background work may cost you per day; beyond it, summaries are made without a "
            "model.",
            "a number from 0 to 1000000",
            ProjectMay.LOWER,
        ),
    ] = 1.0
    raw_chars_max: Annotated[
        Count,
        About("A level 2 summary is made when turns without one exceed this many characters.", COUNT),
    ] = 5_000
    rollup_min: Annotated[
        Annotated[int, Meta(ge=2, le=12)],
        About("The fewest turns that become one level 2 summary.", "a whole number from 2 to 12"),
    ] = 4
    level_chars_max: Annotated[
        Count,
        About("A higher summary is made when summaries of one level exceed this many characters.", COUNT),
    ] = 10_000
    fusion: Annotated[
        Literal["convex", "rrf"],
        About(
            "How search results by words, meaning, neighbours and metadata are combined: by score (convex) "
            "or by rank (rrf).",
            "convex or rrf",
        ),
    ] = "convex"
    recent_hours: Annotated[
        Annotated[float, Meta(ge=0, le=8_760)],
        About("Memories up to this many hours old count as recent.", "a number from 0 to 8760"),
    ] = 6.0
    session_scope: Annotated[bool, About("Recall only this session's memories.", YES_NO)] = False
    semantic_threshold: Annotated[
        Annotated[float, Meta(ge=0, le=1)],
        About(
            "Of memories more similar than this cosine, only the newer is recalled.", "a number from 0 to 1"
        ),
    ] = 0.85
    semantic_buffer_max: Annotated[
        Annotated[int, Meta(ge=0, le=10_000)],
        About("How many chosen memories each memory is compared with.", "a whole number from 0 to 10000"),
    ] = 100
    injected_max: Annotated[
        Annotated[int, Meta(ge=0, le=1_000)],
        About("The most memories put before a message.", "a whole number from 0 to 1000"),
    ] = 20


class ShellSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Commands that the model runs."""

    timeout_s: Annotated[
        Seconds,
        About(
            "Stop a command after this many seconds, unless the call sets another limit.",
            "a number from 1 to 86400",
            ProjectMay.SET,
        ),
    ] = 120.0


class WebSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The web."""

    search: Annotated[
        bool,
        About("Let the model search the web with its provider's own tool, which may cost extra.", YES_NO),
    ] = False
    private_hosts: Annotated[
        list[HostName],
        About(
            "Hosts on this machine or a private network that pages may be fetched from.",
            'hosts, with a port if it is not the default:  ["localhost:8000", "wiki.corp"] in a file, '
            "localhost:8000,wiki.corp elsewhere",
        ),
    ] = msgspec.field(default_factory=list[HostName])


class ConstraintSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What you said must never or always be done."""

    headless: Annotated[
        Literal["refuse", "warn"],
        About(
            "What ragforge -p does with a call that violates a constraint: refuse it, or run it with a "
            "warning.",
            "refuse or warn",
        ),
    ] = "refuse"


class HintSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Hints after an answer."""

    enabled: Annotated[
        bool,
        About("After an answer, offer hints: preferences, plans and rules of yours that fit.", YES_NO),
    ] = True
    shown_max: Annotated[
        Annotated[int, Meta(ge=1, le=3)],
        About("The most hints offered after an answer.", "a whole number from 1 to 3"),
    ] = 3


class ForesightSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Predictions for the next turn, compared with what happened."""

    enabled: Annotated[
        bool,
        About("After each turn, record the state, how far it was foreseen, and what comes next.", YES_NO),
    ] = True
    predictions_individual: Annotated[
        Annotated[int, Meta(ge=0, le=20)],
        About(
            "How many earlier predictions about the task the model is given.", "a whole number from 0 to 20"
        ),
    ] = 5
    predictions_collective: Annotated[
        Annotated[int, Meta(ge=0, le=20)],
        About(
            "How many earlier predictions about the project the model is given.",
            "a whole number from 0 to 20",
        ),
    ] = 3
    depth_individual: Annotated[
        Annotated[int, Meta(ge=1, le=100)],
        About(
            "The number of turns over which your conversation's changes are summed.",
            "a whole number from 1 to 100",
        ),
    ] = 5
    depth_collective: Annotated[
        Annotated[int, Meta(ge=1, le=100)],
        About(
            "The number of turns over which the project's changes are summed.", "a whole number from 1 to 100"
        ),
    ] = 3
    suggest: Annotated[
        Literal["line", "off"],
        About("Suggest the next message below the prompt (line), or not (off).", "line or off"),
    ] = "line"


class GeminiSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of Gemini only."""

    thinking_level: Annotated[
        Literal["minimal", "low", "medium", "high"] | None,
        About(
            "How much the model thinks; unset lets the model decide.",
            "minimal, low, medium or high",
        ),
    ] = None
    show_thoughts: Annotated[
        bool, About("Request summaries of the model's thoughts and show them folded.", YES_NO)
    ] = True


class RetrySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Retries when a model is busy."""

    attempts_max: Annotated[
        Annotated[int, Meta(ge=1, le=20)],
        About("How many times to try a busy model before giving up.", "a whole number from 1 to 20"),
    ] = 5
    delay_s_max: Annotated[
        Seconds,
        About("The longest wait between two tries, in seconds.", "a number from 1 to 86400"),
    ] = timeouts.RETRY_DELAY_S_MAX


class StreamSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Answers as they arrive."""

    idle_timeout_s: Annotated[
        Seconds,
        About("Give up on an answer after this many seconds of silence.", "a number from 1 to 86400"),
    ] = 120.0


class HistorySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The prompt history, and the versions of files."""

    entries_max: Annotated[
        Annotated[int, Meta(ge=0, le=1_000_000)],
        About("How many messages the prompt remembers across sessions.", "a whole number from 0 to 1000000"),
    ] = 10_000
    file_mb_max: Annotated[
        Annotated[float, Meta(gt=0, le=10_000)],
        About(
            "Larger files are not tracked, so changes to them cannot be undone; each one is reported.",
            "a number above 0, 10000 at most (megabytes)",
            ProjectMay.LOWER,
        ),
    ] = 10.0
    keep_days: Annotated[
        Annotated[int, Meta(ge=0, le=100_000)],
        About(
            "After this many days, a clean-up removes contents of versions that no branch, label or head "
            "needs; 0 keeps them forever.",
            "a whole number from 0 to 100000",
        ),
    ] = 0
    size_gb_max: Annotated[
        Annotated[float, Meta(gt=0, le=1_000_000)],
        About(
            "Warn when stored contents exceed this size, and show what a clean-up would free.",
            "a number above 0, 1000000 at most (gigabytes)",
        ),
    ] = 5.0
    check_command: Annotated[
        Annotated[str, Meta(max_length=10_000)],
        About(
            "A shell command that exits with 0 if the project works. It decides between merge results and "
            "between alternatives. A command set by a project's file runs only after you confirm it.",
            "a command such as make test",
            ProjectMay.CONFIRMED,
        ),
    ] = ""
    validation_model: Annotated[
        ModelName,
        About(
            "A second model that checks merged files against both sides and reports problems before you "
            "decide; empty means none.",
            "provider:name, such as gemini:gemini-3.8-flash",
        ),
    ] = ""
    alternatives_carry: Annotated[
        list[InnerPath],
        About(
            "Ignored files and folders to include in copies of the project, for /alternatives.",
            'paths within the project: [".venv", "node_modules"] in a file, .venv,node_modules elsewhere',
            ProjectMay.SET,
        ),
    ] = msgspec.field(default_factory=list[InnerPath])


class UiSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The terminal interface."""

    leave: Annotated[
        Literal["answer", "all", "nothing"],
        About(
            "What stays in the terminal when you quit: the newest answer, all of this run, or nothing.",
            "answer, all or nothing",
        ),
    ] = "answer"
    keys: Annotated[
        Literal["usual", "vim"],
        About("The keys of the prompt: the usual ones, or Vim's modes.", "usual or vim"),
    ] = "usual"


class BackupSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Automatic backups."""

    daily: Annotated[
        bool,
        About(
            "Back up conversations, versions and this machine's state on each day of use, and keep three "
            "backups. Migrations always make one.",
            YES_NO,
        ),
    ] = True


class MetricsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Metrics for Prometheus."""

    listen: Annotated[
        ListenAddress,
        About(
            "Serve metrics at http://ADDRESS/metrics while ragforge runs; empty means off.",
            "an address and a port such as 127.0.0.1:9464, or empty",
        ),
    ] = ""
    textfile: Annotated[
        str,
        Meta(pattern=r"^(/[^\x00]*\.prom)?\Z", max_length=4096),
        About(
            "Write metrics to this file after each turn, for node_exporter's textfile collector; empty "
            "means off.",
            "an absolute path that ends in .prom, or empty",
        ),
    ] = ""


class ProgramSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Programs in the SPU language. A program's own `.limit` only lowers these."""

    price_usd_max: Annotated[
        Annotated[float, Meta(ge=0, le=1_000_000)],
        About("The most that one run of a program may cost.", "a number from 0 to 1000000", ProjectMay.LOWER),
    ] = 1.0
    cost_usd_per_day_max: Annotated[
        Annotated[float, Meta(ge=0, le=1_000_000)],
        About("The most that programs may cost you per day.", "a number from 0 to 1000000", ProjectMay.LOWER),
    ] = 10.0
    seconds_max: Annotated[
        Annotated[int, Meta(ge=1, le=86_400)],
        About(
            "The most seconds that a run may take; waiting for you does not count.",
            "a whole number from 1 to 86400",
            ProjectMay.LOWER,
        ),
    ] = 1_800
    calls_max: Annotated[
        Annotated[int, Meta(ge=0, le=10_000)],
        About(
            "The most model calls of a run between two waits for input.",
            "a whole number from 0 to 10000",
            ProjectMay.LOWER,
        ),
    ] = 50
    steps_max: Annotated[
        Annotated[int, Meta(ge=1, le=100_000)],
        About(
            "The most operations of a run between two waits for input.",
            "a whole number from 1 to 100000",
            ProjectMay.LOWER,
        ),
    ] = 100_000
    models: dict[
        RoleName,
        Annotated[
            ModelName,
            About(
                "The model that programs use for this role; by default, the session's model.",
                "provider:name, such as gemini:gemini-3.8-flash",
            ),
        ],
    ] = msgspec.field(default_factory=dict[str, str])


class Endpoint(Struct, frozen=True, forbid_unknown_fields=True):
    """A service with the OpenAI chat completions protocol; its name is used as a provider."""

    base_url: Annotated[
        BaseUrl,
        About(
            "The endpoint's base URL, including its version.",
            "a URL such as http://localhost:8080/v1, without user, password or query",
        ),
    ]
    key_env: Annotated[
        VariableName | None,
        About(
            "The environment variable that contains its key; unset means that it needs none.",
            "a variable's name",
        ),
    ] = None
    context_tokens_max: Annotated[
        Tokens | None,
        About("The context window of its models, if the service does not report it.", TOKENS),
    ] = None
    search_tool: Annotated[
        ToolType | None,
        About(
            "The type of the service's own web search, as written in the tools of a request.",
            "a name such as openrouter:web_search",
        ),
    ] = None


BUILT_IN_ENDPOINTS: Mapping[str, Endpoint] = {
    "openai": Endpoint("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": Endpoint(
        "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", search_tool="openrouter:web_search"
    ),
    "ollama": Endpoint("http://localhost:11434/v1"),
    "llama-server": Endpoint("http://localhost:8080/v1"),
    "lmstudio": Endpoint("http://localhost:1234/v1"),
    "vllm": Endpoint("http://localhost:8000/v1"),
}


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """All settings. Made by `load_settings`, which checks each value; `store` is never empty."""

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
    mouse: Annotated[bool, About("Use the mouse; false leaves selection to the terminal.", YES_NO)] = True
    theme: Annotated[
        Literal["auto", "dark", "light"],
        About("Colours; auto follows the terminal's background.", "auto, dark or light"),
    ] = "auto"
    notify: Annotated[
        bool,
        About(
            "Ring the bell, set the title and notify the desktop when an approval waits or a long turn ends.",
            YES_NO,
        ),
    ] = True
    ui: UiSettings = UiSettings()
    turn: TurnSettings = TurnSettings()
    context: ContextSettings = ContextSettings()
    memory: MemorySettings = MemorySettings()
    shell: ShellSettings = ShellSettings()
    web: WebSettings = WebSettings()
    constraints: ConstraintSettings = ConstraintSettings()
    hints: HintSettings = HintSettings()
    foresight: ForesightSettings = ForesightSettings()
    gemini: GeminiSettings = GeminiSettings()
    retry: RetrySettings = RetrySettings()
    stream: StreamSettings = StreamSettings()
    history: HistorySettings = HistorySettings()
    backup: BackupSettings = BackupSettings()
    metrics: MetricsSettings = MetricsSettings()
    programs: ProgramSettings = msgspec.field(default_factory=ProgramSettings)
    endpoints: dict[EndpointName, Endpoint] = msgspec.field(default_factory=lambda: dict(BUILT_IN_ENDPOINTS))
    # Which actions and keys there are is the interface's to say; it checks them when it opens.
    keys: dict[
        ActionName,
        Annotated[
            Annotated[str, Meta(max_length=200)],
            About(
                "The keys of an action of the terminal interface, instead of the default ones; empty removes "
                "them.",
                "keys with commas between them, such as ctrl+e, f2",
            ),
        ],
    ] = msgspec.field(default_factory=dict[str, str])
