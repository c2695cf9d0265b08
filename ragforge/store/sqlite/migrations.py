"""The schema of the store, as numbered steps. A released step never changes; a change is a new step.

`key` is an integer of this file's own, small enough for joins and for the index of words; `id` is the
identifier that everything outside the store uses. Times are milliseconds since 1970 in UTC. What is
short stands before what is long, so that reading the former never touches the latter.

Turns, tool calls and summaries draw their keys from one sequence, because each key is also the number of
a row of `words`, the full-text index: the higher, the later stored. The index keeps no copy of the text.
"""

from ragforge.store.sqlite.prepare import Schema

FIRST = """
CREATE TABLE project (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    git_remote TEXT NOT NULL,
    first_commit TEXT NOT NULL
) STRICT;

CREATE TABLE session (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    project INTEGER NOT NULL REFERENCES project,
    head INTEGER, -- a turn's key; no reference, which would cost an index written with every turn
    cwd TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    last_activity_at INTEGER NOT NULL,
    title TEXT NOT NULL,
    model TEXT NOT NULL,
    mode TEXT NOT NULL,
    forked_from TEXT,
    user TEXT NOT NULL,
    host TEXT NOT NULL
) STRICT;
CREATE INDEX session_project ON session (project);

CREATE TABLE turn (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session INTEGER NOT NULL REFERENCES session,
    parent INTEGER REFERENCES turn DEFERRABLE INITIALLY DEFERRED,
    depth INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    status TEXT NOT NULL,
    model TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    thought_tokens INTEGER NOT NULL,
    cost_usd REAL,
    first_words TEXT NOT NULL,
    error TEXT NOT NULL,
    user TEXT NOT NULL,
    assistant TEXT NOT NULL
) STRICT;
CREATE INDEX turn_session ON turn (session);
CREATE INDEX turn_parent ON turn (parent);

CREATE TABLE step (
    turn INTEGER NOT NULL REFERENCES turn,
    number INTEGER NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    thought_tokens INTEGER NOT NULL,
    cost_usd REAL,
    interrupted INTEGER NOT NULL,
    message TEXT NOT NULL,
    PRIMARY KEY (turn, number)
) STRICT;

CREATE TABLE tool_call (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    turn INTEGER NOT NULL,
    step INTEGER NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    result_chars INTEGER NOT NULL,
    result_blob TEXT,
    provider_id TEXT NOT NULL,
    images TEXT NOT NULL,
    args TEXT NOT NULL,
    result TEXT NOT NULL,
    diff TEXT NOT NULL,
    FOREIGN KEY (turn, step) REFERENCES step
) STRICT;
CREATE INDEX tool_call_place ON tool_call (turn, step, position);

CREATE VIRTUAL TABLE words USING fts5 (
    scope, user, reply, near, tools, date,
    content = '', contentless_delete = 1,
    tokenize = 'porter unicode61 remove_diacritics 2'
);
"""

SECOND = """
ALTER TABLE session ADD COLUMN project_path TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN awaited_head TEXT; -- the id of a head that an archive has yet to bring
CREATE INDEX session_awaited_head ON session (awaited_head) WHERE awaited_head IS NOT NULL;

CREATE TABLE summary (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session INTEGER NOT NULL REFERENCES session,
    level INTEGER NOT NULL,
    at INTEGER NOT NULL,
    turn_count INTEGER NOT NULL,
    method TEXT NOT NULL,
    model TEXT NOT NULL,
    files TEXT NOT NULL, -- this and what follows, lists of text as JSON
    findings TEXT NOT NULL,
    tools TEXT NOT NULL,
    topics TEXT NOT NULL,
    constraints TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX summary_session ON summary (session, level, at);

CREATE TABLE cover (
    summary INTEGER NOT NULL REFERENCES summary,
    position INTEGER NOT NULL,
    covered TEXT NOT NULL, -- the id of a turn or summary; an archive may bring it later
    PRIMARY KEY (summary, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX cover_covered ON cover (covered);

CREATE TABLE embedding (
    owner INTEGER PRIMARY KEY, -- the key of a turn or summary
    level INTEGER NOT NULL, -- 0 for a turn
    project INTEGER NOT NULL, -- this and the next two are the owner's: a scan reads no other table
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    change INTEGER NOT NULL, -- from `embedder.changes`: a process reads anew only what is higher
    model TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    text_hash TEXT NOT NULL,
    vector BLOB NOT NULL -- 32-bit floats
) STRICT;
CREATE INDEX embedding_change ON embedding (change);
CREATE INDEX embedding_model ON embedding (model, dimensions, project, at);

CREATE TABLE embedder ( -- the one in use, and how often vectors were written and removed
    only INTEGER PRIMARY KEY CHECK (only = 1),
    model TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    removals INTEGER NOT NULL
) STRICT;
INSERT INTO embedder VALUES (1, '', 0, 0, 0);

CREATE TABLE owed ( -- what is still to be made; see owed.py
    key INTEGER PRIMARY KEY, -- of a turn that ended or of a summary
    level INTEGER NOT NULL, -- 0 for a turn
    session INTEGER NOT NULL,
    at INTEGER NOT NULL,
    summary INTEGER NOT NULL, -- 1 where no summary of level 1 stands for the turn
    vector INTEGER NOT NULL -- 1 where there is no vector, or one of an older text
) STRICT;
INSERT INTO owed SELECT key, 0, session, started_at, 1, 1 FROM turn WHERE ended_at IS NOT NULL;
"""

STORE = Schema(application_id=0x72616766, steps=(FIRST, SECOND))  # `ragf`
