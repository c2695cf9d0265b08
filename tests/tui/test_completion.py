"""The list above the prompt."""

import gc
import os
import threading
from pathlib import Path

import pytest

from ragforge.tui.project_files import PathMatches, ProjectFiles
from ragforge.tui.widgets.completion import (
    CommandRow,
    Completion,
    CompletionKind,
    CompletionRequest,
    command_choices,
    is_optional,
    path_choices,
    usage_of,
    wanted_by,
)
from ragforge.tui.widgets.history import ListHistory
from tests.tui.prompt_app import PromptApp
from tests.tui.waiting import press_enter, send_line, until

COMMANDS = [
    CommandRow("help", "keys and commands"),
    CommandRow("sessions", "all sessions", aliases=("resume", "continue")),
    CommandRow("search", "find what was said", args="WORDS"),
]


def project(tmp_path: Path) -> ProjectFiles:
    for path in ("src/main.py", "src/maintain.py", "docs/my notes.md", "README.md", ".git/config"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).touch()
    return ProjectFiles(tmp_path)


def app_with(tmp_path: Path | None = None) -> PromptApp:
    return PromptApp(commands=lambda: COMMANDS, files=project(tmp_path).find if tmp_path else None)


async def test_tab_completes_a_command_and_sends_nothing():
    app = app_with()
    async with app.run_test() as pilot:
        await pilot.press("/", "h", "tab")
        await until(pilot, lambda: app.prompt.text == "/help")
        assert app.sent == []


async def test_typing_on_leaves_no_search_behind_that_never_began(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
):
    app = app_with(tmp_path)
    async with app.run_test() as pilot:
        completion = app.query_one(Completion)
        completion.follow("@m", first_line=True)
        completion.follow("@ma", first_line=True)
        await until(pilot, lambda: completion.chosen)
    gc.collect()
    assert "never awaited" not in " ".join(str(each.message) for each in recwarn)


async def test_enter_on_a_command_without_arguments_sends_it():
    app = app_with()
    async with app.run_test() as pilot:
        await send_line(pilot, "/he")
        await until(pilot, lambda: app.sent == ["/help"])


async def test_enter_on_a_command_with_arguments_completes_it_and_waits_for_them():
    app = app_with()
    async with app.run_test() as pilot:
        await send_line(pilot, "/sea")
        await until(pilot, lambda: app.prompt.text == "/search ")
        assert app.sent == []


async def test_enter_on_a_command_typed_whole_sends_it_though_it_could_take_arguments():
    app = app_with()
    async with app.run_test() as pilot:
        await send_line(pilot, "/search")
        await until(pilot, lambda: app.sent == ["/search"])


async def test_an_alias_typed_whole_is_sent_as_its_command():
    app = app_with()
    async with app.run_test() as pilot:
        await send_line(pilot, "/resume")
        await until(pilot, lambda: app.sent == ["/sessions"])


async def test_an_unknown_command_is_sent_as_typed():
    app = app_with()
    async with app.run_test() as pilot:
        await send_line(pilot, "/nonsense")
        await until(pilot, lambda: app.sent == ["/nonsense"])


async def test_escape_closes_the_list_and_nothing_else_and_tab_opens_it_again():
    app = app_with()
    async with app.run_test() as pilot:
        await pilot.press("/", "s", "escape", "e")
        await until(pilot, lambda: app.prompt.text == "/se")
        assert not app.area.completion.is_open
        assert app.chat_actions == []
        await pilot.press("tab")
        await until(pilot, lambda: app.area.completion.is_open)


async def test_a_closed_list_steals_no_keys():
    app = app_with()
    async with app.run_test() as pilot:
        app.prompt.set_draft("one\ntwo")
        await pilot.press("up")
        await until(pilot, lambda: app.prompt.cursor_location[0] == 0)
        await pilot.press("down", "escape")
        await until(pilot, lambda: app.chat_actions == ["interrupt"])
        assert app.prompt.cursor_location[0] == 1


async def test_tab_without_anything_to_complete_keeps_the_focus():
    app = app_with()
    async with app.run_test() as pilot:
        await pilot.press("a", "tab", "b")
        await until(pilot, lambda: app.prompt.text == "ab")
        assert app.prompt.has_focus


async def test_a_path_completes_and_the_next_enter_sends(tmp_path: Path):
    app = app_with(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press(*"see @main")
        await until(pilot, lambda: len(app.area.completion._choices) == 2)
        await pilot.press("tab")
        await until(pilot, lambda: app.prompt.text == "see @src/main.py ")
        await press_enter(pilot)
        await until(pilot, lambda: app.sent == ["see @src/main.py "])


async def test_down_chooses_the_next_path_and_enter_takes_it_without_sending(tmp_path: Path):
    app = app_with(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press(*"@main")
        # Both of them: what is found is shown bit by bit.
        await until(pilot, lambda: len(app.area.completion._choices) == 2)
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.prompt.text == "@src/maintain.py ")
        assert app.sent == []


async def test_a_folder_goes_on_to_what_is_in_it_and_a_name_with_spaces_is_quoted(tmp_path: Path):
    app = app_with(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press(*"@docs")
        await until(pilot, lambda: app.area.completion.is_open)
        await pilot.press("tab")
        await until(pilot, lambda: app.prompt.text == "@docs/")
        await pilot.press("m")
        await until(pilot, lambda: app.area.completion.chosen and "notes" in app.area.completion.chosen.label)
        await pilot.press("tab")
        await until(pilot, lambda: app.prompt.text == '@"docs/my notes.md" ')


async def test_a_slow_search_for_files_never_holds_up_typing():
    asked: list[str] = []
    free = threading.Event()

    def slow(query: str, stop: threading.Event) -> PathMatches:
        asked.append(query)
        free.wait(20)
        return PathMatches([] if stop.is_set() else [f"found-{query}"], complete=True)

    app = PromptApp(files=slow)
    async with app.run_test() as pilot:
        await pilot.press(*"@abc")
        await until(pilot, lambda: app.prompt.text == "@abc" and "abc" in asked)
        free.set()
        await until(pilot, lambda: app.area.completion.chosen)
        assert app.area.completion.chosen
        assert app.area.completion.chosen.label == "found-abc"


async def test_ctrl_r_searches_the_history_and_enter_takes_without_sending():
    app = PromptApp(history=ListHistory(["fix the parser", "add a test for the parser", "other"]))
    async with app.run_test() as pilot:
        await pilot.press(*"my draft", "ctrl+r", *"parser test")
        await until(pilot, lambda: app.area.completion.chosen)
        assert app.prompt.draft == "my draft"
        await press_enter(pilot)
        await until(pilot, lambda: app.prompt.text == "add a test for the parser")
        assert app.sent == []
        await pilot.press("ctrl+underscore")


async def test_escape_from_the_search_returns_to_the_draft_and_its_cursor():
    app = PromptApp(history=ListHistory(["one", "two"]))
    async with app.run_test() as pilot:
        await pilot.press(*"draft", "left", "ctrl+r", *"zz")
        await until(pilot, lambda: app.prompt.border_title == "search: no message matches · Esc cancels")
        await pilot.press("backspace", "backspace", "o")
        await until(pilot, lambda: app.prompt.border_title == "search: Enter uses it · Esc cancels")
        await pilot.press("escape")
        await until(pilot, lambda: app.prompt.text == "draft")
        assert app.prompt.cursor_location == (0, 4)
        assert app.chat_actions == []


async def test_ctrl_r_again_goes_to_the_next_one():
    app = PromptApp(history=ListHistory(["one", "two"]))
    async with app.run_test() as pilot:
        await pilot.press("ctrl+r", "ctrl+r", "enter")
        await until(pilot, lambda: app.prompt.text == "two")


async def test_a_draft_replaced_from_the_history_search_comes_back_by_undo():
    app = PromptApp(history=ListHistory(["one", "two"]))
    async with app.run_test() as pilot:
        await pilot.press(*"draft", "ctrl+r", "enter")
        await until(pilot, lambda: app.prompt.text == "one")
        await pilot.press("ctrl+underscore")
        await until(pilot, lambda: app.prompt.text == "draft")


async def test_the_palette_runs_a_command_and_gives_the_draft_back():
    app = app_with()
    async with app.run_test() as pilot:
        await pilot.press(*"my draft", "ctrl+p", "h")
        await press_enter(pilot)
        await until(pilot, lambda: app.sent == ["/help"])
        assert app.prompt.text == "my draft"


async def test_a_click_takes_a_line():
    app = app_with()
    async with app.run_test() as pilot:
        await pilot.press("/")
        await until(pilot, lambda: app.area.completion.is_open)
        await pilot.click(app.area.completion, offset=(3, 1))
        await until(pilot, lambda: app.prompt.text == "/sessions")
        assert app.prompt.has_focus


@pytest.mark.parametrize(
    ("before", "kind", "query"),
    [
        ("/he", CompletionKind.COMMAND, "he"),
        ("/project:ma", CompletionKind.COMMAND, "project:ma"),
        ("/mails_2", CompletionKind.COMMAND, "mails_2"),
        ("@", CompletionKind.PATH, ""),
        ("see @src/ma", CompletionKind.PATH, "src/ma"),
        ('(@"my no', CompletionKind.PATH, "my no"),
    ],
)
def test_what_the_text_asks_for(before: str, kind: CompletionKind, query: str):
    wanted = wanted_by(before, first_line=True)
    assert wanted
    assert (wanted.kind, wanted.query) == (kind, query)


@pytest.mark.parametrize("before", ["", "me@example", "/etc/hosts", "a /help", "/help me", "@a b", '@"a" '])
def test_what_asks_for_nothing(before: str):
    assert wanted_by(before, first_line=True) is None


def test_a_command_on_a_later_line_is_text():
    assert wanted_by("/he", first_line=False) is None


def test_commands_are_found_by_name_before_alias():
    wanted = CompletionRequest(CompletionKind.COMMAND, "/s", "s", 0)
    assert [choice.label for choice in command_choices(wanted, COMMANDS)][:2] == [
        "/search",
        "/sessions",
    ]


def test_what_was_used_last_comes_first_and_then_what_everybody_uses():
    rows = [CommandRow(name, name) for name in ("alpha", "beta", "help", "sessions")]
    wanted = CompletionRequest(CompletionKind.COMMAND, "/", "", 0)
    sent = ["/beta now", "hello", "/ alone", "/", "/unknown"]
    labels = [choice.label for choice in command_choices(wanted, rows, sent)]
    assert labels == ["/beta", "/help", "/sessions", "/alpha"]


@pytest.mark.parametrize(
    ("usage", "optional"),
    [("", True), ("[N]", True), ("[N] [--files | --chat]", True), ("WORDS", False), ("[A] B", False)],
)
def test_a_command_is_sent_at_once_where_all_its_arguments_may_be_left_out(usage: str, optional: bool):
    assert is_optional(usage) is optional


async def test_after_tab_the_usage_is_shown_and_no_key_is_taken_for_it():
    app = app_with()
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press(*"/sea")
        await until(pilot, lambda: "find what was said" in str(app.area.completion.render()))
        assert "WORDS" not in str(app.area.completion.render())
        await pilot.press("tab")
        await until(pilot, lambda: "/search WORDS  find what was said" in str(app.area.completion.render()))
        await pilot.press(*"lost")
        assert app.prompt.text == "/search lost"
        await press_enter(pilot)
        await until(pilot, lambda: app.sent == ["/search lost"])
        assert not app.area.completion.has_class("-open")


def test_a_mention_begun_with_a_quote_ends_with_one():
    wanted = CompletionRequest(CompletionKind.PATH, '@"a', "a", 0)
    assert path_choices(wanted, ["a.py"])[0].insert == '@"a.py" '


def test_what_git_ignores_is_not_offered(tmp_path: Path):
    files = project(tmp_path)
    (tmp_path / ".gitignore").write_text("*.md\n!README.md\n")
    (tmp_path / "src" / ".gitignore").write_text("main.py\n")
    found = files.find("", threading.Event())
    assert found.paths == [".gitignore", "README.md", "docs/", "src/", "src/.gitignore", "src/maintain.py"]


def test_names_that_cannot_be_typed_are_not_offered(tmp_path: Path):
    (tmp_path / "two\nlines").touch()
    Path(os.fsdecode(bytes(tmp_path) + b"/\xff")).touch()
    for name in ("good", "👩‍👧"):
        (tmp_path / name).touch()
    assert ProjectFiles(tmp_path).find("", threading.Event()).paths == ["good", "👩‍👧"]


def test_git_is_left_out_and_near_paths_come_first(tmp_path: Path):
    found = project(tmp_path).find("", threading.Event())
    assert found.complete
    assert found.paths[:3] == ["README.md", "docs/", "src/"]
    assert not [path for path in found.paths if ".git" in path]


def test_a_stopped_search_goes_on_where_it_was(tmp_path: Path):
    for number in range(50):
        (tmp_path / f"file{number}").touch()
    files = ProjectFiles(tmp_path)
    stop = threading.Event()
    stop.set()
    assert files.find("file", stop).paths == []
    found = files.find("file", threading.Event())
    assert found.complete
    assert len(found.paths) == 50


def test_a_folder_that_links_to_its_parent_ends(tmp_path: Path):
    (tmp_path / "loop").symlink_to(tmp_path)
    assert ProjectFiles(tmp_path).find("", threading.Event()).paths == ["loop"]


def test_a_command_goes_before_one_that_only_others_call_so():
    rows = [
        CommandRow("compact", "shorten the conversation", aliases=("summarize",), args="[WORDS]"),
        CommandRow("summarize", "my own", args="FILE"),
    ]
    assert usage_of("/summarize ", rows) == "/summarize FILE  my own"
    assert usage_of("/summarize ", rows[:1]) == "/summarize [WORDS]  shorten the conversation"
    wanted = wanted_by("/summarize", first_line=True)
    assert wanted
    assert command_choices(wanted, rows)[0].label == "/summarize"
