-- Who leads, by the clock of the database. One row; the term grows with every change of leader. The term is unique, so
-- that changing it has to wait for those who lock its key, and renewing the lease has not.
CREATE TABLE leadership (
    id     integer PRIMARY KEY CHECK (id = 1),
    term   bigint NOT NULL UNIQUE,
    leader text,
    until  timestamptz NOT NULL
) WITH (fillfactor = 10);

INSERT INTO leadership (id, term, leader, until) VALUES (1, 0, NULL, '-infinity');

-- A schedule comes due by a cron expression, or at even distances from its first moment.
CREATE TABLE schedules (
    id         text COLLATE "C" PRIMARY KEY,
    account    text COLLATE "C" NOT NULL,
    kind       text NOT NULL,
    lane       text NOT NULL,
    "order"    bytea NOT NULL,
    priority   text NOT NULL,
    cron       text,
    every_ms   bigint,
    first_at   bigint,
    zone       text NOT NULL,
    catch_up   text NOT NULL,
    created_at bigint NOT NULL,
    next_at    bigint NOT NULL,
    CHECK (CASE WHEN cron IS NULL THEN every_ms IS NOT NULL AND first_at IS NOT NULL ELSE every_ms IS NULL END)
) WITH (fillfactor = 70);

CREATE INDEX schedules_due ON schedules (next_at);
CREATE INDEX schedules_of_account ON schedules (account, id);

-- What was fired: no moment of a schedule is in here twice.
CREATE TABLE firings (
    schedule text COLLATE "C" NOT NULL,
    fire_at  bigint NOT NULL,
    job      uuid NOT NULL,
    PRIMARY KEY (schedule, fire_at)
);

CREATE INDEX firings_by_age ON firings (fire_at);

CREATE TABLE alerts (
    event   text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    at      bigint NOT NULL,
    PRIMARY KEY (event, subject)
);

CREATE INDEX alerts_by_age ON alerts (at);

-- Results whose bodies are objects: those are deleted before their rows are.
CREATE INDEX results_with_blob ON results (job) WHERE blob IS NOT NULL;
