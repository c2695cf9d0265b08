"""How long the program waits and how often it tries again, in one table.

Read them as `timeouts.NAME` where they are used and never copy one: then a value changed here,
such as by the tests on a busy machine, changes everywhere. Seconds unless the name ends in another unit. The
timing of keys and frames is not here but in the widgets that it belongs to.
"""

# Starting and ending

PROCESS_END_S_MAX = 0.1
"""How long a thread that was told to end may take."""
THREAD_STOP_S_MAX = 5.0
"""How long a cancelled call waits for its thread; longer only where the disk itself hangs."""
HEADLESS_BACKGROUND_S_MAX = 5.0
"""How long `-p` waits for the summary of its own turn, and as long again for those of earlier runs; the
next run does the rest."""
HEADLESS_CALLS_S_MAX = 15.0
"""How long `-p` waits, after that, for answers that are paid for already: each would be asked for again."""
HEADLESS_PLANS_S_MAX = 20.0
"""How long `-p` waits, after that, for a server that has to plan what it was asked: given up, it would have
to begin anew in the next run."""
HEADLESS_BACKUP_S_MAX = 2.0
"""How long `-p` waits for the day's backup in progress."""
BACKGROUND_CLOSE_S_MAX = 2.0
"""How long leaving waits for what cannot be cancelled: a thread that computes, a commit."""
CLAIM_LEFT_S_MAX = 2.0
CLAIM_LEFT_POLL_S = 0.02
"""How long to wait for the lock of a killed process, which a process it just started may still hold."""
INCOGNITO_LOCKLESS_S_MAX = 60.0
"""A folder without a lock counts as abandoned at this age; its owner may just be creating it."""
KEYRING_S_MAX = 5.0
PASSWORD_TRIES_MAX = 10
"""Wrong answers after which a question is abandoned."""
PROGRESS_LINE_EVERY_S = 2.0
"""How often progress is printed if there is no terminal to redraw it."""

# The terminal

TERMINAL_ANSWER_S_MAX = 0.2
TMUX_S_MAX = 2.0
CLIPBOARD_S_MAX = 3.0
"""The program that owns the clipboard may have ended, or hang."""
OPENING_TOLD_AFTER_S = 1.0
"""A local store opens much faster; a server that does not answer takes longer."""
LINK_LOOK_EVERY_S = 1.0
MEMORY_LOOK_EVERY_S = 1.0
TYPED_KEYS_S_MAX = 1.0
"""How long a key waits for the text typed before it. A list that takes longer to fill does not block Esc."""
HINTS_QUIET_S = 1.0
"""Hints made while the user typed are offered when the prompt has been empty for so long."""
SUGGESTION_S_MAX = 30.0
"""So long after a turn what may come next is suggested."""
SUGGESTION_LOOK_EVERY_S = 0.25
APPROVAL_QUIET_S = 0.5
"""How long no key may have been pressed before an approval accepts one."""
APPROVAL_ALONE_S = 0.3
"""How long no key may follow a letter before it is an answer: "nah, use X" is a message."""
APPROVAL_LOOKED_AFTER_S = 0.25
"""How often an approval checks whether the files that it is about have changed. Shorter than the quiet:
an outdated approval disappears before it can be answered."""
MODEL_SILENT_TOLD_AFTER_S = 3.0
"""How long a model may take for its next word before the screen says so."""

# What is recalled for a message

GATHER_S_MAX = 0.3
"""For the whole block: what has not been found by then is left out, because the user is waiting.

Its steps have shares of it, see `memory/recall/source.py`."""
MEMORY_LIST_CACHED_S_MAX = 300.0
"""A list of memories is read again after this, even if nothing reports a change."""
QUERY_EMBEDDING_S_MAX = 0.15
"""How long a remote embedder may take; after that, words and metadata answer."""
EMBEDDER_LOADING_S_MAX = 1.0
"""How long the first question waits for the embedder's HTTP library and its key."""

# Background work

BACKUP_LOOK_EVERY_S_MIN = 60.0
"""Whether the day's backup is due is checked no more often than this, unless a turn ends."""

METRICS_S_MAX = 5.0
"""How long a page of metrics waits for its counts."""

SUMMARY_TRIES_MAX = 2
ROLL_UP_TRIES_MAX = 2
ROLL_UP_REDO_TRIES_MAX = 3
"""How often a summary of something that changed is tried in one run: a model that refuses must not be paid
for ever. It is tried again when something else changes too, and in the next run."""
SPENT_COUNT_EVERY_S = 60.0
"""How often the spending of other processes is read."""
WORK_AGAIN_S = 60.0
"""How long work waits that is still due right after it was done: better late than in a loop."""

# Models

GEMINI_CONNECT_S_MAX = 15.0
GEMINI_NETWORK_ATTEMPTS_MAX = 3
"""A network that fails twice more is usually down, and the user should know soon."""
GEMINI_CALL_S_MAX = 30.0
"""For calls that do not stream."""
GEMINI_COUNT_S_MAX = 5.0
"""How long the end of an answer may wait for its tokens to be counted."""
OPENAI_CONNECT_S_MAX = 10.0
OPENAI_CONNECT_ATTEMPTS_MAX = 3
"""A network that is down for seconds often stays down; a server on this machine is asked once."""
OPENAI_QUESTION_S_MAX = 30.0
"""For small requests: which models, how large a context window."""
OPENAI_END_S_MAX = 1.0
"""How long a connection may take to close once the answer is complete."""
STREAM_END_S_MAX = 2.0
"""How long leaving waits for a source that ignores its cancellation."""

RETRY_DELAY_S_FIRST = 1.0
RETRY_DELAY_S_MAX = 60.0
"""The longest wait between two tries, unless `retry.delay_s_max` says otherwise; a service that asks for more
is not asked again."""

# Embedders

EMBEDDER_CONNECT_S_MAX = 10.0
EMBEDDER_ANSWER_S_MAX = 60.0
EMBEDDER_ATTEMPTS_MAX = 3
"""Texts without a vector stay queued, so giving up soon loses nothing."""
EMBEDDER_DELAY_S_FIRST = 1.0
EMBEDDER_DELAY_S_MAX = 60.0

# Tools and commands

SHELL_S_MAX = 3_600.0
SHELL_CANCEL_GRACE_S = 0.3
SHELL_BACKGROUND_FIRST_S = 2.0
"""How long a background command is watched before the model is told."""
JOB_WAIT_S_MAX = 60.0
WEB_S_MAX = 30.0
"""A page that takes longer is given up."""
WEB_CONNECT_S_MAX = 10.0
WEB_READ_S_MAX = 15.0
"""Silence after which a page counts as lost."""
WEB_ROBOTS_S_MAX = 5.0
PROCESS_GRACE_S = 2.0
"""How long a process may clean up after SIGTERM before SIGKILL."""
PROCESS_DRAIN_S_MAX = 0.5
"""How long output is read after the shell has exited while something else holds the pipe open."""
PROCESS_POLL_S = 0.02
PROCESS_IDLE_POLL_S = 0.2
"""How often a running command is checked, to tell its changes from those made while it waited."""
SCAN_S_MAX = 20.0
SCAN_KILL_GRACE_S = 2.0
"""How long after its own limit a search is killed: it stops itself unless a pattern holds it up."""
SCAN_CPU_GRACE_S = 5
GIT_S_MAX = 2.0
PROJECT_CHECK_S_MAX = 1_800.0

# Versions

VERSIONS_LOCK_S_MAX = 60.0
"""A restore of thousands of files may take that long."""
VERSIONS_LOCK_POLL_S_MIN = 0.001
VERSIONS_LOCK_POLL_S_MAX = 0.05
VERSION_OF_TALK_WAIT_S = 0.05
"""How long the end of a turn without tools waits for its version, which is then made in the background."""
VERSION_END_S_MAX = 10.0
"""How long leaving waits for the version of the last turn."""
VERSION_TOLD_AFTER_S = 2.0
"""How long a command may wait for its files to be stored before the user is told."""
VERSION_SHELVE_S_MAX = 2.0
"""How long leaving waits for the contents of a project just opened; the next session continues."""

# SQLite

SQLITE_BUSY_MS_MAX = 10_000

# Neo4j

NEO4J_CONNECT_S_MAX = 8.0
NEO4J_READ_S_MAX = 10.0
NEO4J_WRITE_S_MAX = 2.0
NEO4J_RUN_S_MAX = 60.0
NEO4J_CLOSE_S_MAX = 1.0
NEO4J_SERVER_GRACE_S = 1.0
"""How much later than this program the server gives up: abandoned queries must not accumulate."""
NEO4J_IDLE_CHECK_S = 30.0
"""A connection idle for longer is tested before use: the network may have dropped it."""
NEO4J_RETRY_S_FIRST = 0.02
NEO4J_RETRY_S_MAX = 0.5
NEO4J_ANSWER_S_MAX = 5.0
"""How long to wait for a list or a turn before the rows on this machine answer."""
NEO4J_REACH_S_MAX = 10.0
"""How long to try a server that was away, if nothing here can replace its answer."""
NEO4J_REACH_AGAIN_S_MAX = 1.0
"""The same, if it was tried in vain within the last `NEO4J_REACH_S_MAX`."""
NEO4J_ARRIVE_S_MAX = 20.0
"""How long rows are resent before a decision that only the graph can make."""
NEO4J_SETTLE_S_MAX = 10.0
"""A stopped server ends this at once, by the deadline of a step; a slow one is waited for."""
NEO4J_DRAIN_S_MAX = 5.0
"""How long a command waits for rows on their way to the server before it ends or counts them."""
NEO4J_DRAIN_AWAY_S_MAX = 0.5
"""How long leaving waits for an attempt in progress to reach a server that is away."""
NEO4J_DELETE_S_MAX = 30.0
NEO4J_STREAM_S_MAX = 60.0
NEO4J_ROLL_UP_S_MAX = 5.0
NEO4J_LEASE_S_MAX = 5.0
"""Nobody waits for it: a server that takes so long for one is as good as down."""
NEO4J_SIZES_KNOWN_S = 60.0
NEO4J_OWED_MARGIN_S = 150.0
"""How long after a write to a session it is checked, because the write may take that long to be committed."""
NEO4J_LOAD_S_MAX = 120.0
"""A batch of a copy is not a step of a turn: nobody waits, and a busy server may take its time."""

NEO4J_STEP_S_MAX = 2.0
"""After this an outcome counts as unknown, and the rows are sent again."""
NEO4J_BULK_S_MAX = 10.0
"""For a batch of vectors, which no turn waits for."""
NEO4J_VECTORS_SETTLE_S_MAX = 10.0
NEO4J_WARM_UP_S_MAX = 15.0
NEO4J_PLAN_S_MAX = 30.0
"""How long a server may plan one query that nobody waits for."""
NEO4J_CARRY_RETRY_S_FIRST = 0.5
NEO4J_CARRY_RETRY_S_MAX = 5.0
NEO4J_LOGIN_RETRY_S = 30.0
"""After three wrong passwords a server locks that user name out for some seconds."""
NEO4J_CARRY_LOCK_POLL_S = 0.02
NEO4J_CARRY_LOCK_TOLD_AFTER_S = 3.0
"""A batch takes a fraction of this: whoever holds the lock for longer is named."""
NEO4J_CARRY_LOCK_HELD_POLL_S = 0.25

NEO4J_CLAIM_LEASE_S = 30.0
NEO4J_CLAIM_HEARTBEAT_S = 8.0
"""Three may get lost before the lease expires."""
NEO4J_CLAIM_S_MAX = 5.0
NEO4J_CLAIM_REACH_S_MAX = 1.0
"""How long a server that is away is tried for a session that can continue without it."""

PROJECT_SPLIT_LEASE_S = 60.0
"""How long after it was killed the rows moved by a split are not brought back."""

NEO4J_MIGRATION_LEASE_S = 20
"""The lock is free this long after its holder's last sign of life."""
NEO4J_MIGRATION_HEARTBEAT_S = 5.0
NEO4J_MIGRATION_LOCK_S_MAX = 40.0
NEO4J_MIGRATION_LOCK_POLL_S = 0.25
NEO4J_MIGRATION_STATEMENT_S_MAX = 600.0
"""A constraint on many nodes reads them all first."""
NEO4J_INDEXES_S_MAX = 300.0
NEO4J_INDEXES_SLICE_S = 2.0
NEO4J_SCHEMA_ATTEMPTS_MAX = 3
NEO4J_SCHEMA_POLL_S = 0.1
NEO4J_LAW_S_MAX = 300.0
"""One check of every node of a label, or one repair of all that fail it."""
NEO4J_CHECK_PAUSE_S = 0.5
"""Others may write while a graph is checked: what is still wrong after this is wrong."""
NEO4J_ABANDONED_LOOKS_MAX = 3
"""Abandoned turns are counted right after a move: what is wrong in each of so many checks is wrong."""
NEO4J_INDEX_FILL_S_MAX = 60.0
