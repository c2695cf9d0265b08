"""A model that hands tasks to sub-agents, and what each of them does."""

from typing import Any

from tests.standins.gemini import Call, Calls, Finish, GeminiStandIn, Text, Tokens


def agent(task: str, words: str = "", **more: Any) -> Call:
    return Call("agent", {"title": f"About {task}", "task": f"task {task}{words}", **more})


def script(gemini: GeminiStandIn, *calls: Call, **tasks: list[Any]) -> None:
    """The parent makes the calls; each sub-agent, by its task, does the steps that are named."""
    steps = {name: iter(replies) for name, replies in tasks.items()}

    def reply(request: Any) -> Any:
        text = str(request.body["contents"][0])
        for name, replies in steps.items():
            if f"task {name}" in text and "You are a sub-agent" in text:
                return next(replies)
        return next(parent)

    usage = Finish(usage=Tokens(prompt=2_000, candidates=50))  # however long the folder's name is
    parent = iter([(Calls(*calls), usage), (Text("All done."), usage)])
    gemini.script(*([reply] * (2 + sum(map(len, tasks.values())))))
