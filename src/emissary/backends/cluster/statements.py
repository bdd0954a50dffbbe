"""The statements of the lanes on PostgreSQL, each with a sentence. Lists go in as arrays.

In READ COMMITTED every statement sees what was committed before it began. So whoever changes what stands in a lane
locks the lane in one statement and looks at its items in a later one; a single statement that did both could mark a
lane empty while an item for it is being committed. Lanes are always locked in the order of their ids, and missing ones
are made before any is locked: so nobody waits in a circle.
"""

__all__ = [
    "ACCEPT_JOBS",
    "ADVANCE_FLOWS",
    "BAND",
    "BATCHES_OF_FLOWS",
    "BLOCKED",
    "ENDED_BATCHES",
    "FLOWS_BY_ID",
    "FRONT_OF_EACH",
    "HELD_LANES",
    "HOLD_OFF_ENDS",
    "LINE_UP",
    "LOCK_LANES",
    "LOCK_LANES_AT",
    "LOCK_LANES_BY_ID",
    "LOG_DELIVERIES",
    "LOWER",
    "MAKE_FLOWS",
    "MAKE_LANES",
    "MAKE_TENANTS",
    "MARK",
    "MOVE_CLOCK",
    "NEXT_ITEMS",
    "NOTE_TAKEN",
    "NOT_IN_HAND",
    "PLACE",
    "RENEW",
    "STILL_HELD",
]

# What nothing is handed out of.
BLOCKED = "(SELECT id FROM flows WHERE blocked > 0)"

# The first item of a lane whose time has come; where there is none, the one whose time comes first. Nothing stands
# below the lane's bound, and the first of all, free or not, is the next bound. Nearly always it is the front as well,
# and nothing else is looked at.
FRONT_OF_EACH = f"""LEFT JOIN LATERAL (
        SELECT items.rank, items.flow, items.not_before <= {{now}} AND items.flow NOT IN {BLOCKED} AS is_free FROM items
        WHERE items.lane = {{given}}.id AND items.rank >= {{given}}.low_rank
        ORDER BY items.rank, items.job LIMIT 1) AS lowest ON true
    LEFT JOIN LATERAL (
        SELECT lowest.rank, lowest.flow WHERE lowest.is_free
        UNION ALL (
            SELECT items.rank, items.flow FROM items
            WHERE NOT lowest.is_free AND items.lane = {{given}}.id AND items.rank >= lowest.rank
                AND items.not_before <= {{now}} AND items.flow NOT IN {BLOCKED}
            ORDER BY items.rank, items.job LIMIT 1)) AS front ON true
    LEFT JOIN LATERAL (
        SELECT items.rank, items.flow, items.not_before FROM items
        WHERE NOT lowest.is_free AND front.rank IS NULL
            AND items.lane = {{given}}.id AND items.rank >= lowest.rank AND items.flow NOT IN {BLOCKED}
        ORDER BY items.not_before LIMIT 1) AS sleeper ON true
    LEFT JOIN flow_owners ON flow_owners.flow = coalesce(front.flow, sleeper.flow)"""

# The number of `backends.bands`.
BAND = """({rank} & 3) + CASE WHEN lanes.key LIKE 'hook:%' THEN 4 ELSE 0 END
        + CASE WHEN {of_batch} THEN 8 ELSE 0 END"""

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
    SELECT flows.id, given.count, given.key, tenants.most_queued,
        greatest(floor($3::float8 * greatest(given.sharing, 1) / tenants.weight), 1)::bigint AS step
    FROM unnest($1::text[], $2::integer[], $4::integer[]) AS given (key, count, sharing)
    JOIN flows ON flows.key = given.key JOIN tenants ON tenants.id = flows.tenant
    WHERE flows.blocked < 2
    ORDER BY flows.id FOR UPDATE OF flows)
UPDATE flows SET last = greatest(flows.last, (SELECT last_value FROM fair_clock)) + asked.count * asked.step,
    submitted = submitted + asked.count
FROM asked WHERE flows.id = asked.id
RETURNING flows.key, flows.id, flows.last - asked.count * asked.step AS first, asked.step,
    (flows.submitted - asked.count)::integer AS position, asked.most_queued
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

# Those who are just ending some of these batches are waited for, and nobody ends more of them until we have committed.
HOLD_OFF_ENDS = """
SELECT pg_advisory_xact_lock(7733, flow) FROM batches WHERE id = ANY ($1::text[]) ORDER BY flow
"""

# Those of the batches in which everything has ended.
ENDED_BATCHES = """
SELECT batches.id FROM batches JOIN flows ON flows.id = batches.flow
WHERE batches.id = ANY ($1::text[]) AND flows.submitted = (
    SELECT coalesce(sum(completed + refused + failed + cancelled), 0) FROM tallies WHERE tallies.flow = flows.id)
"""

# Note what a batch has seen; what it had seen before is not returned.
MARK = """
INSERT INTO marks (flow, mark)
SELECT flows.id, given.mark FROM unnest($1::text[], $2::uuid[]) AS given (key, mark) JOIN flows ON flows.key = given.key
ORDER BY 1, 2
ON CONFLICT DO NOTHING RETURNING (SELECT key FROM flows WHERE flows.id = flow), mark
"""

_LOCKED = """
    lanes.id, lanes.fence, lanes.holder IS NOT NULL AS held, lanes.state, lanes.rank, lanes.ctid, lanes.low_rank"""

# A lane is made when its first item comes, by whoever gives it its name.
MAKE_LANES = f"""
WITH named AS (
    INSERT INTO lane_names (key) SELECT key FROM unnest($1::text[]) AS given (key)
    WHERE NOT EXISTS (SELECT 1 FROM lane_names WHERE lane_names.key = given.key) ORDER BY key
    ON CONFLICT (key) DO NOTHING RETURNING key)
INSERT INTO lanes (key) SELECT key FROM named ORDER BY key
RETURNING lanes.key, {_LOCKED}
"""

# Nobody else changes these lanes, or what stands in them, until we have committed. The range tells the planner, which
# knows nothing of a table that has just filled up, that there is one lane of each name.
LOCK_LANES = f"""
SELECT lanes.key, {_LOCKED}
FROM unnest($1::text[]) AS given (key) JOIN lanes ON lanes.key = given.key AND lanes.key BETWEEN given.key AND given.key
ORDER BY lanes.id FOR UPDATE OF lanes
"""

# The same of those that are still where they were last seen.
LOCK_LANES_AT = f"""
SELECT lanes.key, {_LOCKED}
FROM unnest($1::text[], $2::tid[]) AS given (key, place)
JOIN lanes ON lanes.ctid = given.place AND lanes.key = given.key ORDER BY lanes.id FOR UPDATE OF lanes
"""

LOCK_LANES_BY_ID = f"""
SELECT {_LOCKED} FROM lanes WHERE id = ANY ($1::integer[]) ORDER BY id FOR UPDATE
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

# Something came into these lanes, which are locked, below all that stood there. Their rows move.
LOWER = """
UPDATE lanes SET low_rank = given.rank FROM unnest($1::integer[], $2::bigint[], $3::tid[]) AS given (id, rank, place)
WHERE lanes.ctid = given.place AND lanes.id = given.id
RETURNING lanes.id, lanes.ctid
"""

# Of jobs that deliver events, the log says what they tell whom.
LOG_DELIVERIES = """
INSERT INTO deliveries (job, webhook, event, type, line, created_at)
SELECT job, webhook, event, type, line, $6
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY
    AS told (job, webhook, event, type, line, place)
ORDER BY place
"""

# Lanes that nobody holds take the state that follows from their items: ready, waiting (until when, and why) or empty.
# They are locked, and are where they were then.
PLACE = f"""
UPDATE lanes SET
    low_rank = coalesce(placed.lowest, lanes.low_rank),
    rank = coalesce(placed.rank, lanes.rank),
    band = {BAND.format(rank="coalesce(placed.rank, lanes.rank)", of_batch="placed.of_batch")},
    flow = coalesce(placed.flow, lanes.flow), tenant = coalesce(placed.tenant, lanes.tenant),
    ready_at = greatest(rest_until, coalesce(placed.later, 0),
        CASE WHEN lanes.state = 1 AND placed.rank IS NOT NULL THEN lanes.ready_at ELSE $2 END),
    state = CASE
        WHEN placed.rank IS NULL THEN 0
        WHEN greatest(rest_until, coalesce(placed.later, 0)) <= $2 THEN 1
        ELSE 2 END,
    reason = CASE WHEN coalesce(placed.later, 0) > rest_until THEN 'back_off' ELSE coalesce(reason, 'gap') END
FROM (
    SELECT given.id, given.place, coalesce(front.rank, sleeper.rank) AS rank, lowest.rank AS lowest,
        coalesce(front.flow, sleeper.flow) AS flow, flow_owners.tenant, flow_owners.of_batch,
        CASE WHEN front.rank IS NULL THEN sleeper.not_before END AS later
    FROM unnest($1::integer[], $3::tid[], $4::bigint[]) AS given (id, place, low_rank)
    {FRONT_OF_EACH.format(given="given", now="$2")}
) AS placed
WHERE lanes.ctid = placed.place AND lanes.id = placed.id AND lanes.holder IS NULL AND lanes.state <> 3
"""

# How many lanes are in somebody's hands.
HELD_LANES = "SELECT count(*) FROM lanes WHERE holder IS NOT NULL"

# The next items of each held lane, below whose bound nothing stands. Beyond the first, which is free for whoever claims
# the lane, they come as long as no other flow stands before them: within the window of the front, or all of the front's
# own flow. Their jobs are found by one walk through the index, in its order, and not by a search for each.
NEXT_ITEMS = f"""
WITH next AS MATERIALIZED (
    SELECT held.lane, chosen.rank, chosen.job, chosen.flow
    FROM unnest($1::integer[], $2::integer[], $7::bigint[]) AS held (lane, most, low_rank) CROSS JOIN LATERAL (
        SELECT rank, job, flow FROM (
            SELECT rank, job, flow, bool_and(flow = $5::integer) OVER line AS alone, row_number() OVER line AS place
            FROM (
                SELECT rank, job, flow FROM items
                WHERE items.lane = held.lane AND rank >= held.low_rank AND not_before <= $3 AND flow NOT IN {BLOCKED}
                ORDER BY rank, job LIMIT held.most) AS first
            WINDOW line AS (ORDER BY rank, job)) AS ranked
        WHERE $4::bigint IS NULL OR rank <= $4 OR alone OR (place = 1 AND $6::boolean)) AS chosen
)
SELECT next.lane, next.rank, next.job, next.flow, jobs.kind, jobs."order", jobs.failures, jobs.deaths, jobs.created_at,
    jobs.trail
FROM next JOIN jobs ON jobs.id = next.job
WHERE jobs.id = ANY (ARRAY (SELECT job FROM next))
ORDER BY next.lane, next.rank, next.job
"""

# Note how far into their lanes the holders have got.
NOTE_TAKEN = """
UPDATE lanes SET taken_rank = greatest(lanes.taken_rank, given.rank), taken_at = $3
FROM unnest($1::integer[], $2::bigint[]) AS given (id, rank) WHERE lanes.id = given.id
RETURNING lanes.key, lanes.ctid
"""

# The clock only goes forward.
MOVE_CLOCK = """
SELECT setval('fair_clock', greatest(last_value, least($2::bigint, greatest($1::bigint, last_value + $3::bigint))))
FROM fair_clock
"""

# Which of these lanes are still held under the fence that goes with them.
STILL_HELD = """
SELECT lanes.key, lanes.id, lanes.low_rank FROM unnest($1::text[], $2::integer[]) AS given (key, fence)
JOIN lanes ON lanes.key = given.key AND lanes.fence = given.fence WHERE lanes.holder IS NOT NULL
ORDER BY lanes.id
"""

# The lanes in a worker's name of which it does not say that it has them, locked.
NOT_IN_HAND = """
SELECT id, ctid, low_rank, coalesce(gap_ms, 0) AS gap_ms, stretch, strikes FROM lanes WHERE holder = $1 AND NOT EXISTS (
    SELECT 1 FROM unnest($2::text[], $3::integer[]) AS ours (key, fence)
    WHERE ours.key = lanes.key AND ours.fence = lanes.fence)
ORDER BY id FOR UPDATE
"""

# Hold lanes for longer.
RENEW = """
UPDATE lanes SET ready_at = $3
FROM (SELECT lanes.id FROM unnest($1::text[], $2::integer[]) AS given (key, fence)
      JOIN lanes ON lanes.key = given.key AND lanes.fence = given.fence WHERE lanes.holder IS NOT NULL
      ORDER BY lanes.id FOR UPDATE OF lanes) AS ours
WHERE lanes.id = ours.id RETURNING lanes.key, lanes.ctid
"""
