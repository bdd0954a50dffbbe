"""The statements that put items into lanes and hand them out, each with a sentence. Lists are JSON arrays (`lists`)."""

__all__ = [
    "ACCEPT_JOBS",
    "ADVANCE_FLOWS",
    "CHAINS",
    "DUE_LANES",
    "FLOWS",
    "FLOWS_IN_HAND",
    "GIVE_UP",
    "HELD_LANES",
    "HOLD",
    "LANES_BY_KEY",
    "LAST_JOB",
    "LINE_UP",
    "LOG_DELIVERIES",
    "MAKE_FLOWS",
    "MAKE_LANES",
    "MAKE_MARKS",
    "MAKE_TENANTS",
    "MOVE_CLOCK",
    "NEXT_ITEMS",
    "NEXT_READY_AT",
    "NOTE_TAKEN",
    "NOT_IN_HAND",
    "OWNERS",
    "PICK",
    "PLACE",
    "RENEW",
    "SEEN_MARKS",
    "STILL_HELD",
]

# An account has a number from its first job on.
MAKE_TENANTS = """
INSERT INTO tenants (account) SELECT DISTINCT value ->> 1 FROM json_each(:flows) WHERE true ON CONFLICT DO NOTHING
"""

# A flow begins with its first job; a batch's flow is made when the batch is opened.
MAKE_FLOWS = """
INSERT INTO flows (key, tenant)
SELECT value ->> 0, tenants.id FROM json_each(:flows) JOIN tenants ON tenants.account = value ->> 1 WHERE true
ON CONFLICT DO NOTHING
"""

# Flows, with all that their next turns depend on: a batch shares its account's part with the account's other batches,
# as long as other accounts have batches, too.
FLOWS = """
SELECT json_group_array(json_array(
    flows.key, flows.id, batches.state, flows.blocked, flows.submitted, flows.last, (SELECT tag FROM clock),
    tenants.weight, CASE WHEN batches.id IS NOT NULL AND (
            EXISTS (SELECT 1 FROM batches AS others WHERE state = 'running' AND others.account < batches.account)
            OR EXISTS (SELECT 1 FROM batches AS others WHERE state = 'running' AND others.account > batches.account))
        THEN (SELECT count(*) FROM batches AS own WHERE own.state = 'running' AND own.account = batches.account)
        ELSE 1 END, tenants.account, tenants.most_queued, tenants.credits IS NOT NULL))
FROM json_each(:keys) CROSS JOIN flows ON flows.key = value JOIN tenants ON tenants.id = flows.tenant
LEFT JOIN batches ON batches.flow = flows.id
"""

# The turns that were given out are over; so many more jobs came in.
ADVANCE_FLOWS = """
UPDATE flows SET last = given.last, submitted = submitted + given.more
FROM (SELECT value ->> 0 AS id, value ->> 1 AS last, value ->> 2 AS more FROM json_each(:flows)) AS given
WHERE flows.id = given.id
"""

# Which of these marks their batch has seen already. JSON knows no bytes: the marks come in one piece, 16 bytes each.
SEEN_MARKS = """
SELECT json_group_array(value ->> 0) FROM json_each(:places)
CROSS JOIN marks ON marks.flow = value ->> 1 AND marks.mark = substr(:marks, 16 * (value ->> 0) + 1, 16)
"""

# From now on the batch has seen these marks.
MAKE_MARKS = """
INSERT INTO marks (flow, mark) SELECT value ->> 1, substr(:marks, 16 * (value ->> 0) + 1, 16) FROM json_each(:places)
"""

# A lane is made when its first item comes.
MAKE_LANES = """
INSERT INTO lanes (key, state) SELECT value, 'empty' FROM json_each(:keys) WHERE true ON CONFLICT DO NOTHING
"""

# Lanes, and whether something may be handed out from them right now.
LANES_BY_KEY = """
SELECT json_group_array(json_array(lanes.key, lanes.id, lanes.state = 'ready' AND flows.blocked = 0, lanes.rank))
FROM json_each(:keys) CROSS JOIN lanes ON lanes.key = value LEFT JOIN flows ON flows.id = lanes.flow
"""

LAST_JOB = "SELECT coalesce(max(number), 0) FROM jobs"

# Write new jobs into the ledger.
ACCEPT_JOBS = """
INSERT INTO jobs (number, id, lane, rank, flow, position, kind, "order", created_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value -> 7, :now
FROM json_each(:jobs)
"""

# Of jobs that deliver events, the log says what they tell whom.
LOG_DELIVERIES = """
INSERT INTO deliveries (job, webhook, event, type, line, created_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, :now FROM json_each(:notices) WHERE true
ORDER BY key
"""

# Put items at their place in line.
LINE_UP = """
INSERT INTO items (lane, rank, job, flow, not_before)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(:items)
"""

# Lanes that nobody holds take the state that follows from their items: ready or empty (since when), or waiting (until
# when, and why). First comes what is due and not of a paused or cancelled flow. Nobody looks at what is parked, nor
# past more than a thousand items that will be parked or taken away soon; a lane that stands with their flow is found by
# nobody until that is tidied up, or runs again.
# Locking the lane and then looking for its items is one step here, since SQLite has one writer at a time.
PLACE = """
WITH found AS MATERIALIZED (
    SELECT lanes.id AS lane, lanes.rest_until, coalesce((
        SELECT near.rank FROM (
            SELECT items.rank, items.flow FROM items
            WHERE items.lane = lanes.id AND items.rank < :parked AND items.not_before <= :now
            ORDER BY items.rank, items.job LIMIT 1000) AS near
        CROSS JOIN flows ON flows.id = near.flow WHERE flows.blocked = 0 LIMIT 1
    ), (
        SELECT items.rank FROM items
        WHERE items.lane = lanes.id AND items.rank < :parked AND items.not_before <= :now
        ORDER BY items.rank, items.job LIMIT 1 OFFSET 999
    )) AS front
    FROM json_each(:lanes) CROSS JOIN lanes ON lanes.id = value
    WHERE lanes.holder IS NULL AND lanes.state <> 'paused'
), dated AS MATERIALIZED (
    SELECT lane, rest_until, front, CASE WHEN front IS NULL THEN (
        SELECT min(items.not_before) FROM items JOIN flows ON flows.id = items.flow
        WHERE items.lane = found.lane AND items.rank < :parked AND items.not_before > :now AND flows.blocked = 0
    ) END AS later
    FROM found
), fronted AS MATERIALIZED (
    SELECT lane, rest_until, later, CASE WHEN front IS NOT NULL OR later IS NOT NULL THEN front ELSE (
        SELECT items.rank FROM items JOIN flows ON flows.id = items.flow
        WHERE items.lane = dated.lane AND flows.blocked < 2 ORDER BY items.rank, items.job LIMIT 1
    ) END AS front
    FROM dated
), placed AS MATERIALIZED (
    SELECT lane, later, front, max(rest_until, coalesce(later, 0)) AS time,
        CASE WHEN front IS NULL AND later IS NULL THEN 'empty'
            WHEN max(rest_until, coalesce(later, 0)) <= :now THEN 'ready' ELSE 'waiting' END AS state,
        (SELECT items.flow FROM items JOIN flows ON flows.id = items.flow
         WHERE items.lane = fronted.lane AND items.rank = fronted.front ORDER BY flows.blocked LIMIT 1) AS flow
    FROM fronted
)
UPDATE lanes SET
    rank = coalesce(placed.front, lanes.rank),
    band = (coalesce(placed.front, lanes.rank) & 3) + CASE WHEN lanes.key LIKE 'hook:%' THEN 4 ELSE 0 END,
    flow = coalesce(placed.flow, lanes.flow), state = placed.state,
    ready_at = CASE placed.state WHEN 'waiting' THEN placed.time WHEN lanes.state THEN lanes.ready_at ELSE :now END,
    reason = CASE WHEN coalesce(placed.later, 0) > rest_until THEN 'back_off' ELSE coalesce(reason, 'gap') END
FROM placed WHERE lanes.id = placed.lane
"""

# Lanes whose time has come: they have rested, or their lease has run out.
DUE_LANES = """
SELECT json_group_array(id) FROM (
    SELECT id FROM lanes WHERE state = 'waiting' AND ready_at <= :now ORDER BY ready_at LIMIT :most)
"""

# A lease that ran out is given up.
GIVE_UP = """
UPDATE lanes SET holder = NULL, reason = NULL
WHERE holder IS NOT NULL AND id IN (SELECT value FROM json_each(:lanes))
"""

HELD_LANES = "SELECT count(*) FROM lanes WHERE holder IS NOT NULL"

# The ready lanes are chains of one priority and one flow each; this is the first lane of every chain that may be handed
# out, with whose it is and how many lanes its account may still have. It takes one step for each chain.
CHAINS = """
WITH RECURSIVE chains (band, flow, rank, lane) AS (
    SELECT * FROM (SELECT band, flow, rank, id FROM lanes WHERE state = 'ready' ORDER BY band, flow, rank LIMIT 1)
    UNION ALL
    SELECT next.band, next.flow, next.rank, next.id FROM chains CROSS JOIN lanes AS next ON next.id = coalesce(
        (SELECT id FROM lanes WHERE state = 'ready' AND band = chains.band AND flow > chains.flow
         ORDER BY flow, rank LIMIT 1),
        (SELECT id FROM lanes WHERE state = 'ready' AND band > chains.band ORDER BY band, flow, rank LIMIT 1))
)
SELECT json_group_array(json_array(chains.rank, chains.lane, chains.band, chains.flow, flows.tenant,
    coalesce(tenants.most_active, :most_of_account)
        - (SELECT count(*) FROM lanes WHERE holder IS NOT NULL AND tenant = tenants.id),
    EXISTS (SELECT 1 FROM batches WHERE batches.flow = flows.id)))
FROM chains JOIN flows ON flows.id = chains.flow AND flows.blocked = 0 JOIN tenants ON tenants.id = flows.tenant
"""

# Whose lanes are in somebody's hands.
FLOWS_IN_HAND = "SELECT json_group_array(DISTINCT flow) FROM lanes WHERE holder IS NOT NULL"

# Merge chains: the queue is kept in the order of rank, and whatever leaves it is followed by the next of its chain.
PICK = """
WITH RECURSIVE line (rank, lane, band, flow, tenant, room) AS (
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(:chains)
    UNION ALL
    SELECT next.rank, next.id, line.band, line.flow, line.tenant, line.room - 1
    FROM line CROSS JOIN lanes AS next ON next.id = (
        SELECT id FROM lanes
        WHERE state = 'ready' AND band = line.band AND flow = line.flow AND rank >= line.rank
            AND (rank > line.rank OR id > line.lane)
        ORDER BY rank, id LIMIT 1)
    WHERE line.room IS NULL OR line.room > 1
    ORDER BY 1, 2
    LIMIT :most
)
SELECT json_group_array(json_array(
    lanes.id, lanes.key, lanes.fence, lanes.gap_ms, lanes.stretch, lanes.strikes, line.rank, line.flow, line.tenant,
    line.band))
FROM line CROSS JOIN lanes ON lanes.id = line.lane
"""

# The next items of each lane. The first of a lane is free to come; so are those within the window, and beyond it those
# of the flow at the front, as long as nothing of another stands before them. json_each of a subquery is SQLite's
# LATERAL.
NEXT_ITEMS = """
WITH asked AS MATERIALIZED (
    SELECT value ->> 0 AS lane, value ->> 1 AS free, CASE WHEN :window IS NOT NULL THEN (
        SELECT max(other.rank, :window + 1) FROM (
            SELECT items.rank, items.flow FROM items WHERE items.lane = value ->> 0 AND items.not_before <= :now
            ORDER BY items.rank, items.job LIMIT :most) AS other
        WHERE other.flow <> :front LIMIT 1) END AS stop
    FROM json_each(:lanes)
)
SELECT json_group_array(json_array(
    asked.lane, jobs.rank, jobs.id, jobs.flow, jobs.kind, json(jobs."order"), jobs.failures, jobs.created_at,
    json(jobs.trail), jobs.deaths))
FROM asked CROSS JOIN json_each((
    SELECT json_group_array(job) FROM (
        SELECT near.job FROM (
            SELECT items.rank, items.job, items.flow FROM items
            WHERE items.lane = asked.lane AND items.not_before <= :now
                AND items.rank < coalesce(max(asked.stop, asked.free + 1), :beyond)
            ORDER BY items.rank, items.job LIMIT :most + 1000) AS near
        CROSS JOIN flows ON flows.id = near.flow WHERE flows.blocked = 0 LIMIT :most))) AS next
CROSS JOIN jobs ON jobs.number = next.value
"""

# Whose these flows are.
OWNERS = """
SELECT json_group_array(json_array(flows.id, tenants.account, batches.id))
FROM json_each(:flows) CROSS JOIN flows ON flows.id = value JOIN tenants ON tenants.id = flows.tenant
LEFT JOIN batches ON batches.flow = flows.id
"""

# Lease lanes; the fence grows with every lease.
HOLD = """
UPDATE lanes SET state = 'waiting', ready_at = :until, holder = :worker, fence = fence + 1, reason = 'leased',
    tenant = given.tenant, taken_rank = given.reached, taken_at = :now
FROM (SELECT value ->> 0 AS id, value ->> 1 AS tenant, value ->> 2 AS reached FROM json_each(:lanes)) AS given
WHERE lanes.id = given.id
"""

# Note how far the line of a held lane has been handed out.
NOTE_TAKEN = """
UPDATE lanes SET taken_rank = max(coalesce(taken_rank, given.reached), given.reached), taken_at = :now
FROM (SELECT value ->> 0 AS id, value ->> 1 AS reached FROM json_each(:lanes)) AS given WHERE lanes.id = given.id
"""

# The clock only goes forward.
MOVE_CLOCK = "UPDATE clock SET tag = max(tag, min(:last, max(:first, tag + :turns)))"

# When the next waiting lane will be ready.
NEXT_READY_AT = "SELECT min(ready_at) FROM lanes WHERE state = 'waiting'"

# Which of these lanes are still held under the fence that goes with them.
STILL_HELD = """
SELECT json_group_array(json_array(lanes.key, lanes.id)) FROM json_each(:grips)
CROSS JOIN lanes ON lanes.key = value ->> 0 AND lanes.fence = value ->> 1 WHERE lanes.holder IS NOT NULL
"""

# The lanes in a worker's name of which it does not say that it has them.
NOT_IN_HAND = """
SELECT json_group_array(id) FROM lanes WHERE holder IS NOT NULL AND holder = :worker
    AND (key, fence) NOT IN (SELECT value ->> 0, value ->> 1 FROM json_each(:grips))
"""

# Hold lanes for longer.
RENEW = "UPDATE lanes SET ready_at = :until WHERE id IN (SELECT value FROM json_each(:lanes))"
