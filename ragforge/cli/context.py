"""`ragforge context`: what the next call to the model would carry, without asking one."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from ragforge.cli.edge import tell
from ragforge.cli.options import Options, run_async
from ragforge.cli.output import answer_text, json_line
from ragforge.domain.errors import UsageError
from ragforge.domain.words import counted

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    from ragforge.session.next_call import NextCall
    from ragforge.session.state import Session, Workspace


def context(
    context: typer.Context,
    words: Annotated[list[str], typer.Argument(metavar="PROMPT", help="The message that would be sent.")],
    resume: Annotated[
        str | None,
        typer.Option("-r", "--resume", metavar="ID", help="A session; otherwise the folder's newest."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print what the next call to the model would carry: the raw conversation, and what is recalled."""
    options: Options = context.obj
    text = " ".join(words)
    if not text.strip():
        raise UsageError('Give the message that would be sent, as in: ragforge context "Which database?"')
    named = options.resume if resume is None else resume
    if named == "":
        raise UsageError("-r needs an ID here. `ragforge sessions` lists them.")

    async def work() -> int:
        return await _print(options, text, named, as_json=as_json)

    raise typer.Exit(run_async(work))


async def _print(options: Options, text: str, named: str | None, *, as_json: bool) -> int:
    from ragforge.domain.messages import TextPart
    from ragforge.session.instructions import untrusted_instructions
    from ragforge.session.next_call import next_call
    from ragforge.session.open import close_session, close_workspace, open_workspace
    from ragforge.session.trust import left_out_words

    workspace = await open_workspace(
        cwd=options.cwd,
        flags=options.flags,
        environ=os.environ,
        recalls=not options.no_memory,
        trusts_project=options.trust_project,
    )
    await workspace.background.close()  # only looked at: no work begins
    try:
        session = await _session(workspace, named)
        parts = workspace.redactor.parts((TextPart(text),))
        call = await next_call(session, parts)
        if left_out := await untrusted_instructions(session):
            tell(left_out_words(left_out, can_ask=False))
        await close_session(session)
    finally:
        if waits := await close_workspace(workspace):
            tell(waits)
    if as_json:
        typer.echo(json_line({"session": session.id if session.live.stored else None, **call.as_json()}))
    else:
        typer.echo(answer_text(_text(call)))
    return 0


async def _session(workspace: "Workspace", named: str | None) -> "Session":
    """The session that is asked about, only looked at; a new one where the folder has none."""
    from ragforge.session.library import find_session
    from ragforge.session.open import new_session, newest_session_here, resume_session

    if named:
        record = await find_session(workspace.store, named)
    else:
        try:
            record = await newest_session_here(workspace)
        except UsageError:
            return await new_session(workspace)
    resumed = await resume_session(workspace, record, read_only=True)
    for notice in resumed.notices:
        tell(notice)
    return resumed.session


def _text(call: "NextCall") -> str:
    block = call.block
    recalled = block.text or "Nothing is recalled for this message."
    limits = [f"({block.left_out} more had no room.)"] if block.left_out else []
    limits += [f"({block.limited})"] if block.limited else []
    counts = (
        f"{call.system_tokens:,} tokens of system prompt, {call.tools_tokens:,} of {call.tools} tools, "
        f"{call.raw_tokens:,} of {counted(call.turns, 'turn')} word for word, "
        f"{block.tokens:,} of {len(block.items)} recalled in {block.took_ms:.0f} ms, "
        f"{call.prompt_tokens:,} of the message; {call.tokens:,} in all"
    )
    return "\n\n".join([call.raw_text, recalled, *limits, counts])
