-- What was answered under an Idempotency-Key, and until when that holds. place is the digest of path and key, asked that
-- of the body. Until there is an answer (sealed), the key is in the hands of the request with this token.
CREATE TABLE first_answers (
    account TEXT NOT NULL,
    place   BLOB NOT NULL,
    route   TEXT NOT NULL,
    token   BLOB NOT NULL,
    until   INTEGER NOT NULL,
    asked   BLOB,
    status  INTEGER,
    sealed  BLOB,
    PRIMARY KEY (account, place)
) STRICT;

CREATE INDEX first_answers_by_age ON first_answers (until);
