"""What waits in a session's prompt after undo and redo on the command line."""

from ragforge.store.local.state import open_local_state
from tests.cli.running import Program
from tests.standins.openai import Call, OpenAIStandIn, Reply


async def draft_of(program: Program, session: str) -> str:
    local = await open_local_state(program.data)
    try:
        return await local.prompts.draft(session)
    finally:
        await local.close()


async def made(program: Program, openai: OpenAIStandIn) -> str:
    """The session of a turn that wrote a file, asked for with "make it"."""
    openai.script(Reply(calls=[Call("shell", '{"command": "echo 1 > a.txt"}')]), Reply(text=["Done."]))
    ran = await program.run("--yolo", "-p", "make it", "--output-format", "json")
    return ran.json["session"]


async def test_a_message_that_was_undone_waits_in_the_prompt_until_it_is_redone(
    quick: Program, openai: OpenAIStandIn
) -> None:
    session = await made(quick, openai)
    await quick.run("undo")
    assert await draft_of(quick, session) == "make it"
    await quick.run("redo")
    assert await draft_of(quick, session) == ""


async def test_what_is_being_written_stays_in_the_prompt_whatever_is_undone_and_redone(
    quick: Program, openai: OpenAIStandIn
) -> None:
    session = await made(quick, openai)
    local = await open_local_state(quick.data)
    await local.prompts.set_draft(session, "half a thought")
    await local.close()
    await quick.run("undo")
    assert await draft_of(quick, session) == "half a thought"
    await quick.run("redo")
    assert await draft_of(quick, session) == "half a thought"
