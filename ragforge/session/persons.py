"""Who the user is to others who share the store. It is found out once for each store, and kept here.

Sessions and memories hold the id. Nobody is asked for it: `git` knows an e-mail address, else user and
machine do. The same address on another machine is the same person, unless the user says otherwise.
"""

import asyncio
import getpass
import socket
from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec.structs import replace

from ragforge.config.project import Place, git_email
from ragforge.config.settings import FILE_SCHEME
from ragforge.domain.errors import UsageError
from ragforge.domain.memories import PERSONAL, MemoryFilter
from ragforge.domain.turns import Person, user_and_machine
from ragforge.store.base import Store
from ragforge.store.local import LocalState, open_local_state

SESSIONS_LOOKED_AT_MAX = 1_000
MEMORIES_MAX = 10_000


def user_name() -> str:
    """The name of the user on this machine; empty where there is none, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


async def identify_person(
    store: Store, local: LocalState, place: Place, environ: Mapping[str, str]
) -> Person:
    """Who the user is in this store. Raises StoreError.

    A store that is embedded has one person. What they said before there were persons becomes theirs.
    """
    alone = store.url.startswith(FILE_SCHEME)
    machine = user_and_machine(user_name(), socket.gethostname())
    if known := await local.person(store.url):
        return Person(known, machine, alone)
    rows = await store.sessions.recent(limit=SESSIONS_LOOKED_AT_MAX)
    hosts = {row.session.person: row.session.host for row in reversed(rows) if row.session.person}
    former = {machine, *await local.persons()}
    elsewhere = ""
    if alone:
        id = next((row.session.person for row in rows if row.session.person), machine)
        former |= {row.session.machine for row in rows}
    else:
        id = await asyncio.to_thread(git_email, place, environ) or machine
        elsewhere = hosts.get(id, "")
    person = Person(id, machine, alone, "" if elsewhere == socket.gethostname() else elsewhere)
    await _hand_over(store, former - {id, ""}, id)
    await local.set_person(store.url, id)
    return person


async def known_person(data_dir: Path, store_url: str) -> Person:
    """Who the user is in the store, as far as that was found out on this machine. Raises StoreError."""
    machine = user_and_machine(user_name(), socket.gethostname())
    local = await open_local_state(data_dir)
    try:
        known = await local.person(store_url)
    finally:
        await local.close()
    return Person(known or machine, machine, alone=store_url.startswith(FILE_SCHEME))


def person_named(named: str, known: Collection[str]) -> str:
    """The id that is meant, whole or by what precedes its `@`. Raises UsageError for none or several."""
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
    """The id of who is meant of those who wrote in the store. Raises UsageError for none or several."""
    return person_named(named, await store.turns.everybody())


async def writers_shown(store: Store, turn_ids: Collection[str], user: Person) -> tuple[dict[str, str], bool]:
    """Who wrote these turns, and whether a list of them says so: only where not all is the user's own."""
    writers = await store.turns.writers([each for each in dict.fromkeys(turn_ids) if each])
    return writers, any(each != user.id for each in writers.values())


def same_person_words(person: Person) -> str:
    """That the user is taken for somebody, for runs that ask nobody; empty where that is not a question."""
    if not person.elsewhere:
        return ""
    return (
        f"You are {person.id} here, as on {person.elsewhere}: that user's memories are yours. To be a "
        "different user, set another e-mail address in git before the first run with this store."
    )


async def be_somebody_else(local: LocalState, store_url: str, person: Person) -> Person:
    """The person as another one than that of the same address, known by user and machine."""
    await local.set_person(store_url, person.machine)
    return replace(person, id=person.machine, elsewhere="")


async def _hand_over(store: Store, former: set[str], owner: str) -> None:
    """Let what belongs to these ids belong to the owner."""
    if not former:
        return
    wanted = MemoryFilter(
        types=tuple(sorted(PERSONAL)), forgotten=True, replaced=True, abandoned=True, limit=MEMORIES_MAX
    )
    for memory in await store.memories.find(wanted):
        if memory.owner in former:
            await store.memories.change(replace(memory, owner=owner))
