-- Names are compared byte by byte ("C"): their order then depends on no locale, and comparing them is cheap.

CREATE TABLE accounts (
    id         text COLLATE "C" PRIMARY KEY,
    name       text NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE TABLE keys (
    id         text COLLATE "C" PRIMARY KEY,
    account    text COLLATE "C" NOT NULL REFERENCES accounts (id),
    digest     bytea NOT NULL UNIQUE,
    created_at timestamptz NOT NULL
);

-- Who works here. beat_at is the database's own clock, so that those of the machines need not agree.
CREATE TABLE workers (
    id      text COLLATE "C" PRIMARY KEY,
    beat_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- Addresses of pages may be longer than an index takes: they are looked for by their SHA-256.
CREATE TABLE robots (
    digest     bytea PRIMARY KEY,
    origin     text NOT NULL,
    status     integer,
    body       bytea NOT NULL,
    fetched_at timestamptz NOT NULL,
    retry_at   timestamptz,
    location   text
);

CREATE INDEX robots_by_age ON robots (fetched_at);

-- Copies of pages: owner '' is everyone. They are compressed already, so the server need not try.
CREATE TABLE pages (
    digest     bytea NOT NULL,
    owner      text COLLATE "C" NOT NULL DEFAULT '',
    url        text NOT NULL,
    fetched_at timestamptz NOT NULL,
    page       bytea NOT NULL,
    PRIMARY KEY (digest, owner)
);

ALTER TABLE pages ALTER COLUMN page SET STORAGE EXTERNAL;

CREATE INDEX pages_by_age ON pages (fetched_at);

CREATE TABLE sessions (
    account    text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    sealed     bytea NOT NULL,
    egress     text,
    version    bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (account, name)
);

CREATE TABLE opt_outs (
    host    text COLLATE "C" PRIMARY KEY,
    at      timestamptz NOT NULL,
    contact text NOT NULL,
    reason  text NOT NULL
);

CREATE TABLE owned_hosts (
    host        text COLLATE "C" PRIMARY KEY,
    gap         interval NOT NULL,
    concurrency integer NOT NULL,
    proven_at   timestamptz NOT NULL
);

CREATE TABLE secrets (
    name   text COLLATE "C" PRIMARY KEY,
    sealed bytea NOT NULL
);
