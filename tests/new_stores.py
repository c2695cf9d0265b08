"""The databases of a new data folder, made once in a process and copied: half of what a new session costs."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from ragforge.store.files import StoreFile, store_files
from ragforge.store.role_schemas import schema_of
from ragforge.store.sqlite.prepare import prepare

STORE = "ragforge.db"


def make_data(folder: Path) -> None:
    """The data folder with all its databases, empty and up to date, unless there is one."""
    if not folder.exists():
        folder.mkdir(mode=0o700)
        for name, content in _made().items():
            _write(folder / name, content)


def make_store(path: Path) -> None:
    """The file of an empty store."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(path, _made()[STORE])


def _write(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)


@cache
def _made() -> dict[str, bytes]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        rows = store_files(folder, f"sqlite://{folder / STORE}")
        files = [row for row in rows if isinstance(row, StoreFile)]
        for file in files:
            prepare(file.path, schema_of(file.role), lock_dir=folder / "locks")
        return {file.path.name: file.path.read_bytes() for file in files}
