-- What a key may be used for (scopes with spaces between them), what may be shown of it, and how long it lives. Keys from
-- before were good for everything.
ALTER TABLE keys ADD COLUMN name TEXT NOT NULL DEFAULT 'first';
ALTER TABLE keys ADD COLUMN scopes TEXT NOT NULL DEFAULT 'read write keys admin';
ALTER TABLE keys ADD COLUMN hint TEXT;
ALTER TABLE keys ADD COLUMN expires_at INTEGER;
ALTER TABLE keys ADD COLUMN revoked_at INTEGER;
ALTER TABLE keys ADD COLUMN last_used_at INTEGER;

CREATE INDEX keys_of_account ON keys (account, id);

-- Requests a minute, and how many may come at once, where an account has a rate of its own; and the credits it has left,
-- but for what is still in usage_notes. NULL is no limit.
ALTER TABLE tenants ADD COLUMN rate_per_minute INTEGER;
ALTER TABLE tenants ADD COLUMN rate_burst INTEGER;
ALTER TABLE tenants ADD COLUMN credits INTEGER;

-- The buckets of which processes take slices: what was in one at that moment (in ms).
CREATE TABLE rates (
    account TEXT PRIMARY KEY,
    left_in REAL NOT NULL,
    at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
