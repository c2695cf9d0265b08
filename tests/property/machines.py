"""How state machines of whole sessions are run."""

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.scope import TIMES

EXAMPLES = int(os.environ.get("RAGFORGE_TEST_EXAMPLES", "0"))
"""So many of each machine; by default as many as it asks for."""


def run_machine(make: Callable[[], Any], *, examples: int, steps: int) -> None:
    run_state_machine_as_test(
        make,
        settings=settings(
            max_examples=EXAMPLES or examples * TIMES,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            # Ids are new each time, so an example that failed cannot be made smaller faithfully.
            phases=[Phase.reuse, Phase.generate],
        ),
    )
