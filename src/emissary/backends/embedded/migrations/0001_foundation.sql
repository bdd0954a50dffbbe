-- Times are milliseconds since 1970 in UTC: SQLite knows no time zones.

CREATE TABLE accounts (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE keys (
    id         TEXT PRIMARY KEY,
    account    TEXT NOT NULL REFERENCES accounts (id),
    digest     BLOB NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A leased lane is a waiting one whose ready_at is the end of the lease.
-- rest_until outlives the lease: it is when the thing behind the lane may be used again.
CREATE TABLE lanes (
    id         INTEGER PRIMARY KEY,
    key        TEXT NOT NULL UNIQUE,
    state      TEXT NOT NULL CHECK (state IN ('ready', 'waiting', 'empty', 'paused')),
    rank       INTEGER NOT NULL,
    ready_at   INTEGER NOT NULL DEFAULT 0,
    rest_until INTEGER NOT NULL DEFAULT 0,
    fence      INTEGER NOT NULL DEFAULT 0,
    holder     TEXT,
    gap_ms     INTEGER,
    reason     TEXT
) STRICT;

CREATE INDEX lanes_ready ON lanes (rank) WHERE state = 'ready';
CREATE INDEX lanes_waiting ON lanes (ready_at) WHERE state = 'waiting';
CREATE INDEX lanes_held ON lanes (holder) WHERE holder IS NOT NULL;

-- The ledger. 'active' and 'delayed' are not written here: they follow from the item and its lane.
CREATE TABLE jobs (
    id          TEXT PRIMARY KEY,
    account     TEXT NOT NULL,
    kind        TEXT NOT NULL,
    state       TEXT NOT NULL,
    lane        TEXT NOT NULL,
    "order"     TEXT NOT NULL,
    trail       TEXT,
    failures    INTEGER NOT NULL DEFAULT 0,
    created_at  INTEGER NOT NULL,
    started_at  INTEGER,
    finished_at INTEGER,
    outcome     TEXT
) STRICT;

-- The line. An item is there as long as its job has not ended; it is in somebody's hands while taken = its lane's fence.
CREATE TABLE items (
    lane       INTEGER NOT NULL,
    rank       INTEGER NOT NULL,
    job        TEXT NOT NULL,
    not_before INTEGER NOT NULL DEFAULT 0,
    taken      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (lane, rank, job)
) STRICT, WITHOUT ROWID;

CREATE INDEX items_by_job ON items (job);

CREATE TABLE results (
    job  TEXT PRIMARY KEY,
    body BLOB,
    blob TEXT
) STRICT;

CREATE TABLE robots (
    origin     TEXT PRIMARY KEY,
    status     INTEGER,
    body       BLOB NOT NULL,
    fetched_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
