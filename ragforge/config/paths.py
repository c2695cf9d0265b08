"""Where ragforge keeps its files on this machine. Nothing is created before `make_private` is called."""

import os
from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_config_path, user_data_path

from ragforge.domain.errors import UsageError

FOLDER_VARIABLES = ("RAGFORGE_DATA_DIR", "RAGFORGE_CONFIG_DIR")
"""Our variables that are not settings."""


def data_dir(environ: Mapping[str, str]) -> Path:
    """Return the folder of conversations and this machine's own state: RAGFORGE_DATA_DIR, or else the
    platform's."""
    return _moved(environ, "RAGFORGE_DATA_DIR") or user_data_path("ragforge", appauthor=False)


def config_dir(environ: Mapping[str, str]) -> Path:
    """Return the folder of the user's own settings: RAGFORGE_CONFIG_DIR, or else the platform's."""
    return _moved(environ, "RAGFORGE_CONFIG_DIR") or user_config_path("ragforge", appauthor=False)


def user_file(environ: Mapping[str, str]) -> Path:
    """Return the user's settings file."""
    return config_dir(environ) / "config.toml"


def project_file(project_root: Path) -> Path:
    """Return the settings file of a project."""
    return project_root / ".ragforge" / "config.toml"


def log_file(environ: Mapping[str, str]) -> Path:
    """Return the file for diagnostics while the interface uses the terminal."""
    return data_dir(environ) / "ragforge.log"


def make_private(folder: Path) -> Path:
    """Return the folder, created with mode 0700 if it is missing. Raises UsageError if that is impossible.

    The mode of an existing folder does not change: it is the user's choice.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"Cannot make the folder {folder}: {error.strerror}. "
            "Make it writable, or choose others with RAGFORGE_DATA_DIR and RAGFORGE_CONFIG_DIR."
        ) from error
    return folder


def _moved(environ: Mapping[str, str], name: str) -> Path | None:
    """Return the folder that the variable names, as an absolute path; None if it is unset or empty."""
    value = environ.get(name, "")
    if not value:
        return None
    try:
        return Path(value).expanduser().absolute()
    except RuntimeError as error:  # `~nobody` where there is no such user
        raise UsageError(f"{name} = {value!r} is not a folder: {error}.") from error


def sync_folder(folder: Path) -> None:
    """Make what was created, renamed or removed in the folder durable. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
