"""The user's identity for others who share the store. It is determined once per store, and saved here.

Sessions and memories have the id. It is git's e-mail address, or else user and machine. The same address on
another machine is the same user, unless the user says otherwise.
"""

import asyncio
import getpass
import socket
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from msgspec.structs import replace

from ragforge.config.project import Place, git_email
from ragforge.config.settings import FILE_SCHEME
from ragforge.domain.errors import UsageError
from ragforge.domain.memories import PERSONAL, MemoryFilter
from ragforge.domain.turns import Person, user_and_machine
from ragforge.store.base import Store
from ragforge.store.local.state import LocalState, open_local_state

SESSIONS_LOOKED_AT_MAX = 1_000
MEMORIES_MAX = 10_000


def user_name() -> str:
    """Return the user's name on this machine; empty if there is none, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


async def identify_person(
    store: Store, local: LocalState, place: Place, environ: Mapping[str, str]
) -> Person:
    """Return who the user is in this store. Raises StoreError.

    An embedded store has one user. Older data without a user becomes theirs.
    """
    alone = store.url.startswith(FILE_SCHEME)
    machine = user_and_machine(user_name(), socket.gethostname())
    if known := await local.chosen.person(store.url):
        return Person(known, machine, alone)
    rows = await store.sessions.recent(limit=SESSIONS_LOOKED_AT_MAX)
    hosts = {row.session.person: row.session.host for row in reversed(rows) if row.session.person}
    former = {machine, *await local.chosen.persons()}
    elsewhere = ""
    if alone:
        id = next((row.session.person for row in rows if row.session.person), machine)
        former |= {row.session.machine for row in rows}
    else:
        id = await asyncio.to_thread(git_email, place, environ) or machine
        elsewhere = hosts.get(id, "")
    person = Person(id, machine, alone, "" if elsewhere == socket.gethostname() else elsewhere)
    await _hand_over(store, former - {id, ""}, id)
    await local.chosen.set_person(store.url, id)
    return person


async def known_person(data_dir: Path, store_url: str) -> Person:
    """Return who the user is in the store, as far as this machine knows. Raises StoreError."""
    machine = user_and_machine(user_name(), socket.gethostname())
    local = await open_local_state(data_dir)
    try:
        known = await local.chosen.person(store_url)
    finally:
        await local.close()
    return Person(known or machine, machine, alone=store_url.startswith(FILE_SCHEME))


def person_named(named: str, known: Collection[str]) -> str:
    """Return the id with this name, complete or before its `@`. Raises UsageError for none or several."""
    found = sorted(each for each in known if named in (each, each.partition("@")[0]) and each)
    if named in found:
        return named
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"Several users match {named!r}: {', '.join(found)}. Give the id.")
    others = ", ".join(sorted(filter(None, known)))
    who = f". Users who have: {others}." if others else " yet."
    raise UsageError(f"No user called {named!r} has written here{who}")


async def writer_named(store: Store, named: str) -> str:
    """Return the id of a user who has written in the store. Raises UsageError for none or several."""
    return person_named(named, await store.turns.everybody())


async def writers_shown(store: Store, turn_ids: Collection[str], user: Person) -> tuple[dict[str, str], bool]:
    """Return who wrote these turns, and whether to show it: only if not all are the user's own."""
    writers = await store.turns.writers([each for each in dict.fromkeys(turn_ids) if each])
    return writers, shows_persons(writers.values(), user)


def shows_persons(persons: Iterable[str], user: Person) -> bool:
    """Return whether a list of what these users did says who: only if not all is the user's own."""
    return any(each != user.id for each in persons)


def same_person_words(person: Person) -> str:
    """Return the notice that the user is taken for somebody, for runs that cannot ask; empty if there is no
    doubt."""
    if not person.elsewhere:
        return ""
    return (
        f"You are {person.id} here, as on {person.elsewhere}: that user's memories are yours. To be a "
        "different user, set another e-mail address in git before the first run with this store."
    )


async def be_somebody_else(local: LocalState, store_url: str, person: Person) -> Person:
    """Return a different user than the one with the same address, known by user and machine."""
    await local.chosen.set_person(store_url, person.machine)
    return replace(person, id=person.machine, elsewhere="")


async def _hand_over(store: Store, former: set[str], owner: str) -> None:
    """Change the owner of what belongs to these ids."""
    if not former:
        return
    wanted = MemoryFilter(
        types=tuple(sorted(PERSONAL)), forgotten=True, replaced=True, abandoned=True, limit=MEMORIES_MAX
    )
    for memory in await store.memories.find(wanted):
        if memory.owner in former:
            await store.memories.change(replace(memory, owner=owner))
