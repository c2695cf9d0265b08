"""`metrics`: the totals of all runs on this machine, in Prometheus' format."""

from typing import TYPE_CHECKING

from ragforge.commands.base import NoArguments, Outcome, Report, Verb
from ragforge.domain.printable import fenced

if TYPE_CHECKING:
    from ragforge.session.machine import Library
    from ragforge.session.state import Session


async def _run(session: "Session", args: NoArguments) -> Outcome:
    return await _print(session.workspace, args)


async def _print(library: "Library", args: NoArguments) -> Outcome:
    from ragforge.session.metrics import all_samples, metrics_text

    text = metrics_text(await all_samples(library))
    return Report(text.splitlines(), markdown=fenced(text.rstrip()))


VERB = Verb(
    "metrics",
    "Print the metrics of all runs on this machine in Prometheus text format.",
    NoArguments,
    _run,
    shell=_print,
    more="metrics.listen serves the same metrics while ragforge runs; metrics.textfile writes them to a "
    "file.",
)
