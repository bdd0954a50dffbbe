"""What became of jobs, on PostgreSQL."""

from datetime import datetime, timedelta

from emissary.backends.cluster.database import Database, Record
from emissary.backends.cluster.job_list import list_jobs
from emissary.backends.cluster.settling import STATES, job_of
from emissary.model.ids import AccountId, BatchId, JobId, ulid_of
from emissary.model.job_list import JobPage, JobWish
from emissary.model.jobs import Job, JobState, Kind, StoredResult
from emissary.model.lanes import LaneKey, WhyWaiting
from emissary.model.moments import from_ms, to_ms
from emissary.model.waiting import PLAIN_TERMS, Standing, Terms, why_waiting

__all__ = ["PostgresJobRecords", "state_of"]

_STATE_OF = {number: state for state, number in STATES.items()}

# A job that has not ended is active while its item is in the hands of its lane's holder, delayed until not_before.
_JOB = """
SELECT jobs.*, results.body, results.blob, lanes.key AS lane_key, flows.key AS flow_key, flows.blocked,
    tenants.account, items.not_before,
    lanes.holder IS NOT NULL AND items.rank <= lanes.taken_rank AND items.not_before <= lanes.taken_at AS in_hand,
    batches.finished_at AS batch_ended_at
FROM jobs
JOIN flows ON flows.id = jobs.flow JOIN tenants ON tenants.id = flows.tenant JOIN lanes ON lanes.id = jobs.lane
LEFT JOIN batches ON batches.flow = jobs.flow
LEFT JOIN results ON results.job = jobs.id
LEFT JOIN items ON items.lane = jobs.lane AND items.rank = jobs.rank AND items.job = jobs.id
WHERE jobs.id = $1
"""

_PLACE_IN_LINE = """
SELECT lanes.key, lanes.state, lanes.ready_at, lanes.reason, lanes.gap_ms, lanes.stretch, items.not_before,
    flows.blocked, tenants.most_active, lanes.holder IS NOT NULL AS held,
    (SELECT count(*) FROM lanes AS held WHERE held.holder IS NOT NULL AND held.tenant = flows.tenant) AS active,
    lanes.holder IS NOT NULL AND items.rank <= lanes.taken_rank AND items.not_before <= lanes.taken_at AS in_hand,
    (SELECT count(*) FROM (
        SELECT 1 FROM items AS before
        WHERE before.lane = items.lane AND before.rank >= lanes.low_rank
            AND (before.rank, before.job) < (items.rank, items.job) LIMIT 10000) AS ahead
    ) AS ahead
FROM jobs JOIN items ON items.lane = jobs.lane AND items.rank = jobs.rank AND items.job = jobs.id
JOIN lanes ON lanes.id = jobs.lane JOIN flows ON flows.id = jobs.flow JOIN tenants ON tenants.id = flows.tenant
WHERE jobs.id = $1 AND jobs.state = 0 AND flows.blocked < 2
"""

_DEPTH = """
SELECT coalesce(sum(submitted - (
    SELECT coalesce(sum(completed + refused + failed + cancelled), 0) FROM tallies WHERE tallies.flow = flows.id)), 0)
FROM flows WHERE blocked < 2
"""


class PostgresJobRecords:
    """Keeps the promise of `ports.records.JobRecords`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def job(self, job: JobId, now: datetime) -> Job | None:
        identity = ulid_of(job)
        row = None if identity is None else await self._database.read_one(_JOB, identity)
        return None if row is None else _job(row, now)

    async def why_waiting(self, job: JobId, now: datetime, terms: Terms = PLAIN_TERMS) -> WhyWaiting | None:
        identity = ulid_of(job)
        row = None if identity is None else await self._database.read_one(_PLACE_IN_LINE, identity)
        return None if row is None or row["in_hand"] else why_waiting(_standing(row), now, terms)

    async def listed(self, wish: JobWish, now: datetime, *, before: JobId | None, most: int) -> JobPage:
        return await list_jobs(self._database, wish, now, before=before, most=most)

    async def depth(self) -> int:
        row = await self._database.read_one(_DEPTH)
        return 0 if row is None else int(row[0])


def state_of(written: int, *, in_hand: bool, delayed: bool, cancelled: bool) -> JobState:
    """The state of a job as its owner sees it."""
    state = _STATE_OF[written]
    if state is not JobState.WAITING:
        return state
    if cancelled:
        return JobState.CANCELLED
    if in_hand:
        return JobState.ACTIVE
    return JobState.DELAYED if delayed else JobState.WAITING


def _job(row: Record, now: datetime) -> Job:
    cancelled = row["blocked"] == 2  # with its batch, although its own row may not say so yet
    delayed = (row["not_before"] or 0) > to_ms(now)
    outcome = row["outcome"]
    key = row["flow_key"]
    finished = row["finished_at"] or (row["batch_ended_at"] if cancelled else None)
    return Job(
        id=job_of(row["id"]),
        account=AccountId(row["account"]),
        kind=Kind(row["kind"]),
        state=state_of(row["state"], in_hand=bool(row["in_hand"]), delayed=delayed, cancelled=cancelled),
        lane=row["lane_key"],
        order=row["order"],
        failures=row["failures"],
        created_at=from_ms(row["created_at"]),
        started_at=None if row["started_at"] is None else from_ms(row["started_at"]),
        finished_at=None if finished is None else from_ms(finished),
        result=None if outcome is None else StoredResult(outcome, row["body"], row["blob"]),
        batch=None if "|" in key else BatchId(key),
        position=max(row["position"], 0),
    )


def _standing(row: Record) -> Standing:
    # The time of a leased lane is its lease's end, and that is nothing an item has to wait for.
    rests = row["state"] == 2 and row["reason"] != "leased"
    return Standing(
        lane=LaneKey(row["key"]),
        is_paused=bool(row["blocked"]) or row["state"] == 3,
        is_held=row["held"],
        rests_until=from_ms(row["ready_at"]) if rests else None,
        reason=row["reason"],
        not_before=from_ms(row["not_before"]),
        ahead=row["ahead"],
        gap=None if row["gap_ms"] is None else timedelta(milliseconds=row["gap_ms"]),
        stretch=row["stretch"],
        active=row["active"],
        most_active=row["most_active"],
    )
