"""Where ragforge keeps its files on this machine. Nothing is created until `make_private` is called."""

from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_config_path, user_data_path

from ragforge.domain.errors import UsageError

FOLDER_VARIABLES = ("RAGFORGE_DATA_DIR", "RAGFORGE_CONFIG_DIR")
"""Our variables that are not settings."""


def data_dir(environ: Mapping[str, str]) -> Path:
    """The folder of conversations and this machine's own state: RAGFORGE_DATA_DIR, else the platform's."""
    return _moved(environ, "RAGFORGE_DATA_DIR") or user_data_path("ragforge", appauthor=False)


def config_dir(environ: Mapping[str, str]) -> Path:
    """The folder of the user's own settings: RAGFORGE_CONFIG_DIR, else the platform's."""
    return _moved(environ, "RAGFORGE_CONFIG_DIR") or user_config_path("ragforge", appauthor=False)


def user_file(environ: Mapping[str, str]) -> Path:
    """The user's settings."""
    return config_dir(environ) / "config.toml"


def project_file(project_root: Path) -> Path:
    """The settings that a project brings along."""
    return project_root / ".ragforge" / "config.toml"


def log_file(environ: Mapping[str, str]) -> Path:
    """Where diagnostics go while the terminal belongs to the interface."""
    return data_dir(environ) / "ragforge.log"


def make_private(folder: Path) -> Path:
    """The folder, made with mode 0700 where it is missing. Raises UsageError where it cannot be.

    The mode of a folder that exists is left alone: it is the user's choice.
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
    """The folder that the variable names, made absolute; None where it is unset or empty."""
    value = environ.get(name, "")
    if not value:
        return None
    try:
        return Path(value).expanduser().absolute()
    except RuntimeError as error:  # `~nobody` where there is no such user
        raise UsageError(f"{name} = {value!r} is not a folder: {error}.") from error
