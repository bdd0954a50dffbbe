-- How many jobs of a batch came to which outcome.
CREATE TABLE outcomes (
    flow   INTEGER NOT NULL,
    code   TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (flow, code)
) STRICT, WITHOUT ROWID;

INSERT INTO outcomes (flow, code, number)
SELECT flow, outcome ->> 'code', count(*) FROM jobs WHERE position >= 0 AND outcome ->> 'code' IS NOT NULL GROUP BY 1, 2;

-- Pages that an account asked for in vain, and until when that is remembered. A mark is that of the page's address.
CREATE TABLE misses (
    tenant INTEGER NOT NULL,
    mark   BLOB NOT NULL,
    code   TEXT NOT NULL,
    until  INTEGER NOT NULL,
    PRIMARY KEY (tenant, mark)
) STRICT, WITHOUT ROWID;

CREATE INDEX misses_by_age ON misses (until);

-- When something was last heard of the lines of a batch that is not sealed, and why one was cancelled that nobody
-- asked to cancel.
ALTER TABLE batches ADD COLUMN heard_at INTEGER;
ALTER TABLE batches ADD COLUMN reason TEXT;

UPDATE batches SET heard_at = created_at WHERE NOT sealed;

CREATE INDEX batches_unsealed ON batches (heard_at) WHERE NOT sealed AND finished_at IS NULL;
