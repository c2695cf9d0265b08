"""A process that restores and recovers in children, each of which kills itself at a point that it is given.

For each line `WHAT FOLDER POINT` on stdin a child is forked (which saves the imports), WHAT being `apply` or
`recover`. The child works on `tests.restoring.open_place(FOLDER)`, and sends itself SIGKILL right before the
thing of number POINT (from 1) that is told to be about to be done; 0 lets it live. `apply` restores what
`write_wanted` left there. On stdout: a line of JSON a child: `{"status", "points", "result"}`.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from ragforge.domain.printable import escaped
from ragforge.versions.restore.operation import RestoreFailed, RestoreStopped, apply, recover
from ragforge.versions.restore.plan import make_plan
from tests.restoring import Place, open_place, read_wanted

THEN = {"head": "the version before", "paths": ["x", "\udce9"]}


class Fault:
    """Counts what is told, and dies at a point. What happens to the disk meanwhile: see `refusing`."""

    def __init__(self, point: int, report: int, refusing: Path | None) -> None:
        self.points: list[str] = []
        self._point = point
        self._report = report
        self._refusing = refusing

    def told(self, what: str) -> None:
        self.points.append(what)
        if len(self.points) == self._point:
            os.write(self._report, json.dumps({"points": self.points}).encode())
            os.kill(os.getpid(), signal.SIGKILL)
        # A folder that becomes read-only in the middle: the restore has to go back.
        if self._refusing is not None and what == "journal: staged":
            self._refusing.chmod(0o555)


async def work(what: str, place: Place, fault: Fault) -> dict[str, Any]:
    if what == "recover":
        recovered = await recover(place.root, place.state, place.blobs, told=fault.told)
        if recovered is None:
            return {}
        # The caller's part: it writes what it wanted to, and is done with it.
        await place.state.clear_journal(place.root)
        return to_builtins(recovered)
    wanted = read_wanted(place.root.parent)
    plan = await make_plan(place.root, wanted, {}, place.blobs, title="undo of turn 1", then=THEN)
    try:
        applied = await apply(plan, place.state, place.blobs, told=fault.told)
    except (RestoreFailed, RestoreStopped) as error:
        return {"error": type(error).__name__, "text": str(error)}
    return to_builtins(applied)


async def child(what: str, folder: Path, point: int, report: int) -> None:
    refusing = folder / "refusing"
    if refusing.exists() and os.geteuid() == 0:
        os.seteuid(folder.stat().st_uid)
    fault = Fault(point, report, folder / "project" / refusing.read_text() if refusing.exists() else None)
    place = await open_place(folder)
    result = await work(what, place, fault)
    await place.close()
    os.write(report, json.dumps({"points": fault.points, "result": result}).encode())


def main() -> None:
    # A child that becomes nobody may not be able to load what Python loads when it is first needed.
    assert escaped("\u202e")
    for line in sys.stdin:
        what, point, folder = line.rstrip("\n").split(" ", 2)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            asyncio.run(child(what, Path(folder), int(point), write))
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as report:
            said = report.read()
        _, status = os.waitpid(pid, 0)
        print(json.dumps({"status": status, **json.loads(said or b"{}")}), flush=True)


if __name__ == "__main__":
    main()
