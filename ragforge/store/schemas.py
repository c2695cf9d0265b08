"""The tables of the databases beside the conversations: `local.db`, `history.db` and `blobs.db`."""

from ragforge.store.sqlite.prepare import Schema

# Keys and paths are bytes: a folder's name need not be UTF-8.
_LOCAL_FIRST = """
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

_LOCAL_SECOND = """
CREATE TABLE recalled (
    turn TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    block TEXT NOT NULL -- JSON
) STRICT;

CREATE TABLE compacted (session TEXT PRIMARY KEY, turn TEXT NOT NULL) STRICT;
"""

_LOCAL_THIRD = """
CREATE TABLE command (
    folder BLOB NOT NULL,
    setting TEXT NOT NULL,
    text TEXT NOT NULL,
    may_run INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (folder, setting, text)
) STRICT;
"""

_LOCAL_FOURTH = """
CREATE TABLE ran_on (turn TEXT PRIMARY KEY, project TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
"""

# Instruction files of projects that the user trusts or declined, by the hash of their text.
_LOCAL_FIFTH = """
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

# Which folder was last opened at the path, whatever its name now.
_LOCAL_SIXTH = """
ALTER TABLE place ADD COLUMN folder TEXT;
CREATE INDEX place_folder ON place (folder);
"""

# What `forget --everywhere` removed, until the next clean-up: a row for each memory.
_LOCAL_SEVENTH = """
CREATE TABLE sealed (
    number INTEGER PRIMARY KEY,
    memory TEXT NOT NULL UNIQUE,
    content TEXT NOT NULL,
    lines TEXT NOT NULL -- the records as they were, as lines of a backup
) STRICT;
"""

# Counts of all runs, for Prometheus.
_LOCAL_EIGHTH = """
CREATE TABLE metric (
    name TEXT NOT NULL,
    labels TEXT NOT NULL, -- their values as JSON
    part TEXT NOT NULL, -- of a histogram: the upper bound of a bucket, or `sum`
    value REAL NOT NULL,
    PRIMARY KEY (name, labels, part)
) STRICT, WITHOUT ROWID;
"""

# Hints, and the user's answers: a row for each preference.
_LOCAL_NINTH = """
CREATE TABLE hint (
    preference TEXT PRIMARY KEY,
    offered INTEGER NOT NULL,
    session TEXT NOT NULL, -- where it was offered last
    ignored INTEGER NOT NULL DEFAULT 0, -- how often
    ignored_at INTEGER,
    postponed INTEGER NOT NULL DEFAULT 0 -- 1: due in the next session or tomorrow
) STRICT, WITHOUT ROWID;
"""

# Whether what was recalled for a turn was used, and how often hints were offered and applied.
_LOCAL_TENTH = """
CREATE TABLE recall_use (
    turn TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    at INTEGER NOT NULL,
    quoted INTEGER NOT NULL,
    cited INTEGER NOT NULL,
    opened INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX recall_use_project ON recall_use (project, at, quoted, cited, opened);
CREATE INDEX recall_use_session ON recall_use (session);

ALTER TABLE hint ADD COLUMN project TEXT NOT NULL DEFAULT ''; -- empty for those of before
ALTER TABLE hint ADD COLUMN offers INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hint ADD COLUMN taken INTEGER NOT NULL DEFAULT 0;
CREATE INDEX hint_project ON hint (project, offers, taken);
"""

# A model's answer about a turn, until the store has it: it was paid for.
_LOCAL_ELEVENTH = """
CREATE TABLE answer (
    turn TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    hash TEXT NOT NULL, -- of what the model was shown
    answer TEXT NOT NULL -- JSON
) STRICT;
CREATE INDEX answer_session ON answer (session);
"""

APPLICATION_ID = 0x7261676C  # `ragl`, in the file's header
LOCAL = Schema(
    application_id=APPLICATION_ID,
    steps=(
        _LOCAL_FIRST,
        _LOCAL_SECOND,
        _LOCAL_THIRD,
        _LOCAL_FOURTH,
        _LOCAL_FIFTH,
        _LOCAL_SIXTH,
        _LOCAL_SEVENTH,
        _LOCAL_EIGHTH,
        _LOCAL_NINTH,
        _LOCAL_TENTH,
        _LOCAL_ELEVENTH,
    ),
)


# A root is bytes: a folder's name need not be UTF-8. Times are milliseconds of UTC.
_HISTORY_FIRST = """
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
_HISTORY_PLAN = """
CREATE TABLE plan (root BLOB PRIMARY KEY, content BLOB NOT NULL) STRICT; -- of a tool that writes; JSON
"""
HISTORY = Schema(application_id=0x72616768, steps=(_HISTORY_FIRST, _HISTORY_PLAN))  # `ragh`


BLOBS_FIRST = """
CREATE TABLE blob (
    key INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    data BLOB NOT NULL -- as `form` says
) STRICT;
"""
_BLOBS_SECOND = """
ALTER TABLE blob ADD COLUMN form INTEGER NOT NULL DEFAULT 1; -- see `Form`
ALTER TABLE blob ADD COLUMN at INTEGER NOT NULL DEFAULT 0; -- put, in ms of UTC; 0: nobody knows whose it is
CREATE INDEX blob_at ON blob (at) WHERE at > 0;
-- Asked for since. Apart, because changing a row writes its content again.
CREATE TABLE touched (
    blob INTEGER PRIMARY KEY REFERENCES blob (key) ON DELETE CASCADE,
    at INTEGER NOT NULL
) STRICT;
CREATE TABLE used_by (url TEXT PRIMARY KEY) STRICT; -- stores that refer to contents here
"""

BLOBS = Schema(application_id=0x72616762, steps=(BLOBS_FIRST, _BLOBS_SECOND))  # `ragb`
