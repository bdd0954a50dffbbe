-- Fair turns, batches, limits. Jobs, lanes and flows have numbers here, so that what points to them is short.

ALTER TABLE lanes RENAME TO old_lanes;
ALTER TABLE jobs RENAME TO old_jobs;
ALTER TABLE items RENAME TO old_items;
ALTER TABLE results RENAME TO old_results;

CREATE TABLE tenants (
    id          INTEGER PRIMARY KEY,
    account     TEXT NOT NULL UNIQUE,
    weight      REAL NOT NULL DEFAULT 1 CHECK (weight > 0),
    most_active INTEGER
) STRICT;

-- A flow of work: a batch (its key is the batch's id), or an account's single jobs of one priority.
-- last is its virtual time; blocked: 0 runs, 1 paused, 2 cancelled.
CREATE TABLE flows (
    id        INTEGER PRIMARY KEY,
    key       TEXT NOT NULL UNIQUE,
    tenant    INTEGER NOT NULL,
    last      INTEGER NOT NULL DEFAULT 0,
    submitted INTEGER NOT NULL DEFAULT 0,
    blocked   INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The fair clock: the greatest tag that was handed out. One row, and it only grows.
CREATE TABLE clock (
    id  INTEGER PRIMARY KEY CHECK (id = 1),
    tag INTEGER NOT NULL
) STRICT;

INSERT INTO clock (id, tag) VALUES (1, 0);

-- untidy is the position of the job up to which the last change of state has been done to the jobs; NULL where nothing
-- is left to do.
CREATE TABLE batches (
    id          TEXT PRIMARY KEY,
    flow        INTEGER NOT NULL UNIQUE,
    account     TEXT NOT NULL,
    kind        TEXT NOT NULL,
    name        TEXT,
    "order"     BLOB NOT NULL,
    priority    TEXT NOT NULL,
    state       TEXT NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'paused', 'completed', 'cancelled')),
    sealed      INTEGER NOT NULL DEFAULT 0,
    created_at  INTEGER NOT NULL,
    finished_at INTEGER,
    untidy      INTEGER,
    admitted    INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX batches_of_account ON batches (account, id);
CREATE INDEX batches_running ON batches (account) WHERE state = 'running';
CREATE INDEX batches_untidy ON batches (id) WHERE untidy IS NOT NULL;

-- How many jobs of a flow ended how, and when the last of them did.
CREATE TABLE tallies (
    flow      INTEGER PRIMARY KEY,
    completed INTEGER NOT NULL DEFAULT 0,
    refused   INTEGER NOT NULL DEFAULT 0,
    failed    INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    cached    INTEGER NOT NULL DEFAULT 0,
    credits   INTEGER NOT NULL DEFAULT 0,
    ended_at  INTEGER
) STRICT;

-- What a batch has seen already: the pages that its jobs read, and the jobs that were let begin.
CREATE TABLE marks (
    flow INTEGER NOT NULL,
    mark BLOB NOT NULL,
    PRIMARY KEY (flow, mark)
) STRICT, WITHOUT ROWID;

-- A leased lane is a waiting one whose ready_at is the end of the lease. Of a lane that is ready or empty, ready_at is
-- the moment since when it is.
-- rest_until outlives the lease: it is when the thing behind the lane may be used again.
-- rank, band and flow are those of the first item that may be handed out, and up to date while the lane is ready.
-- tenant is whose turn it is that the lane is held for. What is in its holder's hands has a rank up to taken_rank, and
-- was not put off beyond taken_at.
CREATE TABLE lanes (
    id         INTEGER PRIMARY KEY,
    key        TEXT NOT NULL UNIQUE,
    state      TEXT NOT NULL CHECK (state IN ('ready', 'waiting', 'empty', 'paused')),
    rank       INTEGER NOT NULL DEFAULT 0,
    band       INTEGER NOT NULL DEFAULT 0,
    flow       INTEGER NOT NULL DEFAULT 0,
    tenant     INTEGER NOT NULL DEFAULT 0,
    ready_at   INTEGER NOT NULL DEFAULT 0,
    rest_until INTEGER NOT NULL DEFAULT 0,
    fence      INTEGER NOT NULL DEFAULT 0,
    taken_rank INTEGER,
    taken_at   INTEGER NOT NULL DEFAULT 0,
    strikes    INTEGER NOT NULL DEFAULT 0,
    stretch    REAL NOT NULL DEFAULT 1,
    gap_ms     INTEGER,
    holder     TEXT,
    reason     TEXT
) STRICT;

-- The ledger. 'active' and 'delayed' are not written here: they follow from the item and its lane. A job has a position
-- in its batch, or -1. trial is the fence under which it is handled with care, since it may have killed a worker.
CREATE TABLE jobs (
    number      INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    kind        TEXT NOT NULL,
    state       TEXT NOT NULL DEFAULT 'waiting',
    lane        INTEGER NOT NULL,
    flow        INTEGER NOT NULL,
    rank        INTEGER NOT NULL,
    position    INTEGER NOT NULL DEFAULT -1,
    failures    INTEGER NOT NULL DEFAULT 0,
    deaths      INTEGER NOT NULL DEFAULT 0,
    trial       INTEGER NOT NULL DEFAULT 0,
    created_at  INTEGER NOT NULL,
    started_at  INTEGER,
    finished_at INTEGER,
    "order"     TEXT NOT NULL,
    trail       TEXT,
    outcome     TEXT
) STRICT;

-- The line. An item is there as long as its job has not ended; where it is follows from its job.
CREATE TABLE items (
    lane       INTEGER NOT NULL,
    rank       INTEGER NOT NULL,
    job        INTEGER NOT NULL,
    flow       INTEGER NOT NULL,
    not_before INTEGER NOT NULL,
    PRIMARY KEY (lane, rank, job)
) STRICT, WITHOUT ROWID;

-- Results in the order in which they were written. A number is never given twice: whoever reads on from one misses none.
-- flow is that of a batch, or NULL.
CREATE TABLE results (
    seq  INTEGER PRIMARY KEY AUTOINCREMENT,
    job  INTEGER NOT NULL UNIQUE,
    flow INTEGER,
    body BLOB,
    blob TEXT
) STRICT;

-- What was there becomes single jobs of normal priority, in the order in which it stood in line.

INSERT INTO tenants (account) SELECT DISTINCT account FROM old_jobs ORDER BY account;

INSERT INTO flows (key, tenant, last, submitted)
SELECT tenants.account || '|normal', tenants.id, 1000 * count(old_items.job), count(*)
FROM tenants JOIN old_jobs ON old_jobs.account = tenants.account LEFT JOIN old_items ON old_items.job = old_jobs.id
GROUP BY tenants.id;

INSERT INTO tallies (flow, completed, refused, failed, cancelled)
SELECT flows.id, count(*) FILTER (WHERE state = 'completed'), count(*) FILTER (WHERE state = 'refused'),
    count(*) FILTER (WHERE state = 'failed'), count(*) FILTER (WHERE state = 'cancelled')
FROM flows JOIN tenants ON tenants.id = flows.tenant JOIN old_jobs ON old_jobs.account = tenants.account
GROUP BY flows.id;

INSERT INTO lanes (id, key, state, ready_at, rest_until, fence, stretch, gap_ms, holder, reason)
SELECT id, key, state, ready_at, rest_until, fence, stretch, gap_ms, holder, reason FROM old_lanes;

-- A rank is four times the tag, and 2 for the normal priority; a turn takes 1000.
INSERT INTO items (lane, rank, job, flow, not_before)
SELECT old_items.lane,
    4000 * (row_number() OVER (PARTITION BY flows.id ORDER BY old_items.rank, old_items.job) - 1) + 2,
    old_jobs.rowid, flows.id, old_items.not_before
FROM old_items JOIN old_jobs ON old_jobs.id = old_items.job
JOIN tenants ON tenants.account = old_jobs.account JOIN flows ON flows.tenant = tenants.id;

CREATE INDEX items_in_transit ON items (job);

INSERT INTO jobs (number, id, kind, state, lane, flow, rank, failures, created_at, started_at, finished_at, "order",
    trail, outcome)
SELECT old_jobs.rowid, old_jobs.id, old_jobs.kind, old_jobs.state, lanes.id, flows.id, coalesce(items.rank, 0),
    old_jobs.failures, old_jobs.created_at, old_jobs.started_at, old_jobs.finished_at, old_jobs."order",
    old_jobs.trail, old_jobs.outcome
FROM old_jobs JOIN lanes ON lanes.key = old_jobs.lane
JOIN tenants ON tenants.account = old_jobs.account JOIN flows ON flows.tenant = tenants.id
LEFT JOIN items ON items.job = old_jobs.rowid
ORDER BY old_jobs.rowid;

DROP INDEX items_in_transit;

INSERT INTO results (job, body, blob)
SELECT jobs.number, old_results.body, old_results.blob FROM old_results JOIN jobs ON jobs.id = old_results.job
ORDER BY old_results.rowid;

-- What is leased stays so, until its holder is known to be dead; whatever was ready or rested is placed when it wakes.
UPDATE lanes SET state = 'waiting', ready_at = 0 WHERE state = 'ready';

DROP TABLE old_results;
DROP TABLE old_items;
DROP TABLE old_jobs;
DROP TABLE old_lanes;

-- Lanes that may be leased, by the priority and the flow of what comes first in them: so a flow that is paused or
-- cancelled is passed over in one step, however many lanes it has.
CREATE INDEX lanes_ready ON lanes (band, flow, rank) WHERE state = 'ready';
CREATE INDEX lanes_waiting ON lanes (ready_at) WHERE state = 'waiting';
CREATE INDEX lanes_held ON lanes (tenant, holder) WHERE holder IS NOT NULL;
CREATE INDEX jobs_of_batch ON jobs (flow, position) WHERE position >= 0;
CREATE INDEX jobs_to_repeat ON jobs (flow, position) WHERE position >= 0 AND state IN ('failed', 'refused');
CREATE INDEX results_of_batch ON results (flow, seq) WHERE flow IS NOT NULL;
