"""Lists of jobs on SQLite."""

import sqlite3
from datetime import datetime
from typing import Any

from emissary.model.ids import BatchId, JobId
from emissary.model.job_list import LOOKED_AT, JobLine, JobPage, JobWish
from emissary.model.jobs import JobState, Kind
from emissary.model.moments import from_ms, to_ms

__all__ = ["list_jobs"]

# The newest before that one; where a batch is wanted, the last of its positions: both are found by an index.
_OF_ALL = "SELECT number, id FROM jobs WHERE id < :before ORDER BY id DESC LIMIT :look"
_OF_BATCH = """
SELECT number, id FROM jobs
WHERE flow = (SELECT flow FROM batches WHERE id = :batch) AND position >= 0
    AND position < coalesce((SELECT position FROM jobs WHERE id = :before), :beyond)
ORDER BY position DESC LIMIT :look
"""
_BEYOND = 2**62

# Nested in this order, the jobs come as they were looked at, and no more are joined than are wanted.
# As in the records: what a job that has not ended is doing follows from its item and its lane.
_LISTED = """
WITH looked AS MATERIALIZED ({looked}), told AS (
    SELECT jobs.id, jobs.kind, CASE
            WHEN jobs.state <> 'waiting' THEN jobs.state
            WHEN flows.blocked = 2 THEN 'cancelled'
            WHEN lanes.holder IS NOT NULL AND items.rank <= lanes.taken_rank AND items.not_before <= lanes.taken_at
                THEN 'active'
            WHEN items.not_before > :now THEN 'delayed'
            ELSE 'waiting' END AS state,
        lanes.key AS lane, batches.id AS batch, jobs."order", jobs.failures, jobs.created_at, jobs.started_at,
        coalesce(jobs.finished_at, CASE WHEN flows.blocked = 2 THEN batches.finished_at END) AS finished_at,
        jobs.outcome
    FROM looked CROSS JOIN jobs ON jobs.number = looked.number
    CROSS JOIN flows ON flows.id = jobs.flow CROSS JOIN tenants ON tenants.id = flows.tenant
    CROSS JOIN lanes ON lanes.id = jobs.lane
    LEFT JOIN batches ON batches.flow = jobs.flow
    LEFT JOIN items ON items.lane = jobs.lane AND items.rank = jobs.rank AND items.job = jobs.number
    WHERE tenants.account = :account)
SELECT * FROM told WHERE (:state IS NULL OR state = :state) AND (:lane IS NULL OR lane = :lane) LIMIT :most
"""

_LAST_LOOKED_AT = "SELECT id FROM ({looked}) LIMIT 1 OFFSET :look - 1"


def list_jobs(
    connection: sqlite3.Connection, wish: JobWish, now: datetime, *, before: JobId | None, most: int
) -> JobPage:
    """The page behind that job."""
    looked = _OF_ALL if wish.batch is None else _OF_BATCH
    values: dict[str, Any] = {
        "account": wish.account,
        "state": wish.state,
        "batch": wish.batch,
        "lane": wish.lane,
        "before": "~" if before is None else before,
        "beyond": _BEYOND,
        "now": to_ms(now),
        "look": LOOKED_AT,
        "most": most + 1,
    }
    lines = [_line(row) for row in connection.execute(_LISTED.format(looked=looked), values).fetchall()]
    if len(lines) > most:
        return JobPage(lines[:most], lines[most - 1].id)
    last = connection.execute(_LAST_LOOKED_AT.format(looked=looked), values).fetchone()
    return JobPage(lines, None if last is None else JobId(last[0]))


def _line(row: tuple[Any, ...]) -> JobLine:
    job, kind, state, lane, batch, order, failures, *moments, outcome = row
    created_at, started_at, finished_at = (None if moment is None else from_ms(moment) for moment in moments)
    assert created_at is not None, "every job was made at some time"
    return JobLine(
        id=JobId(job),
        kind=Kind(kind),
        state=JobState(state),
        lane=lane,
        batch=None if batch is None else BatchId(batch),
        order=order.encode(),
        failures=failures,
        created_at=created_at,
        started_at=started_at,
        finished_at=finished_at,
        outcome=None if outcome is None else outcome.encode(),
    )
