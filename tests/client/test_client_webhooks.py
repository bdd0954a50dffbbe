"""Whoever is to be told is named with what is begun: a webhook by its id, or a receiver."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from served import Emissary as Server
from served import until
from watching import requests_to

from emissary.client import ApiError, Emissary
from emissary.client.options import Webhook
from emissary.testing.web import TestWebProcess


def _told(web: TestWebProcess, mark: str) -> list[tuple[str, str]]:
    """The events that the receiver with this mark got, and what each is about."""
    got = [each for each in requests_to(web, "hooks") if each["path"].endswith(mark)]
    return [(event["type"], event["data"]["id"]) for event in (json.loads(each["body"]) for each in got)]


def test_a_webhook_is_named_by_its_id_wherever_one_may_be_given(
    far: Emissary, server: Server, web: TestWebProcess
) -> None:
    made = server.post("/v1/webhooks", {"url": web.url("hooks", "/hook?named")}).json()["id"]
    page = web.host_url(1, "/small?told")
    job = far.scrape(page, webhook=made).id
    batch = far.batch([page], webhook=made).id
    crawl = far.crawl(page, limit=1, sitemap="skip", webhook=made).id
    wanted = {("job.completed", job), ("batch.completed", batch), ("crawl.completed", crawl)}
    until(lambda: wanted <= set(_told(web, "named")))


def test_a_receiver_is_told_of_the_events_that_it_wants(client: Emissary, web: TestWebProcess) -> None:
    before = len(_told(web, "wants"))
    secret = "whsec_" + "c2VjcmV0" * 4
    hook: Webhook = {"url": web.url("hooks", "/hook?wants"), "secret": secret, "events": ["batch.completed"]}
    batch = client.batch([web.host_url(1, "/small?wants")], webhook=hook).id
    until(lambda: len(_told(web, "wants")) > before)
    assert _told(web, "wants")[before:] == [("batch.completed", batch)]


@pytest.mark.parametrize(
    "begin",
    [
        lambda client, **given: client.scrape("http://127.0.0.1/", **given),
        lambda client, **given: client.batch(["http://127.0.0.1/"], **given),
        lambda client, **given: client.crawl("http://127.0.0.1/", **given),
    ],
)
def test_a_webhook_that_is_not_there_is_told_before_anything_begins(
    client: Emissary, begin: Callable[..., Any]
) -> None:
    with pytest.raises(ApiError) as caught:
        begin(client, webhook="whk_" + "0" * 26)
    assert (caught.value.status, caught.value.code) == (400, "unknown_webhook")


def test_a_webhook_is_made_tested_read_replayed_and_removed(client: Emissary, web: TestWebProcess) -> None:
    made = client.create_webhook(web.url("hooks", "/hook?made"), events=["crawl.completed"], description="mine")
    assert made.secret.startswith("whsec_")
    assert (made.events, made.description, made.active) == (["crawl.completed"], "mine", True)
    (listed,) = (each for each in client.webhooks() if each.id == made.id)
    assert (listed.url, listed.created_at) == (made.url, made.created_at)
    trial = client.test_webhook(made.id)
    assert (trial.state, trial.status) == ("delivered", 204)
    assert [(each.id, each.type) for each in client.deliveries(made.id, "delivered")] == [
        (trial.delivery, "webhook.test")
    ]
    assert list(client.deliveries(made.id, "dead")) == []
    assert client.replay(made.id, delivery=trial.delivery).replayed == 1
    assert client.replay(made.id, since=made.created_at).replayed == 0
    assert client.delete_webhook(made.id).id == made.id
    with pytest.raises(ApiError) as caught:
        client.replay(made.id, delivery=trial.delivery)
    assert caught.value.status == 404
