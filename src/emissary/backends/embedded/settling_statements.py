"""The statements that end, put off and move jobs, each with a sentence. Lists are JSON arrays (`lists`)."""

__all__ = [
    "ACCOUNTS",
    "BLAME",
    "BLAME_SUSPECTS",
    "COMPLETE",
    "COUNT_OUTCOMES",
    "END_JOBS",
    "FORSAKE",
    "HAPPEN",
    "HELD_BY",
    "JOBS_IN_LINE",
    "KEEP_MISSES",
    "KEEP_RESULT",
    "LANE_KEYS",
    "MOVE_JOBS",
    "NOT_IN_OTHER_HANDS",
    "POISON",
    "POSTPONE_ITEMS",
    "POSTPONE_JOBS",
    "RELEASE",
    "REMOVE_ITEMS",
    "TALLY",
    "TRY_OUT",
]

# The lanes that nobody else has had since: whether the lease still holds does not matter.
NOT_IN_OTHER_HANDS = """
SELECT json_group_array(json_array(lanes.key, lanes.fence, lanes.id)) FROM json_each(:grips)
CROSS JOIN lanes ON lanes.key = value ->> 0 AND lanes.fence = value ->> 1
"""

# Where jobs stand that have not ended, alone or with their batch; which item is theirs follows from it.
JOBS_IN_LINE = """
SELECT json_group_array(json_array(
    jobs.number, jobs.lane, jobs.rank, jobs.flow, jobs.position >= 0, flows.blocked, jobs.id, jobs.kind, flows.tenant))
FROM json_each(:jobs) CROSS JOIN jobs ON jobs.id = value AND jobs.state = 'waiting'
JOIN flows ON flows.id = jobs.flow AND flows.blocked < 2
"""

# Take items out of their lane.
REMOVE_ITEMS = """
DELETE FROM items WHERE (lane, rank, job) IN (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(:items))
"""

# Write the final state of jobs.
END_JOBS = """
UPDATE jobs SET state = done.state, started_at = done.started_at, finished_at = :now,
    failures = coalesce(done.failures, jobs.failures), outcome = done.outcome
FROM (SELECT value ->> 0 AS number, value ->> 1 AS state, value ->> 2 AS started_at, value ->> 3 AS failures,
             nullif(value -> 4, 'null') AS outcome FROM json_each(:jobs)) AS done
WHERE jobs.number = done.number
"""

# Keep results beside their jobs.
KEEP_RESULT = "INSERT INTO results (job, flow, body, blob) VALUES {rows}"

# Count how jobs of flows ended.
TALLY = """
INSERT INTO tallies (flow, completed, refused, failed, cancelled, cached, credits, ended_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, :now
FROM json_each(:tallies) WHERE true
ON CONFLICT (flow) DO UPDATE SET
    completed = completed + excluded.completed, refused = refused + excluded.refused,
    failed = failed + excluded.failed, cancelled = cancelled + excluded.cancelled,
    cached = cached + excluded.cached, credits = credits + excluded.credits, ended_at = excluded.ended_at
"""

# Count what jobs of batches came to.
COUNT_OUTCOMES = """
INSERT INTO outcomes (flow, code, number)
SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(:outcomes) WHERE true
ON CONFLICT (flow, code) DO UPDATE SET number = number + excluded.number
"""

# Remember what was asked for in vain. JSON knows no bytes: the marks come in one piece, 16 bytes each.
KEEP_MISSES = """
INSERT INTO misses (tenant, mark, code, until)
SELECT flows.tenant, substr(:marks, 16 * (value ->> 0) + 1, 16), value ->> 2, :until
FROM json_each(:misses) CROSS JOIN flows ON flows.id = value ->> 1 WHERE true
ON CONFLICT (tenant, mark) DO UPDATE SET code = excluded.code, until = excluded.until
"""

# A batch is completed once it is sealed and everything in it has ended.
COMPLETE = """
UPDATE batches SET state = 'completed', untidy = NULL,
    finished_at = coalesce((SELECT ended_at FROM tallies WHERE tallies.flow = batches.flow), created_at)
WHERE flow IN (SELECT value FROM json_each(:flows)) AND sealed AND state IN ('running', 'paused')
    AND (SELECT submitted FROM flows WHERE flows.id = batches.flow) = coalesce(
        (SELECT completed + refused + failed + cancelled FROM tallies WHERE tallies.flow = batches.flow), 0)
RETURNING id, account, finished_at
"""

# What the store itself has brought about is kept until somebody was told.
HAPPEN = "INSERT INTO happenings (event, subject, account, at) VALUES (?, ?, ?, ?)"

# Items that are to be tried again later go back into line.
POSTPONE_ITEMS = """
UPDATE items SET not_before = later.until, rank = later.new_rank
FROM (SELECT value ->> 0 AS lane, value ->> 1 AS rank, value ->> 2 AS job, value ->> 3 AS until,
             value ->> 4 AS new_rank FROM json_each(:items)) AS later
WHERE items.lane = later.lane AND items.rank = later.rank AND items.job = later.job
"""

# Note how often a job has failed so far; nobody handles it now.
POSTPONE_JOBS = """
UPDATE jobs SET failures = later.failures, rank = later.rank, trial = 0
FROM (SELECT value ->> 2 AS number, value ->> 4 AS rank, value ->> 5 AS failures FROM json_each(:items)) AS later
WHERE jobs.number = later.number
"""

# A job goes on in another lane, and takes along what it learned.
MOVE_JOBS = """
UPDATE jobs SET lane = moved.lane, rank = moved.rank, trail = moved.trail, trial = 0
FROM (SELECT value ->> 0 AS lane, value ->> 1 AS rank, value ->> 2 AS number, value -> 3 AS trail
      FROM json_each(:jobs)) AS moved
WHERE jobs.number = moved.number
"""

# Give lanes back; the fences of those have been compared.
RELEASE = """
UPDATE lanes SET holder = NULL, rest_until = max(lanes.rest_until, given.rest_until), reason = given.reason,
    gap_ms = coalesce(given.gap_ms, lanes.gap_ms), stretch = given.stretch, strikes = given.strikes
FROM (SELECT value ->> 0 AS id, value ->> 1 AS rest_until, value ->> 2 AS reason, value ->> 3 AS gap_ms,
             value ->> 4 AS stretch, value ->> 5 AS strikes FROM json_each(:releases)) AS given
WHERE lanes.id = given.id
"""

# An item that may have killed a worker is about to be handled under this fence.
TRY_OUT = """
UPDATE jobs SET trial = given.fence
FROM (SELECT value ->> 0 AS id, value ->> 1 AS lane, value ->> 2 AS fence FROM json_each(:trials)) AS given
WHERE jobs.id = given.id AND jobs.lane = given.lane AND jobs.state = 'waiting'
"""

ACCOUNTS = """
SELECT json_group_array(json_array(id, account)) FROM tenants WHERE id IN (SELECT value FROM json_each(:ids))
"""

LANE_KEYS = "SELECT json_group_array(json_array(id, key)) FROM lanes WHERE id IN (SELECT value FROM json_each(:lanes))"

HELD_BY = """
SELECT json_group_array(id) FROM lanes WHERE holder IS NOT NULL AND holder IN (SELECT value FROM json_each(:workers))
"""

# Items that were on trial when their worker died are to blame.
BLAME_SUSPECTS = """
UPDATE jobs SET deaths = deaths + 1, trial = 0 WHERE number IN (
    SELECT items.job FROM json_each(:lanes) CROSS JOIN lanes ON lanes.id = value
    CROSS JOIN items ON items.lane = lanes.id AND items.rank <= lanes.taken_rank
    JOIN jobs AS tried ON tried.number = items.job AND tried.trial = lanes.fence)
"""

# The first item that was in hand of each lane may have killed its holder; one that was blamed before is not, since it
# is handled alone from then on.
BLAME = """
UPDATE jobs SET deaths = 1 WHERE deaths = 0 AND number IN (
    SELECT (SELECT items.job FROM items JOIN flows ON flows.id = items.flow AND flows.blocked < 2
            WHERE items.lane = lanes.id AND items.rank <= lanes.taken_rank AND items.not_before <= lanes.taken_at
            ORDER BY items.rank, items.job LIMIT 1)
    FROM json_each(:lanes) CROSS JOIN lanes ON lanes.id = value)
"""

# Jobs in those lanes that have killed too many.
POISON = """
SELECT json_group_array(jobs.id) FROM json_each(:lanes) CROSS JOIN lanes ON lanes.id = value
CROSS JOIN items ON items.lane = lanes.id AND items.rank <= lanes.taken_rank
JOIN jobs ON jobs.number = items.job AND jobs.deaths >= :deadly
"""

# Lanes of dead workers are given back; when their hosts were last asked is unknown, so they rest for their gap first.
FORSAKE = """
UPDATE lanes SET holder = NULL, reason = 'gap',
    rest_until = max(rest_until, :now + max(:gap_ms, coalesce(gap_ms, 0)))
WHERE id IN (SELECT value FROM json_each(:lanes))
"""
