-- Who leads. One row; the term grows with every change of leader.
CREATE TABLE leadership (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    term   INTEGER NOT NULL,
    leader TEXT,
    until  INTEGER NOT NULL
) STRICT;

INSERT INTO leadership (id, term, leader, until) VALUES (1, 0, NULL, 0);

-- A schedule comes due by a cron expression, or at even distances from its first moment.
CREATE TABLE schedules (
    id         TEXT PRIMARY KEY,
    account    TEXT NOT NULL,
    kind       TEXT NOT NULL,
    lane       TEXT NOT NULL,
    "order"    BLOB NOT NULL,
    priority   TEXT NOT NULL,
    cron       TEXT,
    every_ms   INTEGER,
    first_at   INTEGER,
    zone       TEXT NOT NULL,
    catch_up   TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    next_at    INTEGER NOT NULL,
    CHECK (CASE WHEN cron IS NULL THEN every_ms IS NOT NULL AND first_at IS NOT NULL ELSE every_ms IS NULL END)
) STRICT, WITHOUT ROWID;

CREATE INDEX schedules_due ON schedules (next_at);
CREATE INDEX schedules_of_account ON schedules (account, id);

-- What was fired: no moment of a schedule is in here twice.
CREATE TABLE firings (
    schedule TEXT NOT NULL,
    fire_at  INTEGER NOT NULL,
    job      TEXT NOT NULL,
    PRIMARY KEY (schedule, fire_at)
) STRICT, WITHOUT ROWID;

CREATE INDEX firings_by_age ON firings (fire_at);

CREATE TABLE alerts (
    event   TEXT NOT NULL,
    subject TEXT NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (event, subject)
) STRICT, WITHOUT ROWID;

CREATE INDEX alerts_by_age ON alerts (at);

-- Results whose bodies are objects: those are deleted before their rows are.
CREATE INDEX results_with_blob ON results (job) WHERE blob IS NOT NULL;

-- From now on ready_at of an empty lane is the moment it became so. Of those that are empty already it is not known.
UPDATE lanes SET ready_at = max(ready_at, CAST(strftime('%s', 'now') AS INTEGER) * 1000) WHERE state = 'empty';
