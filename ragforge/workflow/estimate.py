"""What a run of a program may cost, before it runs."""

from ragforge.domain.errors import ModelError, UsageError
from ragforge.domain.ids import now
from ragforge.domain.usage import Usage
from ragforge.domain.words import cost_words
from ragforge.providers.registry import ModelName
from ragforge.session.model import Pricing, connect
from ragforge.session.state import Session
from ragforge.workflow.check import assemble
from ragforge.workflow.roles import model_for, role_of, setting_words

SMALL, LARGE = Usage(input_tokens=500, output_tokens=100), Usage(input_tokens=30_000, output_tokens=4_000)
"""A short call and a long one."""


async def price_words(session: Session, content: bytes, price_usd_max: float | None) -> list[str]:
    """Return the cost range of each call and of all of them once, and the run's limits; a line each.

    Also what a model needs before it can be asked.
    """
    program = assemble(content).program
    if program is None:
        return []
    lines: list[str] = []
    low, high, is_known = 0.0, 0.0, True
    for call in program.code:
        role = role_of(call)
        if role is None:
            continue
        try:
            model = model_for(session, str(role.value))
        except UsageError as error:
            return [str(error)]
        if lacks := await _lacks(session, model, str(role.value)):
            lines.append(lacks)
        pricing = Pricing(session.workspace, model, now())
        costs = (pricing.cost(SMALL), pricing.cost(LARGE))
        if None in costs:
            lines.append(f"{role} is {model}, whose price is unknown")
            is_known = False
            continue
        low, high = low + (costs[0] or 0.0), high + (costs[1] or 0.0)
        lines.append(f"{role} is {model}: {cost_words(costs[0])} to {cost_words(costs[1])} a call")
    caps = (
        session.workspace.settings.programs.price_usd_max,
        program.limits.get("cost_usd"),
        price_usd_max,
    )
    stop = min(cap for cap in caps if cap is not None)
    prices = f"{cost_words(low)} to {cost_words(high)}" if is_known else cost_words(None)
    total = f"each call once: {prices}; " if lines else ""
    return [*dict.fromkeys(lines), f"{total}a run stops at ${stop:g}"]


async def _lacks(session: Session, model: ModelName, role: str) -> str:
    """Return what the model lacks; empty if it can be asked. Nothing is sent."""
    try:
        provider = await connect(session.workspace, model)
    except (ModelError, UsageError) as error:
        return f"{error}{setting_words(session, role)}"
    await provider.close()
    return ""
