"""The process that children are forked from; see `children.py`. A line of JSON in for each, a line out."""

import asyncio
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from tests.cli.loaded import load
from tests.faults.jobs import JOBS
from tests.faults.shim import Fault, arm, disarm


async def work(order: dict[str, Any]) -> dict[str, Any]:
    """What the job returns, or how it raised what it does not expect."""
    report = os.open(order["calls"], os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)

    def begin() -> None:
        if order["fault"]:
            arm(Fault(**order["fault"]), report)

    try:
        return {"result": await JOBS[order["job"]](Path(order["folder"]), begin, **order["args"])}
    except Exception:
        return {"error": traceback.format_exc()}
    finally:
        disarm()


def main() -> None:
    load()
    for line in sys.stdin:
        read, write = os.pipe()
        if (child := os.fork()) == 0:
            os.close(read)
            ended = asyncio.run(work(json.loads(line)))
            with os.fdopen(write, "wb") as answer:
                answer.write(json.dumps(ended).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as answer:
            said = answer.read()
        _, status = os.waitpid(child, 0)
        print(json.dumps({"status": status, **json.loads(said or b"{}")}), flush=True)


if __name__ == "__main__":
    main()
