"""`/config`: the settings, where each comes from, and how to change one."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Open, Opens, Outcome, Tell, Verb
from ragforge.domain.arguments import Face, ValuesOf, rest, shell_option, word
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:
    from ragforge.session.state import Session

LIVE = ("theme", "mouse", "notify", "keys.", "ui.")
"""Settings of the interface, which take effect immediately."""
_STORE = "`/store` shows where conversations are kept, and connects to a server."


Key = Annotated[str, word("KEY", "A setting, such as model.", values=ValuesOf.SETTINGS)]


class ConfigArguments(Struct, frozen=True):
    """Which setting, and its value."""

    key: Annotated[
        str,
        word("KEY", "A setting, or the start of its name.", values=ValuesOf.SETTINGS, only=Face.INTERFACE),
    ] = ""
    value: Annotated[str, rest("VALUE", "A new value, for your own file.", only=Face.INTERFACE)] = ""
    json: Annotated[bool, shell_option("--json", help="Print a JSON list.")] = False


class SetArguments(Struct, frozen=True):
    """Which setting, and its value."""

    key: Key
    value: Annotated[str, word("VALUE", "Its value.")]


class UnsetArguments(Struct, frozen=True):
    """Which setting."""

    key: Key


async def _run(session: "Session", args: ConfigArguments) -> Outcome:
    from ragforge.config.check import nearest

    if not args.key:
        return Open("config")
    if args.value:
        return await _set(session, SetArguments(args.key, args.value))
    rows = [row for row in session.workspace.loaded.rows() if row.key.startswith(args.key)]
    if not rows:
        known = [row.key for row in session.workspace.loaded.rows()]
        raise UsageError(f"No setting begins with {args.key!r}. {nearest(args.key, known)}")
    lines = [f"- `{row.key}` = `{row.value}` ({row.source}). {row.about}" for row in rows]
    return Tell("\n".join([*lines, "", _STORE] if args.key == "store" else lines))


async def _set(session: "Session", args: SetArguments) -> Outcome:
    from ragforge.config.paths import user_file
    from ragforge.session.setting import set_setting

    file = user_file(session.workspace.environ)
    set_setting(file, args.key, args.value, endpoints=session.workspace.settings.endpoints)
    return Tell(f"`{args.key}` is set in {file}. {_applies(args.key)}")


async def _unset(session: "Session", args: UnsetArguments) -> Outcome:
    from ragforge.config.paths import user_file
    from ragforge.session.setting import unset_setting

    file = user_file(session.workspace.environ)
    unset_setting(file, args.key)
    return Tell(f"`{args.key}` is no longer set in {file}. {_applies(args.key)}")


def _applies(key: str) -> str:
    return "It applies now." if key.startswith(LIVE) else "Takes effect the next time you start ragforge."


VERB = Verb(
    "config",
    "Show the settings, or change one in your file.",
    ConfigArguments,
    _run,
    opens=Opens.ITSELF,
    verbs=(
        Verb("set", "Set a value in your own file.", SetArguments, _set, opens=Opens.ITSELF),
        Verb(
            "unset",
            "Remove a value from your own file; the default applies again.",
            UnsetArguments,
            _unset,
            opens=Opens.ITSELF,
        ),
    ),
)
