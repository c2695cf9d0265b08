"""Load in advance what the block will need: the most important concepts with their memories and vectors."""

from ragforge.memory.derive.base import Derivation, Moment
from ragforge.memory.recall.concepts import read_ahead


class Concepts(Derivation):
    """Loads them when a session opens and when memories have changed, with one query each; writes nothing."""

    title = "Reading concepts ahead"
    order = 10
    wakes_on = frozenset(
        {Moment.OPENED, Moment.TURN_ENDED, Moment.UNDERSTOOD, Moment.SETTLED, Moment.WRITTEN}
    )

    async def step(self) -> float | None:
        """Load those of the project in front. Raises StoreError."""
        homes = list(self.desk.homes.values())
        if homes and homes[-1].settings.memory.enabled:
            home = homes[-1]
            await read_ahead(home.recall, project_id=home.project_id, person=home.person.id)
        return None


DERIVATION = Concepts
