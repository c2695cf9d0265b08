"""Versions as every store keeps them: their changes as one text, and their order."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragforge.domain.versions import Change, Node, NodeKind, Provenance, Untracked
from ragforge.store.json_text import to_json
from ragforge.store.layouts import Form

# Calling an enum for each of many thousand changes takes longer than everything else.
_KINDS = {str(kind): kind for kind in NodeKind}
_PROVENANCES = {str(provenance): provenance for provenance in Provenance}


def changes_to_json(changes: Sequence[Change]) -> str:
    """Return the changes as JSON; an invalid path decodes as it was."""
    return to_json(
        [
            [
                change.path,
                _plain(change.before),
                _plain(change.after),
                change.provenance,
                change.renamed_from,
                change.shared,
            ]
            for change in changes
        ]
    )


def changes_from_json(text: str) -> tuple[Change, ...]:
    """The inverse of `changes_to_json`."""
    rows: list[tuple[str, Any, Any, str, str, bool]] = json.loads(text)
    return tuple(
        Change(path, _node(before), _node(after), _PROVENANCES[provenance], renamed_from, shared)
        for path, before, after, provenance, renamed_from, shared in rows
    )


def untracked_to_json(untracked: Sequence[Untracked]) -> str:
    """Return what is not tracked, as JSON."""
    return to_json([[each.path, each.why] for each in untracked])


def untracked_from_json(text: str) -> tuple[Untracked, ...]:
    """The inverse of `untracked_to_json`."""
    if text == "[]":
        return ()
    return tuple(Untracked(path, why) for path, why in json.loads(text))


def nodes_to_json(nodes: Mapping[str, Node | None]) -> str:
    """Return the node at each path, as JSON; an invalid path decodes as it was."""
    return to_json({path: _plain(node) for path, node in nodes.items()})


def nodes_from_json(text: str) -> dict[str, Node | None]:
    """The inverse of `nodes_to_json`."""
    return {path: _node(row) for path, row in json.loads(text).items()}


FORMS: Mapping[object, Form] = {
    tuple[Change, ...]: Form(changes_to_json, changes_from_json),
    tuple[Untracked, ...]: Form(untracked_to_json, untracked_from_json),
    Mapping[str, Node | None]: Form(nodes_to_json, nodes_from_json),
}
"""Encode nodes as every store keeps them."""


def moment_after(at_ms: int, version_id: str, parents: Iterable[tuple[int, str]]) -> int:
    """Return the time of a version, in milliseconds: after its parents, whatever clocks say.

    parents: the time and id of each. So in the order by (time, id) parents come before children.
    """
    newest = max(parents, default=None)
    return at_ms if newest is None or (at_ms, version_id) > newest else newest[0] + 1


def _plain(node: Node | None) -> list[object] | None:
    return None if node is None else [node.kind, node.digest, node.mode, node.size]


def _node(row: Any) -> Node | None:
    if row is None:
        return None
    kind, digest, mode, size = row
    return Node(_KINDS[kind], digest, mode, size)
