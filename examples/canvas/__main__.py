"""Paint with a model: `python -m examples.canvas gemini:gemini-3.8-flash`. README.md says what it does."""

import argparse
import asyncio
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from examples.canvas.painting import Agent, Figures, Painting
from ragforge.config.secrets import find_key
from ragforge.domain.errors import RagforgeError
from ragforge.domain.search import Hit
from ragforge.providers.base import ProviderParts
from ragforge.providers.registry import open_provider, parse_model
from ragforge.session.foresight import Curves
from ragforge.tui.widgets.foresight_chart import EVERYBODY, FORESEEN, OWN, SEVERAL, chart_lines

GRID_MIN, GRID_MAX = 2, 8
ITERATIONS_MIN = 2
"""The first one has figures once the second has described what it left."""
COLUMNS, ROWS = 60, 8
"""Of a chart."""
HEADS = f"{'C_d':>6} {'U':>7} 0-10"
LEGEND = (
    f"{OWN} U of the grid  {EVERYBODY} U of the canvas  {FORESEEN} predictability 0-10  {SEVERAL} several"
)


def main(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Paint, then print figures and curves; those so far where it ends early. Return the exit code."""
    options = _parser().parse_args(argv)
    painting, code = Painting(*options.grid), 0
    try:
        asyncio.run(_paint(painting, options, environ))
    except KeyboardInterrupt:
        code = 130
    except (RagforgeError, OSError) as error:
        print(error, file=sys.stderr)
        code = error.exit_code if isinstance(error, RagforgeError) else 1
    if len(painting.agents[0].iterations) > 1:
        print("\n".join(line for agent in painting.agents for line in _report(painting, agent)))
        print(LEGEND)
    return code


async def _paint(painting: Painting, options: argparse.Namespace, environ: Mapping[str, str]) -> None:
    """Save the picture after each iteration, so that it is there whatever comes later."""
    # In a thread: finding a key may mean waiting for the keyring.
    provider = await asyncio.to_thread(
        open_provider, parse_model(options.model), parts=_parts(painting, environ)
    )
    try:
        for number in range(options.iterations):
            await painting.iterate(provider)
            await asyncio.to_thread(options.out.write_bytes, painting.png())
            print(f"iteration {number}: painted, saved as {options.out}", flush=True)
    finally:
        await provider.close()


def _parts(painting: Painting, environ: Mapping[str, str]) -> ProviderParts:
    def known_key(provider: str) -> tuple[str, str] | None:
        found = find_key(provider, environ)
        return (found.value, found.source) if found else None

    async def no_search(text: str, limit: int) -> list[Hit]:
        return []

    return ProviderParts(known_key, painting.load_blob, no_search, environ=environ)


def _report(painting: Painting, agent: Agent) -> list[str]:
    """The figures of an agent and of what it sees of the canvas, and their curves."""
    individual, collective = painting.individual(agent), painting.collective(agent)
    lines = [f"Grid [{agent.x},{agent.y}]", f"    i  {'local C_w':>10} {HEADS}  {'global C_w':>10} {HEADS}"]
    for number, (own, whole) in enumerate(zip(individual, collective, strict=True)):
        lines.append(f"  {number:>3}  {_cells(own)}  {_cells(whole)}")
    curves = Curves(
        tuple(each.u for each in individual),
        tuple(each.u for each in collective),
        tuple(each.predictability for each in individual),
    )
    *chart, _ = chart_lines(curves, columns=COLUMNS, rows=ROWS)
    return [*lines, *(line.plain.rstrip() for line in chart)]


def _cells(figures: Figures) -> str:
    told = "-" if figures.predictability is None else figures.predictability
    return f"{figures.cw:>10} {figures.cd:>6} {figures.u:>7} {told:>4}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.canvas", description=__doc__)
    parser.add_argument("model", help="provider:model, such as gemini:gemini-3.8-flash; it must take images")
    parser.add_argument("--grid", type=_grid, default=(2, 2), help="agents across and down, such as 3x2")
    parser.add_argument("--iterations", type=_count, default=6, help="calls an agent, 2 or more")
    parser.add_argument(
        "--out", type=_picture, default=Path("canvas.png"), help="the picture; it is replaced"
    )
    return parser


def _grid(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)\s*x\s*(\d+)", text)
    sides = (int(found[1]), int(found[2])) if found else (0, 0)
    if not all(GRID_MIN <= side <= GRID_MAX for side in sides):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no grid; it goes from {GRID_MIN}x{GRID_MIN} to {GRID_MAX}x{GRID_MAX}"
        )
    return sides


def _count(text: str) -> int:
    if not (text.isdecimal() and int(text) >= ITERATIONS_MIN):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {ITERATIONS_MIN} on")
    return int(text)


def _picture(text: str) -> Path:
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not a file in a folder that exists")
    return path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
