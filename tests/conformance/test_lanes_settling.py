"""The promise of `ports.lanes.Lanes.settle`: what is written, by whom, and what goes with it."""

import pytest
from making import (
    BOB,
    LEASE_SECONDS,
    RESULT,
    A,
    B,
    at,
    claim,
    done,
    hold,
    job,
    jobs_of,
    keys_of,
    lease_one,
    onward,
    release,
    retry,
    settle,
    take,
)
from openers import Backend

from emissary.model.jobs import JobState, StoredResult
from emissary.ports.lanes import Lanes
from emissary.ports.records import JobRecords

pytestmark = pytest.mark.anyio


async def test_a_result_is_kept_with_its_job(lanes: Lanes, jobs: JobRecords) -> None:
    asked = job()
    lease = await hold(lanes, asked)
    result = StoredResult('{"note":"ü \\u0000"}'.encode(), bytes(range(256)), None)
    assert await settle(lanes, done(lease.grip, lease.items[0], result), seconds=3) == {asked.id}
    found = await jobs.job(asked.id, at(3))
    assert found is not None
    assert (found.state, found.started_at, found.finished_at) == (JobState.COMPLETED, at(1), at(3))
    assert found.result == result


async def test_a_result_may_lie_in_the_object_store(lanes: Lanes, jobs: JobRecords) -> None:
    asked = job()
    lease = await hold(lanes, asked)
    result = StoredResult(b"{}", None, "results/000001/job_1")
    await settle(lanes, done(lease.grip, lease.items[0], result))
    found = await jobs.job(asked.id, at(3))
    assert found is not None
    assert found.result == result


async def test_a_job_may_end_without_a_result(lanes: Lanes, jobs: JobRecords) -> None:
    asked = job()
    lease = await hold(lanes, asked)
    await settle(lanes, done(lease.grip, lease.items[0], None))
    found = await jobs.job(asked.id, at(3))
    assert found is not None
    assert (found.state, found.result) == (JobState.COMPLETED, None)


async def test_hundreds_of_settlements_go_into_one_report(lanes: Lanes, jobs: JobRecords) -> None:
    asked = [job() for _ in range(300)]
    await lanes.submit(asked, at(0))
    lease = await lease_one(lanes, items=300)
    told = [done(lease.grip, item, StoredResult(b"{}", item.job.encode())) for item in lease.items]
    assert await settle(lanes, *told, release(lease.grip)) == {each.id for each in asked}
    assert await jobs.depth() == 0
    found = [await jobs.job(each.id, at(2)) for each in asked]
    assert [each.result.body for each in found if each and each.result] == [each.id.encode() for each in asked]


# The fence


async def test_a_zombie_cannot_settle_a_job_that_was_given_to_another(lanes: Lanes, jobs: JobRecords) -> None:
    asked = job()
    old = await hold(lanes, asked)
    new = await lease_one(lanes, BOB, LEASE_SECONDS)
    late = StoredResult(b'"late"')
    assert await settle(lanes, done(old.grip, old.items[0], late), seconds=LEASE_SECONDS) == frozenset()
    found = await jobs.job(asked.id, at(LEASE_SECONDS))
    assert found is not None
    assert (found.state, found.result) == (JobState.ACTIVE, None)
    assert await settle(lanes, done(new.grip, new.items[0]), seconds=LEASE_SECONDS) == {asked.id}
    assert await settle(lanes, done(old.grip, old.items[0], late), seconds=LEASE_SECONDS) == frozenset()
    found = await jobs.job(asked.id, at(LEASE_SECONDS))
    assert found is not None
    assert found.result == RESULT


async def test_a_zombie_can_neither_put_off_nor_move_nor_release_what_is_anothers(lanes: Lanes) -> None:
    asked = job()
    old = await hold(lanes, asked)
    new = await lease_one(lanes, BOB, LEASE_SECONDS)
    (item,) = old.items
    for told in (retry(old.grip, item, 9999), onward(old.grip, item, B)):
        assert await settle(lanes, told, release(old.grip, rest=9999), seconds=LEASE_SECONDS) == frozenset()
    assert (await claim(lanes, seconds=LEASE_SECONDS)).leases == ()
    assert await lanes.renew([new.grip], at(2 * LEASE_SECONDS)) == frozenset()
    await settle(lanes, release(new.grip), seconds=LEASE_SECONDS)
    assert jobs_of(await lease_one(lanes, BOB, LEASE_SECONDS)) == [asked.id]


async def test_a_late_settlement_counts_as_long_as_nobody_else_got_the_lane(lanes: Lanes) -> None:
    asked = job()
    lease = await hold(lanes, asked)
    await lanes.wake(at(LEASE_SECONDS))
    assert await settle(lanes, done(lease.grip, lease.items[0]), seconds=LEASE_SECONDS) == {asked.id}


async def test_of_a_mixed_report_only_what_is_still_held_is_written(lanes: Lanes, jobs: JobRecords) -> None:
    lost, kept = job(A), job(B)
    await lanes.submit([lost, kept], at(0))
    leases = {lease.grip.lane: lease for lease in (await claim(lanes)).leases}
    await lanes.renew([leases[B].grip], at(2 * LEASE_SECONDS))
    assert keys_of(await claim(lanes, BOB, LEASE_SECONDS)) == {A}
    told = [done(lease.grip, lease.items[0]) for lease in leases.values()]
    given_back = [release(lease.grip) for lease in leases.values()]
    assert await settle(lanes, *told, *given_back, seconds=LEASE_SECONDS) == {kept.id}
    assert await jobs.depth() == 1


async def test_what_is_told_twice_is_written_once(lanes: Lanes, jobs: JobRecords) -> None:
    asked = job()
    lease = await hold(lanes, asked)
    assert await settle(lanes, done(lease.grip, lease.items[0])) == {asked.id}
    assert await settle(lanes, done(lease.grip, lease.items[0], StoredResult(b'"again"'))) == frozenset()
    found = await jobs.job(asked.id, at(2))
    assert found is not None
    assert found.result == RESULT


async def test_of_two_ends_in_one_report_the_first_is_written(lanes: Lanes, jobs: JobRecords) -> None:
    asked = job()
    lease = await hold(lanes, asked)
    again = done(lease.grip, lease.items[0], StoredResult(b'"again"'))
    assert await settle(lanes, done(lease.grip, lease.items[0]), again, release(lease.grip)) == {asked.id}
    found = await jobs.job(asked.id, at(2))
    assert found is not None
    assert (found.result, await jobs.depth()) == (RESULT, 0)


async def test_a_report_is_written_whole_or_not_at_all(backend: Backend) -> None:
    first, second = job(), job()
    lease = await hold(backend.lanes, first, second)
    one, two = lease.items
    with pytest.raises(backend.clash):
        await settle(backend.lanes, done(lease.grip, one), done(lease.grip, two, RESULT, first), release(lease.grip))
    assert await backend.jobs.depth() == 2
    found = await backend.jobs.job(first.id, at(2))
    assert found is not None
    assert (found.state, found.result) == (JobState.ACTIVE, None)
    assert await backend.lanes.renew([lease.grip], at(LEASE_SECONDS)) == frozenset()


# Trying again


async def test_a_retry_waits_for_its_time_while_others_of_its_lane_go_on(lanes: Lanes, jobs: JobRecords) -> None:
    failing, other = job(), job()
    lease = await hold(lanes, failing, other)
    first, second = lease.items
    assert await settle(lanes, retry(lease.grip, first, 30), release(lease.grip)) == {failing.id}
    lease = await lease_one(lanes, seconds=2)
    assert jobs_of(lease) == [other.id]
    await settle(lanes, done(lease.grip, second), release(lease.grip), seconds=3)
    claimed = await claim(lanes, seconds=4)
    assert (claimed.leases, claimed.next_ready_at) == ((), at(30))
    why = await jobs.why_waiting(failing.id, at(4))
    assert why is not None
    assert (why.lane, why.reason, why.until) == (A, "back_off", at(30))
    (item,) = (await lease_one(lanes, seconds=30)).items
    assert (item.job, item.failures) == (failing.id, 1)


async def test_a_retry_that_is_due_while_the_lane_is_held_is_taken_again(lanes: Lanes) -> None:
    asked = job()
    lease = await hold(lanes, asked)
    await settle(lanes, retry(lease.grip, lease.items[0], 30))
    assert await take(lanes, lease.grip, 10, seconds=29) == []
    assert [item.job for item in await take(lanes, lease.grip, 10, seconds=30)] == [asked.id]


async def test_a_put_off_job_does_not_delay_work_that_comes_after_it(lanes: Lanes) -> None:
    lease = await hold(lanes, job())
    await settle(lanes, retry(lease.grip, lease.items[0], 30), release(lease.grip))
    fresh = job()
    await lanes.submit([fresh], at(2))
    assert jobs_of(await lease_one(lanes, seconds=2)) == [fresh.id]


# Going on elsewhere


@pytest.mark.parametrize("trail", [b'{"hops":["a",{"b":null}]}', None])
async def test_a_job_goes_on_in_another_lane_with_what_it_learned(
    trail: bytes | None, lanes: Lanes, jobs: JobRecords
) -> None:
    asked = job(A)
    lease = await hold(lanes, asked)
    assert await settle(lanes, onward(lease.grip, lease.items[0], B, trail), release(lease.grip)) == {asked.id}
    found = await jobs.job(asked.id, at(1))
    assert found is not None
    assert (found.state, found.lane) == (JobState.WAITING, B)
    lease = await lease_one(lanes, seconds=2)
    (item,) = lease.items
    assert (lease.grip.lane, item.job) == (B, asked.id)
    assert item.trail == trail
    assert await settle(lanes, done(lease.grip, item)) == {asked.id}


async def test_whoever_sent_a_job_on_has_no_more_to_say_about_it(lanes: Lanes, jobs: JobRecords) -> None:
    asked = job(A)
    lease = await hold(lanes, asked)
    await settle(lanes, onward(lease.grip, lease.items[0], B))
    for told in (done(lease.grip, lease.items[0]), retry(lease.grip, lease.items[0], 60)):
        assert await settle(lanes, told) == frozenset()
    found = await jobs.job(asked.id, at(2))
    assert found is not None
    assert (found.state, found.lane, found.result) == (JobState.WAITING, B, None)


async def test_a_job_may_go_on_in_its_own_lane(lanes: Lanes) -> None:
    asked = job(A)
    lease = await hold(lanes, asked)
    await settle(lanes, onward(lease.grip, lease.items[0], A, b"[1]"))
    (item,) = await take(lanes, lease.grip, 10, seconds=2)
    assert (item.job, item.trail) == (asked.id, b"[1]")


async def test_a_job_goes_on_in_a_lane_that_another_holds(lanes: Lanes) -> None:
    here, there = job(A), job(B)
    lease = await hold(lanes, here)
    other = await hold(lanes, there, worker=BOB)
    await settle(lanes, onward(lease.grip, lease.items[0], B))
    assert [item.job for item in await take(lanes, other.grip, 10, seconds=2, in_hand=jobs_of(other))] == [here.id]


# What follows


async def test_what_follows_from_a_settlement_is_written_with_it(lanes: Lanes, jobs: JobRecords) -> None:
    lease = await hold(lanes, job(A))
    news = job(B)
    await settle(lanes, done(lease.grip, lease.items[0], RESULT, news), release(lease.grip))
    assert await jobs.depth() == 1
    assert jobs_of(await lease_one(lanes, seconds=2)) == [news.id]


async def test_nothing_follows_from_a_settlement_that_was_not_written(lanes: Lanes, jobs: JobRecords) -> None:
    old = await hold(lanes, job(A))
    await lease_one(lanes, BOB, LEASE_SECONDS)
    news = job(B)
    await settle(lanes, done(old.grip, old.items[0], RESULT, news), seconds=LEASE_SECONDS)
    assert await jobs.job(news.id, at(LEASE_SECONDS)) is None
    assert await jobs.depth() == 1
