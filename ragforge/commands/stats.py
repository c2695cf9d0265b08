"""`stats`: activity and usage in the project, by user, model, project or day."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct

from ragforge.commands.base import Outcome, Report, Verb
from ragforge.domain.arguments import option, shell_option
from ragforge.domain.printable import one_line
from ragforge.domain.usage import StatisticsGroup
from ragforge.domain.words import cost_words, counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ragforge.memory.task_figures import MeasuredTask
    from ragforge.session.machine import Library
    from ragforge.session.state import Session
    from ragforge.store.base_conversations import StatisticsRow

WEEKS_SHOWN = 16
RATINGS_MAX = 10_000
"""Satisfaction is the mean of so many ratings, the newest."""
PROJECTS_MAX = 20
"""In how many projects, the newest, tasks are read."""
SUB_AGENTS_MAX = 1_000
SHADES = "·░▒▓█"
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


class StatsArguments(Struct, frozen=True):
    """Whose, since when, and grouped by what."""

    group: Annotated[
        StatisticsGroup | None, option("--group", help="Group by user, model, project or day.")
    ] = None
    by: Annotated[str | None, option("--by", metavar="NAME", help="Only this user's: a name or an id.")] = (
        None
    )
    since: Annotated[
        str | None, option("--since", metavar="WHEN", help="A date such as 2026-11-21, or 12h, 3d, 2w.")
    ] = None
    all_projects: Annotated[bool, option("--all", help="Count every project.")] = False
    json: Annotated[bool, shell_option("--json", help="Print one JSON object.")] = False


async def _run(session: "Session", args: StatsArguments) -> Outcome:
    return await _show(session.workspace, args)


async def _show(library: "Library", args: StatsArguments) -> Outcome:
    from ragforge.commands.search import parse_when
    from ragforge.session.persons import writer_named

    moment, log = datetime.now(UTC), library.store.usage
    is_everywhere = args.all_projects or args.group is StatisticsGroup.PROJECT
    read = partial(
        log.statistics,
        project_id=None if is_everywhere else library.project.id,
        since=parse_when(args.since, moment, flag="--since") if args.since else None,
        person=await writer_named(library.store, args.by) if args.by else None,
        offset=moment.astimezone().utcoffset() or timedelta(),
    )
    group = args.group or StatisticsGroup.PROJECT
    rows = await read(group)
    names = await _project_names(library) if group is StatisticsGroup.PROJECT else {}
    days = [] if args.group else await read(StatisticsGroup.DAY)
    days = rows if group is StatisticsGroup.DAY else days
    tasks = await _tasks(library, group, read.keywords)
    rated = await _ratings(library, group, read.keywords)
    told = {row.name: _told(tasks.get(row.name, []), rated.get(row.name, [])) for row in rows}
    apart = await _sub_agents(library, group, read.keywords)
    if args.json:
        data = [
            {**_as_json(row, names), **told[row.name], "sub_agent_sessions": apart[row.name]} for row in rows
        ]
        return Report(data={"group": group, "rows": data, "days": [_as_json(row, {}) for row in days]})
    if not rows:
        return Report(notes=("Nothing to count: no prompt or call matches.",))
    calendar = _calendar(days, moment.astimezone().date()) if days else []
    lines = [
        line for row in rows for line in [*_lines(row, names, apart[row.name]), *_told_lines(told[row.name])]
    ]
    return Report([*calendar, *lines])


async def _ratings(
    library: "Library", group: StatisticsGroup, scope: "Mapping[str, Any]"
) -> "dict[str, list[float]]":
    """Return how satisfied users said they were, from 0 to 1, by the names of the group."""
    from ragforge.domain.derivations import DerivedFilter
    from ragforge.domain.ratings import KIND

    wanted = DerivedFilter(KIND.label, scope["project_id"], abandoned=True, limit=RATINGS_MAX)
    records = {each.owner: each for each in await library.store.derivations.find(wanted)}
    rated: dict[str, list[float]] = {}
    for turn in await library.store.turns.read(list(records)):
        is_late = scope["since"] is None or turn.started_at >= scope["since"]
        if is_late and scope["person"] in (None, turn.person):
            names = {
                StatisticsGroup.USER: turn.person,
                StatisticsGroup.MODEL: turn.model,
                StatisticsGroup.PROJECT: records[turn.id].project_id,
                StatisticsGroup.DAY: _day(turn.started_at, scope["offset"]),
            }
            if (rating := KIND.read(records[turn.id])) is not None:
                rated.setdefault(names[group], []).append(rating.satisfaction)
    return rated


async def _tasks(
    library: "Library", group: StatisticsGroup, scope: "Mapping[str, Any]"
) -> "dict[str, list[MeasuredTask]]":
    """Return the newest tasks with how well they went, by the names of the group."""
    from ragforge.memory.task_figures import measured_tasks

    project = scope["project_id"]
    projects = [project] if project else [each.id for each in await library.store.projects.every()]
    found: dict[str, list[MeasuredTask]] = {}
    for each in projects[:PROJECTS_MAX]:
        for measured in await measured_tasks(library.store, each, since=scope["since"]):
            turn = measured.task.turns[0]
            if scope["person"] in (None, turn.person):
                names = {
                    StatisticsGroup.USER: turn.person,
                    StatisticsGroup.MODEL: turn.model,
                    StatisticsGroup.PROJECT: each,
                    StatisticsGroup.DAY: _day(turn.started_at, scope["offset"]),
                }
                found.setdefault(names[group], []).append(measured)
    return found


async def _sub_agents(
    library: "Library", group: StatisticsGroup, scope: "Mapping[str, Any]"
) -> "Counter[str]":
    """Return how many of the sessions are sub-agents', by the names of the group."""
    from ragforge.domain.derivations import DerivedFilter
    from ragforge.domain.sub_agents import KIND

    wanted = DerivedFilter(KIND.label, scope["project_id"], abandoned=True, limit=SUB_AGENTS_MAX)
    found: Counter[str] = Counter()
    for record in await library.store.derivations.find(wanted):
        agent = KIND.read(record)
        session = await library.store.sessions.get(agent.session) if agent else None
        if session is None or (scope["since"] is not None and session.last_activity_at < scope["since"]):
            continue
        if scope["person"] in (None, session.person):
            names = {
                StatisticsGroup.USER: session.person,
                StatisticsGroup.MODEL: session.model,
                StatisticsGroup.PROJECT: session.project_id,
                StatisticsGroup.DAY: _day(session.started_at, scope["offset"]),
            }
            found[names[group]] += 1
    return found


def _day(at: datetime, offset: timedelta) -> str:
    return f"{at.astimezone(UTC) + offset:%Y-%m-%d}"


def _told_lines(found: "Mapping[str, Any]") -> list[str]:
    stated = (
        [f"satisfaction {found['satisfaction']:.2f} ({found['rated']:,} rated)"] if found["rated"] else []
    )
    word = "implied" if stated else "implied satisfaction"
    implied = [f"{word} {found['implied_satisfaction']:.2f}"] if found["implied"] else []
    success = (
        [f"  success {found['success']:.2f}, mean of the {counted(found['tasks'], 'newest task')}"]
        if found["success"] is not None
        else []
    )
    return [*success, *([f"  {' · '.join([*stated, *implied])}"] if stated or implied else [])]


def _told(tasks: "Sequence[MeasuredTask]", stated: "Sequence[float]") -> dict[str, Any]:
    """Return how well it went, for JSON. stated: satisfaction if users said it."""
    implied = [each.implied for each in tasks if each.stated is None]
    success = [each.success for each in tasks if each.success is not None]
    return {
        "satisfaction": fmean(stated) if stated else None,
        "rated": len(stated),
        "implied_satisfaction": fmean(implied) if implied else None,
        "implied": len(implied),
        "success": fmean(success) if success else None,
        "tasks": len(tasks),
    }


async def _project_names(library: "Library") -> "dict[str, str]":
    return {each.id: each.name for each in await library.store.projects.every()}


def _lines(row: "StatisticsRow", names: "Mapping[str, str]", sub_agents: int) -> list[str]:
    name = one_line(names.get(row.name, row.name)) or "unknown"
    undone = f" · {row.undone / row.prompts:.0%} undone" if row.undone else ""
    apart = f" ({sub_agents:,} of sub-agents)" if sub_agents else ""
    return [
        f"{name}  {cost_words(row.cost_usd)}",
        f"  {counted(row.sessions, 'session')}{apart} · {counted(row.prompts, 'prompt')}{undone}",
        f"  {counted(row.versions, 'version')} · {counted(row.calls, 'call')}",
        f"  {counted(row.usage.total_tokens, 'token')}",
    ]


def _calendar(days: "list[StatisticsRow]", today: date) -> list[str]:
    """Return a column per week, a row per weekday; the darker, the more prompts."""
    monday = today - timedelta(days=today.weekday(), weeks=WEEKS_SHOWN - 1)
    prompts = {day: row.prompts for row in days if (day := date.fromisoformat(row.name)) >= monday}
    most = max(prompts.values(), default=0)
    lines = [f"Prompts a day since {monday}", f"  at most {most:,} on a day"]
    for weekday, name in enumerate(WEEKDAYS):
        week = [monday + timedelta(days=weekday, weeks=each) for each in range(WEEKS_SHOWN)]
        marks = (_shade(prompts.get(day, 0), most) if day <= today else " " for day in week)
        # The newest week is on the right, where a narrow terminal would cut it off.
        lines.append(f"  {name} {''.join(marks)}".rstrip())
    return [*lines, ""]


def _shade(prompts: int, most: int) -> str:
    return SHADES[-(-prompts * (len(SHADES) - 1) // most) if most else 0]


def _as_json(row: "StatisticsRow", names: "Mapping[str, str]") -> dict[str, Any]:
    import msgspec

    share = row.undone / row.prompts if row.prompts else None
    named = {"project": row.name, "name": names[row.name]} if row.name in names else {"name": row.name}
    return {**msgspec.to_builtins(row), **named, "undone_share": share}


VERB = Verb(
    "stats",
    "Count sessions, prompts, versions, calls, tokens and cost, by user, model, project or day.",
    StatsArguments,
    _run,
    shell=_show,
    reads=True,
    more=(
        "Days follow your local time. A cost is unknown if any price in it is unknown. Success covers the "
        "newest tasks of each project, and so does the satisfaction estimated for unrated tasks."
    ),
    examples=("stats --group model --since 30d",),
)
