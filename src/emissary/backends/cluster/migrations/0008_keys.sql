-- What a key may be used for (scopes with spaces between them), what may be shown of it, and how long it lives. Keys from
-- before were good for everything.
ALTER TABLE keys
    ADD COLUMN name text NOT NULL DEFAULT 'first',
    ADD COLUMN scopes text NOT NULL DEFAULT 'read write keys admin',
    ADD COLUMN hint text,
    ADD COLUMN expires_at timestamptz,
    ADD COLUMN revoked_at timestamptz,
    ADD COLUMN last_used_at timestamptz;

CREATE INDEX keys_of_account ON keys (account, id);

-- Requests a minute, and how many may come at once, where an account has a rate of its own; and the credits it has left,
-- but for what is still in usage_notes. NULL is no limit. Whoever submits asks for most_queued: it is there for accounts
-- with a balance as well, beyond all numbers, so that nobody has to ask for that too.
ALTER TABLE tenants RENAME COLUMN most_queued TO queue_limit;
ALTER TABLE tenants
    ADD COLUMN rate_per_minute integer,
    ADD COLUMN rate_burst integer,
    ADD COLUMN credits bigint;
ALTER TABLE tenants ADD COLUMN most_queued bigint
    GENERATED ALWAYS AS (coalesce(queue_limit, CASE WHEN credits IS NOT NULL THEN 9223372036854775807 END)) STORED;

-- The buckets of which processes take slices: what was in one at that moment (in ms).
CREATE TABLE rates (
    account text COLLATE "C" PRIMARY KEY,
    left_in double precision NOT NULL,
    at      bigint NOT NULL
) WITH (fillfactor = 50);
