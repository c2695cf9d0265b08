"""The chat itself at four widths, as text, and what is over it with its own data; readable in both themes.

After a change that is meant: `pytest tests/tui/test_chat_pictures.py --snapshot-update`, then look.
"""

import re
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from ragforge.domain import words
from tests.flow.delegating import agent, script
from tests.standins.gemini import Call, Calls, Finish, Text, Tokens
from tests.tui.chat_app import Lab
from tests.tui.pictures import AsText, all_of_it, picture, rows_of

ANSWER = """\
The parser split at *every* space, so quoted words fell apart:

1. `parse` now uses `tokenize`, which knows quotes, 端口 and שלום.
2. `main` reads **standard input**.

| name | meaning |
|---|---|
| tokenize | splits at spaces, except within quotes |

```python
def tokenize(text: str) -> list[str]:
    return shlex.split(text)
```
"""
CODE = "def parse(text):\n    return text.split()\n"
EDIT = {"path": "parser.py", "old": "text.split()", "new": "shlex.split(text)"}


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "MINUTE_S", 1_000_000)  # what was just now stays so


def todo(*items: tuple[str, str]) -> Calls:
    return Calls(Call("todo", {"items": [{"text": text, "state": state} for text, state in items]}))


def counted(*parts: Any) -> tuple[Any, ...]:
    """An answer of as many tokens, however long the folder's name is."""
    return (*parts, Finish(usage=Tokens(prompt=2_000, candidates=50)))


@pytest.mark.usefixtures("still")
async def test_the_chat_looks_as_it_should(lab: Lab, snapshot: SnapshotAssertion) -> None:
    lab.set_environ(RAGFORGE_MEMORY_ENABLED="false")
    (lab.project / "parser.py").write_text(CODE)
    looks_the_same = snapshot.use_extension(AsText)
    async with lab.chat(new=True) as chat:

        async def compare(name: str) -> None:
            # A turn's text may begin to wait for its vector between two looks.
            while "to embed" in (taken := await picture(chat, all_of_it)):
                await chat.until(lambda: "to embed" not in chat.status)
            assert taken == looks_the_same(name=name)

        await chat.sees("Type a message")
        await compare("first screen")
        read, edit = Calls(Call("read", {"path": "parser.py"})), Calls(Call("edit", EDIT))
        lab.gemini.script(counted(read), counted(edit), counted(Text(ANSWER)))
        await chat.say('Why does `parse "a b"` break? Fix it, [bold]please[/bold].')
        await chat.asked()
        await compare("an edit is asked about")
        await chat.pilot.press("1")
        await chat.turn_ended()
        shell = Calls(Call("shell", {"command": "rm -rf build && pytest -q"}))
        lab.gemini.script(counted(shell), counted(Text("Well.")))
        await chat.say("Now run the tests")
        await chat.asked()
        await compare("a command is asked about")
        await chat.pilot.press("3")
        await chat.turn_ended()
        await compare("a conversation")
        await chat.pilot.press("ctrl+o")
        await compare("all folds open")
        await chat.pilot.press("ctrl+o")
        steps = [("parse", "done"), ("test with words of 日本語", "active"), ("write it down", "pending")]
        lab.gemini.script(counted(todo(*steps)), counted(Text("Begun.")))
        await chat.say("Make a list")
        await chat.turn_ended()
        await compare("a list of what is to do")


@pytest.mark.usefixtures("still")
async def test_sub_agents_look_as_they_should(lab: Lab, snapshot: SnapshotAssertion) -> None:
    lab.set_environ(RAGFORGE_MEMORY_ENABLED="false")
    (lab.project / "parser.py").write_text(CODE)
    looks_the_same = snapshot.use_extension(AsText)
    read, edit = Calls(Call("read", {"path": "parser.py"})), Calls(Call("edit", EDIT))
    script(
        lab.gemini,
        agent("Find 日本語 and שלום"),
        agent("Quote words", tools="all"),
        **{
            "Find 日本語 and שלום": [counted(read), counted(Text("Only `parser.py` splits at spaces."))],
            "Quote words": [counted(read), counted(edit), counted(Text("`parse` knows quotes now."))],
        },
    )
    async with lab.chat(new=True) as chat:

        async def compare(name: str) -> None:
            assert await picture(chat, all_of_it) == looks_the_same(name=name)

        await chat.say("Have it looked at, and mended")
        await chat.asked()
        await chat.until(lambda: "✓ agent" in "".join(rows_of(chat, all_of_it(chat))), "one has ended")
        await compare("a sub-agent asks")
        await chat.pilot.press("1")
        await chat.turn_ended()
        await chat.say("/agents")
        await chat.sees("finished, 3 steps")
        await compare("the sub-agents of a session")
        [short] = re.findall(r"`About Quote words`: .* · `([0-9a-f]{8})`", chat.words())
        await chat.say(f"/agents open {short}")
        await chat.sees("`parse` knows quotes now.")
        await compare("a sub-agent opened")
