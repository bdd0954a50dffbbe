-- What was answered under an Idempotency-Key, and until when that holds. place is the digest of path and key, asked that
-- of the body. Until there is an answer (sealed), the key is in the hands of the request with this token.
CREATE TABLE first_answers (
    account text COLLATE "C" NOT NULL,
    place   bytea NOT NULL,
    route   text NOT NULL,
    token   bytea NOT NULL,
    until   bigint NOT NULL,
    asked   bytea,
    status  integer,
    sealed  bytea,
    PRIMARY KEY (account, place)
) WITH (fillfactor = 80);

-- They are compressed already, so the server need not try.
ALTER TABLE first_answers ALTER COLUMN sealed SET STORAGE EXTERNAL;

CREATE INDEX first_answers_by_age ON first_answers (until);
