"""NumPy on one thread."""

import importlib
import os
import sys
import threading

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

_LOADING = threading.Lock()


def load_numpy() -> None:
    """Import NumPy so that it computes on one thread wherever it is used later; 0.1 s, once.

    With a thread per core, each small product wakes all threads and waits for the slowest: ten times slower.
    NumPy reads these variables only when it is imported, and the commands we start must not inherit them.
    """
    with _LOADING:
        if "numpy" in sys.modules:
            return
        before = {name: os.environ.get(name) for name in THREADS}
        os.environ.update(dict.fromkeys(THREADS, "1"))
        try:
            importlib.import_module("numpy")
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
