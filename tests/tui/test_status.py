"""What the status line tells, at any width."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len
from textual.widgets._toast import Toast

from ragforge.domain.approvals import Mode
from ragforge.domain.events import UsageUpdated
from ragforge.domain.usage import Usage
from ragforge.tui.first_prompt.answers import from_colorfgbg
from ragforge.tui.theme import DARK, LIGHT
from ragforge.tui.widgets.status_line import (
    Status,
    StatusLine,
    _facts,
    explained,
    laid_out,
    number_words,
    status_words,
)
from tests.tui.transcript_app import ChatApp
from tests.tui.waiting import until

FULL = Status(
    model="gemini:gemini-3-flash",
    folder="~/code/parser",
    git_branch="feature/quotes",
    session="quoted words",
    mode=Mode.ACCEPT_EDITS,
    usage=Usage(12_400, 0, 1_200, 300),
    cost_usd=0.0213,
    context_tokens=126_000,
    context_tokens_max=1_000_000,
    queued=1,
    jobs=2,
    notice="read only",
)


def test_with_room_everything_is_told_in_two_groups() -> None:
    left = "accept edits · read only · gemini:gemini-3-flash · feature/quotes · ~/code/parser · quoted words"
    right = "1 queued · 2 jobs · 12.4k in 1.5k out · memory $0.0007 · 13% of 1M · $0.0213"
    line = status_words(replace(FULL, background_usd=0.0007), 200)
    assert line == f"{left}{right.rjust(200 - len(left))}"


def test_the_least_important_goes_first() -> None:
    narrow = " ".join(status_words(FULL, 80).split())
    assert narrow == "edits · read only · gemini-3-flash 1 queued · 2 jobs · 13% · $0.0213"
    assert " ".join(status_words(FULL, 40).split()) == "edits · read only · gemini-3-flash · 13%"
    assert status_words(FULL, 10) == "edits"


def test_a_model_with_a_tag_keeps_its_name() -> None:
    status = Status(model="ollama:qwen3:8b", git_branch="a-long-branch-of-git")
    assert "ask · qwen3:8b" in status_words(status, 30)
    assert "ollama:qwen3:8b" in status_words(status, 60)


async def test_each_figure_is_explained_where_it_is_pressed() -> None:
    app = Pressing(status=FULL)
    async with app.run_test(size=(100, 20)) as pilot:
        await until(pilot, lambda: "edits" in app.screen_text())
        shown = laid_out(_facts(FULL), app.status.content_size.width)
        assert all(each.about.endswith(".") for each in shown)
        for each in shown:
            await pilot.click(StatusLine, offset=(each.column + 1, 0))  # behind the padding
        await until(pilot, lambda: len(app.told) == len(shown))
        assert app.told == [f"`{each.words}`: {each.about}" for each in shown]
        assert explained(FULL).count("\n- `") == len(_facts(FULL)) - 1


class Pressing(ChatApp):
    """Notes what the chat would show."""

    def __init__(self, *, status: Status) -> None:
        super().__init__(status=status)
        self.told: list[str] = []

    def on_status_line_pressed(self, event: StatusLine.Pressed) -> None:
        self.told.append(event.about)


async def test_a_toast_covers_nothing_that_is_typed() -> None:
    app = ChatApp()
    async with app.run_test(size=(40, 14), notifications=True) as pilot:
        app.prompt.text = "what I type"
        app.notify("Copied to the clipboard of this machine, all of it", markup=False)
        await until(pilot, lambda: "Copied" in app.screen_text())
        assert "what I type" in app.screen_text()
        for toast in app.screen.query(Toast):
            assert not toast.region.overlaps(app.prompt.region)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_an_unknown_price_is_never_nought(width: int) -> None:
    status = Status(model="m", usage=Usage(10, 0, 10), cost_usd=None)
    assert "price unknown" in status_words(status, width)
    assert "$0" not in status_words(status, width)


def test_a_small_cost_is_not_rounded_to_nought() -> None:
    assert "$0.0004" in status_words(Status(usage=Usage(9), cost_usd=0.0004), 80)
    assert "<$0.0001" in status_words(Status(usage=Usage(9), cost_usd=0.00001), 80)
    assert "~$1.25" in status_words(Status(usage=Usage(9), cost_usd=1.25, estimated=True), 80)


def test_usage_adds_up_and_an_unknown_cost_stays_unknown() -> None:
    event = UsageUpdated(Usage(100, 0, 10), 0.5, 110, 1000)
    status = Status().after(event).after(event)
    assert (status.usage, status.cost_usd, status.context_tokens) == (Usage(200, 0, 20), 1.0, 110)
    unknown = status.after(UsageUpdated(Usage(1), None, 1, 1000)).after(event)
    assert unknown.cost_usd is None


@given(
    st.builds(
        Status,
        model=st.text(max_size=40),
        folder=st.text(max_size=60),
        git_branch=st.text(max_size=60),
        session=st.text(max_size=60),
        mode=st.sampled_from(Mode),
        notice=st.text(max_size=30),
        queued=st.integers(0, 99),
        jobs=st.integers(0, 99),
    ),
    st.integers(1, 200),
)
def test_the_line_always_fits_and_always_begins_with_the_mode(status: Status, width: int) -> None:
    line = status_words(status, width)
    assert cell_len(line) <= width
    assert "\n" not in line
    if width >= 21:
        assert line.startswith(("ask", "accept edits", "edits", "plan", "ALL"))


@pytest.mark.parametrize("width", [40, 100])
async def test_mode_all_is_red_and_says_so(width: int) -> None:
    app = ChatApp(status=Status(model="gemini:gemini-3-flash", mode=Mode.ALL, folder="~/x" * 9))
    async with app.run_test(size=(width, 20)) as pilot:
        await until(pilot, lambda: "ALL" in app.screen_text())
        strip = app.screen._compositor.render_strips()[-1]
        style = next(segment.style for segment in strip if "ALL" in segment.text)
        assert style is not None
        assert style.reverse
        assert style.color is not None
        red, green, blue = style.color.get_truecolor()
        assert red > green + 40 < blue + 80


async def test_without_colour_everything_is_still_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = ChatApp(status=FULL)
    async with app.run_test(size=(100, 20)) as pilot:
        await until(pilot, lambda: "edits" in app.screen_text())
        for strip in app.screen._compositor.render_strips():
            for segment in strip.apply_filter(app._filters[-1], app.screen.background_colors[1]):
                color = segment.style.color if segment.style else None
                if color is not None and color.triplet is not None:
                    assert len(set(color.triplet)) == 1


@pytest.mark.parametrize(
    ("setting", "is_dark", "theme"),
    [
        ("auto", True, DARK), ("auto", False, LIGHT), ("auto", None, DARK),
        ("dark", False, DARK), ("light", True, LIGHT),
    ],
)  # fmt: skip
async def test_the_theme_follows_the_setting_then_the_terminal(
    setting: str, is_dark: bool | None, theme: object
) -> None:
    from ragforge.tui.theme import theme_name

    assert theme_name(setting, terminal_is_dark=is_dark) == getattr(theme, "name", "")


def test_the_terminal_tells_its_background() -> None:
    told = {"15;0": True, "0;15": False, "0;default;15": False, "12;8": True, "0;7": False}
    assert {value: from_colorfgbg(value) for value in told} == told
    assert {from_colorfgbg(value) for value in ("", "x", "0;default")} == {None}


def test_numbers_are_short() -> None:
    assert [number_words(n) for n in (0, 999, 1000, 12_449, 999_949, 999_950, 1_048_576)] == [
        "0", "999", "1k", "12.4k", "999.9k", "1M", "1.05M",
    ]  # fmt: skip
