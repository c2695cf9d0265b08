"""Prove that contents can be read: all are looked up, some are read and compared with their hashes."""

import hashlib
import json
import zlib
from collections.abc import Collection, Sequence
from pathlib import Path

from ragforge.store.blob_forms import PIECE_BYTES, BlobFiles, Form, unpack
from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.rows import one


def unreadable(
    connection: Connection,
    files: BlobFiles,
    digests: Sequence[bytes],
    *,
    large: Collection[bytes],
    read: Collection[bytes],
) -> list[bytes]:
    """Return those that are missing, or that are damaged, as far as `read` names them.

    large: those that may be separate files.
    """
    wanted = json.dumps([digest.hex() for digest in digests])
    # By the index of hashes only: a row may be a megabyte.
    rows = connection.execute(
        "SELECT value FROM json_each(?) WHERE unhex(value) NOT IN (SELECT digest FROM blob)", (wanted,)
    )
    found = dict.fromkeys(bytes.fromhex(digest) for (digest,) in rows)
    for digest in large:
        if digest not in found and not _is_there(connection, files, digest):
            found[digest] = None
    for digest in read:
        if digest not in found and not is_sound(connection, files, digest):
            found[digest] = None
    return list(found)


def is_sound(connection: Connection, files: BlobFiles, digest: bytes) -> bool:
    """Whether the content is here and has this hash."""
    row = one(connection, "SELECT form, data FROM blob WHERE digest = ?", (digest,))
    if row is None:
        return False
    form, data = row
    if Form(form).is_file:
        return is_sound_file(files.path(digest), Form(form), digest)
    content = unpack(form, data)
    return content is not None and hashlib.sha256(content).digest() == digest


def is_sound_file(path: Path, form: Form, digest: bytes) -> bool:
    """Whether the file's content has this hash; read in pieces."""
    found, unpacker = hashlib.sha256(), zlib.decompressobj()
    try:
        with path.open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                if form is not Form.PACKED_FILE:
                    found.update(piece)
                    continue
                while piece:
                    found.update(unpacker.decompress(piece, PIECE_BYTES))
                    piece = unpacker.unconsumed_tail
            if form is Form.PACKED_FILE:
                found.update(unpacker.flush())
    except (OSError, zlib.error):
        return False
    return found.digest() == digest


def _is_there(connection: Connection, files: BlobFiles, digest: bytes) -> bool:
    row = one(connection, "SELECT form FROM blob WHERE digest = ?", (digest,))
    return row is not None and (not Form(row[0]).is_file or files.is_there(digest))
