"""The statements that end items and give lanes back, on PostgreSQL, each with a sentence. Lists go in as arrays."""

from emissary.backends.cluster.statements import BAND, FRONT_OF_EACH

__all__ = [
    "ANY_CANCELLED",
    "BLAME",
    "BLAME_SUSPECTS",
    "CANCEL_JOBS",
    "COUNT_OUTCOMES",
    "DROP_ITEMS",
    "END_POISON",
    "FORSAKE",
    "HAPPEN",
    "JOBS_TO_CANCEL",
    "KEEP_MISSES",
    "KEEP_RESULTS",
    "KINDS",
    "MOVE_JOBS",
    "POSTPONE_ITEMS",
    "POSTPONE_JOBS",
    "RELEASE",
    "REMOVE_ITEMS",
    "SETTLE_JOBS",
    "SHARE_FLOWS",
    "STANDING",
    "TALLY",
    "TRY_OUT",
]

# Give lanes back, and place them, in one change of their rows. They are locked, so they are found by their
# place, and their fences have been compared. Any bound is right of an empty lane; what comes next comes after what was
# taken, nearly always.
RELEASE = f"""
UPDATE lanes SET
    holder = NULL, strikes = given.strikes, stretch = given.stretch, gap_ms = coalesce(given.gap_ms, lanes.gap_ms),
    rest_until = greatest(lanes.rest_until, given.rest_until),
    low_rank = coalesce(given.lowest, greatest(lanes.low_rank, lanes.taken_rank + 1)),
    rank = coalesce(given.front, lanes.rank),
    band = {BAND.format(rank="coalesce(given.front, lanes.rank)", of_batch="given.of_batch")},
    flow = coalesce(given.flow, lanes.flow), tenant = coalesce(given.tenant, lanes.tenant),
    ready_at = greatest(lanes.rest_until, given.rest_until, coalesce(given.later, 0)),
    state = CASE
        WHEN given.front IS NULL THEN 0
        WHEN greatest(lanes.rest_until, given.rest_until, coalesce(given.later, 0)) <= $7 THEN 1
        ELSE 2 END,
    reason = CASE
        WHEN coalesce(given.later, 0) > greatest(lanes.rest_until, given.rest_until) THEN 'back_off'
        ELSE given.reason END
FROM (
    SELECT told.*, coalesce(front.rank, sleeper.rank) AS front, lowest.rank AS lowest,
        coalesce(front.flow, sleeper.flow) AS flow, flow_owners.tenant, flow_owners.of_batch,
        CASE WHEN front.rank IS NULL THEN sleeper.not_before END AS later
    FROM unnest($1::integer[], $2::bigint[], $3::text[], $4::integer[], $5::real[], $6::smallint[], $8::tid[],
        $9::bigint[]) AS told (id, rest_until, reason, gap_ms, stretch, strikes, place, low_rank)
    {FRONT_OF_EACH.format(given="told", now="$7")}
) AS given
WHERE lanes.ctid = given.place AND lanes.id = given.id
"""

# Take items out of their lane, unless their batch was cancelled.
REMOVE_ITEMS = """
DELETE FROM items USING unnest($1::integer[], $2::bigint[], $3::uuid[]) AS given (lane, rank, job)
WHERE items.lane = given.lane AND items.rank = given.rank AND items.job = given.job
    AND NOT EXISTS (SELECT 1 FROM flows WHERE flows.id = items.flow AND flows.blocked = 2)
RETURNING items.job, items.flow, items.rank
"""

# Where jobs stand now that have not ended and are still in these lanes.
STANDING = """
SELECT jobs.lane, jobs.rank, jobs.id FROM unnest($1::integer[], $2::uuid[]) AS given (lane, id)
JOIN jobs ON jobs.id = given.id AND jobs.lane = given.lane WHERE jobs.state = 0
"""

# Whoever cancels a batch, or puts more into a sealed one, waits for those who are just ending some of it, and these for
# him.
SHARE_FLOWS = """
SELECT pg_advisory_xact_lock_shared(7733, id) FROM unnest($1::integer[]) AS given (id) ORDER BY id
"""

ANY_CANCELLED = "SELECT EXISTS (SELECT 1 FROM flows WHERE id = ANY ($1::integer[]) AND blocked = 2)"

# Write the final state of jobs; returns of which kinds they are.
SETTLE_JOBS = """
WITH settled AS (
    UPDATE jobs SET state = done.state, started_at = done.started_at, finished_at = $6, failures = done.failures,
        outcome = done.outcome
    FROM unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::smallint[], $5::bytea[])
        AS done (id, state, started_at, failures, outcome)
    WHERE jobs.id = done.id RETURNING jobs.kind)
SELECT DISTINCT kind FROM settled
"""

KINDS = "SELECT id, kind FROM jobs WHERE id = ANY ($1::uuid[])"

# Keep results beside their jobs; those of a batch in the order in which they are written.
KEEP_RESULTS = """
INSERT INTO results (job, flow, body, blob, written_by)
SELECT job, flow, body, blob, CASE WHEN batch THEN pg_current_xact_id() END
FROM unnest($1::uuid[], $2::integer[], $3::bytea[], $4::text[], $5::boolean[]) AS kept (job, flow, body, blob, batch)
"""

# Count how jobs ended, in our own shard.
TALLY = """
INSERT INTO tallies AS old (flow, shard, completed, refused, failed, cancelled, cached, credits)
SELECT flow, $2, completed, refused, failed, cancelled, cached, credits
FROM unnest($1::integer[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
    AS more (flow, completed, refused, failed, cancelled, cached, credits)
ORDER BY flow
ON CONFLICT (flow, shard) DO UPDATE SET
    completed = old.completed + excluded.completed, refused = old.refused + excluded.refused,
    failed = old.failed + excluded.failed, cancelled = old.cancelled + excluded.cancelled,
    cached = old.cached + excluded.cached, credits = old.credits + excluded.credits
"""

# Count what jobs of batches came to, in our own shard.
COUNT_OUTCOMES = """
INSERT INTO outcomes AS old (flow, code, shard, number)
SELECT flow, code, $2, number FROM unnest($1::integer[], $3::text[], $4::bigint[]) AS more (flow, code, number)
ORDER BY flow, code
ON CONFLICT (flow, code, shard) DO UPDATE SET number = old.number + excluded.number
"""

# Remember what was asked for in vain; whoever does so at the same time takes the rows in the same order.
KEEP_MISSES = """
INSERT INTO misses (tenant, mark, code, until)
SELECT tenant, mark, code, $4 FROM unnest($1::integer[], $2::uuid[], $3::text[]) AS missed (tenant, mark, code)
ORDER BY tenant, mark
ON CONFLICT (tenant, mark) DO UPDATE SET code = excluded.code, until = excluded.until
"""

# Items that are to be tried again later go back into line.
POSTPONE_ITEMS = """
UPDATE items SET not_before = given.until
FROM unnest($1::integer[], $2::bigint[], $3::uuid[], $4::bigint[]) AS given (lane, rank, job, until)
WHERE items.lane = given.lane AND items.rank = given.rank AND items.job = given.job
    AND NOT EXISTS (SELECT 1 FROM flows WHERE flows.id = items.flow AND flows.blocked = 2)
RETURNING items.job
"""

# Note how often a job has failed so far.
POSTPONE_JOBS = """
UPDATE jobs SET failures = given.failures, trial = 0
FROM unnest($1::uuid[], $2::smallint[]) AS given (id, failures) WHERE jobs.id = given.id
"""

# A job goes on in another lane, and takes along what it learned.
MOVE_JOBS = """
UPDATE jobs SET lane = given.lane, trail = given.trail, trial = 0
FROM unnest($1::uuid[], $2::integer[], $3::bytea[]) AS given (id, lane, trail) WHERE jobs.id = given.id
"""

# An item that may have killed a worker is about to be handled under this fence.
TRY_OUT = """
UPDATE jobs SET trial = given.fence
FROM unnest($1::uuid[], $2::integer[]) AS given (id, fence) WHERE jobs.id = given.id AND jobs.state = 0
"""

# The lanes of dead workers, locked. Whoever says so may have been paused since it looked: one that lives keeps its own.
FORSAKE = """
SELECT id, ctid, low_rank, key, fence, taken_rank, coalesce(gap_ms, 0) AS gap_ms, stretch, strikes FROM lanes
WHERE holder = ANY ($1::text[])
    AND NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = holder AND beat_at > now() - interval '30 seconds')
ORDER BY id FOR UPDATE OF lanes
"""

# The first item of each lane that was in hand may have killed its holder; of those, the ones never blamed before.
BLAME = """
UPDATE jobs SET deaths = 1
FROM (
    SELECT front.job FROM unnest($1::integer[], $2::bigint[]) AS held (lane, taken_rank) CROSS JOIN LATERAL (
        SELECT job, rank FROM items WHERE items.lane = held.lane AND not_before <= $3 ORDER BY rank, job LIMIT 1
    ) AS front WHERE front.rank <= held.taken_rank
) AS suspect
WHERE jobs.id = suspect.job AND jobs.deaths = 0
"""

# Items that were on trial when their worker died are to blame.
BLAME_SUSPECTS = """
UPDATE jobs SET deaths = deaths + 1, trial = 0
FROM unnest($1::integer[], $2::integer[]) AS held (lane, fence) JOIN items ON items.lane = held.lane
WHERE jobs.id = items.job AND jobs.trial = held.fence
RETURNING jobs.id, jobs.deaths, jobs.lane, jobs.rank, jobs.flow, jobs.kind
"""

# A job that killed three workers has ended.
END_POISON = """
UPDATE jobs SET state = 2, finished_at = $2, outcome = $3 WHERE id = ANY ($1::uuid[]) AND state = 0
"""

# What the store itself has brought about is kept until somebody was told.
HAPPEN = """
INSERT INTO happenings (event, subject, account, at)
SELECT $1, subject, account, at FROM unnest($2::text[], $3::text[], $4::bigint[]) AS given (subject, account, at)
"""

# Jobs that have not ended, and where they stand.
JOBS_TO_CANCEL = """
SELECT jobs.id, jobs.lane FROM jobs JOIN flows ON flows.id = jobs.flow AND flows.blocked < 2
WHERE jobs.id = ANY ($1::uuid[]) AND state = 0
"""

# End jobs that have not ended.
CANCEL_JOBS = """
UPDATE jobs SET state = 3, finished_at = $2 WHERE id = ANY ($1::uuid[]) AND state = 0
RETURNING id, lane, rank, flow
"""

# Take items out of line, in hand or not.
DROP_ITEMS = """
DELETE FROM items USING unnest($1::integer[], $2::bigint[], $3::uuid[]) AS given (lane, rank, job)
WHERE items.lane = given.lane AND items.rank = given.rank AND items.job = given.job
RETURNING items.job, items.flow
"""
