"""A verb is one file: in the interface, on the command line, in /help and in the completion."""

import re
import sys
from collections.abc import Iterator
from contextvars import copy_context
from importlib import import_module
from pathlib import Path

import pytest

from ragforge import commands
from ragforge.cli import main
from ragforge.commands.base import (
    Confirm,
    Emphasis,
    Follow,
    Open,
    Opens,
    Report,
    Span,
    Tell,
    Verb,
    find_verbs,
    run_command,
)
from ragforge.domain.arguments import arguments_of, parse
from ragforge.domain.errors import UsageError
from ragforge.session.state import Session
from ragforge.tui import keys
from ragforge.tui.screens.base import interface_verbs
from ragforge.tui.screens.help import entries
from ragforge.tui.widgets.completion import CommandRow, CompletionKind, CompletionRequest, command_choices
from tests.flow.examples import example

GREET = example("A verb")


def boxed(text: str) -> str:
    """What stands in a box, as one line."""
    return " ".join(text.replace("│", " ").split())


@pytest.fixture
def greet(tmp_path: Path) -> Iterator[Verb]:
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "greet.py").write_text(GREET)
    commands.__path__.append(str(folder))
    find_verbs.cache_clear()
    interface_verbs.cache_clear()
    yield find_verbs()["greet"]
    commands.__path__.remove(str(folder))
    sys.modules.pop("ragforge.commands.greet")
    find_verbs.cache_clear()
    interface_verbs.cache_clear()


async def test_a_verb_is_a_file_in_the_interface(session: Session, greet: Verb) -> None:
    assert await run_command(session, "greet", "Ada --times 2") == Tell("Hello Ada! Hello Ada!")
    told = await run_command(session, "greet", "Ada --often 2")
    assert isinstance(told, Follow)
    assert [line async for line in told.lines] == [
        "--often N is now --times N; the old spelling works until the next release.",
        Tell("Hello Ada! Hello Ada!"),
    ]
    with pytest.raises(UsageError, match=r"/greet needs NAME: Whom to greet\."):
        await run_command(session, "greet", "")
    assert await run_command(session, "help", "greet") == Open("help", "greet")
    shown = {entry.name: entry for entry in entries(keys.bindings(session.workspace.settings.keys), [])}
    assert shown["/greet"].more.startswith("/greet NAME [--times N]\nSay hello.")
    rows = [CommandRow(verb.name, verb.help, verb.aliases, verb.usage) for verb in find_verbs().values()]
    wanted = CompletionRequest(CompletionKind.COMMAND, "/gre", "gre", 0)
    first = command_choices(wanted, rows)[0]
    assert (first.label, first.detail, first.insert) == ("/greet", "Say hello.", "/greet ")


def test_a_verb_is_a_file_on_the_command_line(
    greet: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("DATA", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"RAGFORGE_{name}_DIR", str(tmp_path / name))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")

    def run(args: list[str]) -> int:
        return copy_context().run(main.run, args)  # from then on messages are for the command line

    assert run(["greet", "Ada", "--times", "2"]) == 0
    assert capsys.readouterr().out == "Hello Ada! Hello Ada!\n"
    assert run(["greet", "Ada", "--often=3"]) == 0
    told = capsys.readouterr()
    assert told.out == "Hello Ada! Hello Ada! Hello Ada!\n"
    assert "--often N is now --times N" in told.err
    assert run(["greet", "Ada", "--times", "4"]) == 2
    assert "must be a whole number from 1 to 3, not '4'." in boxed(capsys.readouterr().err)
    assert run(["-h"]) == 0
    assert "Say hello." in capsys.readouterr().out


async def test_a_report_says_the_same_in_both_places(session: Session) -> None:
    listed = await run_command(session, "log", "3")
    assert isinstance(listed, Report)
    assert listed.shown == "This project has no versions yet. Every turn makes one."
    assert Report([[Span("a"), Span("b", Emphasis.MARKED)], "c"], ("d",)).shown == "```text\nab\nc\n```\nd"
    with pytest.raises(UsageError, match="log has no option --json"):
        await run_command(session, "log", "--json")


@pytest.mark.parametrize("verb", find_verbs().values(), ids=lambda verb: verb.name)
def test_every_verb_says_what_it_takes(verb: Verb) -> None:
    for each in (verb, *verb.verbs):
        assert each.help.endswith(".")
        for argument in arguments_of(each.args):
            helps = argument.spelling.meanings.values() or [argument.spelling.help]
            assert argument.spelling.hidden or all(help.endswith(".") for help in helps), argument.name
        assert each.opens is not Opens.ITSELF or each.name in import_module(f"ragforge.cli.{verb.name}").RUNS
        required = [
            " ".join([*argument.spelling.options[:1], argument.shown])
            for argument in arguments_of(each.args)
            if argument.is_required
        ]
        if required:
            with pytest.raises(UsageError, match=re.escape(f"/{each.name} needs {required[0]}")):
                parse(each.args, "", command=each.name)
        else:
            assert parse(each.args, "", command=each.name) == each.args()


async def test_what_follows_a_verb_is_its_own_or_refused_with_what_there_is(
    session: Session,
) -> None:
    asked = await run_command(session, "mode", "all")
    assert isinstance(asked, Confirm)
    assert asked.then == "mode all --yes"
    for line, said in {
        "jobs stop": "/jobs stop needs ID",
        "jobs pause 1": "/jobs has no 'pause'. Use /jobs or /jobs output ID or /jobs stop ID.",
        "mode quick": "/mode: MODE must be ask, accept-edits, plan or all, not 'quick'.",
        "new all": "/new takes no further argument: 'all'.",
        "copy code 0": "/copy code: N must be a whole number of at least 1, not '0'.",
        "rename": "/rename needs TITLE",
        "branch -d": "/branch: -d must be",
    }.items():
        name, _, text = line.partition(" ")
        with pytest.raises(UsageError) as raised:
            await run_command(session, name, text)
        assert said in str(raised.value)
