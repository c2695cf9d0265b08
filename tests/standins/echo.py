"""What stand-ins answer where nothing is scripted: they repeat what the user said."""

import re

# What was recalled stands before it. A stand-in that repeated that too would make it part of the history.
_RECALLED = re.compile(r"<recalled-context>.*?</recalled-context>\n*", re.DOTALL)


def echo_of(text: str) -> tuple[str, str]:
    """The answer to a message, in two pieces."""
    return ("You said: ", _RECALLED.sub("", text))
