-- How many jobs of an account may stand in line; where it has no limit of its own, that of the settings is the one.
ALTER TABLE tenants ADD COLUMN most_queued bigint;

-- As exact as it was given.
ALTER TABLE tenants ALTER COLUMN weight TYPE double precision;

-- With this, what an account has in line is added up over its open batches alone.
CREATE INDEX batches_open_of_account ON batches (account) WHERE finished_at IS NULL;

-- What accounts used, by day, kind of work and host. Nothing was written into the one before.
DROP TABLE usage;

CREATE TABLE usage (
    tenant  integer NOT NULL,
    day     date NOT NULL,
    kind    text COLLATE "C" NOT NULL,
    host    text COLLATE "C" NOT NULL,
    jobs    bigint NOT NULL,
    credits bigint NOT NULL,
    cached  bigint NOT NULL,
    failed  bigint NOT NULL,
    refused bigint NOT NULL,
    PRIMARY KEY (tenant, day, kind, host)
) PARTITION BY RANGE (day);

CREATE TABLE usage_rest PARTITION OF usage DEFAULT WITH (fillfactor = 50);

-- What was used and is not in there yet: one row for each report, so that whoever settles writes one row and waits for
-- nobody. It is a list of [tenant, kind, host, jobs, credits, cached, failed, refused].
CREATE TABLE usage_notes (
    id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    day  date NOT NULL,
    used json NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

ALTER TABLE usage_notes ALTER COLUMN used SET STORAGE EXTERNAL;
