"""`/config`: the settings, where each comes from, and how to change one."""

from ragforge.commands.base import Command, Outcome, Tell
from ragforge.config.paths import user_file
from ragforge.session.setting import set_setting
from ragforge.session.state import Session

_STORE = "`/store` shows where conversations are kept, and connects to a server."


async def _run(session: Session, args: str) -> Outcome:
    key, _, value = args.partition(" ")
    if not key:
        return Tell(_table(session))
    file = user_file(session.workspace.environ)
    if not value.strip():
        rows = [row for row in session.workspace.loaded.rows() if row.key.startswith(key)]
        lines = [f"- `{row.key}` = `{row.value}` ({row.source}). {row.about}" for row in rows]
        return Tell("\n".join([*lines, "", _STORE] if key == "store" else lines))
    set_setting(file, key, value.strip(), endpoints=session.workspace.settings.endpoints)
    return Tell(f"`{key}` is set in {file}. It holds from the next start on.")


def _table(session: Session) -> str:
    rows = [
        f"| {row.key} | {row.value.replace('|', '/')} | {row.source} |"
        for row in session.workspace.loaded.rows()
    ]
    table = "\n".join(["| setting | value | from |", "|---|---|---|", *rows])
    return f"{table}\n\n{_STORE}"


COMMAND = Command("config", "Show the settings, or change one in your file.", _run, usage="[KEY [VALUE]]")
