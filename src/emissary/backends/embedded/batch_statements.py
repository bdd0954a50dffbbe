"""The statements of batches and their ledgers, each with a sentence. Lists are JSON arrays (`lists`).

Jobs of batches have an index of their own, which the planner takes where it reads `position >= 0`. It must not begin
there, though, where there is a cursor to begin at: so it is told that this condition leaves out hardly anything.
"""

__all__ = [
    "ADMIT",
    "BATCH",
    "BLOCK",
    "BRING_BACK",
    "DROP_MISSES",
    "ENDED_BADLY",
    "ENDED_SO",
    "FINISHED",
    "FORGET_RESULTS",
    "HALTED",
    "HEAR",
    "LINES",
    "LINES_AT",
    "LINES_BADLY_ENDED",
    "LOST",
    "MAKE_NEW",
    "MARK",
    "MARK_ADMITTED",
    "MISSES",
    "NEXT_JOBS",
    "OF_ACCOUNT",
    "OPEN",
    "ORDER_OF",
    "PRIORITY",
    "REOPEN",
    "RERANK_ITEMS",
    "RERANK_JOBS",
    "SEAL",
    "STANDING_WITH",
    "TIDIED_UP_TO",
    "UNTIDY",
    "WAS_ADMITTED",
]

_BADLY = "state IN ('failed', 'refused')"

OPEN = """
INSERT INTO batches (id, flow, account, kind, name, "order", priority, created_at, heard_at)
SELECT :id, flows.id, :account, :kind, :name, :order, :priority, :now, :now FROM flows WHERE flows.key = :id
"""

SEAL = "UPDATE batches SET sealed = 1 WHERE id = :batch"

# More may still come into the batch, unless it has ended.
HEAR = "UPDATE batches SET heard_at = max(heard_at, :now) WHERE id = :batch AND state IN ('running', 'paused')"

# Batches into which nothing has come for long, though nobody said that it was all.
LOST = """
SELECT id FROM batches WHERE NOT sealed AND finished_at IS NULL AND heard_at < :before ORDER BY heard_at LIMIT :most
"""

# A batch with its counts, and with what is in hand at this moment: the lanes that are held are looked through for that.
BATCH = """
SELECT batches.id, batches.account, batches.kind, batches.name, batches."order", batches.priority, batches.state,
    batches.sealed, batches.created_at, batches.finished_at, batches.reason, batches.flow, flows.submitted,
    tallies.ended_at AS last_end,
    (SELECT json_group_object(code, number) FROM outcomes
     WHERE outcomes.flow = batches.flow AND number > 0) AS outcomes,
    coalesce(tallies.completed, 0) AS completed, coalesce(tallies.refused, 0) AS refused,
    coalesce(tallies.failed, 0) AS failed, coalesce(tallies.cancelled, 0) AS cancelled,
    coalesce(tallies.cached, 0) AS cached, coalesce(tallies.credits, 0) AS credits,
    CASE WHEN flows.blocked < 2 THEN (
        SELECT count(*) FROM lanes CROSS JOIN items ON items.lane = lanes.id AND items.rank <= lanes.taken_rank
        WHERE lanes.holder IS NOT NULL AND items.not_before <= lanes.taken_at AND items.flow = batches.flow)
        ELSE 0 END AS active
FROM batches JOIN flows ON flows.id = batches.flow LEFT JOIN tallies ON tallies.flow = batches.flow
WHERE batches.id = :batch
"""

# The names of an account's batches, the latest first.
# Those of which nothing more is to begin.
HALTED = """
SELECT id FROM batches WHERE id IN (SELECT value FROM json_each(:batches)) AND state IN ('paused', 'cancelled')
"""

OF_ACCOUNT = """
SELECT id FROM batches WHERE account = :account AND (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT :most
"""

# From here on nothing of a paused or cancelled flow is handed out, and nothing of a cancelled one is settled.
BLOCK = "UPDATE flows SET blocked = :blocked WHERE id = :flow"

# A flow that was away has saved up nothing, and lost nothing either: its time is that of the clock.
BRING_BACK = "UPDATE flows SET last = (SELECT tag FROM clock) WHERE id = :flow"

# What this means for the jobs is done by and by, from the first of them on.
MARK = """
UPDATE batches SET state = :state, finished_at = :ended_at, reason = :reason, untidy = -1 WHERE id = :batch
"""

# A batch of which some is left to do.
UNTIDY = """
SELECT id, flow, state, priority, finished_at, untidy FROM batches WHERE untidy IS NOT NULL ORDER BY id LIMIT 1
"""

TIDIED_UP_TO = "UPDATE batches SET untidy = :position WHERE id = :batch"

# The next jobs of a batch, ended or not, and whether they are in somebody's hands.
NEXT_JOBS = """
SELECT json_group_array(json_array(jobs.number, jobs.lane, jobs.rank, jobs.position, jobs.state = 'waiting',
    lanes.holder IS NOT NULL AND jobs.rank <= lanes.taken_rank AND EXISTS (
        SELECT 1 FROM items WHERE items.lane = jobs.lane AND items.rank = jobs.rank AND items.job = jobs.number
            AND items.not_before <= lanes.taken_at)))
FROM (SELECT number, lane, rank, position, state FROM jobs
      WHERE flow = :flow AND position > :after AND likely(position >= 0) ORDER BY position LIMIT :most) AS jobs
LEFT JOIN lanes ON lanes.id = jobs.lane
"""

# Of these lanes, those that stand where they do because of this flow, or wait for something that may be of it.
STANDING_WITH = """
SELECT json_group_array(lanes.id) FROM json_each(:lanes) CROSS JOIN lanes ON lanes.id = value
WHERE lanes.holder IS NULL AND (lanes.flow = :flow AND lanes.state = 'ready' OR lanes.state = 'waiting')
"""

# Items take another place in their lane.
RERANK_ITEMS = """
UPDATE items SET rank = given.new_rank
FROM (SELECT value ->> 0 AS lane, value ->> 1 AS rank, value ->> 2 AS job, value ->> 3 AS new_rank
      FROM json_each(:items)) AS given
WHERE items.lane = given.lane AND items.rank = given.rank AND items.job = given.job
"""

RERANK_JOBS = """
UPDATE jobs SET rank = given.rank
FROM (SELECT value ->> 2 AS number, value ->> 3 AS rank FROM json_each(:items)) AS given
WHERE jobs.number = given.number
"""

# Jobs of a batch that ended so.
ENDED_SO = """
SELECT json_group_array(json_array(number, lane, state, outcome ->> 'code')) FROM (
    SELECT number, lane, state, outcome FROM jobs
    WHERE flow = :flow AND position >= 0 AND state IN (SELECT value FROM json_each(:states))
    ORDER BY position LIMIT :most)
"""

# The same of those that failed or were refused: there is an index of them alone.
ENDED_BADLY = ENDED_SO.replace("position >= 0 AND", f"position >= 0 AND {_BADLY} AND")

PRIORITY = "SELECT priority FROM batches WHERE id = :batch"

ORDER_OF = 'SELECT "order" FROM batches WHERE id = :batch'

# Jobs that were let begin are marked like pages that were seen: both have names of 128 bits.
WAS_ADMITTED = "SELECT EXISTS (SELECT 1 FROM marks WHERE flow = :flow AND mark = :job)"

ADMIT = "UPDATE batches SET admitted = admitted + 1 WHERE flow = :flow AND admitted < :most"

MARK_ADMITTED = "INSERT INTO marks (flow, mark) VALUES (:flow, :job)"

# What had ended runs again; what was paused stays so.
REOPEN = """
UPDATE batches SET state = CASE state WHEN 'paused' THEN state ELSE 'running' END, finished_at = NULL WHERE id = :batch
"""

FORGET_RESULTS = "DELETE FROM results WHERE job IN (SELECT value FROM json_each(:jobs))"

# Jobs go back into line as if they were new, where they had got to: the trail says how.
MAKE_NEW = """
UPDATE jobs SET state = 'waiting', rank = given.rank, failures = 0, deaths = 0, trial = 0, started_at = NULL,
    finished_at = NULL, outcome = NULL
FROM (SELECT value ->> 0 AS number, value ->> 1 AS rank FROM json_each(:jobs)) AS given
WHERE jobs.number = given.number
"""

# A job as the ledger shows it: one of a cancelled batch has ended with it.
_LINE = """
SELECT jobs.id, jobs.position,
    CASE WHEN jobs.state = 'waiting' AND flows.blocked = 2 THEN 'cancelled'
        WHEN jobs.state = 'waiting' AND lanes.holder IS NOT NULL AND jobs.rank <= lanes.taken_rank AND EXISTS (
            SELECT 1 FROM items WHERE items.lane = jobs.lane AND items.rank = jobs.rank AND items.job = jobs.number
                AND items.not_before <= lanes.taken_at) THEN 'active'
        ELSE jobs.state END AS shown,
    lanes.key, jobs."order", jobs.failures, jobs.outcome,
    coalesce(jobs.finished_at, CASE WHEN flows.blocked = 2 THEN batches.finished_at END)
"""

# The ledger in the order of positions.
LINES = f"""
{_LINE}
FROM batches CROSS JOIN flows ON flows.id = batches.flow CROSS JOIN jobs ON jobs.flow = batches.flow
CROSS JOIN lanes ON lanes.id = jobs.lane
WHERE batches.id = :batch AND jobs.position > :after AND likely(jobs.position >= 0)
    AND (:states IS NULL OR shown IN (SELECT value FROM json_each(:states)))
ORDER BY jobs.position LIMIT :most
"""  # noqa: S608 - made of constants

LINES_BADLY_ENDED = LINES.replace("jobs.position > :after AND", f"jobs.position > :after AND jobs.{_BADLY} AND")

# Of the ledger what stands at these positions.
LINES_AT = f"""
{_LINE}
FROM batches CROSS JOIN flows ON flows.id = batches.flow CROSS JOIN json_each(:positions) AS asked
CROSS JOIN jobs ON jobs.flow = batches.flow AND jobs.position = asked.value AND likely(jobs.position >= 0)
CROSS JOIN lanes ON lanes.id = jobs.lane
WHERE batches.id = :batch
"""

# Which of these marks the account asked for in vain. They come in one piece, 16 bytes each.
MISSES = """
SELECT misses.mark, misses.code FROM json_each(:places)
CROSS JOIN misses ON misses.tenant = (SELECT id FROM tenants WHERE account = :account)
    AND misses.mark = substr(:marks, 16 * value + 1, 16)
WHERE misses.until > :now
"""

DROP_MISSES = """
DELETE FROM misses WHERE (tenant, mark) IN (
    SELECT tenant, mark FROM misses WHERE until <= :now ORDER BY until LIMIT :most)
"""

# Results in the order in which they were written.
FINISHED = f"""
{_LINE}, results.seq, results.body, results.blob
FROM batches CROSS JOIN flows ON flows.id = batches.flow
CROSS JOIN results ON results.flow = batches.flow AND results.seq > :after
CROSS JOIN jobs ON jobs.number = results.job CROSS JOIN lanes ON lanes.id = jobs.lane
WHERE batches.id = :batch ORDER BY results.seq LIMIT :most
"""
