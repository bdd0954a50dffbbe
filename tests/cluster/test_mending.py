"""The net: a lane that stands empty although something stands in it is found, and told of."""

from datetime import timedelta

import pytest

from emissary.backends.cluster.database import Database
from emissary.backends.cluster.lanes import PostgresLanes
from emissary.backends.cluster.upkeep import PostgresWorkload
from emissary.engine.duties import Mending
from emissary.model.ids import AccountId, JobId, WorkerId
from emissary.model.jobs import Kind, NewJob, Priority
from emissary.model.lanes import Claim, LaneKey
from emissary.model.leadership import Term
from emissary.telemetry.metrics import Metrics
from emissary.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

LANE = LaneKey("host:a")
JOB = JobId(f"job_{1:026d}")


@pytest.fixture
async def lanes(database: Database) -> PostgresLanes:
    lanes = PostgresLanes(database, 0)
    await lanes.submit([NewJob(JOB, AccountId("acc_1"), Kind("test"), LANE, b"{}", Priority.NORMAL)], FakeClock().now())
    return lanes


async def test_a_lane_that_was_lost_is_back_in_line(lanes: PostgresLanes, database: Database) -> None:
    clock, metrics = FakeClock(), Metrics()
    await database.write("UPDATE lanes SET state = 0, low_rank = 9000000000000000000")
    asked = Claim(WorkerId("wrk_ann"), clock.now() + timedelta(minutes=1), 9, 9)
    assert (await lanes.claim(asked, clock.now())).leases == ()
    mending = Mending(PostgresWorkload(database), clock=clock, metrics=metrics)
    assert await mending.do(Term(1, WorkerId("wrk_ann")))
    assert not await mending.do(Term(1, WorkerId("wrk_ann"))), "there is no more of it"
    (lease,) = (await lanes.claim(asked, clock.now())).leases
    assert [item.job for item in lease.items] == [JOB]
    assert metrics.registry.get_sample_value("emissary_lanes_mended_total") == 1


async def test_a_lane_in_line_or_in_hand_is_left_as_it_is(lanes: PostgresLanes, database: Database) -> None:
    workload, clock = PostgresWorkload(database), FakeClock()
    assert await workload.mend(clock.now()) == 0
    await lanes.claim(Claim(WorkerId("wrk_ann"), clock.now() + timedelta(minutes=1), 9, 9), clock.now())
    assert await workload.mend(clock.now()) == 0
