"""Whether arguments start the interface, decided without a parser. Needs only the standard library."""

from collections.abc import Mapping, Sequence

ALONE = frozenset(
    ("-c", "--continue", "--fork", "--new", "--yolo", "--trust-project", "--no-memory", "--incognito")
)
WITH_VALUE = frozenset(("-m", "--model", "--at", "--allow", "--store", "--max-price"))
MAY_HAVE_VALUE = frozenset(("-r", "--resume"))
"""The flags of the interface. With any other word the parser decides, and the prompt appears later."""


def start_interface(arguments: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Whether these are only flags of the interface."""
    if "_RAGFORGE_COMPLETE" in environ:
        return False
    rest = list(arguments)
    while rest:
        flag, is_whole, _ = rest.pop(0).partition("=")
        if flag in ALONE:
            continue
        if flag not in WITH_VALUE | MAY_HAVE_VALUE:
            return False
        if not is_whole and (flag in WITH_VALUE or (rest and not rest[0].startswith("-"))):
            if not rest:
                return False
            rest.pop(0)
    return True
