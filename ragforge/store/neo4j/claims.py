"""The right to write a session, among all machines that share the graph.

On this machine it is a lock of the operating system, which ends with its process. Among machines it is a
lease on the session's node, renewed in the server's time, with an epoch: if it lapses, another may succeed
its holder, and what the older epoch still sends no longer moves the session.
"""

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path

from ragforge.domain import timeouts
from ragforge.domain.errors import Conflict, RagforgeError, SessionBusy, StoreError, StoreUnavailable
from ragforge.domain.ids import new_id, now, short_id
from ragforge.store.neo4j.connection import Transaction
from ragforge.store.neo4j.errors import ReadsOnly
from ragforge.store.neo4j.nodes import Nodes
from ragforge.store.neo4j.recovery import interrupt_here, interrupt_left_turns
from ragforge.store.neo4j.rows import Label
from ragforge.store.sqlite.claims import FileClaim

log = logging.getLogger(__name__)


# The write takes the lock: if many ask at once, one reads what the others find afterwards.
LOCK = f"""
MATCH (s:{Label.SESSION} {{sessionId: $id}})
SET s.carriedAt = datetime.realtime()
RETURN s.writerId AS writer, s.writerName AS name, s.writerMachine AS machine,
  coalesce(s.writerEpoch, 0) AS epoch, s.writerSeen AS seen, datetime.realtime() AS now
"""

TAKE = f"""
MATCH (s:{Label.SESSION} {{sessionId: $id}})
SET s.writerId = $writer, s.writerName = $name, s.writerMachine = $machine, s.writerEpoch = $epoch,
  s.writerSeen = datetime.realtime(), s.carriedBatch = CASE WHEN $fresh THEN 0 ELSE s.carriedBatch END
"""

RENEW = f"""
UNWIND $claims AS claim
MATCH (s:{Label.SESSION} {{sessionId: claim.id}})
FOREACH (_ IN CASE WHEN s.writerId = claim.writer THEN [1] ELSE [] END |
  SET s.writerSeen = datetime.realtime())
RETURN s.sessionId AS id, s.writerId AS writer, s.writerName AS name, s.writerEpoch AS epoch
"""

RELEASE = f"""
MATCH (s:{Label.SESSION} {{sessionId: $id}}) WHERE s.writerId = $writer
SET s.writerId = null, s.writerName = null, s.writerSeen = null
"""


class GraphClaim:
    """Implements `Claim`."""

    def __init__(self, session_id: str, guard: FileClaim, release: "Callable[[GraphClaim], Awaitable[None]]"):
        self.session_id = session_id
        self.writer = new_id()
        self.guard = guard
        self.confirmed = False
        """Whether the server knows of it; one made while it was unreachable is confirmed later."""
        self.released = False
        self._lost = ""
        self._release = release

    @property
    def lost(self) -> str:
        """Who took the session over meanwhile, in a sentence; empty while it is ours."""
        return self._lost

    def lose(self, holder: str) -> None:
        """Record that another process has it now."""
        self._lost = self._lost or (
            f"Session {short_id(self.session_id)} was taken over by {holder or 'another machine'}, because "
            "this one did not respond for too long. What was said here since then becomes a branch of it."
        )

    async def release(self) -> None:
        if not self.released:
            self.released = True
            await self._release(self)


class Claims:
    """All claims of this process."""

    def __init__(self, nodes: Nodes, lock_dir: Path, machine: str) -> None:
        self._nodes = nodes
        self._lock_dir = lock_dir
        self._machine = f"{machine}@{socket.gethostname()}"
        self._name = f"process {os.getpid()} on {socket.gethostname()} since {now():%Y-%m-%d %H:%M}"
        self._held: dict[str, GraphClaim] = {}
        self._heart: asyncio.Task[None] | None = None

    def holds(self, session_id: str) -> bool:
        """Whether this process writes the session."""
        return session_id in self._held

    async def take(self, session_id: str) -> GraphClaim:
        """Become the session's only writer. Raises SessionBusy, Conflict or StoreUnavailable."""
        guard = await FileClaim.obtain(self._lock_dir, session_id)
        claim = GraphClaim(session_id, guard, self._let_go)
        try:
            try:
                await self._confirm(claim)
                await self._bring(session_id)
                epoch = self._nodes.outbox.claims[session_id]
                await self._nodes.outbox.write(lambda rows: rows.set_epoch(session_id, epoch))
            except StoreUnavailable:
                if not await self._take_here(session_id):
                    raise
        except BaseException:
            self._nodes.outbox.claims.pop(session_id, None)
            await guard.release()
            raise
        self._held[session_id] = claim
        if self._heart is None:
            self._heart = asyncio.create_task(self._beat(), name="ragforge-heartbeat")
        return claim

    async def fenced(self, session_ids: tuple[str, ...]) -> None:
        """Mark these sessions as lost: the graph says that they have other writers now."""
        lost = [self._held[each] for each in session_ids if each in self._held]
        # This must not wait for the carrier, because the carrier is the caller.
        await self._renew_these(lost)
        for claim in lost:
            claim.lose("")
            claim.confirmed = True

    async def release_all(self) -> None:
        """Release every claim."""
        if self._heart is not None:
            self._heart.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._heart
            self._heart = None
        for claim in list(self._held.values()):
            await claim.release()

    async def _confirm(self, claim: GraphClaim) -> None:
        """Claim it on the server, and end what an earlier writer left running."""
        row = await self._nodes.outbox.read(lambda rows: rows.get(Label.SESSION, claim.session_id))
        # The turns of a dead writer are ended with their true state, so all of it must have arrived first.
        await self._nodes.arrive(
            reach_s=timeouts.NEO4J_CLAIM_REACH_S_MAX if row else timeouts.NEO4J_REACH_S_MAX
        )

        async def work(transaction: Transaction) -> int | None:
            answer = await transaction.run(LOCK, id=claim.session_id)
            if not answer:
                return None
            before = answer[0]
            self._check_free(claim, before)
            same = before["machine"] == self._machine
            epoch = before["epoch"] if same and before["epoch"] else before["epoch"] + 1
            taken_over = before["writer"] is not None and not same
            await transaction.run(
                TAKE,
                id=claim.session_id,
                writer=claim.writer,
                name=self._name,
                machine=self._machine,
                epoch=epoch,
                fresh=not same,
            )
            # A claim made without the server runs its own turns already.
            if not self.holds(claim.session_id):
                await interrupt_left_turns(transaction, claim.session_id, taken_over=taken_over)
            return int(epoch)

        try:
            found = await self._nodes.graph.transaction(work, deadline_s=timeouts.NEO4J_CLAIM_S_MAX)
        except ReadsOnly:
            raise
        except StoreUnavailable as error:
            self._nodes.carrier.lost(str(error))
            raise
        if found is None and row and row.waits:
            raise StoreUnavailable(f"The session {claim.session_id} has not arrived at the server yet.")
        if found is None:
            raise _not_stored(claim.session_id)
        claim.confirmed = True
        self._nodes.outbox.claims[claim.session_id] = found

    def _check_free(self, claim: GraphClaim, before: dict[str, object]) -> None:
        """Raise SessionBusy while another machine's lease lasts. This machine's ends with its file lock."""
        if before["writer"] in (None, claim.writer) or before["machine"] == self._machine:
            return
        seen, server_now = before["seen"], before["now"]
        assert isinstance(server_now, datetime)
        if isinstance(seen, datetime) and server_now - seen < timedelta(seconds=timeouts.NEO4J_CLAIM_LEASE_S):
            raise SessionBusy(
                f"Session {short_id(claim.session_id)} is being written by {before['name']}. "
                "Close it there, or fork it.",
                holder=str(before["name"]),
            )

    async def _bring(self, session_id: str) -> None:
        """Store here what the next turn needs, because the server may become unreachable before it."""
        await self._nodes.outbox.write(lambda rows: rows.forget_session(session_id))
        await self._nodes.need(Label.SESSION, session_id)
        row = await self._nodes.outbox.read(lambda rows: rows.get(Label.SESSION, session_id))
        head = row.props.get("headId") if row else None
        if head is None:
            return
        await self._nodes.bring([head])
        turn = await self._nodes.outbox.read(lambda rows: rows.get(Label.TURN, head))
        if turn and turn.props.get("parentId"):
            await self._nodes.bring([turn.props["parentId"]])

    async def _take_here(self, session_id: str) -> bool:
        """Without the server: return whether the session is here, for only such a one can be continued."""
        row = await self._nodes.outbox.read(lambda rows: rows.get(Label.SESSION, session_id))
        if row is None:
            return False
        self._nodes.outbox.claims.setdefault(session_id, row.epoch)
        await self._nodes.outbox.write(lambda rows: interrupt_here(rows, session_id))
        return True

    async def _let_go(self, claim: GraphClaim) -> None:
        self._held.pop(claim.session_id, None)
        try:
            if claim.confirmed and not claim.lost and not self._nodes.carrier.away:
                await self._nodes.settle()
                await self._nodes.graph.write(RELEASE, id=claim.session_id, writer=claim.writer)
        except StoreError as error:
            log.info("The lease of %s lapses by itself: %s", claim.session_id, error)
        finally:
            self._nodes.outbox.claims.pop(claim.session_id, None)
            await claim.guard.release()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(timeouts.NEO4J_CLAIM_HEARTBEAT_S)
            await self._renew()

    async def _renew(self) -> None:
        if self._nodes.carrier.away or not self._held:
            return
        for claim in [each for each in self._held.values() if not each.confirmed]:
            try:
                await self._nodes.settle()
                await self._confirm(claim)
            except SessionBusy as busy:
                claim.lose(busy.holder)
                claim.confirmed = True
            except RagforgeError as error:
                log.info("The claim of %s is not confirmed yet: %s", claim.session_id, error)
        await self._renew_these([each for each in self._held.values() if each.confirmed])

    async def _renew_these(self, claims: list[GraphClaim]) -> None:
        """Renew the leases, and mark those that were taken over, with their new holders."""
        try:
            found = await self._nodes.graph.write(
                RENEW, claims=[{"id": each.session_id, "writer": each.writer} for each in claims]
            )
        except StoreError as error:
            log.info("The leases could not be renewed: %s", error)
            return
        writers = {each["id"]: each for each in found}
        for claim in claims:
            there = writers.get(claim.session_id)
            if there is None or there["writer"] != claim.writer:
                claim.lose((there or {}).get("name") or "")


def _not_stored(session_id: str) -> Conflict:
    return Conflict(f"The session {session_id} is not in the store; it may have been deleted.")
