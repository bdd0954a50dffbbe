"""The promises of `ports.records`: what is known of jobs, accounts, house rules and workers."""

from datetime import datetime, timedelta

import pytest
from making import (
    ACCOUNT,
    ANN,
    BOB,
    LEASE_SECONDS,
    A,
    B,
    at,
    claim,
    done,
    hold,
    job,
    lease_one,
    onward,
    release,
    retry,
    settle,
)
from openers import Backend

from emissary.model.accounts import Account, Allowance
from emissary.model.ids import AccountId, JobId
from emissary.model.jobs import JobState, NewJob
from emissary.model.lanes import Pace
from emissary.model.robots import RobotsFile
from emissary.model.waiting import Terms
from emissary.ports.lanes import Lanes
from emissary.ports.records import JobRecords

pytestmark = pytest.mark.anyio

# Jobs


async def test_a_job_that_nobody_submitted_is_not_known(jobs: JobRecords) -> None:
    assert await jobs.job(JobId("job_nobody"), at(0)) is None
    assert await jobs.why_waiting(JobId("job_nobody"), at(0)) is None


async def test_a_job_is_shown_as_it_was_asked_for(lanes: Lanes, jobs: JobRecords) -> None:
    asked = job()
    await lanes.submit([asked], at(0))
    found = await jobs.job(asked.id, at(1))
    assert found is not None
    assert (found.id, found.account, found.kind) == (asked.id, ACCOUNT, asked.kind)
    assert (found.lane, found.order, found.failures) == (A, asked.order, 0)
    assert (found.state, found.created_at) == (JobState.WAITING, at(0))
    assert (found.started_at, found.finished_at, found.result) == (None, None, None)


async def test_a_job_is_active_while_it_is_in_the_hands_of_its_lanes_holder(lanes: Lanes, jobs: JobRecords) -> None:
    taken, behind = job(), job()
    await lanes.submit([taken, behind], at(0))
    lease = await lease_one(lanes, items=1)
    assert await states(jobs, taken.id, behind.id, seconds=1) == [JobState.ACTIVE, JobState.WAITING]
    await settle(lanes, release(lease.grip))
    assert await states(jobs, taken.id, behind.id, seconds=1) == [JobState.WAITING, JobState.WAITING]
    await lease_one(lanes, BOB, seconds=1, items=2)
    await lanes.wake(at(2 * LEASE_SECONDS))
    assert await states(jobs, taken.id, behind.id, seconds=1) == [JobState.WAITING, JobState.WAITING]


async def test_a_job_is_delayed_until_it_is_to_be_tried_again(lanes: Lanes, jobs: JobRecords) -> None:
    asked = job()
    lease = await hold(lanes, asked)
    await settle(lanes, retry(lease.grip, lease.items[0], 30))
    assert await states(jobs, asked.id, seconds=29) == [JobState.DELAYED]
    assert await states(jobs, asked.id, seconds=30) == [JobState.WAITING]
    found = await jobs.job(asked.id, at(30))
    assert found is not None
    assert found.failures == 1


async def test_the_depth_counts_jobs_that_have_not_ended(lanes: Lanes, jobs: JobRecords) -> None:
    assert await jobs.depth() == 0
    asked = [job() for _ in range(4)]
    lease = await hold(lanes, *asked)
    moves, waits, ends, _ = lease.items
    told = [onward(lease.grip, moves, A), retry(lease.grip, waits, 30), done(lease.grip, ends)]
    await settle(lanes, *told)
    assert await jobs.depth() == 3
    await lanes.cancel([waits.job], at(2))
    assert await jobs.depth() == 2


async def test_a_job_that_started_or_ended_does_not_wait(lanes: Lanes, jobs: JobRecords) -> None:
    asked = job()
    lease = await hold(lanes, asked)
    assert await jobs.why_waiting(asked.id, at(1)) is None
    await settle(lanes, done(lease.grip, lease.items[0]))
    assert await jobs.why_waiting(asked.id, at(1)) is None


async def test_a_job_waits_in_line_behind_those_before_it(lanes: Lanes, jobs: JobRecords) -> None:
    asked = [job() for _ in range(3)]
    await lanes.submit(asked, at(0))
    waits = [await jobs.why_waiting(each.id, at(1)) for each in asked]
    assert [(why.reason, why.ahead) for why in waits if why] == [("in_line", 0), ("in_line", 1), ("in_line", 2)]
    await claim(lanes, items=1)
    why = await jobs.why_waiting(asked[2].id, at(1))
    assert why is not None
    assert (why.lane, why.reason, why.until) == (A, "in_line", at(1))


async def test_a_job_in_line_may_start_after_one_gap_for_each_before_it(lanes: Lanes, jobs: JobRecords) -> None:
    asked = [job() for _ in range(4)]
    await lanes.submit(asked, at(0))
    terms = Terms(Allowance(), lambda _: Pace(timedelta(seconds=2)))
    assert [await until(jobs, each, 5, terms) for each in asked] == [at(5), at(7), at(9), at(11)]
    lease = await lease_one(lanes, items=1)
    assert await until(jobs, asked[3], 6, terms) == at(12), "the one in hand is before it as well"
    await settle(lanes, release(lease.grip, rest=20, gap=timedelta(seconds=10)))
    assert await until(jobs, asked[3], 7, terms) == at(20 + 3 * 10), "its host asked for a longer gap"


async def test_several_at_the_same_time_are_sooner_done(lanes: Lanes, jobs: JobRecords) -> None:
    asked = [job() for _ in range(5)]
    await lanes.submit(asked, at(0))
    assert await until(jobs, asked[4], 1, Terms(Allowance(), lambda _: Pace(timedelta(seconds=2), 4))) == at(3)


async def test_a_job_says_that_its_account_has_as_much_in_hand_as_it_may(backend: Backend) -> None:
    asked = [job(lane) for lane in (A, B, B)]
    await backend.lanes.submit(asked, at(0))

    async def reason(each: NewJob, most_active: int | None) -> str | None:
        terms = Terms(Allowance(most_active=most_active), lambda _: Pace(timedelta(seconds=3)))
        why = await backend.jobs.why_waiting(each.id, at(1), terms)
        return None if why is None else why.reason

    assert await reason(asked[2], 1) == "in_line"
    await claim(backend.lanes, most=1)
    assert [await reason(asked[2], most) for most in (1, 2, None)] == ["account_limit", "in_line", "in_line"]
    await backend.allowances.grant(ACCOUNT, Allowance(most_active=2))
    assert await reason(asked[2], 1) == "in_line", "its own limit is the one"
    terms = Terms(Allowance(), lambda _: Pace(timedelta(seconds=3)))
    await backend.allowances.grant(ACCOUNT, Allowance(most_active=1))
    assert await until(backend.jobs, asked[2], 1, terms) == at(4)


async def until(jobs: JobRecords, asked: NewJob, seconds: float, terms: Terms) -> datetime | None:
    why = await jobs.why_waiting(asked.id, at(seconds), terms)
    assert why is not None
    return why.until


async def test_a_job_waits_for_the_rest_of_its_lane(lanes: Lanes, jobs: JobRecords) -> None:
    asked = job()
    lease = await hold(lanes, asked)
    await settle(lanes, release(lease.grip, rest=10))
    why = await jobs.why_waiting(asked.id, at(2))
    assert why is not None
    assert (why.reason, why.until) == ("gap", at(10))


async def test_a_job_that_backs_off_says_so_even_while_its_lane_is_held(lanes: Lanes, jobs: JobRecords) -> None:
    asked = job()
    lease = await hold(lanes, asked)
    await settle(lanes, retry(lease.grip, lease.items[0], 30))
    why = await jobs.why_waiting(asked.id, at(2))
    assert why is not None
    assert (why.reason, why.until) == ("back_off", at(30))


async def states(jobs: JobRecords, *asked: JobId, seconds: float) -> list[JobState]:
    found = [await jobs.job(each, at(seconds)) for each in asked]
    return [each.state for each in found if each is not None]


# Accounts


async def test_accounts_are_found_by_their_ids_and_in_their_order(backend: Backend, neighbour: Backend) -> None:
    accounts = [Account(AccountId(f"acc_{number}"), f"number {number}", at(number)) for number in range(5)]
    for account in reversed(accounts):
        await backend.accounts.open_account(account)
    assert await neighbour.accounts.account(accounts[3].id) == accounts[3]
    assert await neighbour.accounts.account(AccountId("acc_9")) is None
    assert await neighbour.accounts.accounts() == accounts
    assert await neighbour.accounts.accounts(after="acc_1", most=2) == accounts[2:4]


async def test_opening_an_account_again_changes_nothing_and_renaming_it_does(backend: Backend) -> None:
    first = Account(AccountId("acc_1"), "one", at(0))
    for name in ("one", "another"):
        await backend.accounts.open_account(Account(first.id, name, at(0)))
    assert await backend.accounts.account(first.id) == first
    assert await backend.accounts.rename(first.id, "renamed")
    assert not await backend.accounts.rename(AccountId("acc_2"), "nobody")
    assert await backend.accounts.accounts() == [Account(first.id, "renamed", at(0))]


# House rules


async def test_the_rules_of_an_origin_are_kept_byte_for_byte(backend: Backend) -> None:
    origin, file = "https://a.example", RobotsFile(200, b"User-agent: *\r\nDisallow: /\xff\x00", at(1.5))
    assert await backend.rules.rules_of(origin) is None
    await backend.rules.keep_rules(origin, file)
    assert await backend.rules.rules_of(origin) == file
    assert await backend.rules.rules_of("http://a.example") is None


async def test_newer_rules_take_the_place_of_older_ones_for_all_workers(backend: Backend, neighbour: Backend) -> None:
    origin, newer = "https://a.example", RobotsFile(None, b"", at(2))
    await backend.rules.keep_rules(origin, RobotsFile(200, b"old", at(1)))
    await backend.rules.keep_rules(origin, newer)
    assert await neighbour.rules.rules_of(origin) == newer


@pytest.mark.parametrize(
    "file",
    [
        RobotsFile(503, b"", at(1), retry_at=at(3600)),
        RobotsFile(None, b"", at(1), location="https://b.example/rules/robots.txt?of=a"),
    ],
)
async def test_when_to_ask_again_and_where_the_rules_are_is_known_to_all_workers(
    backend: Backend, neighbour: Backend, file: RobotsFile
) -> None:
    await backend.rules.keep_rules("https://a.example", file)
    assert await neighbour.rules.rules_of("https://a.example") == file
    await backend.rules.keep_rules("https://a.example", RobotsFile(200, b"found", at(2)))
    assert await neighbour.rules.rules_of("https://a.example") == RobotsFile(200, b"found", at(2))


async def test_rules_that_are_too_old_are_forgotten_and_no_others(backend: Backend) -> None:
    rules = backend.rules
    for seconds in range(4):
        await rules.keep_rules(f"https://{seconds}.example", RobotsFile(200, b"x" * 5_000, at(seconds)))
    assert await rules.forget_rules(at(2)) == 2
    assert await rules.forget_rules(at(2)) == 0
    kept = [seconds for seconds in range(4) if await rules.rules_of(f"https://{seconds}.example") is not None]
    assert kept == [2, 3]


# Workers


async def test_an_enlisted_worker_is_not_among_the_dead(backend: Backend, neighbour: Backend, lanes: Lanes) -> None:
    await backend.workers.enlist(ANN)
    await hold(lanes, job(), worker=ANN)
    assert await backend.workers.dead() == []
    assert await neighbour.workers.dead() == []
    await backend.workers.leave(ANN)


async def test_a_worker_that_left_with_lanes_in_hand_is_among_the_dead(
    backend: Backend, neighbour: Backend, lanes: Lanes
) -> None:
    await backend.workers.enlist(ANN)
    lease = await hold(lanes, job(), worker=ANN)
    await backend.workers.leave(ANN)
    assert await neighbour.workers.dead() == [ANN]
    await settle(lanes, release(lease.grip))
    assert await neighbour.workers.dead() == []


async def test_a_worker_that_holds_nothing_is_of_no_concern(backend: Backend, lanes: Lanes) -> None:
    await backend.workers.enlist(ANN)
    await backend.workers.leave(ANN)
    assert await backend.workers.dead() == []


async def test_whoever_is_there_is_known_everywhere_until_they_leave(backend: Backend, neighbour: Backend) -> None:
    assert await neighbour.workers.living() == []
    await backend.workers.enlist(ANN)
    await neighbour.workers.enlist(BOB)
    await backend.workers.beat(ANN)
    for side in (backend, neighbour):
        assert sorted(await side.workers.living()) == [ANN, BOB]
    await backend.workers.leave(ANN)
    assert await neighbour.workers.living() == [BOB]
    await neighbour.workers.leave(BOB)
