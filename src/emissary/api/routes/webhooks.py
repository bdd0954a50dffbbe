"""The webhooks of the caller's account, and what was told there."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from emissary.api.answers import as_json
from emissary.api.auth import Caller, Provided
from emissary.api.bodies import JsonRoute
from emissary.api.door import stand_aside
from emissary.api.openapi import problems
from emissary.api.routes.keys import After, Limit
from emissary.api.webhook_schemas import (
    DeliveriesAnswer,
    NewWebhookAnswer,
    ReplayAnswer,
    ReplayRequest,
    TrialAnswer,
    WebhookAnswer,
    WebhookChange,
    WebhookMaking,
    WebhooksAnswer,
    delivery_answer,
    trial_answer,
    webhook_answer,
)
from emissary.model.errors import BadRequest
from emissary.model.ids import JobId, WebhookId
from emissary.model.webhooks import DeliveryState, Webhook

__all__ = ["router"]

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"], route_class=JsonRoute)

_LONGEST_NUMBER = 18

_LINKS = {
    operation: {"operationId": operation, "parameters": {"webhook": "$response.body#/id"}}
    for operation in (
        "seeWebhook",
        "changeWebhook",
        "listDeliveries",
        "replayDeliveries",
        "testWebhook",
        "removeWebhook",
    )
}


async def _named(webhook: str, caller: Caller, services: Provided) -> Webhook:
    """The webhook, if it is the caller's; another account's answers like one that never was."""
    return await services.webhooks.show(caller, WebhookId(webhook))


Named = Annotated[Webhook, Depends(_named)]


@router.post(
    "",
    summary="Make a webhook",
    operation_id="makeWebhook",
    status_code=201,
    response_model=NewWebhookAnswer,
    responses={201: {"links": _LINKS}, **problems(400, 401, 409, 413, 415, 503)},
)
async def make_webhook(asked: WebhookMaking, caller: Caller, services: Provided) -> Response:
    """Names a receiver of events, and shows the secret they are signed with, this once."""
    made, secret = await services.webhooks.make(caller, asked.to_wish())
    return as_json({**webhook_answer(made), "secret": secret}, 201)


@router.get(
    "",
    summary="List your webhooks",
    operation_id="listWebhooks",
    response_model=WebhooksAnswer,
    responses=problems(400, 401, 503),
)
async def list_webhooks(caller: Caller, services: Provided, *, after: After = "", limit: Limit = 100) -> Response:
    """All webhooks of your account."""
    found = await services.webhooks.page(caller, after=after, most=limit + 1)
    data = [webhook_answer(webhook) for webhook in found[:limit]]
    return as_json({"data": data, "next": data[-1]["id"] if len(found) > limit else None})


@router.get(
    "/{webhook}",
    summary="See a webhook",
    operation_id="seeWebhook",
    response_model=WebhookAnswer,
    responses=problems(401, 404, 503),
)
async def see_webhook(found: Named) -> Response:
    """The webhook, and why it is not active if its receiver said that it is gone."""
    return as_json(webhook_answer(found))


@router.patch(
    "/{webhook}",
    summary="Change a webhook",
    operation_id="changeWebhook",
    response_model=WebhookAnswer,
    responses=problems(400, 401, 404, 413, 415, 503),
)
async def change_webhook(found: Named, asked: WebhookChange, services: Provided) -> Response:
    """What is changed holds for events that wait as well."""
    changed = await services.webhooks.change(asked.applied_to(found), asked.secret)
    return as_json(webhook_answer(changed))


@router.delete(
    "/{webhook}",
    summary="Remove a webhook",
    operation_id="removeWebhook",
    response_model=WebhookAnswer,
    responses=problems(401, 404, 503),
)
async def remove_webhook(webhook: str, caller: Caller, services: Provided) -> Response:
    """Nothing is told there any more, and its log is forgotten."""
    return as_json(webhook_answer(await services.webhooks.remove(caller, WebhookId(webhook))))


@router.get(
    "/{webhook}/deliveries",
    summary="See what was told",
    operation_id="listDeliveries",
    response_model=DeliveriesAnswer,
    responses=problems(400, 401, 404, 503),
)
async def list_deliveries(
    found: Named,
    services: Provided,
    *,
    state: Annotated[DeliveryState | None, Query(description="Only those that are so.")] = None,
    after: After = "",
    limit: Limit = 100,
) -> Response:
    """The log of the webhook, the latest first. A dead delivery can be replayed."""
    before = _number(after)
    lines = await services.webhooks.deliveries(found, before=before, most=limit + 1, state=state)
    data = [delivery_answer(line) for line in lines[:limit]]
    return as_json({"data": data, "next": str(lines[limit - 1].number) if len(lines) > limit else None})


@router.post(
    "/{webhook}/replay",
    summary="Tell something once more",
    operation_id="replayDeliveries",
    status_code=202,
    response_model=ReplayAnswer,
    responses=problems(400, 401, 404, 409, 413, 415, 503),
)
async def replay_deliveries(found: Named, asked: ReplayRequest, services: Provided) -> Response:
    """One delivery that has ended, or all that died since a time and were not replayed. Events keep their ids."""
    if asked.since is not None:
        return as_json({"replayed": await services.webhooks.replay_since(found, asked.since)}, 202)
    return as_json({"replayed": await services.webhooks.replay(found, JobId(asked.delivery or ""))}, 202)


@router.post(
    "/{webhook}/test",
    summary="Test a webhook",
    operation_id="testWebhook",
    response_model=TrialAnswer,
    responses=problems(400, 401, 404, 503),
)
async def test_webhook(found: Named, http: Request, services: Provided) -> Response:
    """Sends a `webhook.test` event now, once, be the webhook active or not, and says what came back."""
    stand_aside(http)
    return as_json(trial_answer(await services.webhooks.test(found)))


def _number(after: str) -> int | None:
    if not after:
        return None
    if not (after.isascii() and after.isdecimal() and len(after) <= _LONGEST_NUMBER):
        raise BadRequest("this is not a cursor: use a `next` of an earlier answer", "invalid_cursor")
    return int(after)
