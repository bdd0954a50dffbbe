"""Results on PostgreSQL are told in the order of transactions: none is passed over because an older one still runs."""

from datetime import UTC, datetime, timedelta

import pytest

from emissary.backends.cluster.batches import PostgresBatches, PostgresLedger
from emissary.backends.cluster.database import Database
from emissary.backends.cluster.lanes import PostgresLanes
from emissary.model.batches import BatchState, NewBatch
from emissary.model.ids import AccountId, BatchId, JobId, WorkerId
from emissary.model.jobs import JobState, Kind, NewJob, StoredResult
from emissary.model.lanes import Claim, Report, Settlement

pytestmark = pytest.mark.anyio

_NOW = datetime(2030, 1, 1, tzinfo=UTC)
_ACCOUNT, _KIND, _BATCH = AccountId("acc_1"), Kind("test"), BatchId(f"bat_{'0' * 26}")


async def test_while_an_older_transaction_runs_not_all_is_told(database_url: str) -> None:
    database = await Database.open(database_url)
    lanes, batches, ledger = PostgresLanes(database, 0), PostgresBatches(database, 0), PostgresLedger(database)
    try:
        await batches.open(NewBatch(_BATCH, _ACCOUNT, _KIND, None, b"{}"), _NOW)
        await lanes.submit([NewJob(JobId(f"job_{'0' * 26}"), _ACCOUNT, _KIND, "host:a", b"[]", batch=_BATCH)], _NOW)
        await batches.seal(_BATCH)
        (lease,) = (await lanes.claim(Claim(WorkerId("wrk_1"), _NOW + timedelta(hours=1), 1, 1), _NOW)).leases
        (item,) = lease.items
        end = Settlement(lease.grip, item.job, item.rank, _NOW, JobState.COMPLETED, StoredResult(b'{"code":"ok"}'))
        async with database.transaction() as older:
            await older.execute("SELECT pg_current_xact_id()")
            await lanes.settle(Report((end,), ()), _NOW)
            batch = await batches.find(_BATCH)
            assert batch is not None
            assert batch.state is BatchState.COMPLETED
            assert not await ledger.all_told(_BATCH)
            assert await ledger.finished(_BATCH, after="", most=10) == []
        assert await ledger.all_told(_BATCH)
        assert len(await ledger.finished(_BATCH, after="", most=10)) == 1
    finally:
        await database.close()
