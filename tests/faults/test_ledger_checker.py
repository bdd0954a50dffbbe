"""The checker of batches sees what it is there to see, on a real store that was tampered with."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from ledger_checker import batch_breaches, left_behind

from emissary.adapters.clock import SystemChance
from emissary.compose.backends import Backend, open_backend
from emissary.model.batches import NewBatch
from emissary.model.ids import AccountId, BatchId, JobId
from emissary.model.jobs import JobState, Kind, NewJob, StoredResult
from emissary.model.lanes import Claim, Reason, Release, Report, Settlement
from emissary.settings import Settings

pytestmark = pytest.mark.anyio

BATCH, ACCOUNT, KIND = BatchId("bat_1"), AccountId("acc_1"), Kind("test")
JOBS = [JobId(f"job_{number:026}") for number in range(3)]


@pytest.fixture
async def backend(tmp_path: Path, anyio_backend: str) -> AsyncIterator[Backend]:
    """A batch of three jobs: one was cancelled, the others are completed."""
    async with open_backend(Settings(data_dir=tmp_path), SystemChance()) as backend:
        now, lanes = backend.clock.now(), backend.lanes
        await backend.batches.open(NewBatch(BATCH, ACCOUNT, KIND, None, b"{}"), now)
        await lanes.submit([NewJob(job, ACCOUNT, KIND, "host:a", b"{}", batch=BATCH) for job in JOBS], now)
        await backend.batches.seal(BATCH)
        await lanes.cancel(JOBS[2:], now)
        (lease,) = (await lanes.claim(Claim(backend.worker, now + timedelta(minutes=5), 9, 9), now)).leases
        result = StoredResult(b'{"code":"ok"}', b"{}")
        settlements = tuple(
            Settlement(lease.grip, item.job, item.rank, now, JobState.COMPLETED, result, credits=1)
            for item in lease.items
        )
        await lanes.settle(Report(settlements, (Release(lease.grip, now, Reason.GAP),)), now)
        while await backend.batches.tidy(now, most=9):
            pass
        yield backend


def tamper(folder: Path, change: str) -> None:
    with closing(sqlite3.connect(folder / "emissary.db")) as store:
        store.executescript(change)


async def test_a_batch_without_fault_has_none(backend: Backend) -> None:
    assert await batch_breaches(backend, BATCH, JOBS) == []
    assert await left_behind(backend) == []


@pytest.mark.parametrize(
    ("change", "breach"),
    [
        ("DELETE FROM jobs WHERE position = 0", "is not in the ledger"),
        ("UPDATE jobs SET state = 'failed' WHERE position = 0", "is failed"),
        ("UPDATE jobs SET state = 'cancelled' WHERE position = 0", "is cancelled and has 1 results"),
        ("DELETE FROM results WHERE seq = 1", "is completed and has 0 results"),
        ("UPDATE tallies SET completed = 3", "counts 3 completed, the ledger 2"),
        ("UPDATE tallies SET credits = 3", "counts 3 credits, the ledger 2"),
        ("UPDATE tallies SET cancelled = 0", "counts 0 cancelled, the ledger 1"),
        ("DELETE FROM jobs WHERE position = 2", "counts 3 jobs, the ledger 2"),
        ("UPDATE batches SET state = 'running', sealed = 0", "the batch is running"),
        ("DELETE FROM usage_notes", "0 credits were used, and 2 counted"),
        (
            "INSERT INTO usage SELECT 1, '2030-01-01', 'test', 'a', 1, 0, 0, 0, 0",
            "3 completed were used, and 2 counted",
        ),
        ("UPDATE outcomes SET number = 5", "counts 5 ok, the ledger 2"),
        ("DELETE FROM outcomes", "counts 0 ok, the ledger 2"),
    ],
)
async def test_a_breach_of_a_batch_is_told(backend: Backend, tmp_path: Path, change: str, breach: str) -> None:
    tamper(tmp_path, change)
    ends = {JobState.COMPLETED, JobState.CANCELLED}
    assert any(breach in told for told in await batch_breaches(backend, BATCH, JOBS, ends=ends))


@pytest.mark.parametrize(
    ("change", "breach"),
    [
        ("UPDATE tallies SET completed = 1", "1 jobs have not ended"),
        ("UPDATE lanes SET state = 'ready'", "1 lanes are ready"),
        ("UPDATE lanes SET state = 'waiting', holder = 'wrk_ann', ready_at = 1 << 50", "1 lanes are held"),
        ("UPDATE lanes SET state = 'waiting', holder = 'wrk_ann', ready_at = 1 << 50", "1 of the dead hold lanes"),
    ],
)
async def test_what_was_left_behind_is_told(backend: Backend, tmp_path: Path, change: str, breach: str) -> None:
    tamper(tmp_path, change)
    assert breach in await left_behind(backend)


async def test_a_batch_that_is_not_there_is_told(backend: Backend) -> None:
    assert await batch_breaches(backend, BatchId("bat_2"), []) == ["there is no batch bat_2"]
