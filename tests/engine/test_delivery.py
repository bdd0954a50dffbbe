"""Events reach their receivers: signed, in order, for three days, and under one id."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from outbox import SECRET, WEBHOOK, Outbox, open_outbox

from emissary.engine.backoff import TOLD_FOR
from emissary.engine.events import Hook
from emissary.model.webhooks import EventType
from emissary.reading.urls import parse

pytestmark = pytest.mark.anyio

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
ITEM, END = EventType.JOB_COMPLETED, EventType.BATCH_COMPLETED


@pytest.fixture
async def outbox(tmp_path: Path, anyio_backend: str) -> AsyncIterator[Outbox]:
    async with open_outbox(tmp_path) as outbox:
        yield outbox


async def test_a_receiver_that_fails_for_an_hour_gets_every_event_once_it_is_back_in_order_per_job(
    outbox: Outbox,
) -> None:
    webhook = await outbox.add_webhook()
    outbox.receiver.status = None
    for number in range(10):
        await outbox.tell(webhook, ITEM, f"bat_1/job_{number}")
        await outbox.tell(webhook, EventType.JOB_FAILED, f"job_{number}")
        await outbox.pass_time(timedelta(minutes=3))
        await outbox.tell(webhook, ITEM, f"job_{number}")
    await outbox.tell(webhook, END, "bat_1")
    outbox.receiver.status = 500
    await outbox.pass_time(timedelta(minutes=30))
    assert outbox.receiver.taken == []
    outbox.receiver.status = 204
    await outbox.pass_time(2 * HOUR)
    taken = outbox.receiver.taken
    assert len({event["id"] for event in taken}) == len(taken) == 31
    of_batch = [event["type"] for event in taken if event["data"]["about"].startswith("bat_1")]
    assert of_batch == [ITEM] * 10 + [END]
    for number in range(10):
        of_job = [event["type"] for event in taken if event["data"]["about"] == f"job_{number}"]
        assert of_job == [EventType.JOB_FAILED, ITEM]
    assert {line.state for line in await outbox.log()} == {"delivered"}


async def test_an_event_that_is_not_taken_holds_up_the_end_of_its_batch_and_nothing_else(outbox: Outbox) -> None:
    webhook = await outbox.add_webhook()
    outbox.receiver.status = 500
    await outbox.tell(webhook, ITEM, "bat_1/job_1")
    await outbox.work()
    outbox.receiver.status = 204
    others = ["bat_1/job_2", "bat_10", "job_1"]
    await outbox.tell(webhook, END, "bat_1")
    for about in others:
        await outbox.tell(webhook, ITEM, about)
    await outbox.work()
    assert [event["data"]["about"] for event in outbox.receiver.taken] == others
    await outbox.pass_time(timedelta(seconds=6), timedelta(seconds=1))
    assert [event["data"]["about"] for event in outbox.receiver.taken] == [*others, "bat_1/job_1", "bat_1"]


async def test_the_id_stays_the_same_over_all_tries_and_the_waits_grow(outbox: Outbox) -> None:
    webhook = await outbox.add_webhook()
    outbox.receiver.status = 503
    await outbox.tell(webhook, ITEM, "job_1")
    await outbox.work()
    await outbox.pass_time(HOUR, timedelta(seconds=1))
    assert len({ask.headers["webhook-id"] for ask in outbox.receiver.asked}) == 1
    at = outbox.receiver.at
    waits = [later - earlier for earlier, later in pairwise(at)]
    assert waits == sorted(waits)
    assert len(waits) == 6
    (line,) = await outbox.log()
    assert (line.state, line.attempts, line.last_status) == ("pending", 7, 503)
    assert line.next_at is not None
    assert line.next_at > outbox.clock.now()


async def test_what_was_tried_for_three_days_is_a_dead_letter(outbox: Outbox) -> None:
    webhook = await outbox.add_webhook()
    outbox.receiver.status = None
    await outbox.tell(webhook, ITEM, "job_1")
    await outbox.work()
    await outbox.pass_time(TOLD_FOR - HOUR, timedelta(minutes=10))
    (line,) = await outbox.log()
    assert line.state == "pending"
    await outbox.pass_time(2 * HOUR, timedelta(minutes=10))
    (line,) = await outbox.log()
    assert (line.state, line.last_status, line.last_detail) == ("dead", None, "nobody is there")
    tries = len(outbox.receiver.asked)
    assert tries == line.attempts
    assert outbox.receiver.at[-1] - outbox.receiver.at[0] >= TOLD_FOR
    outbox.receiver.status = 204
    await outbox.pass_time(DAY, HOUR)
    assert len(outbox.receiver.asked) == tries


async def test_a_receiver_that_is_gone_is_told_nothing_more(outbox: Outbox) -> None:
    webhook = await outbox.add_webhook()
    outbox.receiver.status = 410
    await outbox.tell(webhook, ITEM, "job_1")
    await outbox.work()
    found = await outbox.webhooks.find(WEBHOOK)
    assert found is not None
    assert not found.active
    assert found.disabled is not None
    outbox.receiver.status = 204
    await outbox.tell(webhook, ITEM, "job_2")
    await outbox.work()
    assert len(outbox.receiver.asked) == 1
    first, second = await outbox.log()
    assert (first.state, first.last_status, first.attempts) == ("dead", 410, 1)
    assert (second.state, second.attempts) == ("dead", 0)
    assert second.last_detail is not None
    assert "not active" in second.last_detail


async def test_a_redirect_is_a_failure_and_is_not_followed(outbox: Outbox) -> None:
    webhook = await outbox.add_webhook()
    outbox.receiver.status = 307
    await outbox.tell(webhook, ITEM, "job_1")
    await outbox.work()
    assert [ask.url.href for ask in outbox.receiver.asked] == ["https://hooks.example/a"]
    (line,) = await outbox.log()
    assert (line.state, line.last_status) == ("pending", 307)
    assert line.last_detail == "the receiver answered 307, and redirects are not followed"


async def test_what_waits_goes_to_where_the_webhook_has_moved(outbox: Outbox) -> None:
    webhook = await outbox.add_webhook()
    await outbox.tell(webhook, ITEM, "job_1")
    assert await outbox.webhooks.change(replace(webhook, url=parse("https://other.example:8443/b")))
    await outbox.work()
    assert [ask.url.href for ask in outbox.receiver.asked] == ["https://other.example:8443/b"]
    assert len(outbox.receiver.taken) == 1


async def test_events_for_a_webhook_that_was_removed_go_nowhere(outbox: Outbox) -> None:
    webhook = await outbox.add_webhook()
    await outbox.tell(webhook, ITEM, "job_1")
    assert await outbox.webhooks.remove(WEBHOOK)
    await outbox.work()
    assert outbox.receiver.asked == []


async def test_a_receiver_without_a_name_is_told_in_order_as_well(outbox: Outbox) -> None:
    hook = Hook(parse("https://hooks.example/a"), SECRET)
    outbox.receiver.status = 500
    await outbox.tell(hook, ITEM, "bat_1/job_1")
    await outbox.work()
    outbox.receiver.status = 204
    await outbox.tell(hook, END, "bat_1")
    await outbox.work()
    assert outbox.receiver.taken == []
    await outbox.pass_time(timedelta(seconds=6), timedelta(seconds=1))
    assert [event["type"] for event in outbox.receiver.taken] == [ITEM, END]
