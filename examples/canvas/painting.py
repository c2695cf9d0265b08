"""The loop: at iteration i each agent is shown what i-1 left, says how far it foresaw that, and paints.

A model keeps nothing between two calls, so each call brings all that it needs: what the agent predicted at
i-1, and two images of the state after i-1, its cell (local) and the canvas (global). No other image is sent.
"""

import asyncio
import hashlib
import re
from collections.abc import Sequence

from msgspec import Struct

from examples.canvas.picture import Canvas
from ragforge.domain.foresight import TEXT_CHARS_MAX
from ragforge.domain.json import JsonObject, JsonValue
from ragforge.domain.messages import ImagePart, TextPart, UserMessage
from ragforge.domain.printable import one_line
from ragforge.memory.derive.foresight import rating
from ragforge.memory.foresight import PIXEL_BITS, description_complexity, unexpectedness, world_complexity
from ragforge.memory.sentences import cut_words
from ragforge.providers.base import ModelRequest, Provider
from ragforge.versions.attempts.question import asking, closed, read_answer

CELL = 20
"""Pixels of a cell, across and down. A place in it takes 9 bits and a colour 24: `PIXEL_BITS`."""
P_INDIVIDUAL = 5
P_COLLECTIVE = 3
"""Over how many iterations C_w sums."""
VOID = "black/void - Starting from empty canvas"
"""What is given as the previous predictions at iteration 0. Nothing is rated against it."""

SYSTEM = """\
You are the agent of Grid [{x},{y}], one of {columns} x {rows} agents that paint on one canvas of
{width} x {height} pixels. Your grid is {cell} x {cell} pixels; x and y in it go from 0 to {last}, from its
top left. Pixels are black at first and stay as they were last painted."""

PROMPT = """\
MEMORY CONTEXT (iteration {before}):
- Your previous predictions:
  Individual: {individual_after_prediction_previous}
  Collective: {collective_after_prediction_previous}
- Images of the state at iteration {before}: local (your grid), then global (the whole canvas).

These images show the canvas before your actions at iteration {iteration}.

YOUR TASKS, in this order:
1. Describe the individual state that the local image shows: individual_before_description.
2. Describe the collective state that the global image shows: collective_before_description.
3. Rate how well your previous predictions fit these descriptions, from 0 (no resemblance) to 10 (exact):
   predictability_individual, predictability_collective.
4. Predict how the whole canvas will evolve, which shapes may emerge: collective_after_prediction.
5. Plan how your grid will evolve to contribute to that: individual_after_prediction.
6. Paint: pixels, each with x, y and hex_color, such as "#ff8800".

Descriptions and predictions: at most {chars} characters each."""

_TEXT: JsonObject = {"type": "string"}
_INTEGER: JsonObject = {"type": "integer"}
_PIXEL = closed({"x": _INTEGER, "y": _INTEGER, "hex_color": _TEXT})
_DESCRIPTIONS = closed(
    {
        "individual_before_description": _TEXT,
        "collective_before_description": _TEXT,
        "predictability_individual": _INTEGER,
        "predictability_collective": _INTEGER,
        "collective_after_prediction": _TEXT,
        "individual_after_prediction": _TEXT,
    }
)
SCHEMA = closed({"descriptions": _DESCRIPTIONS, "pixels": {"type": "array", "items": _PIXEL}})


class Descriptions(Struct, frozen=True):
    """What an agent says of the state that i-1 left, and of the one to come."""

    individual_before_description: str
    collective_before_description: str
    collective_after_prediction: str
    individual_after_prediction: str
    predictability_individual: JsonValue = None
    predictability_collective: JsonValue = None


class CanvasAnswer(Struct, frozen=True):
    """An answer as it came; pixels that cannot be painted are among them."""

    descriptions: Descriptions
    pixels: list[JsonValue]


class Pixel(Struct, frozen=True):
    """A pixel of a cell. colour: red, green, blue."""

    x: int
    y: int
    colour: bytes


class Iteration(Struct, frozen=True):
    """What an agent said and painted at an iteration."""

    descriptions: Descriptions
    pixels: tuple[Pixel, ...]


class Figures(Struct, frozen=True):
    """The figures of an iteration, known once the next one has described what it left."""

    cw: int
    cd: int
    u: int
    predictability: int | None


class Agent:
    """The painter of a cell, and all its iterations."""

    def __init__(self, x: int, y: int) -> None:
        self.x = x
        self.y = y
        self.iterations: list[Iteration] = []


class Painting:
    """A canvas and its agents, one a cell, row by row."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns = columns
        self.rows = rows
        self.canvas = Canvas(columns * CELL, rows * CELL)
        self.agents = [Agent(x, y) for y in range(rows) for x in range(columns)]
        self._images: dict[str, bytes] = {}

    async def load_blob(self, digest: str) -> bytes:
        """Return an image of the state before the iteration that runs, by its hash."""
        return self._images[digest]

    def png(self) -> bytes:
        """Return the whole canvas as an image."""
        return self.canvas.png(0, 0, self.canvas.width, self.canvas.height)

    async def iterate(self, provider: Provider) -> None:
        """Ask all agents about the same state, then paint what they answered.

        Raises ModelError where one gives no usable answer; then none of them paints.
        """
        self._images = {}
        whole = self._image(self.png(), "global")
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._ask(provider, agent, whole)) for agent in self.agents]
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from failed
        for agent, task in zip(self.agents, tasks, strict=True):
            agent.iterations.append(task.result())
            for pixel in task.result().pixels:
                self.canvas.paint(agent.x * CELL + pixel.x, agent.y * CELL + pixel.y, pixel.colour)

    def individual(self, agent: Agent) -> list[Figures]:
        """Return the figures of an agent's own cell."""
        return _figures(
            [len(each.pixels) for each in agent.iterations],
            [each.descriptions.individual_before_description for each in agent.iterations],
            [each.descriptions.predictability_individual for each in agent.iterations],
            depth=P_INDIVIDUAL,
        )

    def collective(self, agent: Agent) -> list[Figures]:
        """Return the figures of the whole canvas, as an agent describes it."""
        return _figures(
            [
                sum(len(each.pixels) for each in painted)
                for painted in zip(*(other.iterations for other in self.agents), strict=True)
            ],
            [each.descriptions.collective_before_description for each in agent.iterations],
            [each.descriptions.predictability_collective for each in agent.iterations],
            depth=P_COLLECTIVE,
        )

    async def _ask(self, provider: Provider, agent: Agent, whole: ImagePart) -> Iteration:
        cell = self._image(self.canvas.png(agent.x * CELL, agent.y * CELL, CELL, CELL), "local")
        request = self._request(agent, (cell, whole))
        return _read(read_answer(await asking(provider)(request), CanvasAnswer))

    def _request(self, agent: Agent, images: tuple[ImagePart, ImagePart]) -> ModelRequest:
        iteration = len(agent.iterations)
        previous = agent.iterations[-1].descriptions if agent.iterations else None
        prompt = PROMPT.format(
            before=iteration - 1,
            iteration=iteration,
            individual_after_prediction_previous=previous.individual_after_prediction if previous else VOID,
            collective_after_prediction_previous=previous.collective_after_prediction if previous else VOID,
            chars=TEXT_CHARS_MAX,
        )
        system = SYSTEM.format(
            x=agent.x,
            y=agent.y,
            columns=self.columns,
            rows=self.rows,
            width=self.canvas.width,
            height=self.canvas.height,
            cell=CELL,
            last=CELL - 1,
        )
        return ModelRequest(system, (UserMessage((TextPart(prompt), *images)),), json_schema=SCHEMA)

    def _image(self, png: bytes, name: str) -> ImagePart:
        digest = hashlib.sha256(png).hexdigest()
        self._images[digest] = png
        return ImagePart(digest, "image/png", name)


def _figures(
    pixel_counts: Sequence[int], descriptions: Sequence[str], ratings: Sequence[JsonValue], *, depth: int
) -> list[Figures]:
    """The figures of all iterations but the newest, whose outcome nobody has described yet."""
    return [
        Figures(
            cw=world_complexity(pixel_counts, i, depth=depth, alpha=PIXEL_BITS),
            cd=description_complexity(descriptions[i + 1]),
            u=unexpectedness(
                pixel_counts, i, depth=depth, alpha=PIXEL_BITS, description_after=descriptions[i + 1]
            ),
            predictability=rating(ratings[i + 1]),
        )
        for i in range(len(pixel_counts) - 1)
    ]


def _read(answer: CanvasAnswer) -> Iteration:
    """The answer with its texts cut, and the pixels that can be painted: at most one for each place."""
    said = answer.descriptions
    descriptions = Descriptions(
        _cut(said.individual_before_description),
        _cut(said.collective_before_description),
        _cut(said.collective_after_prediction),
        _cut(said.individual_after_prediction),
        said.predictability_individual,
        said.predictability_collective,
    )
    pixels = {(pixel.x, pixel.y): pixel for each in answer.pixels if (pixel := _pixel(each))}
    return Iteration(descriptions, tuple(pixels.values()))


def _cut(text: str) -> str:
    return cut_words(one_line(text), TEXT_CHARS_MAX)


def _pixel(value: JsonValue) -> Pixel | None:
    """The pixel, or None where it lies outside of the cell or has no colour."""
    match value:
        case {"x": int(x), "y": int(y), "hex_color": str(colour)}:
            found = re.fullmatch(r"#?([0-9a-fA-F]{6})", colour)
            if found and 0 <= x < CELL and 0 <= y < CELL:
                return Pixel(x, y, bytes.fromhex(found[1]))
        case _:
            pass
    return None
