-- By how much a lane's gap is widened because what is behind it seemed strained.
ALTER TABLE lanes ADD COLUMN stretch REAL NOT NULL DEFAULT 1;

-- Copies of pages: owner '' is everyone.
CREATE TABLE pages (
    url        TEXT NOT NULL,
    owner      TEXT NOT NULL DEFAULT '',
    fetched_at INTEGER NOT NULL,
    page       BLOB NOT NULL,
    PRIMARY KEY (url, owner)
) STRICT;

CREATE INDEX pages_by_age ON pages (fetched_at);

CREATE TABLE sessions (
    account    TEXT NOT NULL,
    name       TEXT NOT NULL,
    sealed     BLOB NOT NULL,
    egress     TEXT,
    version    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE opt_outs (
    host    TEXT PRIMARY KEY,
    at      INTEGER NOT NULL,
    contact TEXT NOT NULL,
    reason  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE owned_hosts (
    host        TEXT PRIMARY KEY,
    gap_ms      INTEGER NOT NULL,
    concurrency INTEGER NOT NULL,
    proven_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE secrets (
    name   TEXT PRIMARY KEY,
    sealed BLOB NOT NULL
) STRICT, WITHOUT ROWID;
