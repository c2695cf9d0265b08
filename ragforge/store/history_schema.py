"""The tables of `history.db`."""

from ragforge.store.sqlite.prepare import Schema

# A root is bytes: a folder's name need not be UTF-8. Times are milliseconds of UTC.
_FIRST = """
CREATE TABLE head (root BLOB PRIMARY KEY, version TEXT NOT NULL, branch TEXT NOT NULL) STRICT;

CREATE TABLE manifest (root BLOB PRIMARY KEY, content BLOB NOT NULL) STRICT;

CREATE TABLE turn (
    number INTEGER PRIMARY KEY,
    root BLOB NOT NULL,
    session TEXT NOT NULL,
    turn TEXT NOT NULL,
    presence TEXT NOT NULL, -- of the process that runs it
    since INTEGER NOT NULL,
    touched INTEGER NOT NULL,
    commands INTEGER NOT NULL, -- under way
    ended INTEGER
) STRICT;
CREATE UNIQUE INDEX turn_open ON turn (root, turn) WHERE ended IS NULL;
CREATE INDEX turn_ended ON turn (root, ended);

CREATE TABLE note (
    number INTEGER PRIMARY KEY,
    turn INTEGER NOT NULL REFERENCES turn (number) ON DELETE CASCADE,
    changes TEXT NOT NULL -- JSON
) STRICT;
CREATE INDEX note_turn ON note (turn, number);

CREATE TABLE journal (root BLOB PRIMARY KEY, content BLOB NOT NULL) STRICT;

CREATE TABLE prepared (root BLOB, session TEXT, PRIMARY KEY (root, session)) STRICT, WITHOUT ROWID;
"""
_PLAN = """
CREATE TABLE plan (root BLOB PRIMARY KEY, content BLOB NOT NULL) STRICT; -- of a tool that writes; JSON
"""
HISTORY = Schema(application_id=0x72616768, steps=(_FIRST, _PLAN))  # `ragh`
