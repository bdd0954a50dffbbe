"""The promises of `ports.webhooks`: webhooks are kept, the log says what became of events, what happened is told."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

import msgspec
import pytest
from making import ACCOUNT, ANN, BOB, OTHER, A, at, claim, done, ended, fill, finished, hold, job, settle
from openers import Backend
from sides import Side

from emissary.model.batches import BatchState
from emissary.model.errors import TermOver
from emissary.model.ids import AccountId, EventId, JobId, WebhookId
from emissary.model.jobs import JobState, NewJob
from emissary.model.lanes import LaneKey, Trial
from emissary.model.leadership import Term
from emissary.model.pages import WebUrl
from emissary.model.webhooks import DeliveryState, EventType, Notice, Try, Webhook

pytestmark = pytest.mark.anyio

URL = WebUrl("https://hooks.example/a", "https", "hooks.example", 443, "/a")
FIRST, SECOND = WebhookId("whk_00000000000000000000000001"), WebhookId("whk_00000000000000000000000002")
HOOK = LaneKey("hook:hooks.example")


def a_webhook(name: WebhookId = FIRST, account: AccountId = ACCOUNT) -> Webhook:
    events = frozenset({EventType.JOB_FAILED, EventType.BATCH_COMPLETED})
    return Webhook(name, account, URL, events, b"\x00sealed", at(0), "to the office")


def delivery(line: str = "a line", webhook: WebhookId | None = FIRST) -> NewJob:
    made = job(HOOK)
    event = EventId(made.id.replace("job_", "evt_"))
    return msgspec.structs.replace(made, notice=Notice(webhook, event, "job.failed", line))


def failed(seconds: float, next_at: datetime | None) -> Try:
    return Try(at(seconds), 500, "the receiver answered 500", next_at)


async def test_a_webhook_is_kept_as_it_was_made_and_as_it_was_changed(backend: Backend, neighbour: Backend) -> None:
    made = a_webhook()
    await backend.webhooks.add(made)
    assert await neighbour.webhooks.find(FIRST) == made
    changed = replace(made, events=frozenset(), description=None, active=False, sealed=b"other")
    assert await neighbour.webhooks.change(changed)
    assert await backend.webhooks.find(FIRST) == changed
    assert not await backend.webhooks.change(a_webhook(SECOND))
    assert await backend.webhooks.find(SECOND) is None


async def test_an_account_has_its_own_webhooks_in_the_order_of_their_names(backend: Backend) -> None:
    others = a_webhook(WebhookId("whk_00000000000000000000000003"), OTHER)
    for each in (others, a_webhook(SECOND), a_webhook(FIRST)):
        await backend.webhooks.add(each)
    assert [each.id for each in await backend.webhooks.of_account(ACCOUNT)] == [FIRST, SECOND]
    assert [each.id for each in await backend.webhooks.of_account(ACCOUNT, most=1)] == [FIRST]
    assert [each.id for each in await backend.webhooks.of_account(ACCOUNT, after=FIRST)] == [SECOND]


async def test_a_webhook_is_disabled_once_and_for_the_first_reason(backend: Backend) -> None:
    await backend.webhooks.add(a_webhook())
    await backend.webhooks.disable(FIRST, "gone")
    await backend.webhooks.disable(FIRST, "another reason")
    found = await backend.webhooks.find(FIRST)
    assert found is not None
    assert (found.active, found.disabled) == (False, "gone")


async def test_what_is_removed_is_gone_with_its_log(backend: Backend) -> None:
    await backend.webhooks.add(a_webhook())
    await backend.lanes.submit([delivery()], at(0))
    assert await backend.webhooks.remove(FIRST)
    assert not await backend.webhooks.remove(FIRST)
    assert await backend.webhooks.find(FIRST) is None
    assert await backend.deliveries.of_webhook(FIRST) == []


async def test_the_log_begins_with_the_job_and_says_what_became_of_it(backend: Backend) -> None:
    lease = await hold(backend.lanes, delivery(), delivery("another line"), delivery("third"))
    first, second, third = lease.items
    await backend.deliveries.note(first.job, Try(at(1), 204, None))
    await backend.deliveries.note(second.job, failed(1, at(60)))
    await settle(backend.lanes, done(lease.grip, first), ended(lease.grip, third, JobState.FAILED))
    newest, middle, oldest = await backend.deliveries.of_webhook(FIRST)
    assert [newest.job, middle.job, oldest.job] == [third.job, second.job, first.job]
    assert [newest.state, middle.state, oldest.state] == ["dead", "pending", "delivered"]
    assert (oldest.attempts, oldest.last_status, oldest.next_at, oldest.tried_at) == (1, 204, None, at(1))
    assert (middle.attempts, middle.last_status, middle.next_at) == (1, 500, at(60))
    assert middle.last_detail == "the receiver answered 500"
    assert middle.event == second.job.replace("job_", "evt_")
    assert (newest.attempts, newest.tried_at, newest.created_at) == (0, None, at(0))


async def test_a_follow_up_is_in_the_log_with_the_settlement_that_made_it(backend: Backend) -> None:
    lease = await hold(backend.lanes, job(A))
    told, late = delivery(), delivery()
    await settle(backend.lanes, done(lease.grip, lease.items[0], None, told))
    assert not await settle(backend.lanes, done(lease.grip, lease.items[0], None, late))
    assert [each.job for each in await backend.deliveries.of_webhook(FIRST)] == [told.id]


async def test_the_log_is_read_page_by_page_and_by_state(backend: Backend) -> None:
    jobs = [delivery(f"line {number}") for number in range(5)]
    await backend.lanes.submit([*jobs, delivery("of another", SECOND), delivery("of nobody", None)], at(0))
    page = await backend.deliveries.of_webhook(FIRST, most=2)
    rest = await backend.deliveries.of_webhook(FIRST, before=page[-1].number)
    assert [each.job for each in page + rest] == [each.id for each in reversed(jobs)]
    assert await backend.deliveries.of_webhook(FIRST, state=DeliveryState.DEAD) == []
    assert len(await backend.deliveries.of_webhook(FIRST, state=DeliveryState.PENDING)) == 5
    assert (await backend.deliveries.of_job(FIRST, jobs[0].id)) == rest[-1]
    assert await backend.deliveries.of_job(SECOND, jobs[0].id) is None
    assert await backend.deliveries.of_job(FIRST, JobId("nothing")) is None


async def test_whoever_stands_behind_another_of_its_line_learns_until_when(backend: Backend) -> None:
    lease = await hold(backend.lanes, delivery("one"), delivery("one"), delivery("two"))
    first, second, third = lease.items
    assert not (await backend.deliveries.standing(first.job)).behind
    assert not (await backend.deliveries.standing(third.job)).behind
    waiting = await backend.deliveries.standing(second.job)
    assert (waiting.behind, waiting.behind_until, waiting.attempts) == (True, None, 0)
    await backend.deliveries.note(first.job, failed(1, at(60)))
    assert (await backend.deliveries.standing(second.job)).behind_until == at(60)
    assert (await backend.deliveries.standing(first.job)).attempts == 1
    await settle(backend.lanes, ended(lease.grip, first, JobState.FAILED))
    assert not (await backend.deliveries.standing(second.job)).behind


async def test_a_whole_waits_for_its_parts_and_these_for_nobody(backend: Backend) -> None:
    first, second = delivery("whk_1 bat_1/job_1"), delivery("whk_1 bat_1/job_2")
    whole, other = delivery("whk_1 bat_1"), delivery("whk_1 bat_10")
    await backend.lanes.submit([first, second, whole, other, delivery("whk_1 bat_1/job_3")], at(0))
    for free in (first, second, other):
        assert not (await backend.deliveries.standing(free.id)).behind
    await backend.deliveries.note(first.id, failed(1, at(60)))
    await backend.deliveries.note(second.id, failed(1, at(90)))
    assert (await backend.deliveries.standing(whole.id)).behind_until == at(90)
    for part in (first, second):
        assert (await backend.deliveries.standing(whole.id)).behind
        await backend.deliveries.note(part.id, Try(at(2), 204, None))
    assert not (await backend.deliveries.standing(whole.id)).behind  # what came later is not waited for


async def test_a_try_that_was_the_last_holds_nobody_up_and_one_that_was_not_sent_does_not_count(
    backend: Backend,
) -> None:
    first, second = delivery("one"), delivery("one")
    await backend.lanes.submit([first, second], at(0))
    await backend.deliveries.note(first.id, Try(at(1), None, "there is nobody", sent=False))
    assert not (await backend.deliveries.standing(second.id)).behind
    assert (await backend.deliveries.standing(first.id)).attempts == 0


async def test_dead_letters_are_replayed_once_however_many_ask(backend: Backend, neighbour: Backend) -> None:
    lease = await hold(backend.lanes, delivery("one"), delivery("two"))
    dead, alive = lease.items
    await settle(backend.lanes, ended(lease.grip, dead, JobState.FAILED))
    (found,) = await backend.deliveries.dead_since(FIRST, at(0), after=0, most=9)
    assert found.job == dead.job
    assert await backend.deliveries.dead_since(FIRST, at(1), after=0, most=9) == []
    assert await backend.deliveries.dead_since(FIRST, at(0), after=found.number, most=9) == []
    counts = await asyncio.gather(
        backend.deliveries.replay({dead.job: delivery("again")}, at(2), once=True),
        neighbour.deliveries.replay({dead.job: delivery("again")}, at(2), once=True),
    )
    assert sorted(counts) == [0, 1]
    assert await backend.deliveries.dead_since(FIRST, at(0), after=0, most=9) == []
    assert await backend.deliveries.replay({dead.job: delivery("a third time")}, at(3), once=False) == 1
    log = await backend.deliveries.of_webhook(FIRST)
    assert [each.replayed for each in log] == [False, False, False, True]
    assert alive.job in {each.job for each in log}


async def leader(side: Side) -> Term:
    term = await side.leadership.lead(ANN, timedelta(seconds=15), at(0))
    assert term is not None
    return term


async def work_off(side: Side) -> None:
    while leases := (await claim(side.lanes, seconds=1)).leases:
        await settle(side.lanes, *finished(leases))


async def test_the_end_of_a_batch_is_noted_once_with_the_end_itself(side: Side) -> None:
    batch, _ = await fill(side.batches, side.lanes, [A, A])
    assert await side.happenings.untold(most=9) == []
    await work_off(side)
    await side.batches.tidy(at(2), most=9)
    await side.batches.tidy(at(3), most=9)
    (told,) = await side.happenings.untold(most=9)
    assert (told.event, told.subject, told.account) == (EventType.BATCH_COMPLETED, batch, ACCOUNT)
    assert at(1) <= told.at <= at(2)


async def test_a_cancelled_batch_is_noted_as_that_and_not_as_completed(side: Side) -> None:
    batch, _ = await fill(side.batches, side.lanes, [A, A])
    assert await side.batches.mark(batch, BatchState.PAUSED, at(1))
    assert await side.batches.mark(batch, BatchState.CANCELLED, at(2))
    assert not await side.batches.mark(batch, BatchState.CANCELLED, at(3))
    while await side.batches.tidy(at(4), most=9):
        pass
    (told,) = await side.happenings.untold(most=9)
    assert (told.event, told.subject, told.at) == (EventType.BATCH_CANCELLED, batch, at(2))


async def test_a_job_that_killed_three_workers_is_noted(side: Side) -> None:
    poison = job(A)
    await side.lanes.submit([poison], at(0))
    for death in range(3):
        (lease,) = (await claim(side.lanes, seconds=100 * death)).leases
        if lease.items[0].deaths:
            await settle(side.lanes, Trial(lease.grip, poison.id), seconds=100 * death)
        await side.lanes.forsake([ANN], at(100 * death + 1), timedelta(seconds=1))
        await side.lanes.wake(at(100 * death + 50))
    (told,) = await side.happenings.untold(most=9)
    assert (told.event, told.subject, told.account) == (EventType.JOB_FAILED, poison.id, ACCOUNT)


async def test_what_happened_is_told_once_with_its_deliveries(side: Side, other_side: Side) -> None:
    term = await leader(side)
    await fill(side.batches, side.lanes, [A])
    await work_off(side)
    await side.batches.tidy(at(2), most=9)
    (told,) = await side.happenings.untold(most=9)
    done_by = await asyncio.gather(
        side.happenings.tell(term, told, [delivery()], at(3)),
        other_side.happenings.tell(term, told, [delivery()], at(3)),
    )
    assert sorted(done_by) == [False, True]
    assert await side.jobs.depth() == 1
    assert await side.happenings.untold(most=9) == []


async def test_nothing_is_told_under_a_term_that_is_over(side: Side, other_side: Side) -> None:
    old = await side.leadership.lead(ANN, timedelta(), at(0))
    assert old is not None
    await other_side.leadership.lead(BOB, timedelta(seconds=15), at(0))
    await fill(side.batches, side.lanes, [A])
    await work_off(side)
    await side.batches.tidy(at(2), most=9)
    (told,) = await side.happenings.untold(most=9)
    with pytest.raises(TermOver):
        await side.happenings.tell(old, told, [delivery()], at(3))
    assert await side.jobs.depth() == 0
    assert await side.happenings.untold(most=9) == [told]
