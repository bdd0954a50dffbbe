-- How many jobs of a batch came to which outcome. Each process has a shard of its own.
CREATE TABLE outcomes (
    flow   integer NOT NULL,
    code   text COLLATE "C" NOT NULL,
    shard  smallint NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (flow, code, shard)
) WITH (fillfactor = 50);

INSERT INTO outcomes (flow, code, shard, number)
SELECT flow, convert_from(outcome, 'UTF8')::jsonb ->> 'code', 0, count(*) FROM jobs
WHERE position >= 0 AND convert_from(outcome, 'UTF8')::jsonb ->> 'code' IS NOT NULL GROUP BY 1, 2;

-- Pages that an account asked for in vain, and until when that is remembered. A mark is that of the page's address.
CREATE TABLE misses (
    tenant integer NOT NULL,
    mark   uuid NOT NULL,
    code   text NOT NULL,
    until  bigint NOT NULL,
    PRIMARY KEY (tenant, mark)
) WITH (fillfactor = 80);

CREATE INDEX misses_by_age ON misses (until);

-- When something was last heard of the lines of a batch that is not sealed, and why one was cancelled that nobody
-- asked to cancel.
ALTER TABLE batches ADD COLUMN heard_at bigint;
ALTER TABLE batches ADD COLUMN reason text;

UPDATE batches SET heard_at = created_at WHERE NOT sealed;

CREATE INDEX batches_unsealed ON batches (heard_at) WHERE NOT sealed AND finished_at IS NULL;
