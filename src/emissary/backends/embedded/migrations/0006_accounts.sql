-- How many jobs of an account may stand in line; where it has no limit of its own, that of the settings is the one.
ALTER TABLE tenants ADD COLUMN most_queued INTEGER;

-- With this, what an account has in line is added up over its open batches alone.
CREATE INDEX batches_open_of_account ON batches (account) WHERE finished_at IS NULL;

-- What accounts used, by day (as in 2030-01-31, in UTC), kind of work and host.
CREATE TABLE usage (
    tenant  INTEGER NOT NULL,
    day     TEXT NOT NULL,
    kind    TEXT NOT NULL,
    host    TEXT NOT NULL,
    jobs    INTEGER NOT NULL,
    credits INTEGER NOT NULL,
    cached  INTEGER NOT NULL,
    failed  INTEGER NOT NULL,
    refused INTEGER NOT NULL,
    PRIMARY KEY (tenant, day, kind, host)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_by_age ON usage (day);

-- What was used and is not in there yet: one row for each report, so that settling takes no longer for it. It is a list
-- of [tenant, kind, host, jobs, credits, cached, failed, refused].
CREATE TABLE usage_notes (
    id   INTEGER PRIMARY KEY,
    day  TEXT NOT NULL,
    used TEXT NOT NULL
) STRICT;
