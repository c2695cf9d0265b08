"""What a command works with: this machine, and the stored data of the folder's project."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from ragforge.config.project import Place
from ragforge.config.settings import Loaded, Settings
from ragforge.domain.turns import Person, Project
from ragforge.store.base import Store
from ragforge.store.local.state import LocalState


class Machine(Struct, frozen=True):
    """This machine's settings and data folder, from which databases are opened."""

    loaded: Loaded
    environ: Mapping[str, str]
    data_dir: Path

    @property
    def settings(self) -> Settings:
        """The effective settings."""
        return self.loaded.settings

    @property
    def url(self) -> str:
        """The store in use."""
        return self.settings.store


class Library(Machine, frozen=True):
    """The folder's project, the store and this machine's state. alike: projects that it may be a copy of."""

    place: Place
    project: Project
    alike: tuple[Project, ...]
    store: Store
    local: LocalState
    person: Person
