-- Webhooks of accounts. The secret is sealed; events have spaces between them, and none is all that refers to it.
CREATE TABLE webhooks (
    id          TEXT PRIMARY KEY,
    account     TEXT NOT NULL,
    url         TEXT NOT NULL,
    events      TEXT NOT NULL,
    description TEXT,
    active      INTEGER NOT NULL,
    disabled    TEXT,
    sealed      BLOB NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX webhooks_of_account ON webhooks (account, id);

-- Deliveries, in the order in which they were made; each is a job as well. line is what it must stay in order with, as
-- long as that matters. webhook is NULL where the receiver was given with the job itself.
CREATE TABLE deliveries (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    job        TEXT NOT NULL UNIQUE,
    webhook    TEXT,
    event      TEXT NOT NULL,
    type       TEXT NOT NULL,
    line       TEXT,
    attempts   INTEGER NOT NULL DEFAULT 0,
    status     INTEGER,
    detail     TEXT,
    tried_at   INTEGER,
    next_at    INTEGER,
    replayed   INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX deliveries_of_webhook ON deliveries (webhook, number) WHERE webhook IS NOT NULL;
CREATE INDEX deliveries_in_line ON deliveries (line, number) WHERE line IS NOT NULL;
CREATE INDEX deliveries_by_age ON deliveries (created_at);

-- What the store itself brought about, and of which nobody has been told yet.
CREATE TABLE happenings (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    event   TEXT NOT NULL,
    subject TEXT NOT NULL,
    account TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
