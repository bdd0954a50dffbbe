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
    "FLOWS_BY_ID",
    "FRONT",
    "FRONT_OF_EACH",
    "HELD_LANES",
    "HOLD",
    "LINE_UP",
    "LOCK_LANES",
    "LOCK_LANES_BY_ID",
    "MAKE_FLOWS",
    "MAKE_LANES",
    "MAKE_TENANTS",
    "MARK",
    "MOVE_CLOCK",
    "NEXT_ITEMS",
    "NEXT_READY_AT",
    "NOTE_TAKEN",
    "PICK_READY",
    "PLACE",
    "RENEW",
    "STILL_HELD",
    "WAKE",
]

_BLOCKED = "(SELECT id FROM flows WHERE blocked > 0)"

# The first item of a lane whose time has come; where there is none, the one whose time comes first.
FRONT_OF_EACH = f"""LEFT JOIN LATERAL (
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
    {FRONT_OF_EACH.format(lane="given.id", now="$2")}
) AS placed
WHERE lanes.id = placed.id AND lanes.holder IS NULL AND lanes.state <> 3
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
