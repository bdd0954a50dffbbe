"""The statements of the lanes on PostgreSQL, each with a sentence. Lists go in as arrays.

In READ COMMITTED every statement sees what was committed before it began. So whoever changes what stands in a lane
locks the lane in one statement and looks at its items in a later one; a single statement that did both could mark a
lane empty while an item for it is being committed. Lanes are always locked in the order of their ids, and missing ones
are made before any is locked: so nobody waits in a circle.
"""

__all__ = [
    "ACCEPT_JOBS",
    "ADVANCE_FLOWS",
    "BATCHES_OF_FLOWS",
    "BLAME",
    "BLAME_SUSPECTS",
    "CANCEL_JOBS",
    "CLOCK",
    "DROP_ITEMS",
    "END_POISON",
    "FLOWS_BY_ID",
    "FORSAKE",
    "FRONT",
    "HELD_LANES",
    "HOLD",
    "JOBS_TO_CANCEL",
    "KEEP_RESULTS",
    "LINE_UP",
    "LOCK_LANES",
    "LOCK_LANES_BY_ID",
    "MAKE_FLOWS",
    "MAKE_LANES",
    "MAKE_TENANTS",
    "MARK",
    "MOVE_CLOCK",
    "MOVE_JOBS",
    "NEXT_ITEMS",
    "NEXT_READY_AT",
    "NOTE_TAKEN",
    "NOTE_USAGE",
    "PICK_READY",
    "PLACE",
    "POSTPONE_ITEMS",
    "POSTPONE_JOBS",
    "RELEASE",
    "REMOVE_ITEMS",
    "RENEW",
    "SETTLE_JOBS",
    "STILL_HELD",
    "TALLY",
    "TRY_OUT",
    "WAKE",
]

_BLOCKED = "(SELECT id FROM flows WHERE blocked > 0)"

# The first item of a lane whose time has come; where there is none, the one whose time comes first.
_FRONT_OF_EACH = f"""LEFT JOIN LATERAL (
        SELECT items.rank, items.flow FROM items
        WHERE items.lane = {{lane}} AND items.not_before <= {{now}} AND items.flow NOT IN {_BLOCKED}
        ORDER BY items.rank, items.job LIMIT 1) AS front ON true
    LEFT JOIN LATERAL (
        SELECT items.rank, items.flow, items.not_before FROM items
        WHERE front.rank IS NULL AND items.lane = {{lane}} AND items.flow NOT IN {_BLOCKED}
        ORDER BY items.not_before LIMIT 1) AS sleeper ON true
    LEFT JOIN flows ON flows.id = coalesce(front.flow, sleeper.flow)"""

# An account has a number from its first job on.
MAKE_TENANTS = """
INSERT INTO tenants (account) SELECT DISTINCT account FROM unnest($1::text[]) AS given (account) ORDER BY account
ON CONFLICT (account) DO NOTHING
"""

# A flow begins with its first job; a batch's flow is made when the batch is opened.
MAKE_FLOWS = """
INSERT INTO flows (key, tenant)
SELECT given.key, tenants.id FROM unnest($1::text[], $2::text[]) AS given (key, account)
JOIN tenants ON tenants.account = given.account ORDER BY given.key
ON CONFLICT (key) DO NOTHING
"""

# Give out so many turns of each flow: a flow that was idle begins at the clock, and none is given of a cancelled one.
ADVANCE_FLOWS = """
WITH asked AS (
    SELECT flows.id, given.count, given.key,
        greatest(floor($3::float8 * greatest(given.sharing, 1) / tenants.weight), 1)::bigint AS step
    FROM unnest($1::text[], $2::integer[], $4::integer[]) AS given (key, count, sharing)
    JOIN flows ON flows.key = given.key JOIN tenants ON tenants.id = flows.tenant
    WHERE flows.blocked < 2
    ORDER BY flows.id FOR UPDATE OF flows)
UPDATE flows SET last = greatest(flows.last, (SELECT last_value FROM fair_clock)) + asked.count * asked.step,
    submitted = submitted + asked.count
FROM asked WHERE flows.id = asked.id
RETURNING flows.key, flows.id, flows.last - asked.count * asked.step AS first, asked.step,
    (flows.submitted - asked.count)::integer AS position
"""

# Whose these flows are.
FLOWS_BY_ID = """
SELECT flows.id, flows.key, tenants.id, tenants.account FROM flows JOIN tenants ON tenants.id = flows.tenant
WHERE flows.id = ANY ($1::integer[])
"""

# How many running batches the accounts of these batches have, and whether other accounts have any.
BATCHES_OF_FLOWS = """
SELECT own.id, own.state,
    (SELECT count(*) FROM batches AS mine WHERE mine.account = own.account AND mine.finished_at IS NULL
        AND mine.state = 'running') AS mine,
    EXISTS (SELECT 1 FROM batches AS others WHERE others.account <> own.account AND others.finished_at IS NULL
        AND others.state = 'running') AS others,
    own.sealed
FROM batches AS own WHERE own.id = ANY ($1::text[])
"""

# Note what a batch has seen; what it had seen before is not returned.
MARK = """
INSERT INTO marks (flow, mark)
SELECT flows.id, given.mark FROM unnest($1::text[], $2::uuid[]) AS given (key, mark) JOIN flows ON flows.key = given.key
ORDER BY 1, 2
ON CONFLICT DO NOTHING RETURNING (SELECT key FROM flows WHERE flows.id = flow), mark
"""

# A lane is made when its first item comes.
MAKE_LANES = """
INSERT INTO lanes (key) SELECT key FROM unnest($1::text[]) AS given (key)
WHERE NOT EXISTS (SELECT 1 FROM lanes WHERE lanes.key = given.key) ORDER BY key
ON CONFLICT (key) DO NOTHING
"""

# Nobody else changes these lanes, or what stands in them, until we have committed.
LOCK_LANES = """
SELECT lanes.key, lanes.id, lanes.fence, lanes.holder IS NOT NULL AS held, lanes.state, lanes.rank
FROM unnest($1::text[]) AS given (key) JOIN lanes ON lanes.key = given.key ORDER BY lanes.id FOR UPDATE OF lanes
"""

LOCK_LANES_BY_ID = """
SELECT id FROM lanes WHERE id = ANY ($1::integer[]) ORDER BY id FOR UPDATE
"""

# Write new jobs into the ledger.
ACCEPT_JOBS = """
INSERT INTO jobs (id, created_at, rank, lane, flow, position, kind, "order")
SELECT id, $8, rank, lane, flow, position, kind, "order"
FROM unnest($1::uuid[], $2::bigint[], $3::integer[], $4::integer[], $5::integer[], $6::text[], $7::bytea[])
    AS given (id, rank, lane, flow, position, kind, "order")
"""

# Put items at their place in line.
LINE_UP = """
INSERT INTO items (lane, flow, rank, not_before, job)
SELECT * FROM unnest($1::integer[], $2::integer[], $3::bigint[], $4::bigint[], $5::uuid[])
"""

# Lanes that nobody holds take the state that follows from their items: ready, waiting (until when, and why) or empty.
PLACE = f"""
UPDATE lanes SET
    rank = coalesce(placed.rank, lanes.rank), band = coalesce(placed.rank & 3, lanes.band),
    flow = coalesce(placed.flow, lanes.flow), tenant = coalesce(placed.tenant, lanes.tenant),
    ready_at = greatest(rest_until, coalesce(placed.later, 0),
        CASE WHEN lanes.state = 1 AND placed.rank IS NOT NULL THEN lanes.ready_at ELSE $2 END),
    state = CASE
        WHEN placed.rank IS NULL THEN 0
        WHEN greatest(rest_until, coalesce(placed.later, 0)) <= $2 THEN 1
        ELSE 2 END,
    reason = CASE WHEN coalesce(placed.later, 0) > rest_until THEN 'back_off' ELSE coalesce(reason, 'gap') END
FROM (
    SELECT given.id, coalesce(front.rank, sleeper.rank) AS rank, coalesce(front.flow, sleeper.flow) AS flow,
        flows.tenant, CASE WHEN front.rank IS NULL THEN sleeper.not_before END AS later
    FROM unnest($1::integer[]) AS given (id)
    {_FRONT_OF_EACH.format(lane="given.id", now="$2")}
) AS placed
WHERE lanes.id = placed.id AND lanes.holder IS NULL AND lanes.state <> 3
"""

# Give lanes back, and place them, in one change of their rows. They are locked, and their fences have been compared.
RELEASE = f"""
UPDATE lanes SET
    holder = NULL, strikes = given.strikes, stretch = given.stretch, gap_ms = coalesce(given.gap_ms, lanes.gap_ms),
    rest_until = greatest(lanes.rest_until, given.rest_until),
    rank = coalesce(given.front, lanes.rank), band = coalesce(given.front & 3, lanes.band),
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
    SELECT told.*, coalesce(front.rank, sleeper.rank) AS front, coalesce(front.flow, sleeper.flow) AS flow,
        flows.tenant, CASE WHEN front.rank IS NULL THEN sleeper.not_before END AS later
    FROM unnest($1::integer[], $2::bigint[], $3::text[], $4::integer[], $5::real[], $6::smallint[])
        AS told (id, rest_until, reason, gap_ms, stretch, strikes)
    {_FRONT_OF_EACH.format(lane="told.id", now="$7")}
) AS given
WHERE lanes.id = given.id
"""

# Waiting lanes whose time has come become ready; a lease that ran out is given up with it.
WAKE = """
UPDATE lanes SET state = 1, holder = NULL, reason = NULL
WHERE id IN (SELECT id FROM lanes WHERE state = 2 AND ready_at <= $1 ORDER BY ready_at LIMIT 10000
             FOR UPDATE SKIP LOCKED)
"""

# The first ready lanes over all accounts that may have more in hand, and over all bands.
PICK_READY = f"""
WITH RECURSIVE payers (tenant) AS (
    (SELECT tenant FROM lanes WHERE state = 1 ORDER BY tenant LIMIT 1)
    UNION ALL
    SELECT (SELECT lanes.tenant FROM lanes WHERE state = 1 AND lanes.tenant > payers.tenant
            ORDER BY lanes.tenant LIMIT 1)
    FROM payers WHERE payers.tenant IS NOT NULL
), room (tenant, most) AS (
    SELECT payers.tenant, CASE WHEN tenants.most_active IS NULL THEN $1::integer ELSE least($1::integer, greatest(
        tenants.most_active - (SELECT count(*) FROM lanes WHERE holder IS NOT NULL AND tenant = payers.tenant), 0)) END
    FROM payers JOIN tenants ON tenants.id = payers.tenant
), ranked AS (
    SELECT found.id, found.rank, found.flow,
        row_number() OVER (PARTITION BY room.tenant ORDER BY found.rank) AS place, room.most
    FROM room CROSS JOIN unnest($2::smallint[]) AS bands (band) CROSS JOIN LATERAL (
        SELECT id, rank, flow FROM lanes
        WHERE state = 1 AND tenant = room.tenant AND lanes.band = bands.band AND flow NOT IN {_BLOCKED}
        ORDER BY rank LIMIT room.most FOR UPDATE SKIP LOCKED) AS found
)
SELECT id, rank, flow FROM ranked WHERE place <= most ORDER BY rank, id LIMIT $1
"""

# Lease the lanes; the fence grows with every lease.
HOLD = """
UPDATE lanes SET state = 2, ready_at = $3, holder = $4, fence = fence + 1, reason = 'leased', taken_rank = given.taken,
    taken_at = $5
FROM unnest($1::integer[], $2::bigint[]) AS given (id, taken) WHERE lanes.id = given.id
RETURNING lanes.id, key, fence, gap_ms, stretch, strikes, rank
"""

# How many lanes are in somebody's hands.
HELD_LANES = "SELECT count(*) FROM lanes WHERE holder IS NOT NULL"

# The very front of all ready lanes but these.
FRONT = f"""
WITH RECURSIVE payers (tenant) AS (
    (SELECT tenant FROM lanes WHERE state = 1 ORDER BY tenant LIMIT 1)
    UNION ALL
    SELECT (SELECT lanes.tenant FROM lanes WHERE state = 1 AND lanes.tenant > payers.tenant
            ORDER BY lanes.tenant LIMIT 1)
    FROM payers WHERE payers.tenant IS NOT NULL
)
SELECT found.rank, found.flow
FROM payers CROSS JOIN generate_series(0, 3) AS bands (band) CROSS JOIN LATERAL (
    SELECT rank, flow FROM lanes
    WHERE state = 1 AND tenant = payers.tenant AND lanes.band = bands.band AND id <> ALL ($1::integer[])
        AND flow NOT IN {_BLOCKED}
    ORDER BY rank LIMIT 1) AS found
ORDER BY found.rank LIMIT 1
"""

# The next items of each held lane. Beyond the first, which is free for whoever claims the lane, they come as long as
# no other flow stands before them: within the window of the front, or all of the front's own flow.
NEXT_ITEMS = f"""
SELECT held.lane, next.rank, next.job, next.flow, jobs.kind, jobs."order", jobs.failures, jobs.deaths, jobs.created_at,
    jobs.trail
FROM unnest($1::integer[], $2::integer[]) AS held (lane, most) CROSS JOIN LATERAL (
    SELECT rank, job, flow FROM (
        SELECT rank, job, flow, bool_and(flow = $5::integer) OVER line AS alone, row_number() OVER line AS place
        FROM (
            SELECT rank, job, flow FROM items
            WHERE items.lane = held.lane AND not_before <= $3 AND flow NOT IN {_BLOCKED}
            ORDER BY rank, job LIMIT held.most) AS first
        WINDOW line AS (ORDER BY rank, job)) AS ranked
    WHERE $4::bigint IS NULL OR rank <= $4 OR alone OR (place = 1 AND $6::boolean)) AS next
JOIN jobs ON jobs.id = next.job
"""

# Note how far into their lanes the holders have got.
NOTE_TAKEN = """
UPDATE lanes SET taken_rank = greatest(lanes.taken_rank, given.rank), taken_at = $3
FROM unnest($1::integer[], $2::bigint[]) AS given (id, rank) WHERE lanes.id = given.id
"""

# When the next waiting lane will be ready.
NEXT_READY_AT = "SELECT ready_at FROM lanes WHERE state = 2 ORDER BY ready_at LIMIT 1"

CLOCK = "SELECT last_value FROM fair_clock"

# The clock only goes forward.
MOVE_CLOCK = "SELECT setval('fair_clock', greatest(last_value, $1)) FROM fair_clock"

# Which of these lanes are still held under the fence that goes with them.
STILL_HELD = """
SELECT lanes.key, lanes.id FROM unnest($1::text[], $2::integer[]) AS given (key, fence)
JOIN lanes ON lanes.key = given.key AND lanes.fence = given.fence WHERE lanes.holder IS NOT NULL
ORDER BY lanes.id
"""

# Hold lanes for longer.
RENEW = """
UPDATE lanes SET ready_at = $3
FROM (SELECT lanes.id FROM unnest($1::text[], $2::integer[]) AS given (key, fence)
      JOIN lanes ON lanes.key = given.key AND lanes.fence = given.fence WHERE lanes.holder IS NOT NULL
      ORDER BY lanes.id FOR UPDATE OF lanes) AS ours
WHERE lanes.id = ours.id RETURNING lanes.key
"""

# Take items out of their lane, unless their batch was cancelled.
REMOVE_ITEMS = """
DELETE FROM items USING unnest($1::integer[], $2::bigint[], $3::uuid[]) AS given (lane, rank, job)
WHERE items.lane = given.lane AND items.rank = given.rank AND items.job = given.job
    AND NOT EXISTS (SELECT 1 FROM flows WHERE flows.id = items.flow AND flows.blocked = 2)
RETURNING items.job, items.flow
"""

# Write the final state of jobs.
SETTLE_JOBS = """
UPDATE jobs SET state = done.state, started_at = done.started_at, finished_at = $6, failures = done.failures,
    outcome = done.outcome
FROM unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::smallint[], $5::bytea[])
    AS done (id, state, started_at, failures, outcome)
WHERE jobs.id = done.id
"""

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

# Count what accounts used, in our own shard.
NOTE_USAGE = """
INSERT INTO usage AS old (day, tenant, kind, shard, jobs, credits)
SELECT $1::date, tenant, kind, $2, jobs, credits
FROM unnest($3::integer[], $4::text[], $5::bigint[], $6::bigint[]) AS more (tenant, kind, jobs, credits)
ORDER BY tenant, kind
ON CONFLICT (day, tenant, kind, shard) DO UPDATE SET jobs = old.jobs + excluded.jobs,
    credits = old.credits + excluded.credits
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
SELECT id, fence, taken_rank, coalesce(gap_ms, 0) AS gap_ms, stretch, strikes FROM lanes
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
RETURNING jobs.id, jobs.deaths, jobs.lane, jobs.rank, jobs.flow
"""

# A job that killed three workers has ended.
END_POISON = """
UPDATE jobs SET state = 2, finished_at = $2, outcome = $3 WHERE id = ANY ($1::uuid[]) AND state = 0
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
