-- Moments are milliseconds since 1970 in UTC, as in the embedded store. Ids of jobs are their ULIDs' 128 bits, which
-- sort by time: so jobs are partitioned by their ids, and the partitions of old days are dropped whole.

CREATE TABLE tenants (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account     text NOT NULL UNIQUE,
    weight      real NOT NULL DEFAULT 1,
    most_active integer
);

-- A flow of work: a batch (its key is the batch's id), or an account's single jobs of one priority.
-- blocked: 0 runs, 1 paused, 2 cancelled.
CREATE TABLE flows (
    id        integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key       text NOT NULL UNIQUE,
    tenant    integer NOT NULL REFERENCES tenants (id),
    last      bigint NOT NULL DEFAULT 0,
    submitted bigint NOT NULL DEFAULT 0,
    blocked   smallint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE INDEX flows_blocked ON flows (id) WHERE blocked > 0;

-- The fair clock. A sequence, since it must not be locked by those who move it: it is a hint, and only grows.
CREATE SEQUENCE fair_clock MINVALUE 0 START 0;

-- tidied_to is the position up to which the last change of state has been done to the jobs; NULL when all are done.
CREATE TABLE batches (
    id          text PRIMARY KEY,
    flow        integer NOT NULL UNIQUE REFERENCES flows (id),
    account     text NOT NULL,
    kind        text NOT NULL,
    name        text,
    "order"     bytea NOT NULL,
    priority    text NOT NULL,
    state       text NOT NULL,
    sealed      boolean NOT NULL DEFAULT false,
    tidied_to   integer,
    admitted    bigint NOT NULL DEFAULT 0,
    created_at  bigint NOT NULL,
    finished_at bigint
) WITH (fillfactor = 70);

CREATE INDEX batches_of_account ON batches (account, id);
CREATE INDEX batches_open ON batches (id) WHERE finished_at IS NULL;
CREATE INDEX batches_untidy ON batches (id) WHERE tidied_to IS NOT NULL;

-- How many jobs of a flow ended how. Each process has a shard of its own, so that nobody waits for another's row.
CREATE TABLE tallies (
    flow      integer NOT NULL,
    shard     smallint NOT NULL,
    completed bigint NOT NULL DEFAULT 0,
    refused   bigint NOT NULL DEFAULT 0,
    failed    bigint NOT NULL DEFAULT 0,
    cancelled bigint NOT NULL DEFAULT 0,
    cached    bigint NOT NULL DEFAULT 0,
    credits   bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (flow, shard)
) WITH (fillfactor = 50);

-- What a batch has seen already.
CREATE TABLE marks (
    flow integer NOT NULL,
    mark uuid NOT NULL,
    PRIMARY KEY (flow, mark)
);

-- state: 0 empty, 1 ready, 2 waiting, 3 paused. A leased lane is a waiting one whose ready_at is the lease's end. Of one
-- that is ready or empty, it is since when it is so.
-- rest_until outlives the lease: it is when the thing behind the lane may be used again.
-- tenant, band, flow and rank are those of the lane's front item. What is in its holder's hands has a rank up to
-- taken_rank, and was not put off beyond taken_at.
CREATE TABLE lanes (
    id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fence      integer NOT NULL DEFAULT 0,
    rank       bigint NOT NULL DEFAULT 0,
    ready_at   bigint NOT NULL DEFAULT 0,
    rest_until bigint NOT NULL DEFAULT 0,
    taken_rank bigint NOT NULL DEFAULT 0,
    taken_at   bigint NOT NULL DEFAULT 0,
    tenant     integer NOT NULL DEFAULT 0,
    flow       integer NOT NULL DEFAULT 0,
    gap_ms     integer,
    stretch    real NOT NULL DEFAULT 1,
    state      smallint NOT NULL DEFAULT 0,
    band       smallint NOT NULL DEFAULT 0,
    strikes    smallint NOT NULL DEFAULT 0,
    key        text NOT NULL UNIQUE,
    holder     text,
    reason     text
) WITH (
    fillfactor = 60, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.2
);

CREATE INDEX lanes_ready ON lanes (tenant, band, rank) WHERE state = 1;
CREATE INDEX lanes_waiting ON lanes (ready_at) WHERE state = 2;
CREATE INDEX lanes_held ON lanes (tenant) WHERE holder IS NOT NULL;

-- The ledger. 'active' and 'delayed' are not written here: they follow from the item and its lane. A job has a position
-- in its batch, or -1. state: 0 waiting, 1 completed, 2 failed, 3 cancelled, 4 refused. trial is the fence under which it is handled with care, since it may have killed a worker.
CREATE TABLE jobs (
    id          uuid NOT NULL,
    created_at  bigint NOT NULL,
    started_at  bigint,
    finished_at bigint,
    rank        bigint NOT NULL,
    lane        integer NOT NULL,
    flow        integer NOT NULL,
    position    integer NOT NULL,
    trial       integer NOT NULL DEFAULT 0,
    failures    smallint NOT NULL DEFAULT 0,
    deaths      smallint NOT NULL DEFAULT 0,
    state       smallint NOT NULL DEFAULT 0,
    kind        text NOT NULL,
    "order"     bytea NOT NULL,
    trail       bytea,
    outcome     bytea,
    PRIMARY KEY (id)
) PARTITION BY RANGE (id);

CREATE TABLE jobs_rest PARTITION OF jobs DEFAULT WITH (fillfactor = 80);
CREATE INDEX jobs_of_batch ON jobs (flow, position) WHERE position >= 0;

-- The line. An item is there as long as its job has not ended.
CREATE TABLE items (
    lane       integer NOT NULL,
    flow       integer NOT NULL,
    rank       bigint NOT NULL,
    not_before bigint NOT NULL,
    job        uuid NOT NULL,
    PRIMARY KEY (lane, rank, job)
) WITH (
    fillfactor = 90, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000,
    autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.2
);

-- Results. written_by is the transaction that wrote one of a batch: a reader who follows them in this order, and stops
-- before the oldest that still runs, misses none.
CREATE TABLE results (
    job        uuid NOT NULL,
    written_by xid8,
    flow       integer NOT NULL,
    body       bytea,
    blob       text,
    PRIMARY KEY (job)
) PARTITION BY RANGE (job);

CREATE TABLE results_rest PARTITION OF results DEFAULT;
CREATE INDEX results_of_batch ON results (flow, written_by, job) WHERE written_by IS NOT NULL;
ALTER TABLE results ALTER COLUMN body SET STORAGE EXTERNAL;

-- What accounts used, by day and kind of work.
CREATE TABLE usage (
    day     date NOT NULL,
    tenant  integer NOT NULL,
    kind    text NOT NULL,
    shard   smallint NOT NULL,
    jobs    bigint NOT NULL DEFAULT 0,
    credits bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (day, tenant, kind, shard)
) PARTITION BY RANGE (day);

CREATE TABLE usage_rest PARTITION OF usage DEFAULT WITH (fillfactor = 50);
