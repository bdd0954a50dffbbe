-- Webhooks of accounts. The secret is sealed; events have spaces between them, and none is all that refers to it.
CREATE TABLE webhooks (
    id          text COLLATE "C" PRIMARY KEY,
    account     text NOT NULL,
    url         text NOT NULL,
    events      text NOT NULL,
    description text,
    active      boolean NOT NULL,
    disabled    text,
    sealed      bytea NOT NULL,
    created_at  bigint NOT NULL
);

CREATE INDEX webhooks_of_account ON webhooks (account, id);

-- Deliveries, in the order in which they were made; each is a job as well. line is what it must stay in order with, as
-- long as that matters. webhook is NULL where the receiver was given with the job itself.
CREATE TABLE deliveries (
    number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job        uuid NOT NULL UNIQUE,
    webhook    text,
    event      text NOT NULL,
    type       text NOT NULL,
    line       text COLLATE "C",
    attempts   integer NOT NULL DEFAULT 0,
    status     integer,
    detail     text,
    tried_at   bigint,
    next_at    bigint,
    replayed   boolean NOT NULL DEFAULT false,
    created_at bigint NOT NULL
);

CREATE INDEX deliveries_of_webhook ON deliveries (webhook, number) WHERE webhook IS NOT NULL;
CREATE INDEX deliveries_in_line ON deliveries (line, number) WHERE line IS NOT NULL;
CREATE INDEX deliveries_by_age ON deliveries (created_at);

-- What the store itself brought about, and of which nobody has been told yet.
CREATE TABLE happenings (
    number  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event   text NOT NULL,
    subject text NOT NULL,
    account text NOT NULL,
    at      bigint NOT NULL
);
