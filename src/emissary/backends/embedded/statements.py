"""The statements of the lanes, each with a sentence.

Lists go in as JSON arrays and come out as one, so that a statement takes one step however many rows it touches: the
interpreter's lock is given up for the whole of it, and a busy event loop and the writer thread do not trip each other.
"""

__all__ = [
    "ACCEPT_JOBS",
    "CANCEL_JOBS",
    "DROP_CANCELLED",
    "FORSAKE",
    "HOLD_READY_LANES",
    "KEEP_RESULT",
    "LANES_OF_CANCELLED",
    "LINE_UP",
    "MAKE_LANES",
    "MARK_TAKEN",
    "MOVE_JOBS",
    "NEXT_ITEMS",
    "NEXT_READY_AT",
    "PLACE_LANES",
    "POSTPONE_ITEMS",
    "POSTPONE_JOBS",
    "RELEASE_LANES",
    "REMOVE_ITEMS",
    "RENEW",
    "SETTLE_JOBS",
    "STILL_HELD",
    "STILL_IN_HAND",
    "WAKE",
]

# Write new jobs into the ledger.
ACCEPT_JOBS = """
INSERT INTO jobs (id, account, kind, state, lane, "order", created_at)
SELECT value ->> 0, value ->> 1, value ->> 2, 'waiting', value ->> 3, value -> 4, :now FROM json_each(:jobs)
"""

# A lane is made when its first item comes.
MAKE_LANES = """
INSERT INTO lanes (key, state, rank)
SELECT DISTINCT value ->> 0, 'empty', 0 FROM json_each(:items) WHERE true
ON CONFLICT (key) DO NOTHING
"""

# Put items at their place in line.
LINE_UP = """
INSERT INTO items (lane, rank, job, not_before)
SELECT lanes.id, value ->> 1, value ->> 2, value ->> 3 FROM json_each(:items) JOIN lanes ON lanes.key = value ->> 0
"""

# Lanes that nobody holds take the state that follows from their items: ready, waiting (until when, and why) or empty.
# Locking the lane and then looking for its items is one step here, since SQLite has one writer at a time.
PLACE_LANES = """
UPDATE lanes SET
    rank = coalesce(placed.front, (SELECT min(rank) FROM items WHERE lane = lanes.id), rank),
    ready_at = max(rest_until, coalesce(placed.later, 0)),
    state = CASE
        WHEN placed.front IS NULL AND placed.later IS NULL THEN 'empty'
        WHEN max(rest_until, coalesce(placed.later, 0)) <= :now THEN 'ready'
        ELSE 'waiting' END,
    reason = CASE WHEN coalesce(placed.later, 0) > rest_until THEN 'back_off' ELSE coalesce(reason, 'gap') END
FROM (
    SELECT id, front, CASE WHEN front IS NULL THEN (SELECT min(not_before) FROM items WHERE lane = id) END AS later
    FROM (
        SELECT lanes.id AS id,
            (SELECT rank FROM items WHERE lane = lanes.id AND not_before <= :now ORDER BY rank LIMIT 1) AS front
        FROM (SELECT DISTINCT value AS name FROM json_each(:keys)) JOIN lanes ON lanes.key = name
    )
) AS placed
WHERE lanes.id = placed.id AND lanes.holder IS NULL AND lanes.state <> 'paused'
"""

# Waiting lanes whose time has come become ready; a lease that ran out is given up with it.
WAKE = """
UPDATE lanes SET state = 'ready', holder = NULL, reason = NULL WHERE state = 'waiting' AND ready_at <= :now
"""

# Lease the first ready lanes; the fence grows with every lease.
HOLD_READY_LANES = """
UPDATE lanes SET state = 'waiting', ready_at = :until, holder = :worker, fence = fence + 1, reason = 'leased'
WHERE id IN (SELECT id FROM lanes WHERE state = 'ready' ORDER BY rank LIMIT :most)
RETURNING id, key, fence, gap_ms, stretch
"""

# The next items of each held lane that nobody has in hand. json_each of a subquery is SQLite's LATERAL.
NEXT_ITEMS = """
SELECT json_group_array(json_array(
    lane.value ->> 1, next.value ->> 0, jobs.id, jobs.account, jobs.kind, json(jobs."order"), jobs.failures,
    jobs.created_at, json(jobs.trail)))
FROM json_each(:held) AS lane, json_each((
    SELECT json_group_array(json_array(rank, job)) FROM (
        SELECT rank, job FROM items
        WHERE items.lane = lane.value ->> 0 AND taken < lane.value ->> 2 AND not_before <= :now
        ORDER BY rank, job LIMIT :most))) AS next
JOIN jobs ON jobs.id = next.value ->> 1
"""

# Note that items are in hand under this fence.
MARK_TAKEN = """
UPDATE items SET taken = mark.fence
FROM (SELECT lanes.id, lanes.fence, value ->> 1 AS rank, value ->> 2 AS job
      FROM json_each(:taken) JOIN lanes ON lanes.key = value ->> 0) AS mark
WHERE items.lane = mark.id AND items.rank = mark.rank AND items.job = mark.job
"""

# When the next waiting lane will be ready.
NEXT_READY_AT = "SELECT min(ready_at) FROM lanes WHERE state = 'waiting'"

# Which of these lanes are still held under the fence that goes with them.
STILL_HELD = """
SELECT json_group_array(json_array(lanes.id, lanes.key, lanes.fence))
FROM json_each(:grips) JOIN lanes ON lanes.key = value ->> 0 AND lanes.fence = value ->> 1
WHERE lanes.holder IS NOT NULL
"""

# Hold lanes for longer.
RENEW = """
UPDATE lanes SET ready_at = :until
WHERE holder IS NOT NULL AND id IN (SELECT value ->> 0 FROM json_each(:held))
"""

# The settlements that may be written: the lane's fence has not moved, and the item is still in hand under it.
STILL_IN_HAND = """
SELECT json_group_array(items.job)
FROM json_each(:settled)
JOIN lanes ON lanes.key = value ->> 0 AND lanes.fence = value ->> 1
JOIN items ON items.lane = lanes.id AND items.rank = value ->> 2 AND items.job = value ->> 3
    AND items.taken = lanes.fence
"""

# Take items out of their lane.
REMOVE_ITEMS = """
DELETE FROM items WHERE (lane, rank, job) IN (
    SELECT lanes.id, value ->> 1, value ->> 2 FROM json_each(:items) JOIN lanes ON lanes.key = value ->> 0)
"""

# Write the final state of jobs.
SETTLE_JOBS = """
UPDATE jobs SET state = done.state, started_at = done.started_at, finished_at = :now, failures = done.failures,
    outcome = done.outcome
FROM (SELECT value ->> 0 AS id, value ->> 1 AS state, value ->> 2 AS started_at, value ->> 3 AS failures,
             nullif(value -> 4, 'null') AS outcome FROM json_each(:jobs)) AS done
WHERE jobs.id = done.id
"""

# Keep a result beside its job.
KEEP_RESULT = "INSERT INTO results (job, body, blob) VALUES {rows}"

# Items that are to be tried again later go back into line.
POSTPONE_ITEMS = """
UPDATE items SET not_before = later.until, taken = 0
FROM (SELECT lanes.id, value ->> 1 AS rank, value ->> 2 AS job, value ->> 3 AS until
      FROM json_each(:items) JOIN lanes ON lanes.key = value ->> 0) AS later
WHERE items.lane = later.id AND items.rank = later.rank AND items.job = later.job
"""

# Note how often a job has failed so far.
POSTPONE_JOBS = """
UPDATE jobs SET failures = later.failures
FROM (SELECT value ->> 2 AS id, value ->> 4 AS failures FROM json_each(:items)) AS later
WHERE jobs.id = later.id
"""

# A job goes on in another lane, and takes along what it learned.
MOVE_JOBS = """
UPDATE jobs SET lane = moved.lane, trail = moved.trail
FROM (SELECT value ->> 0 AS lane, value ->> 2 AS id, value -> 4 AS trail FROM json_each(:items)) AS moved
WHERE jobs.id = moved.id
"""

# Give lanes back; what is told under an old fence changes nothing.
RELEASE_LANES = """
UPDATE lanes SET holder = NULL, rest_until = max(lanes.rest_until, given.rest_until), reason = given.reason,
    gap_ms = coalesce(given.gap_ms, lanes.gap_ms), stretch = given.stretch
FROM (SELECT value ->> 0 AS key, value ->> 1 AS fence, value ->> 2 AS rest_until, value ->> 3 AS reason,
             value ->> 4 AS gap_ms, value ->> 5 AS stretch FROM json_each(:releases)) AS given
WHERE lanes.key = given.key AND lanes.fence = given.fence
"""

# Lanes of dead workers are given back; when their hosts were last asked is unknown, so they rest for their gap first.
FORSAKE = """
UPDATE lanes SET holder = NULL, reason = 'gap',
    rest_until = max(rest_until, :now + max(:gap_ms, coalesce(gap_ms, 0))),
    ready_at = max(rest_until, :now + max(:gap_ms, coalesce(gap_ms, 0)))
WHERE holder IN (SELECT value FROM json_each(:workers))
"""

# The lanes in which these jobs stand.
LANES_OF_CANCELLED = """
SELECT json_group_array(DISTINCT lane) FROM jobs WHERE id IN (SELECT value FROM json_each(:jobs))
"""

# End jobs that have not ended.
CANCEL_JOBS = """
UPDATE jobs SET state = 'cancelled', finished_at = :now
WHERE state = 'waiting' AND id IN (SELECT value FROM json_each(:jobs))
RETURNING id
"""

# Take the items of cancelled jobs out of line, in hand or not.
DROP_CANCELLED = "DELETE FROM items WHERE job IN (SELECT value FROM json_each(:jobs))"
