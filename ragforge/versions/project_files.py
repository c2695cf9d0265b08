"""A project's files, as their versions need them: where they are, and where data about them is stored."""

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

    state: the current versions of this machine's folders. data_dir: this machine's data folder. settings,
    environ: what to track in the folder. jobs: background commands, which may change files between turns.
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
