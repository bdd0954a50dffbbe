"""Lists of jobs on PostgreSQL."""

from datetime import datetime

from emissary.backends.cluster.database import Database, Record
from emissary.backends.cluster.lining_up import raw
from emissary.backends.cluster.settling import STATES, job_of
from emissary.model.ids import BatchId, JobId
from emissary.model.job_list import LOOKED_AT, JobLine, JobPage, JobWish
from emissary.model.jobs import JobState, Kind
from emissary.model.moments import from_ms, to_ms

__all__ = ["list_jobs"]

_LAST_OF_ALL = b"\xff" * 16

# The newest before that one; where a batch is wanted, the last of its positions: both are found by an index.
_OF_ALL = "SELECT id, id AS place FROM jobs WHERE id < $1 AND $2::text IS NULL ORDER BY id DESC LIMIT {look}"
_OF_BATCH = """
SELECT id, position AS place FROM jobs
WHERE flow = (SELECT flow FROM batches WHERE id = $2) AND position >= 0
    AND position < coalesce((SELECT position FROM jobs WHERE id = $1), 2147483647)
ORDER BY position DESC LIMIT {look}
"""

# All that are looked at are joined before the first is given out: few are enough, unless few of them are as wanted.
_LOOKS = (256, 2_048, LOOKED_AT)

_WRITTEN = " ".join(f"WHEN {number} THEN '{state.value}'" for state, number in STATES.items() if number)

# As in the records: what a job that has not ended is doing follows from its item and its lane.
_LISTED = f"""
WITH looked AS MATERIALIZED ({{looked}}), told AS (
    SELECT jobs.id, jobs.kind, looked.place, CASE jobs.state {_WRITTEN} ELSE CASE
            WHEN flows.blocked = 2 THEN 'cancelled'
            WHEN lanes.holder IS NOT NULL AND items.rank <= lanes.taken_rank AND items.not_before <= lanes.taken_at
                THEN 'active'
            WHEN items.not_before > $3 THEN 'delayed'
            ELSE 'waiting' END END AS state,
        lanes.key AS lane, batches.id AS batch, jobs."order", jobs.failures, jobs.created_at, jobs.started_at,
        coalesce(jobs.finished_at, CASE WHEN flows.blocked = 2 THEN batches.finished_at END) AS finished_at,
        jobs.outcome
    FROM looked JOIN jobs ON jobs.id = looked.id
    JOIN flows ON flows.id = jobs.flow JOIN tenants ON tenants.id = flows.tenant JOIN lanes ON lanes.id = jobs.lane
    LEFT JOIN batches ON batches.flow = jobs.flow
    LEFT JOIN items ON items.lane = jobs.lane AND items.rank = jobs.rank AND items.job = jobs.id
    WHERE tenants.account = $4)
SELECT * FROM told WHERE coalesce(state = $5, true) AND coalesce(lane = $6, true)
ORDER BY place DESC LIMIT $7
"""  # noqa: S608

_LAST_LOOKED_AT = f"SELECT id FROM ({{looked}}) AS looked OFFSET {LOOKED_AT - 1}"  # noqa: S608


async def list_jobs(database: Database, wish: JobWish, now: datetime, *, before: JobId | None, most: int) -> JobPage:
    """The page behind that job."""
    looked = _OF_ALL if wish.batch is None else _OF_BATCH
    place = (_LAST_OF_ALL if before is None else raw(before), wish.batch)
    values = (to_ms(now), wish.account, wish.state, wish.lane, most + 1)
    lines: list[JobLine] = []
    for look in (each for each in _LOOKS if each > most):
        statement = _LISTED.format(looked=looked.format(look=look))
        lines = [_line(row) for row in await database.read(statement, *place, *values)]
        if len(lines) > most:
            return JobPage(lines[:most], lines[most - 1].id)
    last = await database.read_one(_LAST_LOOKED_AT.format(looked=looked.format(look=LOOKED_AT)), *place)
    return JobPage(lines, None if last is None else job_of(last["id"]))


def _line(row: Record) -> JobLine:
    return JobLine(
        id=job_of(row["id"]),
        kind=Kind(row["kind"]),
        state=JobState(row["state"]),
        lane=row["lane"],
        batch=None if row["batch"] is None else BatchId(row["batch"]),
        order=row["order"],
        failures=row["failures"],
        created_at=from_ms(row["created_at"]),
        started_at=None if row["started_at"] is None else from_ms(row["started_at"]),
        finished_at=None if row["finished_at"] is None else from_ms(row["finished_at"]),
        outcome=row["outcome"],
    )
