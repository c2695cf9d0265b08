"""Which hints fit what is being done, how often they come, and how long answers to them count."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ragforge.domain.hints import (
    HINTS_MAX,
    IGNORED_MAX,
    PACED_MAX,
    SILENCE,
    TURNS_PACED,
    HintAction,
    HintContext,
    HintPace,
    HintType,
    ProactiveHint,
)
from ragforge.domain.memories import Memory, MemoryFilter, MemoryScope, MemorySource, MemoryType
from ragforge.memory.hints import (
    ProactiveHintEngine,
    freshness,
    is_silenced,
    may_return,
    relevance,
    type_of,
    words_share,
)
from ragforge.memory.memories import new_memory
from ragforge.memory.terms import terms
from ragforge.store.local.values import HintHistory
from tests.hints.measure import DAY, measure, read_day

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
LIMIT = "Add rate limiting to the login endpoint."


def said(content: str, type: MemoryType = MemoryType.TODO, *, days: float = 1, **more: object) -> Memory:
    given: dict[str, object] = {"confidence": 0.95, "topic": "", **more}
    return new_memory(
        content,
        type,
        project_id="p",
        at=NOON - timedelta(days=days),
        source=MemorySource.BACKGROUND,
        person="me",
        **given,  # type: ignore[arg-type]
    )


def asked(user: str, answer: str, **more: object) -> HintContext:
    return replace(HintContext("p", "s", user, "gemini:flash", (user, answer), NOON), **more)


LOGIN = asked(
    "Can somebody guess passwords by trying?",
    "Yes: the login endpoint has no rate limiting; it accepts as many attempts as one sends.",
)


async def hints_of(
    memories: Sequence[Memory],
    context: HintContext = LOGIN,
    histories: Mapping[str, HintHistory] | None = None,
    shown_max: int = HINTS_MAX,
) -> list[ProactiveHint]:
    async def find(wanted: MemoryFilter) -> list[Memory]:
        return list(memories)

    async def told() -> Mapping[str, HintHistory]:
        return histories or {}

    return await ProactiveHintEngine(find, told, shown_max).generate_hints("me", context)


async def test_hint_generation_preference_match() -> None:
    wanted = said(LIMIT)
    (hint,) = await hints_of([wanted, said("Order a standing desk."), said("Learn Rust.", MemoryType.GOAL)])
    assert (hint.type, hint.message) == (HintType.INTENT_FOLLOWUP, LIMIT)
    assert hint.source_preference_id == wanted.id
    assert hint.action_payload.action is HintAction.WRITE
    french = said("Ajouter une limite de tentatives au login.")
    assert [each.message for each in await hints_of([french])] == [french.content]
    assert await hints_of([wanted], asked("What's for lunch?", "I cannot see your kitchen.")) == []
    assert await hints_of([wanted], asked("Merci", "")) == []


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("todo: add rate limiting to the login endpoint", "add rate limiting to the login endpoint"),
        ("À faire : ajouter une limite de tentatives au login", "ajouter une limite de tentatives au login"),
        ("Login endpoint: todo add rate limiting", "Login endpoint: todo add rate limiting"),
        (LIMIT, LIMIT),
    ],
)
async def test_a_hint_does_not_repeat_the_label_of_a_todo(content: str, shown: str) -> None:
    (hint,) = await hints_of([said(content)])
    assert (hint.title, hint.message, hint.action_payload.text) == ("To do", shown, shown)


async def test_hint_relevance_scoring() -> None:
    assert relevance(confidence=0.8, meaning=0.5, words=0.25, freshness=0.5) == pytest.approx(0.16)
    assert [freshness(NOON - timedelta(days=days), NOON) for days in (-9, 0, 90, 180, 999)] == pytest.approx(
        [1, 1, 0.75, 0.5, 0.5]
    )
    memory = said(LIMIT, topic="security")
    assert words_share(memory, terms("the login of the shop")) == pytest.approx(1 / 5)
    assert words_share(memory, terms(f"security: {LIMIT}")) == 1
    fresh, old = said(LIMIT), said(f"{LIMIT} Soon.", days=90)
    assert [hint.source_preference_id for hint in await hints_of([old, fresh])] == [fresh.id, old.id]
    assert await hints_of([said(LIMIT, days=180)]) == []  # at most half as relevant


async def test_hint_max_limit_3() -> None:
    alike = [said(LIMIT.replace("the login", f"login {n}")) for n in range(8)]
    hints = await hints_of(alike)
    assert len(hints) == 3
    assert hints == sorted(hints, key=lambda hint: -hint.relevance_score)
    assert len(await hints_of(alike, shown_max=2)) == 2
    assert len(await hints_of(alike, shown_max=9)) == 3


async def test_what_is_unsure_over_or_was_just_said_is_not_hinted_at() -> None:
    unsure, sure = said(LIMIT, confidence=0.6), said(LIMIT, confidence=0.84)
    assert await hints_of([unsure]) == []
    assert len(await hints_of([sure])) == 1
    assert await hints_of([replace(sure, valid_to=NOON - timedelta(hours=1))]) == []
    just = said(LIMIT, turns=["t1"])
    assert await hints_of([just], replace(LOGIN, turns=frozenset({"t1"}))) == []
    assert len(await hints_of([just], replace(LOGIN, turns=frozenset({"t9"})))) == 1


@pytest.mark.parametrize(
    ("content", "type", "expected"),
    [
        ("Every migration must be reversible.", MemoryType.PREFERENCE, HintType.CONSTRAINT_WARNING),
        ("Never use pip, we use uv.", MemoryType.PREFERENCE, None),  # asked about before the call
        ("I prefer short functions.", MemoryType.PREFERENCE, HintType.PREFERENCE_REMINDER),
        ("We use PostgreSQL.", MemoryType.DECISION, None),
        ("Make the webhook idempotent.", MemoryType.TODO, HintType.INTENT_FOLLOWUP),
        ("Bring the coverage to 90 percent.", MemoryType.GOAL, HintType.INTENT_FOLLOWUP),
    ],
)
def test_what_a_memory_is_hinted_at_as(content: str, type: MemoryType, expected: HintType | None) -> None:
    assert type_of(said(content, type)) is expected


async def test_what_applying_does_follows_from_the_memory() -> None:
    goal = said(LIMIT, MemoryType.GOAL, turns=["t1"])
    unsure = said("I prefer rate limiting at the login endpoint.", MemoryType.PREFERENCE, confidence=0.85)
    must = said("The login endpoint must always have rate limiting.", MemoryType.PREFERENCE)
    hints = {each.source_preference_id: each for each in await hints_of([goal, unsure, must])}
    assert hints[goal.id].action_payload.action is HintAction.OPEN_TURN
    assert hints[unsure.id].action_payload.text == f"remember preference: {unsure.content}"
    assert hints[must.id].type is HintType.CONSTRAINT_WARNING
    assert hints[must.id].action_payload.action is HintAction.WRITE


@pytest.mark.parametrize(("day", "turns"), [("day.jsonl", 60), ("second_day.jsonl", 30)])
async def test_a_busy_day_has_hints_worth_giving_and_few_others(day: str, turns: int) -> None:
    report = await measure(read_day(DAY.with_name(day)))
    assert report.turns == turns
    assert report.offered > 5
    assert len(report.with_hints) <= report.turns / 3
    assert report.right >= 0.7 * report.offered


async def test_what_was_put_off_comes_first_and_whatever_is_being_done() -> None:
    desk, wanted = said("Order a standing desk."), said(LIMIT)
    yesterday = NOON - timedelta(days=1)
    history = {desk.id: HintHistory(yesterday, "s", postponed=True)}
    assert [hint.message for hint in await hints_of([wanted, desk], histories=history)] == [
        desk.content,
        LIMIT,
    ]


async def test_a_session_is_told_what_was_left_open_in_its_project() -> None:
    mine, everywhere = said(LIMIT), said("Learn Rust.", MemoryType.GOAL, scope=MemoryScope.GLOBAL)
    silent, due = said("Order a desk."), said("I prefer tea.", MemoryType.PREFERENCE)
    histories = {
        silent.id: HintHistory(NOON, "x", IGNORED_MAX, NOON),
        due.id: HintHistory(NOON, "before", postponed=True),
    }

    async def find(wanted: MemoryFilter) -> list[Memory]:
        return [mine, everywhere, silent, due]

    async def told() -> Mapping[str, HintHistory]:
        return histories

    left = await ProactiveHintEngine(find, told).left_open("me", LOGIN)
    assert [hint.message for hint in left.due] == [due.content]
    assert left.intents == (mine,)


moments = st.integers(-4_000, 4_000).map(lambda hours: NOON + timedelta(hours=hours))


@given(st.integers(0, 9), moments, moments, st.booleans())
def test_silence_lasts_thirty_days_whichever_way_the_clock_is_set(
    ignored: int, ignored_at: datetime, at: datetime, elsewhere: bool
) -> None:
    history = HintHistory(ignored_at, "s", ignored, ignored_at if ignored else None)
    often = ignored in (IGNORED_MAX, 2 * IGNORED_MAX, 3 * IGNORED_MAX)
    assert is_silenced(history, at) is (often and abs(at - ignored_at) < SILENCE)
    may = may_return(history, session_id="other" if elsewhere else "s", at=at)
    if is_silenced(history, at):
        assert not may
    elif elsewhere or abs(at - ignored_at) >= timedelta(days=1):
        assert may


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_of_six_turns_in_a_row_at_most_two_have_hints(would: list[bool]) -> None:
    pace, had = HintPace(), list[int]()
    for number, has_some in enumerate(would):
        if pace.turn_ended() and has_some:
            pace.offered()
            had.append(number)
    assert all(later - first >= TURNS_PACED for first, later in zip(had, had[PACED_MAX:], strict=False))
    if all(would):
        assert len(had) >= PACED_MAX * len(would) // TURNS_PACED
