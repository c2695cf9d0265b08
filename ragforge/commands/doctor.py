"""`doctor`: whether everything that is needed works, and what to do if it does not."""

from typing import Annotated

from msgspec import Struct

from ragforge.commands.base import Opens, Verb
from ragforge.domain.arguments import option


class DoctorArguments(Struct, frozen=True):
    """How to print it."""

    json: Annotated[bool, option("--json", help="Print a JSON list.")] = False


VERB = Verb(
    "doctor",
    "Check versions, settings, store, key and terminal, and suggest fixes.",
    DoctorArguments,
    opens=Opens.ITSELF,
    more="Nothing is sent to a model. The exit code is 1 if a check fails.",
)
