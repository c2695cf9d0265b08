"""The contents of a folder at its last scan, and their encoding."""

import os
import stat
import sys
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from ragforge.domain.errors import StoreDamaged, StoreNewer
from ragforge.domain.versions import Change, Node, NodeKind
from ragforge.versions.scan.track_rules import is_version_control

_MAGIC = b"ragm2\n"
_DIGEST_BYTES = 32
_KINDS = {stat.S_IFREG: NodeKind.FILE, stat.S_IFLNK: NodeKind.LINK, stat.S_IFDIR: NodeKind.FOLDER}
UNTOLD = -1


# Made by the ten thousand, and never part of a cycle.
class Seen(msgspec.Struct, frozen=True, gc=False):
    """One path at the last scan.

    mode: type and permissions, as in `st_mode`. sha256: of the content, of a link of its target's bytes;
    empty for a folder.
    ctime_ns: 0 if the file changed so shortly before it was read, or meanwhile, that the next scan must
    read it again ("racily clean", as in git's index).
    """

    mode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    sha256: bytes

    @property
    def node(self) -> Node:
        """Its node."""
        kind = _KINDS[stat.S_IFMT(self.mode)]
        mode = 0 if kind is NodeKind.LINK else stat.S_IMODE(self.mode)
        return Node(kind, self.sha256.hex(), mode, 0 if kind is NodeKind.FOLDER else self.size)


class UntrackedPath(msgspec.Struct, frozen=True, gc=False):
    """An untracked path, and why. A folder includes everything below it."""

    why: str
    is_folder: bool = False
    size: int = 0
    mtime_ns: int = 0


class IgnoreFileSeen(msgspec.Struct, frozen=True, gc=False):
    """A folder's `.gitignore` at the last scan; `sha256` is that of its content."""

    mtime_ns: int
    ctime_ns: int
    inode: int
    size: int
    sha256: bytes


class FolderSeen(msgspec.Struct, frozen=True, dict=True):
    """One folder at the last scan: its direct contents, by name.

    own_mode: as in `st_mode`, if it is a path of its own (`NodeKind`); else UNTOLD.
    why: not empty if the folder itself could not be read; then `entries` are as they were before.
    """

    entries: dict[str, Seen]
    untracked: dict[str, UntrackedPath]
    ignore: IgnoreFileSeen | None = None
    own_mode: int = UNTOLD
    why: str = ""

    def own(self) -> Seen | None:
        """The folder as a path of its own, if it is one."""
        return None if self.own_mode == UNTOLD else Seen(self.own_mode, 0, 0, 0, 0, b"")

    # Unchanged folders are the same objects from scan to scan, so each is packed once.
    @cached_property
    def packed(self) -> tuple[bytes, bytes]:
        """Return the encoded folder, and its hashes, which do not compress."""
        seen = self.entries.values()
        columns = _Columns(
            names=os.fsencode("\0".join(self.entries)),
            modes=_column("q", [each.mode for each in seen]),
            sizes=_column("q", [each.size for each in seen]),
            mtimes=_column("q", [each.mtime_ns for each in seen]),
            ctimes=_column("q", [each.ctime_ns for each in seen]),
            inodes=_column("Q", [each.inode for each in seen]),
            untracked={os.fsencode(name): each for name, each in self.untracked.items()},
            ignore=self.ignore,
            own_mode=self.own_mode,
            why=self.why,
        )
        packer = zlib.compressobj(1, zlib.DEFLATED, 12, 5)  # cheap to create: most folders are small
        packed = packer.compress(msgspec.msgpack.encode(columns)) + packer.flush()
        return packed, b"".join([each.sha256 for each in seen])

    @classmethod
    def unpacked(cls, packed: bytes, digests: bytes) -> "FolderSeen":
        """The inverse of `packed`. Raises ValueError, zlib.error or msgspec.DecodeError."""
        columns = _decode_columns(zlib.decompress(packed))
        signed = (columns.modes, columns.sizes, columns.mtimes, columns.ctimes)
        hashes = [digests[at : at + _DIGEST_BYTES] for at in range(0, len(digests), _DIGEST_BYTES)]
        seen = list(map(Seen, *(_values("q", each) for each in signed), _values("Q", columns.inodes), hashes))
        # Cut like bytes: no name contains a NUL.
        names = os.fsdecode(columns.names).split("\0") if columns.modes else []
        if not len(seen) == len(names) == len(digests) / _DIGEST_BYTES:
            raise ValueError("there are not as many paths as contents")
        untracked = {os.fsdecode(name): each for name, each in columns.untracked.items()}
        entries = dict(zip(names, seen, strict=True))
        made = cls(entries, untracked, columns.ignore, columns.own_mode, columns.why)
        vars(made)["packed"] = (packed, digests)
        return made


@dataclass(frozen=True)
class Manifest:
    """The contents of the folder at the last scan. Without arguments: nothing is known yet.

    folders: by their paths relative to the root, the root as "". sources: the hash of the ignore rules
    outside the folders.
    """

    folders: Mapping[str, FolderSeen] = field(default_factory=dict[str, FolderSeen])
    sources: bytes = b""

    @property
    def is_known(self) -> bool:
        """Whether there was a scan at all."""
        return bool(self.folders)

    @cached_property
    def entries(self) -> dict[str, Seen]:
        """Every tracked path; built on first use."""
        found: dict[str, Seen] = {}
        for folder, seen in self.folders.items():
            if folder and (own := seen.own()):
                found[folder] = own
            start = f"{folder}/" if folder else ""
            found |= {start + name: each for name, each in seen.entries.items()}
        return found

    @cached_property
    def untracked(self) -> dict[str, str]:
        """Every untracked path, and why; a folder includes everything below it.

        Version control's own files are left out.
        """
        found: dict[str, str] = {}
        for folder, seen in self.folders.items():
            if seen.why:
                found[folder] = seen.why
            found |= {
                join(folder, name): each.why
                for name, each in seen.untracked.items()
                if not is_version_control(name)
            }
        return found

    def node(self, path: str) -> Node | None:
        """Return the content at the path, None if nothing tracked was there."""
        folder, _, name = path.rpartition("/")
        inside = self.folders.get(folder)
        seen = inside.entries.get(name) if inside and name else None
        if seen is None and path:
            own = self.folders.get(path)
            seen = own.own() if own else None
        return seen.node if seen else None

    def was_untracked(self, path: str) -> bool:
        """Whether the path, or one of its folders, existed and was not tracked."""
        while path:
            folder, _, name = path.rpartition("/")
            inside, own = self.folders.get(folder), self.folders.get(path)
            if (inside and name in inside.untracked) or (own and own.why):
                return True
            path = folder
        return False

    def with_seen(self, path: str, seen: Seen) -> "Manifest":
        """The same, except for the contents of a tracked path that is not a folder."""
        folder, _, name = path.rpartition("/")
        inside = self.folders[folder]
        changed = msgspec.structs.replace(inside, entries={**inside.entries, name: seen})
        return Manifest({**self.folders, folder: changed}, self.sources)

    def to_bytes(self) -> bytes:
        """Return the manifest in one compressed piece."""
        folders = [(os.fsencode(path), *folder.packed) for path, folder in self.folders.items()]
        content = msgspec.msgpack.encode((self.sources, folders))
        return _MAGIC + zlib.crc32(content).to_bytes(4, "big") + content

    @classmethod
    def from_bytes(cls, content: bytes) -> "Manifest":
        """The inverse of `to_bytes`. Raises StoreDamaged, or StoreNewer for one of a newer version."""
        if not content.startswith(_MAGIC):
            raise StoreNewer("The state of this folder was written by a newer ragforge. Update ragforge.")
        try:
            start = len(_MAGIC) + 4
            if zlib.crc32(content[start:]) != int.from_bytes(content[len(_MAGIC) : start], "big"):
                raise ValueError("its bytes were altered")
            sources, folders = _decode_folders(content[start:])
            unpacked = {os.fsdecode(path): FolderSeen.unpacked(*packed) for path, *packed in folders}
            return cls(unpacked, sources)
        except (zlib.error, msgspec.DecodeError, ValueError) as error:
            raise StoreDamaged(
                f"The state of the folder at its last scan cannot be read: {error}."
            ) from error


def join(folder: str, name: str) -> str:
    """Return the path of a name in the folder; the root is ""."""
    return f"{folder}/{name}" if folder else name


class _Columns(msgspec.Struct, array_like=True):
    """The contents of a folder, by columns, which compress better than rows and are read faster."""

    names: bytes
    modes: bytes
    sizes: bytes
    mtimes: bytes
    ctimes: bytes
    inodes: bytes
    untracked: dict[bytes, UntrackedPath]
    ignore: IgnoreFileSeen | None
    own_mode: int
    why: str


_decode_columns = msgspec.msgpack.Decoder(_Columns).decode
_decode_folders = msgspec.msgpack.Decoder(tuple[bytes, list[tuple[bytes, bytes, bytes]]]).decode


def _column(code: str, values: Sequence[int]) -> bytes:
    return _little(array(code, values)).tobytes()


def _values(code: str, column: bytes) -> "array[int]":
    values: array[int] = array(code)
    values.frombytes(column)
    return _little(values)


def _little(values: "array[int]") -> "array[int]":
    if sys.byteorder == "big":
        values.byteswap()
    return values


def with_notes(manifest: Manifest, notes: Iterable[Change]) -> Manifest:
    """Return the manifest after these changes of the folder, in their order.

    The next scan reads these paths again, because it is unknown when they were written.
    """
    folders = dict(manifest.folders)
    for note in notes:
        if Manifest(folders).node(note.path) != note.after:
            _put(folders, note.path, note.after)
    return Manifest(folders, manifest.sources)


def part_of(manifest: Manifest, paths: Iterable[str]) -> Manifest:
    """Return the manifest of exactly these paths."""
    folders: dict[str, dict[str, Seen]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        inside = manifest.folders.get(folder)
        if inside and name in inside.entries:
            folders.setdefault(folder, {})[name] = inside.entries[name]
    return Manifest({folder: FolderSeen(entries, {}) for folder, entries in folders.items()})


def _put(folders: dict[str, FolderSeen], path: str, node: Node | None) -> None:
    folder, _, name = path.rpartition("/")
    own = folders.get(path)
    if node is not None and node.kind is NodeKind.FOLDER:
        mode = stat.S_IFDIR | node.mode
        folders[path] = (
            msgspec.structs.replace(own, own_mode=mode) if own else FolderSeen({}, {}, own_mode=mode)
        )
    elif own is not None:
        folders[path] = msgspec.structs.replace(own, own_mode=UNTOLD)
    inside = folders.get(folder) or FolderSeen({}, {})
    entries = {each: seen for each, seen in inside.entries.items() if each != name}
    if node is not None and node.kind is not NodeKind.FOLDER:
        type_bits = stat.S_IFLNK | 0o777 if node.kind is NodeKind.LINK else stat.S_IFREG | node.mode
        entries[name] = Seen(type_bits, node.size, 0, 0, 0, bytes.fromhex(node.digest))
    folders[folder] = msgspec.structs.replace(inside, entries=entries)
