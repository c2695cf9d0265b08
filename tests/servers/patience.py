"""A server that others keep busy is given time, where how long it takes is not the question."""

from collections.abc import Callable
from typing import Any

import pytest

from ragforge.store.neo4j import carrier, connection, nodes
from ragforge.store.neo4j.connection import Graph

PATIENT_S = 60.0
SHORT_S = 1.0
"""Whoever wants an answer within less means that it shall not come."""

WAITS = ((nodes, "SETTLE_S"), (nodes, "ARRIVE_S"), (carrier, "VECTORS_SETTLE_S"))


def be_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """For this test a minute is the least that a server has for an answer, and a store to carry its rows."""
    for module, name in WAITS:
        monkeypatch.setattr(module, name, PATIENT_S)
    for name, usual_s in (
        ("read", connection.READ_DEADLINE_S),
        ("stream", connection.READ_DEADLINE_S),
        ("write", connection.WRITE_DEADLINE_S),
        ("transaction", connection.WRITE_DEADLINE_S),
    ):
        monkeypatch.setattr(Graph, name, _patient(getattr(Graph, name), usual_s))


def _patient(method: Callable[..., Any], usual_s: float) -> Callable[..., Any]:
    def called(*args: Any, deadline_s: float = usual_s, **options: Any) -> Any:
        given_s = deadline_s if deadline_s < SHORT_S else max(deadline_s, PATIENT_S)
        return method(*args, deadline_s=given_s, **options)

    return called
