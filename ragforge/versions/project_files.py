"""What a project's files are to their versions: where they are, where what is known of them is kept."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from ragforge.config.settings import Settings
from ragforge.domain.redact import Redactor
from ragforge.domain.turns import Project
from ragforge.shell.jobs import Jobs
from ragforge.store.base import Blobs, Store
from ragforge.versions.state import HistoryState


class ProjectFiles(Struct, frozen=True):
    """The files of a project in one folder.

    state: where the folders of this machine are in the version tree. data_dir: where this machine keeps its
    data. settings, environ: what of the folder is tracked. jobs: commands in the background, which may change
    files between turns.
    """

    project: Project
    root: Path
    store: Store
    blobs: Blobs
    state: HistoryState
    data_dir: Path
    redactor: Redactor
    settings: Settings
    environ: Mapping[str, str]
    jobs: Jobs
