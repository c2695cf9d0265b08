"""The schema of the store, as numbered steps. A released step never changes; a change is a new step.

`key` is an integer of this file's own, small enough for joins and for the index of words; `id` is the
identifier used everywhere outside the store. Times are milliseconds since 1970 in UTC. Short columns come
before long ones, so that reading the former never touches the latter.

Turns, tool calls, summaries, memories and versions draw their keys from one sequence, because each key is
also the number of a row of `words`, the full-text index: a higher one was stored later. The index has no
copy of the text.
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

THIRD = """
CREATE TABLE memory (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    scope TEXT NOT NULL,
    project INTEGER NOT NULL REFERENCES project,
    session TEXT NOT NULL, -- its id, or nothing: a session may go, and what was learnt in it stays
    importance REAL NOT NULL,
    confidence REAL NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    accessed_at INTEGER,
    access_count INTEGER NOT NULL,
    forgotten_at INTEGER,
    source TEXT NOT NULL,
    topic TEXT NOT NULL,
    content TEXT NOT NULL
) STRICT;
-- An index an order: the first that fit are read, and no others.
CREATE INDEX memory_important ON memory (importance DESC, created_at DESC, id);
CREATE INDEX memory_recent ON memory (updated_at DESC, created_at DESC, id);
CREATE INDEX memory_used ON memory (access_count DESC, created_at DESC, id);
CREATE INDEX memory_session ON memory (session);

CREATE TABLE evidence (
    memory INTEGER NOT NULL REFERENCES memory,
    position INTEGER NOT NULL,
    turn TEXT NOT NULL, -- its id; an archive may bring it later
    PRIMARY KEY (memory, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX evidence_turn ON evidence (turn);

CREATE TABLE association (
    key INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    source INTEGER NOT NULL REFERENCES memory,
    target INTEGER NOT NULL REFERENCES memory,
    at INTEGER NOT NULL,
    UNIQUE (source, target, kind)
) STRICT;
CREATE INDEX association_target ON association (target, kind);

CREATE TABLE spent ( -- model calls that are no steps; project and session by id, for they may go
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    at INTEGER NOT NULL,
    model TEXT NOT NULL,
    purpose TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    thought_tokens INTEGER NOT NULL,
    cost_usd REAL
) STRICT;
CREATE INDEX spent_at ON spent (at);

CREATE TABLE lease (
    what TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE left_turn (turn INTEGER PRIMARY KEY) STRICT; -- see abandonment.py
INSERT INTO left_turn
WITH RECURSIVE kept (key) AS (
    SELECT head FROM session WHERE head IS NOT NULL
    UNION
    SELECT parent FROM kept JOIN turn ON turn.key = kept.key WHERE parent IS NOT NULL
)
SELECT key FROM turn WHERE key NOT IN (SELECT key FROM kept);

ALTER TABLE summary ADD COLUMN outdated INTEGER NOT NULL DEFAULT 0; -- 1 where what it is made of changed
CREATE INDEX summary_outdated ON summary (level, at) WHERE outdated;
CREATE INDEX summary_stand_in ON summary (at) WHERE level = 1 AND method = 'extractive';
CREATE INDEX embedding_text ON embedding (text_hash);

CREATE TABLE vector_code ( -- 1,024 bits of each vector; see vector_codes.py
    owner INTEGER PRIMARY KEY,
    code BLOB NOT NULL
) STRICT;
-- With all that vectors are filtered by, so that reading it reads none of them.
DROP INDEX embedding_change;
CREATE INDEX embedding_change ON embedding (change, owner, model, dimensions, level, project, session, at);
"""

FOURTH = """
CREATE TABLE version (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    project INTEGER NOT NULL REFERENCES project,
    session INTEGER REFERENCES session, -- this and the turn may go: the version stays and names neither
    turn INTEGER REFERENCES turn,
    at INTEGER NOT NULL,
    author TEXT NOT NULL,
    files INTEGER NOT NULL,
    lines_added INTEGER NOT NULL,
    lines_removed INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    thought_tokens INTEGER NOT NULL,
    cost_usd REAL,
    duration_ms INTEGER NOT NULL,
    label TEXT NOT NULL,
    title TEXT NOT NULL,
    note TEXT NOT NULL,
    uncovered TEXT NOT NULL, -- this and `changes` as JSON
    words TEXT NOT NULL,
    changes TEXT NOT NULL
) STRICT;
CREATE INDEX version_order ON version (project, at, id);
CREATE INDEX version_session ON version (session);
CREATE INDEX version_turn ON version (turn);
CREATE INDEX version_label ON version (project, label) WHERE label != '';

CREATE TABLE descent ( -- of a version from its parents
    version INTEGER NOT NULL REFERENCES version,
    position INTEGER NOT NULL,
    parent INTEGER NOT NULL REFERENCES version,
    PRIMARY KEY (version, position),
    CHECK (parent < version) -- parents are stored first: no circle can come to be
) STRICT, WITHOUT ROWID;
CREATE INDEX descent_parent ON descent (parent);

CREATE TABLE branch (
    key INTEGER PRIMARY KEY,
    project INTEGER NOT NULL REFERENCES project,
    name TEXT NOT NULL,
    version INTEGER NOT NULL REFERENCES version,
    at INTEGER NOT NULL,
    UNIQUE (project, name)
) STRICT;

CREATE TABLE move ( -- of heads; but for the project all by id, for it may go
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    project INTEGER NOT NULL REFERENCES project,
    session TEXT NOT NULL,
    at INTEGER NOT NULL,
    action TEXT NOT NULL,
    from_version TEXT NOT NULL,
    to_version TEXT NOT NULL,
    from_turn TEXT NOT NULL,
    to_turn TEXT NOT NULL
) STRICT;
CREATE INDEX move_project ON move (project, at, id);
CREATE INDEX move_session ON move (session, at, id);

-- Turns that ended and have no version yet. Those from before there were versions are not among them.
CREATE TABLE unversioned (turn INTEGER PRIMARY KEY) STRICT;
"""

FIFTH = """
CREATE TABLE link (
    key INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    source INTEGER NOT NULL REFERENCES memory,
    target INTEGER NOT NULL REFERENCES memory,
    turn TEXT NOT NULL, -- by id, for it may go; empty where it was said in none
    at INTEGER NOT NULL,
    UNIQUE (source, target, kind, turn)
) STRICT;
INSERT INTO link SELECT key, kind, source, target, '', at FROM association;
DROP TABLE association;
ALTER TABLE link RENAME TO association;
CREATE INDEX association_target ON association (target, kind);
CREATE INDEX association_turn ON association (turn) WHERE turn != '';
"""

# Empty at first: existing rows are sealed when an embedder is next used; see vector_blocks.py.
SIXTH = """
CREATE TABLE vector_block ( -- codes of many vectors beside what these are filtered by, to be read at once
    first INTEGER PRIMARY KEY, -- holds owners from this one up to the next block's
    count INTEGER NOT NULL,
    places BLOB NOT NULL, -- what they are filtered by, a line of 64-bit integers each
    codes BLOB NOT NULL -- the first word of all codes, then the second ...
) STRICT;

-- Up to which row of `embedding_change` the blocks hold all, and which removals they know of.
ALTER TABLE embedder ADD COLUMN sealed_change INTEGER NOT NULL DEFAULT 0;
ALTER TABLE embedder ADD COLUMN sealed_owner INTEGER NOT NULL DEFAULT 0;
ALTER TABLE embedder ADD COLUMN sealed_removals INTEGER NOT NULL DEFAULT 0;
"""

# For existing data: the turns that left the path, and for a redo the newest move that it can have undone.
# For files only, that is the newest undo at the same turn with as many undos as redos between the two.
SEVENTH = """
ALTER TABLE move ADD COLUMN command TEXT NOT NULL DEFAULT '';
ALTER TABLE move ADD COLUMN undoes TEXT NOT NULL DEFAULT '';
ALTER TABLE move ADD COLUMN turns TEXT NOT NULL DEFAULT '[]'; -- this and the next two as JSON
ALTER TABLE move ADD COLUMN kept TEXT;
ALTER TABLE move ADD COLUMN aside TEXT NOT NULL DEFAULT '{}';

UPDATE move SET turns = json_array(to_turn) WHERE action = 'redo' AND from_turn != to_turn;
UPDATE move SET turns = (
    WITH RECURSIVE
        stayed (key) AS (
            SELECT key FROM turn WHERE id = to_turn
            UNION ALL
            SELECT parent FROM stayed JOIN turn ON turn.key = stayed.key WHERE parent IS NOT NULL
        ),
        went (key, id, parent, depth) AS (
            SELECT key, id, parent, depth FROM turn WHERE id = from_turn
            UNION ALL
            SELECT turn.key, turn.id, turn.parent, turn.depth FROM went JOIN turn ON turn.key = went.parent
        )
    SELECT json_group_array(id ORDER BY depth DESC) FROM went WHERE key NOT IN (SELECT key FROM stayed)
) WHERE action != 'redo' AND from_turn != to_turn;

UPDATE move SET undoes = coalesce((
    SELECT id FROM move AS undone
    WHERE session = move.session AND (at, id) < (move.at, move.id) AND iif(
        move.from_turn != move.to_turn,
        action != 'redo' AND from_turn != to_turn AND move.to_turn IN (SELECT value FROM json_each(turns)),
        action IN ('undo', 'rewind') AND from_turn = move.to_turn AND to_turn = move.to_turn AND 0 = (
            SELECT total(iif(action = 'redo', 1, -1)) FROM move AS meanwhile
            WHERE session = move.session AND from_turn = move.to_turn AND to_turn = move.to_turn
            AND action IN ('undo', 'rewind', 'redo')
            AND (at, id) > (undone.at, undone.id) AND (at, id) < (move.at, move.id)
        )
    )
    ORDER BY at DESC, id DESC LIMIT 1
), '') WHERE action = 'redo';
"""

EIGHTH = """
CREATE TABLE derived ( -- what was made of turns, sessions and projects, of any kind
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    owner_kind TEXT NOT NULL,
    owner TEXT NOT NULL, -- the id of a project, session or turn
    project INTEGER NOT NULL REFERENCES project,
    at INTEGER NOT NULL, -- the owner's last change that it knows of
    model TEXT NOT NULL,
    hash TEXT NOT NULL,
    relation TEXT NOT NULL,
    name TEXT NOT NULL,
    forgotten_at INTEGER,
    data TEXT NOT NULL
) STRICT;
-- With all that tells whether an owner lacks a record, so that asking for it reads none of them.
CREATE INDEX derived_owner ON derived (kind, owner, owner_kind, hash, at, model, forgotten_at);
CREATE INDEX derived_project ON derived (project, kind, at);
"""

# Forgotten memories are read before every request.
NINTH = "CREATE INDEX memory_forgotten ON memory (forgotten_at DESC, id) WHERE forgotten_at IS NOT NULL"

# Existing ones belong to whoever started the session they were said in; see `ConversationSession`.
TENTH = """
ALTER TABLE session ADD COLUMN person TEXT NOT NULL DEFAULT '';
ALTER TABLE memory ADD COLUMN owned_by TEXT NOT NULL DEFAULT ''; -- a person, or nothing for everybody

UPDATE memory SET owned_by = coalesce((
    SELECT user || '@' || host FROM session WHERE id = memory.session AND user || host != ''
), '') WHERE type IN ('identity', 'preference');
"""

# New ones are read before every message.
ELEVENTH = "CREATE INDEX memory_created ON memory (created_at DESC, id)"

# Existing ones: one that returned has been valid since then, and a replaced one was until it was replaced.
TWELFTH = """
ALTER TABLE memory ADD COLUMN valid_from INTEGER;
ALTER TABLE memory ADD COLUMN valid_to INTEGER;

UPDATE memory SET valid_from = coalesce((
    SELECT max(back.at) FROM association AS back
    WHERE back.source = memory.key AND back.kind = 'updates' AND EXISTS (
        SELECT 1 FROM association AS gone
        WHERE gone.target = memory.key AND gone.kind = 'updates' AND gone.at < back.at
    ) AND back.turn NOT IN (SELECT id FROM turn JOIN left_turn ON left_turn.turn = turn.key)
), created_at);
UPDATE memory SET valid_to = (
    SELECT min(link.at) FROM association AS link JOIN memory AS newer ON newer.key = link.source
    WHERE link.target = memory.key AND link.kind = 'updates' AND link.at >= memory.valid_from
        AND newer.forgotten_at IS NULL
        AND link.turn NOT IN (SELECT id FROM turn JOIN left_turn ON left_turn.turn = turn.key)
);
"""

THIRTEENTH = """
ALTER TABLE memory ADD COLUMN origin TEXT NOT NULL DEFAULT ''; -- in words; see `MemoryOrigin`

UPDATE memory SET origin = CASE source
    WHEN 'person' THEN 'told by a command' WHEN 'model' THEN 'saved by the model' ELSE 'found in a turn'
END;
"""

# A project's memories of a type are read before every message: in an order's index, a few of many come late.
FOURTEENTH = """
CREATE INDEX memory_kind ON memory (project, type);
CREATE INDEX memory_global ON memory (type) WHERE scope = 'global';
"""

# Constraints are read before a call that changes something: a few of many.
FIFTEENTH = """
ALTER TABLE memory ADD COLUMN strength TEXT NOT NULL DEFAULT '';
ALTER TABLE memory ADD COLUMN applies_to TEXT NOT NULL DEFAULT '[]';
ALTER TABLE memory ADD COLUMN said INTEGER NOT NULL DEFAULT 1; -- in how many sessions
ALTER TABLE memory ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memory ADD COLUMN broken INTEGER NOT NULL DEFAULT 0;

CREATE INDEX memory_binding ON memory (project) WHERE strength != '';
"""

# An archived session is not listed, whatever was said in it last.
SIXTEENTH = "ALTER TABLE session ADD COLUMN archived_at INTEGER"

# The result of a list of memories changes with these, whoever writes; a use changes nothing.
SEVENTEENTH = """
CREATE TABLE memory_state (change INTEGER NOT NULL) STRICT;
INSERT INTO memory_state VALUES (0);

CREATE TRIGGER memory_came AFTER INSERT ON memory BEGIN
    UPDATE memory_state SET change = change + 1;
END;
CREATE TRIGGER memory_changed AFTER UPDATE OF project, session, type, content, importance, confidence, topic,
    owned_by, strength, updated_at, forgotten_at ON memory BEGIN
    UPDATE memory_state SET change = change + 1;
END;
CREATE TRIGGER memory_period_changed AFTER UPDATE OF valid_from, valid_to ON memory
WHEN (OLD.valid_from, OLD.valid_to) IS NOT (NEW.valid_from, NEW.valid_to) BEGIN
    UPDATE memory_state SET change = change + 1;
END;
CREATE TRIGGER memory_went AFTER DELETE ON memory BEGIN
    UPDATE memory_state SET change = change + 1;
END;
CREATE TRIGGER evidence_came AFTER INSERT ON evidence BEGIN
    UPDATE memory_state SET change = change + 1;
END;
CREATE TRIGGER evidence_went AFTER DELETE ON evidence BEGIN
    UPDATE memory_state SET change = change + 1;
END;
CREATE TRIGGER association_came AFTER INSERT ON association BEGIN
    UPDATE memory_state SET change = change + 1;
END;
CREATE TRIGGER association_changed AFTER UPDATE ON association BEGIN
    UPDATE memory_state SET change = change + 1;
END;
CREATE TRIGGER association_went AFTER DELETE ON association BEGIN
    UPDATE memory_state SET change = change + 1;
END;
CREATE TRIGGER turn_left AFTER INSERT ON left_turn BEGIN
    UPDATE memory_state SET change = change + 1;
END;
CREATE TRIGGER turn_found_again AFTER DELETE ON left_turn BEGIN
    UPDATE memory_state SET change = change + 1;
END;
CREATE TRIGGER turn_went AFTER DELETE ON turn BEGIN
    UPDATE memory_state SET change = change + 1;
END;
"""

# Until now a session was its starter's, and so was everything said and spent in it.
EIGHTEENTH = """
ALTER TABLE turn ADD COLUMN person TEXT NOT NULL DEFAULT '';
ALTER TABLE spent ADD COLUMN person TEXT NOT NULL DEFAULT '';

UPDATE turn SET person = iif(
    of.person != '' OR of.user || of.host = '', of.person, of.user || '@' || of.host
) FROM session AS of WHERE of.key = turn.session;
UPDATE spent SET person = iif(
    of.person != '' OR of.user || of.host = '', of.person, of.user || '@' || of.host
) FROM session AS of WHERE of.id = spent.session;

CREATE INDEX turn_person ON turn (person, started_at);
CREATE INDEX spent_person ON spent (person, at);
"""

# Sessions to consolidate are searched among these only.
NINETEENTH = "CREATE INDEX session_archived ON session (project) WHERE archived_at IS NOT NULL"

# For the dashboard: what was extracted, what a session cost, and sessions without recent activity.
TWENTIETH = """
CREATE INDEX memory_extracted ON memory (project, created_at DESC) WHERE source = 'background';
CREATE INDEX spent_session ON spent (session);
CREATE INDEX session_time ON session (project, last_activity_at);
"""

# The memories of the weightiest topics are read when a session opens.
TWENTY_FIRST = "CREATE INDEX memory_topic ON memory (project, topic) WHERE topic != ''"

# See `project_moves.py`.
TWENTY_SECOND = "ALTER TABLE project ADD COLUMN merged_into TEXT NOT NULL DEFAULT ''"

# So that a copy knows which title or archiving is newer.
TWENTY_THIRD = "ALTER TABLE session ADD COLUMN changed_at INTEGER"

# The same for a merge or a split of projects.
TWENTY_FOURTH = "ALTER TABLE project ADD COLUMN changed_at INTEGER"

# Programs pay for what they hand to the assistant.
TWENTY_FIFTH = "ALTER TABLE turn ADD COLUMN purpose TEXT NOT NULL DEFAULT 'chat'"

STORE = Schema(  # `ragf`
    application_id=0x72616766,
    steps=(
        *(FIRST, SECOND, THIRD, FOURTH, FIFTH, SIXTH, SEVENTH, EIGHTH, NINTH, TENTH, ELEVENTH, TWELFTH),
        *(THIRTEENTH, FOURTEENTH, FIFTEENTH, SIXTEENTH, SEVENTEENTH, EIGHTEENTH, NINETEENTH, TWENTIETH),
        *(TWENTY_FIRST, TWENTY_SECOND, TWENTY_THIRD, TWENTY_FOURTH, TWENTY_FIFTH),
    ),
)
