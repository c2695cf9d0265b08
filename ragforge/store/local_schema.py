"""The tables of `local.db`."""

from ragforge.store.sqlite.prepare import Schema

# Keys and paths are bytes: a folder's name need not be UTF-8.
_FIRST = """
CREATE TABLE prompt (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL,
    at INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX prompt_project ON prompt (project);

CREATE TABLE draft (key BLOB PRIMARY KEY, text TEXT NOT NULL, at INTEGER NOT NULL) STRICT;

CREATE TABLE queue (session TEXT PRIMARY KEY, messages TEXT NOT NULL) STRICT;

CREATE TABLE rule (
    number INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    tool TEXT NOT NULL,
    pattern TEXT NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (project, tool, pattern)
) STRICT;

CREATE TABLE place (path BLOB PRIMARY KEY, project TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE INDEX place_project ON place (project);

CREATE TABLE confirmed (path BLOB PRIMARY KEY, at INTEGER NOT NULL) STRICT;

CREATE TABLE chosen (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
"""

_SECOND = """
CREATE TABLE recalled (
    turn TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    block TEXT NOT NULL -- JSON
) STRICT;

CREATE TABLE compacted (session TEXT PRIMARY KEY, turn TEXT NOT NULL) STRICT;
"""

_THIRD = """
CREATE TABLE command (
    folder BLOB NOT NULL,
    setting TEXT NOT NULL,
    text TEXT NOT NULL,
    may_run INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (folder, setting, text)
) STRICT;
"""

_FOURTH = """
CREATE TABLE ran_on (turn TEXT PRIMARY KEY, project TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
"""

# Instruction files of projects that the user trusts or declined, by the hash of their text.
_FIFTH = """
CREATE TABLE instruction (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL,
    path BLOB NOT NULL,
    digest TEXT NOT NULL,
    trusted INTEGER NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (project, path, digest)
) STRICT;
"""

# Which folder was at the path when it was opened last, whatever its name now.
_SIXTH = """
ALTER TABLE place ADD COLUMN folder TEXT;
CREATE INDEX place_folder ON place (folder);
"""

APPLICATION_ID = 0x7261676C  # `ragl`, in the file's header
LOCAL = Schema(application_id=APPLICATION_ID, steps=(_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH, _SIXTH))
