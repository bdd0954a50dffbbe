"""The worker on a real store: pace, order, failures and the end of work."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import msgspec
import pytest
from workshop import LIMITS, A, B, Gate, Workshop, finished, job, working

from emissary.engine.handlers import Done, Onward, Retry, Turn, Verdict, Work
from emissary.model.errors import StoreUnavailable
from emissary.model.ids import JobId, WorkerId
from emissary.model.jobs import JobState, Kind, NewJob, Priority
from emissary.model.lanes import Claim, LaneAdvice, LaneKey, Pace, Reason, Thing
from emissary.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

# Pace


async def test_the_gap_is_kept_between_items_and_across_leases(workshop: Workshop) -> None:
    gap, clock = timedelta(milliseconds=40), workshop.clock
    uses: list[tuple[float, float]] = []

    async def play(work: Work, turn: Turn) -> Verdict:
        async with turn():
            began = clock.monotonic()
            await workshop.see(work.item.job)
            uses.append((began, clock.monotonic()))
        return finished()

    async with working(
        workshop.worker(play, "wrk_ann", pace=Pace(gap)), workshop.worker(play, "wrk_bob", pace=Pace(gap))
    ):
        for _ in range(3):  # a lane is let go when its line is empty, so each round is a lease of its own
            batch = [job() for _ in range(3)]
            await workshop.submit(*batch)
            await workshop.until_end(*batch)
    waits = [later[0] - earlier[1] for earlier, later in pairwise(uses)]
    assert len(waits) == 8
    assert min(waits) >= gap.total_seconds()


async def test_a_lane_is_used_by_no_more_at_once_than_it_allows(workshop: Workshop) -> None:
    inside = most = 0
    both = asyncio.Event()

    async def play(work: Work, turn: Turn) -> Verdict:
        nonlocal inside, most
        async with turn():
            inside += 1
            most = max(most, inside)
            if inside == 2:
                both.set()
            await both.wait()
            await workshop.see(work.item.job)
            inside -= 1
        return finished()

    asked = [job() for _ in range(8)]
    await workshop.submit(*asked)
    async with working(workshop.worker(play, pace=Pace(timedelta(), concurrency=2))):
        await workshop.until_end(*asked)
    assert most == 2


async def test_a_site_that_asks_to_be_left_alone_is(still: Workshop, clock: FakeClock) -> None:
    rest = LaneAdvice(rest_until=clock.now() + timedelta(seconds=60), reason=Reason.RETRY_AFTER)

    async def play(work: Work, turn: Turn) -> Verdict:
        return msgspec.structs.replace(finished(), advice=rest)

    first, second = job(), job()
    await still.submit(first, second)
    async with working(still.worker(play)):
        await still.until_end(first)
        await still.until_state(second.id, JobState.WAITING)
        why = await still.jobs.why_waiting(second.id)
        assert why is not None
        assert (why.reason, why.until) == ("retry_after", rest.rest_until)
        clock.advance(60)
        await still.until_end(second)


async def test_a_gap_that_a_site_asked_for_outlives_the_lease(still: Workshop, clock: FakeClock) -> None:
    async def play(work: Work, turn: Turn) -> Verdict:
        async with turn():
            return msgspec.structs.replace(finished(), advice=LaneAdvice(gap=timedelta(seconds=30)))

    first, second = job(), job()
    async with working(still.worker(play, pace=Pace(timedelta(seconds=1)))):
        await still.submit(first)
        await still.until_end(first)
    await still.submit(second)
    why = await still.jobs.why_waiting(second.id)
    assert why is not None
    assert (why.reason, why.until) == ("gap", clock.now() + timedelta(seconds=30))
    clock.advance(30)
    now = clock.now()
    claimed = await still.lanes.claim(Claim(WorkerId("wrk_bob"), now, 1, 1), now)
    assert claimed.leases[0].gap == timedelta(seconds=30)


async def test_a_lane_that_waits_long_makes_room_for_another(workshop: Workshop) -> None:
    """One place for lanes, and a site that wants ten seconds between two visits."""

    async def play(work: Work, turn: Turn) -> Verdict:
        async with turn(timedelta(seconds=10) if work.lane == A else None):
            asked = LaneAdvice(gap=timedelta(seconds=10) if work.lane == A else None)
            return msgspec.structs.replace(finished(), advice=asked)

    slow, other = [job(), job()], job(B)
    limits = replace(LIMITS, lanes=1)
    await workshop.submit(*slow)
    async with working(workshop.worker(play, limits=limits)):
        await workshop.until_end(slow[0])
        await workshop.submit(other)
        await workshop.until_end(other)
        assert (await workshop.see(slow[1].id)).state is JobState.WAITING


async def test_a_store_that_fails_under_a_handler_does_not_fail_its_job(still: Workshop, clock: FakeClock) -> None:
    tries = 0

    async def play(work: Work, turn: Turn) -> Verdict:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise StoreUnavailable("busy")
        return finished()

    asked = job()
    await still.submit(asked)
    async with working(still.worker(play)):
        await still.until_state(asked.id, JobState.DELAYED)
        clock.advance(11)
        (ended,) = await still.until_end(asked)
    assert (ended.state, ended.failures) == (JobState.COMPLETED, 0)


# Order


async def test_urgent_work_goes_ahead_of_what_its_lanes_holder_has_in_hand(workshop: Workshop) -> None:
    gate, batch, urgent = Gate(), [job() for _ in range(4)], job(priority=Priority.INTERACTIVE)
    await workshop.submit(*batch)
    async with working(workshop.worker(gate.play)):
        await gate.reached.wait()
        await workshop.submit(urgent)
        await workshop.see(urgent.id)
        gate.opened.set()
        await workshop.until_end(urgent, *batch)
    assert gate.seen == [batch[0].id, urgent.id, *(each.id for each in batch[1:])]


async def test_a_lane_longer_than_one_take_is_served_to_its_end_in_order(workshop: Workshop) -> None:
    gate, asked = Gate(), [job() for _ in range(25)]
    gate.opened.set()
    await workshop.submit(*asked)
    async with working(workshop.worker(gate.play, items=4)):
        await workshop.until_end(*asked)
    assert gate.seen == [each.id for each in asked]


async def test_workers_share_the_lanes_and_do_each_job_once(workshop: Workshop) -> None:
    gate, asked = Gate(), [job(f"host:{number % 20}.example") for number in range(100)]
    gate.opened.set()
    limits = replace(LIMITS, lanes=3)
    async with working(*(workshop.worker(gate.play, f"wrk_{name}", limits=limits) for name in "abc")):
        await workshop.submit(*asked)
        await workshop.until_end(*asked)
    assert sorted(gate.seen) == [each.id for each in asked]
    assert await workshop.records.depth() == 0


async def test_a_store_that_is_slow_to_hand_out_more_does_not_hold_up_what_is_in_hand(workshop: Workshop) -> None:
    seen, asked = [], [job() for _ in range(8)]

    async def play(work: Work, turn: Turn) -> Verdict:
        async with turn():
            if not seen:
                workshop.lanes.open.clear()
            seen.append(work.item.job)
        return finished()

    await workshop.submit(*asked)
    async with working(workshop.worker(play, items=4)):
        await until(lambda: len(seen) == 4 and workshop.lanes.waiting > 0, workshop, asked[0].id)
        workshop.lanes.open.set()
        await workshop.until_end(*asked)
    assert seen == [each.id for each in asked]


# Verdicts


async def test_a_handler_that_breaks_ends_its_job_and_not_the_worker(workshop: Workshop) -> None:
    bad, good = job(), job()

    async def play(work: Work, turn: Turn) -> Verdict:
        if work.item.job == bad.id:
            raise ZeroDivisionError
        return finished()

    await workshop.submit(bad, good)
    async with working(workshop.worker(play)):
        ends = await workshop.until_end(bad, good)
    assert [each.state for each in ends] == [JobState.FAILED, JobState.COMPLETED]
    assert ends[0].result is not None
    assert ends[0].result.outcome == b'"broken: ZeroDivisionError"'


async def test_a_kind_of_work_that_nobody_here_does_is_left_for_another(workshop: Workshop) -> None:
    strange, good = job(kind=Kind("from.the.future")), job()
    await workshop.submit(strange, good)
    gate = Gate()
    gate.opened.set()
    async with working(workshop.worker(gate.play)):
        await workshop.until_end(good)
        await workshop.until_state(strange.id, JobState.DELAYED)
    assert gate.seen == [good.id]


async def test_a_job_is_tried_again_at_its_time(still: Workshop, clock: FakeClock) -> None:
    failures: list[int] = []

    async def play(work: Work, turn: Turn) -> Verdict:
        failures.append(work.item.failures)
        return finished() if work.item.failures == 2 else Retry(clock.now() + timedelta(seconds=5))

    asked = job()
    await still.submit(asked)
    async with working(still.worker(play)):
        for _ in range(2):
            await still.until_state(asked.id, JobState.DELAYED)
            clock.advance(5)
        (end,) = await still.until_end(asked)
    assert (failures, end.failures, end.state) == ([0, 1, 2], 2, JobState.COMPLETED)


async def test_a_job_goes_on_in_the_lane_it_is_sent_to(workshop: Workshop) -> None:
    way: list[tuple[str, bytes | None]] = []

    async def play(work: Work, turn: Turn) -> Verdict:
        way.append((work.lane, work.item.trail))
        return Onward(LaneKey(B), b"[1]") if work.lane == A else finished()

    asked = job(A)
    await workshop.submit(asked)
    async with working(workshop.worker(play)):
        await workshop.until_end(asked)
    assert way == [(A, None), (B, b"[1]")]


async def test_what_follows_from_a_job_is_done_as_well(workshop: Workshop) -> None:
    news = job(B)

    async def play(work: Work, turn: Turn) -> Done:
        return msgspec.structs.replace(finished(), follow_ups=(news,)) if work.lane == A else finished()

    async with working(workshop.worker(play)):
        await workshop.submit(job(A))
        async with asyncio.timeout(10):
            while await workshop.records.job(news.id, workshop.clock.now()) is None:
                pass
        await workshop.until_end(news)


# The end of work


async def test_a_worker_that_stops_finishes_what_it_began_and_gives_the_rest_back(workshop: Workshop) -> None:
    gate, asked = Gate(), [job() for _ in range(3)]
    await workshop.submit(*asked)
    worker = workshop.worker(gate.play)
    async with working(worker):
        await gate.reached.wait()
        worker.stop()
        gate.opened.set()
    assert await states(workshop, *asked) == [JobState.COMPLETED, JobState.WAITING, JobState.WAITING]
    assert await left_in_line(workshop) == [each.id for each in asked[1:]]


async def test_what_does_not_end_within_the_grace_is_given_back_unfinished(workshop: Workshop) -> None:
    gate, asked = Gate(), job()
    await workshop.submit(asked)
    async with working(workshop.worker(gate.play, limits=replace(LIMITS, grace=timedelta(milliseconds=20)))):
        await gate.reached.wait()
    assert gate.stopped.is_set()
    assert await left_in_line(workshop) == [asked.id]


async def test_what_has_used_its_lane_once_and_waits_for_another_turn_is_given_back(workshop: Workshop) -> None:
    """As a page whose robots.txt was just being asked for: between the two lies the gap."""
    reached, opened, asked = asyncio.Event(), asyncio.Event(), job()

    async def play(work: Work, turn: Turn) -> Verdict:
        async with turn():
            reached.set()
            await opened.wait()
        async with turn():
            return finished()

    await workshop.submit(asked)
    worker = workshop.worker(play, pace=Pace(timedelta(minutes=10)))
    async with working(worker):
        await reached.wait()
        worker.stop()
        opened.set()
    assert await states(workshop, asked) == [JobState.WAITING]


async def test_a_claim_that_was_under_way_when_the_worker_stopped_is_given_back(workshop: Workshop) -> None:
    gate, asked = Gate(), job()
    await workshop.submit(asked)
    workshop.lanes.open.clear()
    worker = workshop.worker(gate.play)
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.run())
        await until(lambda: workshop.lanes.waiting > 0, workshop, asked.id)
        worker.stop()
        workshop.lanes.open.set()
    assert gate.seen == []
    assert await left_in_line(workshop) == [asked.id]


async def test_a_lane_that_waits_for_more_when_the_worker_stops_begins_nothing_new(workshop: Workshop) -> None:
    seen, asked = [], [job() for _ in range(2)]

    async def play(work: Work, turn: Turn) -> Verdict:
        workshop.lanes.open.clear()
        seen.append(work.item.job)
        return finished()

    await workshop.submit(*asked)
    worker = workshop.worker(play, items=1)
    async with working(worker):
        await until(lambda: workshop.lanes.waiting > 1, workshop, asked[0].id)  # the settlement, and the wish
        worker.stop()
        workshop.lanes.open.set()
    assert seen == [asked[0].id]
    assert await left_in_line(workshop) == [asked[1].id]


async def states(workshop: Workshop, *asked: NewJob) -> list[JobState]:
    return [(await workshop.see(each.id)).state for each in asked]


async def left_in_line(workshop: Workshop) -> list[JobId]:
    """What the next worker gets at once."""
    now = workshop.clock.now()
    claimed = await workshop.lanes.claim(Claim(WorkerId("wrk_next"), now + timedelta(hours=1), 9, 9), now)
    return [item.job for lease in claimed.leases for item in lease.items]


async def until(condition: Callable[[], bool], workshop: Workshop, asked: JobId) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await workshop.see(asked)


async def test_a_worker_that_does_some_kinds_of_work_leaves_the_rest_to_others(workshop: Workshop) -> None:
    asked, event = job(), job("hook:receiver.example")
    await workshop.submit(asked, event)
    pages, hooks = Gate(), Gate()
    pages.opened.set()
    hooks.opened.set()
    async with working(workshop.worker(hooks.play, "wrk_hooks", things=frozenset({Thing.HOOK}))):
        await workshop.until_end(event)
        assert (await workshop.see(asked.id)).state is JobState.WAITING
        async with working(workshop.worker(pages.play, "wrk_pages", things=frozenset({Thing.HOST}))):
            await workshop.until_end(asked)
    assert (hooks.seen, pages.seen) == ([event.id], [asked.id])
