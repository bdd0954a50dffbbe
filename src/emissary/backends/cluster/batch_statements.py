"""The statements of batches and their ledgers on PostgreSQL, each with a sentence."""

__all__ = [
    "ADMIT",
    "ADVANCE",
    "ALL_TOLD",
    "BATCH",
    "BLOCK",
    "COMPLETE",
    "DROP_ITEMS_OF",
    "DROP_MISSES",
    "ENDED",
    "ENDED_SO",
    "END_JOBS",
    "FINISHED",
    "FORGET_RESULTS",
    "HALTED",
    "HEAR",
    "LINES",
    "LINES_AT",
    "LOCK_BATCH",
    "LOST",
    "MAKE_NEW",
    "MARK",
    "MISSES",
    "NEXT_JOBS",
    "OF_ACCOUNT",
    "OPEN",
    "REOPEN",
    "RERANK_ITEMS",
    "RERANK_JOBS",
    "SEAL",
    "TIDIED",
    "UNTIDY",
    "WAIT_FOR_ENDS",
    "WAS_ADMITTED",
]

# A batch and its flow begin together.
OPEN = """
WITH flow AS (
    INSERT INTO flows (key, tenant) SELECT $1, id FROM tenants WHERE account = $2 RETURNING id)
INSERT INTO batches (id, flow, account, kind, name, "order", priority, state, created_at, heard_at)
SELECT $1, flow.id, $2, $3, $4, $5, $6, 'running', $7, $7 FROM flow
"""

SEAL = "UPDATE batches SET sealed = true WHERE id = $1"

# More may still come into the batch, unless it has ended.
HEAR = """
UPDATE batches SET heard_at = greatest(heard_at, $2) WHERE id = $1 AND state IN ('running', 'paused')
"""

# Batches into which nothing has come for long, though nobody said that it was all.
LOST = """
SELECT id FROM batches WHERE NOT sealed AND finished_at IS NULL AND heard_at < $1 ORDER BY heard_at LIMIT $2
"""

# A batch with its counts: one row per process that ever settled for it, and what is in hand at this moment.
BATCH = """
SELECT batches.*, flows.submitted, tally.*,
    (SELECT count(*) FROM lanes JOIN items ON items.lane = lanes.id
        AND items.rank BETWEEN lanes.low_rank AND lanes.taken_rank
     WHERE lanes.holder IS NOT NULL AND items.flow = batches.flow AND items.not_before <= lanes.taken_at) AS active,
    (SELECT max(jobs.finished_at) FROM jobs
     WHERE batches.finished_at IS NULL AND batches.sealed AND tally.ended = flows.submitted
        AND jobs.flow = batches.flow AND jobs.position >= 0) AS last_end,
    (SELECT json_object_agg(code, number)::text FROM (
        SELECT code, sum(number)::bigint AS number FROM outcomes WHERE outcomes.flow = batches.flow
        GROUP BY code HAVING sum(number) > 0) AS by_code) AS outcomes
FROM batches JOIN flows ON flows.id = batches.flow CROSS JOIN LATERAL (
    SELECT coalesce(sum(completed), 0)::bigint AS completed, coalesce(sum(refused), 0)::bigint AS refused,
        coalesce(sum(failed), 0)::bigint AS failed, coalesce(sum(cancelled), 0)::bigint AS cancelled,
        coalesce(sum(cached), 0)::bigint AS cached, coalesce(sum(credits), 0)::bigint AS credits,
        coalesce(sum(completed + refused + failed + cancelled), 0)::bigint AS ended
    FROM tallies WHERE tallies.flow = batches.flow) AS tally
"""

OF_ACCOUNT = f"""
{BATCH}
WHERE batches.account = $1 AND ($2::text IS NULL OR batches.id < $2) ORDER BY batches.id DESC LIMIT $3
"""

# Those of which nothing more is to begin.
HALTED = "SELECT id FROM batches WHERE id = ANY ($1::text[]) AND state IN ('paused', 'cancelled')"

LOCK_BATCH = """
SELECT batches.*, flows.submitted FROM batches JOIN flows ON flows.id = batches.flow WHERE batches.id = $1
FOR UPDATE OF batches
"""

ENDED = "SELECT coalesce(sum(completed + refused + failed + cancelled), 0) FROM tallies WHERE flow = $1"

# Those who are just ending some of the batch are waited for: what they write is there before the batch is cancelled.
WAIT_FOR_ENDS = "SELECT pg_advisory_xact_lock(7733, $1::integer)"

# From here on nothing of a paused or cancelled flow is handed out, and nothing of a cancelled one is settled.
# One that runs again begins at the clock: all that is left of it gets new turns, and it has saved up none.
BLOCK = """
UPDATE flows SET blocked = $2::smallint,
    last = CASE WHEN $2::smallint = 0 THEN (SELECT last_value FROM fair_clock) ELSE last END
WHERE id = $1
"""

MARK = "UPDATE batches SET state = $2, finished_at = $3, reason = $4, tidied_to = -1 WHERE id = $1"

WAS_ADMITTED = "SELECT EXISTS (SELECT 1 FROM marks WHERE flow = $1 AND mark = $2)"

# Jobs that were let in are marked like pages that were seen: both have names of 128 bits.
ADMIT = """
WITH counted AS (UPDATE batches SET admitted = admitted + 1 WHERE id = $1)
INSERT INTO marks (flow, mark) VALUES ($2, $3)
"""

UNTIDY = "SELECT id FROM batches WHERE tidied_to IS NOT NULL ORDER BY id"

TIDIED = "UPDATE batches SET tidied_to = $2 WHERE id = $1"

# Batches are completed once they are sealed and everything in them has ended; somebody may want to be told.
COMPLETE = """
WITH ended AS (
    UPDATE batches SET state = 'completed', finished_at = $1
    FROM flows WHERE flows.id = batches.flow AND batches.finished_at IS NULL AND batches.sealed
        AND batches.state IN ('running', 'paused') AND batches.tidied_to IS NULL
        AND flows.submitted = (
            SELECT coalesce(sum(completed + refused + failed + cancelled), 0) FROM tallies WHERE flow = batches.flow)
    RETURNING batches.id, batches.account)
INSERT INTO happenings (event, subject, account, at) SELECT 'batch.completed', id, account, $1 FROM ended
"""

# The next jobs of a batch, whether they are still open, and whether somebody has them in hand.
NEXT_JOBS = """
SELECT jobs.id, jobs.lane, jobs.rank, jobs.position, jobs.state = 0 AS open,
    coalesce(lanes.holder IS NOT NULL AND jobs.rank <= lanes.taken_rank AND EXISTS (
        SELECT 1 FROM items WHERE items.lane = jobs.lane AND items.rank = jobs.rank AND items.job = jobs.id
            AND items.not_before <= lanes.taken_at), false) AS in_hand
FROM jobs JOIN lanes ON lanes.id = jobs.lane
WHERE jobs.flow = $1 AND position >= 0 AND position > $2 ORDER BY position LIMIT $3
"""

END_JOBS = """
UPDATE jobs SET state = 3, finished_at = $2 WHERE id = ANY ($1::uuid[]) AND state = 0 RETURNING id
"""

DROP_ITEMS_OF = """
DELETE FROM items USING jobs WHERE jobs.id = ANY ($1::uuid[])
    AND items.lane = jobs.lane AND items.rank = jobs.rank AND items.job = jobs.id
"""

RERANK_ITEMS = """
UPDATE items SET rank = given.new
FROM unnest($1::uuid[], $2::integer[], $3::bigint[], $4::bigint[]) AS given (job, lane, old, new)
WHERE items.lane = given.lane AND items.rank = given.old AND items.job = given.job
RETURNING items.job, items.lane, items.rank
"""

RERANK_JOBS = """
UPDATE jobs SET rank = given.rank FROM unnest($1::uuid[], $2::bigint[]) AS given (id, rank) WHERE jobs.id = given.id
"""

# Turns of a flow that has been away: it begins at the clock.
ADVANCE = """
UPDATE flows SET last = greatest(flows.last, (SELECT last_value FROM fair_clock)) + $2 * greatest(
        floor($3::float8 / (SELECT weight FROM tenants WHERE tenants.id = flows.tenant)), 1)::bigint
WHERE id = $1
RETURNING last - $2 * greatest(
        floor($3::float8 / (SELECT weight FROM tenants WHERE tenants.id = flows.tenant)), 1)::bigint,
    greatest(floor($3::float8 / (SELECT weight FROM tenants WHERE tenants.id = flows.tenant)), 1)::bigint
"""

ENDED_SO = """
SELECT id, lane, rank, state, outcome FROM jobs WHERE flow = $1 AND position >= 0 AND state = ANY ($2::smallint[])
ORDER BY position LIMIT $3 FOR UPDATE
"""

REOPEN = """
UPDATE batches SET state = 'running', finished_at = NULL, tidied_to = NULL WHERE id = $1
"""

FORGET_RESULTS = "DELETE FROM results WHERE job = ANY ($1::uuid[])"

# The job stays where its way has led it, and so it keeps its trail: without it, it would ask another host from there.
MAKE_NEW = """
UPDATE jobs SET state = 0, failures = 0, deaths = 0, trial = 0, started_at = NULL, finished_at = NULL, outcome = NULL
WHERE id = ANY ($1::uuid[])
"""

_SHOWN = """
SELECT jobs.id, jobs.position, jobs."order", jobs.failures, jobs.outcome, lanes.key AS lane_key,
    CASE jobs.state
        WHEN 1 THEN 'completed' WHEN 2 THEN 'failed' WHEN 3 THEN 'cancelled' WHEN 4 THEN 'refused'
        ELSE CASE
            WHEN flows.blocked = 2 THEN 'cancelled'
            WHEN lanes.holder IS NOT NULL AND items.rank <= lanes.taken_rank AND items.not_before <= lanes.taken_at
                THEN 'active'
            ELSE 'waiting' END
        END AS shown,
    coalesce(jobs.finished_at, CASE WHEN flows.blocked = 2 THEN batches.finished_at END) AS finished_at
"""

# The ledger in the order of positions.
LINES = f"""
SELECT * FROM (
    {_SHOWN}
    FROM batches JOIN flows ON flows.id = batches.flow JOIN jobs ON jobs.flow = batches.flow
    JOIN lanes ON lanes.id = jobs.lane
    LEFT JOIN items ON items.lane = jobs.lane AND items.rank = jobs.rank AND items.job = jobs.id
    WHERE batches.id = $1 AND jobs.position >= 0 AND jobs.position > $2
    ORDER BY jobs.position
) AS ledger WHERE $4::text[] IS NULL OR shown = ANY ($4) LIMIT $3
"""

# Of the ledger what stands at these positions.
LINES_AT = f"""
{_SHOWN}
FROM batches JOIN flows ON flows.id = batches.flow
JOIN jobs ON jobs.flow = batches.flow AND jobs.position >= 0 AND jobs.position = ANY ($2::integer[])
JOIN lanes ON lanes.id = jobs.lane
LEFT JOIN items ON items.lane = jobs.lane AND items.rank = jobs.rank AND items.job = jobs.id
WHERE batches.id = $1
"""

# Which of these marks the account asked for in vain.
MISSES = """
SELECT mark, code FROM misses
WHERE tenant = (SELECT id FROM tenants WHERE account = $1) AND mark = ANY ($2::uuid[]) AND until > $3
"""

DROP_MISSES = """
DELETE FROM misses WHERE (tenant, mark) IN (
    SELECT tenant, mark FROM misses WHERE until <= $1 ORDER BY until LIMIT $2 FOR UPDATE SKIP LOCKED)
"""

# Results in the order in which they were written, but for those that a transaction still at work may precede.
# None was written by a transaction that others before it may still be running beside.
ALL_TOLD = """
SELECT NOT EXISTS (
    SELECT 1 FROM batches JOIN results ON results.flow = batches.flow
    WHERE batches.id = $1 AND results.written_by >= pg_snapshot_xmin(pg_current_snapshot()))
"""

FINISHED = f"""
{_SHOWN}, results.body, results.blob, results.written_by::text AS written_by
FROM batches JOIN flows ON flows.id = batches.flow JOIN results ON results.flow = batches.flow
JOIN jobs ON jobs.id = results.job JOIN lanes ON lanes.id = jobs.lane
LEFT JOIN items ON false
WHERE batches.id = $1 AND results.written_by IS NOT NULL
    AND (results.written_by, results.job) > ($2::text::xid8, $3::uuid)
    AND results.written_by < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY results.written_by, results.job LIMIT $4
"""
