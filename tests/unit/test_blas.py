import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, threading
os.environ.pop("OMP_NUM_THREADS", None)
os.environ["OPENBLAS_NUM_THREADS"] = "7"
from ragforge.domain.blas import load_numpy
loading = [threading.Thread(target=load_numpy) for _ in range(4)]
for thread in loading: thread.start()
for thread in loading: thread.join()
load_numpy()
import numpy as np
np.ones((900, 900)) @ np.ones((900, 900))
print(*map(os.environ.get, ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")), len(os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted where Linux lists them")
def test_numpy_computes_on_one_thread_and_commands_inherit_nothing_of_it() -> None:
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env={**os.environ}
    )
    assert found.stdout.split() == ["7", "None", "1"]
